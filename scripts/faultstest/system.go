package main

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"attestry/evidence/translog"
)

const (
	organization = "faults"
	apiKey       = "key-of-scripts-faults"
	bootstrap    = "users: [{name: writer, api_keys: [{key: " + apiKey + ", description: faults}]}]\n" +
		"organizations: [{name: " + organization + ", members: {writer: admin}}]\n"
)

// fault is a fault that is injected for a time.
type fault struct {
	name       string
	begin, end func() error
	hold       time.Duration
}

// system is the tested service, with the faults that can be injected.
type system struct {
	folder    string
	settings  []string // of all processes of the service
	programs  []*program
	addresses []string // of the api processes
	faults    []fault
	// leftOut are faults that cannot be injected on this machine.
	leftOut []string
}

// open builds and starts the service.
func open(ctx context.Context, folder string, cluster bool) (*system, error) {
	s := &system{folder: folder}
	key, err := translog.NewKeyFile()
	for name, content := range map[string]string{"log.key": string(key), "bootstrap.yaml": bootstrap, "token": apiKey} {
		err = errors.Join(err, os.WriteFile(s.path(name), []byte(content), 0o600))
	}
	if err := errors.Join(err, os.Mkdir(s.disk(), 0o700)); err != nil {
		return s, err
	}
	s.settings = []string{"ATTESTRY_LOG_KEY_FILE=" + s.path("log.key"), "ATTESTRY_BOOTSTRAP_FILE=" + s.path("bootstrap.yaml"),
		"ATTESTRY_OUTBOUND_ALLOW=127.0.0.1", "ATTESTRY_LOG_LEVEL=warn", "TMPDIR=" + folder}
	if err := s.build(ctx); err != nil {
		return s, err
	}
	describe := s.standalone
	if cluster {
		describe = s.cluster
	}
	mounted := exec.Command("mount", "-t", "tmpfs", "-o", "mode=0700,size=1g", "tmpfs", s.disk()).Run() == nil
	if err := describe(ctx); err != nil {
		return s, err
	}
	if !mounted {
		s.leftOut = append(s.leftOut, "a full disk (to mount one of limited size takes root)")
		s.faults = slices.DeleteFunc(s.faults, func(f fault) bool { return strings.HasPrefix(f.name, diskFull) })
	}
	s.faults = append(s.faults, s.jumps()...)
	for _, p := range s.programs {
		if err := errors.Join(p.start(), p.await()); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s *system) path(name string) string { return filepath.Join(s.folder, name) }

// disk is the folder of the data for which the disk can be full.
func (s *system) disk() string { return s.path("disk") }

// close ends all processes, in the reverse order of their start.
func (s *system) close() error {
	var errs []error
	for _, p := range slices.Backward(s.programs) {
		errs = append(errs, p.terminate())
	}
	return errors.Join(errs...)
}

// remove removes the data.
func (s *system) remove() error {
	_ = exec.Command("umount", s.disk()).Run() // fails if nothing is mounted
	return os.RemoveAll(s.folder)
}

// add adds a program, without starting it.
func (s *system) add(name, ready string, environ []string, command ...string) *program {
	p := &program{name: name, ready: ready, environ: environ, command: command, log: s.path(name + ".log")}
	s.programs = append(s.programs, p)
	return p
}

// standalone describes a service in one process.
func (s *system) standalone(context.Context) error {
	free, err := freeAddresses(1)
	if err != nil {
		return err
	}
	s.addresses = []string{"http://" + free[0]}
	p := s.add("the standalone", s.addresses[0]+"/ready", s.settings, s.path("standalone"), "--data", s.disk(), "--listen", free[0])
	whileItStarts := func() error {
		return errors.Join(p.start(), sleep(200*time.Millisecond), p.kill(), p.start(), sleep(500*time.Millisecond), p.kill(), p.start())
	}
	full := s.fullDisk()
	s.faults = []fault{
		killed(p), paused(12*time.Second, p), full,
		{"the standalone is killed, and again while it starts", p.kill, whileItStarts, 0},
		{"the standalone is told to stop", p.terminate, p.start, 0},
		{diskFull + ", and the standalone is killed and started meanwhile",
			func() error { return errors.Join(full.begin(), sleep(time.Second), p.kill(), p.start()) },
			func() error {
				_ = p.kill() // fails if it could not start on the full disk
				return errors.Join(full.end(), p.start())
			}, full.hold},
	}
	return nil
}

// diskFull is the prefix of faults that need a disk of limited size.
const diskFull = "the disk is full"

func (s *system) fullDisk() fault {
	return fault{diskFull, func() error { return fill(s.disk()) }, func() error { return os.Remove(filler(s.disk())) }, 5 * time.Second}
}

// killed kills programs, and starts them again after a second.
func killed(programs ...*program) fault {
	return fault{names(programs) + " killed", each(programs, (*program).kill), each(programs, (*program).start), time.Second}
}

// paused stops programs as a suspended machine does.
func paused(hold time.Duration, programs ...*program) fault {
	send := func(signal syscall.Signal) func() error {
		return each(programs, func(p *program) error { return p.signal(signal) })
	}
	return fault{names(programs) + " stands still", send(syscall.SIGSTOP), send(syscall.SIGCONT), hold}
}

func names(programs []*program) string {
	name := programs[0].name
	for _, p := range programs[1:] {
		name += " and " + p.name
	}
	return name
}

func each(programs []*program, do func(*program) error) func() error {
	return func() (err error) {
		for _, p := range programs {
			err = errors.Join(err, do(p))
		}
		return err
	}
}

func sleep(d time.Duration) error {
	time.Sleep(d)
	return nil
}

// freeAddresses returns host:port of ports on which nothing listens.
func freeAddresses(n int) (free []string, err error) {
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		free = append(free, listener.Addr().String())
	}
	return free, nil
}
