package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// startTimeout is how long a program may take until it is ready.
const startTimeout = time.Minute

// program is a process that can be ended and started again with the same data.
type program struct {
	name string
	// ready is host:port, or a URL whose answer has the status 200 when the program is ready.
	ready   string
	environ []string
	command []string
	log     string
	process *os.Process // nil if it was stopped
	ended   chan error
}

// start starts the process. Its output is appended to its log.
func (p *program) start() error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(p.command[0], p.command[1:]...)
	command.Env, command.Stdout, command.Stderr = p.environ, log, log
	if err := command.Start(); err != nil {
		return err
	}
	p.process, p.ended = command.Process, make(chan error, 1)
	go func() { p.ended <- command.Wait() }()
	return nil
}

// signal returns an error if the process has ended by itself.
func (p *program) signal(s syscall.Signal) error {
	if err := p.process.Signal(s); err != nil {
		return fmt.Errorf("%s has ended by itself, see %s: %w", p.name, p.log, err)
	}
	return nil
}

func (p *program) stop(s syscall.Signal) error {
	if p.process == nil {
		return nil
	}
	err := p.signal(s)
	<-p.ended
	p.process = nil
	return err
}

func (p *program) kill() error      { return p.stop(syscall.SIGKILL) }
func (p *program) terminate() error { return p.stop(syscall.SIGTERM) }

// await waits until the program is ready.
func (p *program) await() error {
	for end := time.Now().Add(startTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if p.isReady() {
			return nil
		}
	}
	return fmt.Errorf("%s is not ready after %s, see %s", p.name, startTimeout, p.log)
}

func (p *program) isReady() bool {
	if !strings.Contains(p.ready, "://") {
		connection, err := net.Dial("tcp", p.ready)
		return err == nil && connection.Close() == nil
	}
	answer, err := http.Get(p.ready)
	return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
}

// fill fills a disk of at most 4 GiB.
func fill(folder string) error {
	output, _ := exec.Command("dd", "if=/dev/zero", "of="+filler(folder), "bs=64K", "count=65536").CombinedOutput()
	if !strings.Contains(string(output), "No space left on device") {
		return fmt.Errorf("the disk is not full: %s", output)
	}
	return nil
}

func filler(folder string) string { return filepath.Join(folder, "filler") }
