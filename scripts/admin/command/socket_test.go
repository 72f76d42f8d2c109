package command

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"attestry/config"
	"attestry/evidence/evidencetest"
	"attestry/process"
	"attestry/process/cli"
	"attestry/storage"
)

// shortFolder makes a folder whose path is short enough for that of a socket.
func shortFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "a")
	evidencetest.Must(t, err)
	t.Cleanup(func() {
		evidencetest.Check(t, os.RemoveAll(folder))
	})
	return folder
}

// whenStoppedAndRunning runs a test on a service that is stopped, and on one that runs and executes the commands itself.
func whenStoppedAndRunning(t *testing.T, test func(t *testing.T, s *site)) {
	t.Run("stopped", func(t *testing.T) { test(t, newSite(t)) })
	t.Run("running", func(t *testing.T) {
		s := newSite(t)
		s.listen()
		test(t, s)
	})
}

// listen has the service execute the commands itself until the test ends.
func (s *site) listen() {
	s.t.Helper()
	socket, err := Listen(s.process)
	s.must(err)
	s.socket = socket
	s.t.Cleanup(func() { s.must(socket.Close()) })
}

// startService runs a service until the test ends. The test may close its socket earlier.
func startService(t *testing.T, environ []string, wrap func(storage.Documents) storage.Documents) *Socket {
	t.Helper()
	settings, err := config.Load(environ)
	evidencetest.Must(t, err)
	p, err := process.OpenWith(t.Context(), settings, slog.New(slog.DiscardHandler), time.Now, wrap)
	evidencetest.Must(t, err)
	socket, err := Listen(p)
	if err != nil {
		t.Fatal(err, p.Close())
	}
	t.Cleanup(func() {
		evidencetest.Check(t, errors.Join(socket.Close(), p.Close()))
	})
	return socket
}

// outcome is the result of a command.
type outcome struct {
	status  int
	printed string
}

func (o outcome) check(t *testing.T, status int, text string) {
	t.Helper()
	if o.status != status || !strings.Contains(o.printed, text) {
		t.Errorf("status %d, want %d, printed %q, want %q", o.status, status, o.printed, text)
	}
}

func outcomeOf(t *testing.T, environ []string, line string) outcome {
	t.Helper()
	status, printed := call(t, environ, strings.Fields(line)...)
	return outcome{status, printed}
}

func TestStoppedAndRunningServicesPrintTheSameLists(t *testing.T) {
	s := newSite(t)
	s.parkOthers()
	for _, line := range []string{"users create anna", "members set acme anna admin", "keys issue anna laptop 2099-01-01"} {
		if status, _, errs := s.run(strings.Fields(line)...); status != cli.Success {
			t.Fatal(errs)
		}
	}
	arguments := map[string]string{"members list": "acme", "keys list": "anna"}
	stopped := map[string]string{}
	for range 2 {
		for _, c := range commands() {
			if !strings.HasPrefix(c.arguments, "[--json]") || c.name == "verify" || c.name == "doctor" { // these print nothing here, and times
				continue
			}
			for _, line := range []string{c.name + " --json " + arguments[c.name], c.name + " " + arguments[c.name]} {
				status, out, errs := s.run(strings.Fields(line)...)
				if status != cli.Success || errs != "" || out == "" {
					t.Errorf("%s: status %d, %q, %s", line, status, out, errs)
				}
				if s.socket == nil {
					stopped[line] = out
				} else if stopped[line] != out {
					t.Errorf("%s: the running service prints\n%s\nnot\n%s", line, out, stopped[line])
				}
			}
		}
		if s.socket == nil {
			s.listen()
		}
	}
}

func TestSocketIsAccessibleToItsUserOnly(t *testing.T) {
	environ := emptyStores(t)
	startService(t, environ, nil)
	info, err := os.Stat(socketFile(environ))
	if err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("the socket has mode %v, %v", info.Mode(), err)
	}
	made, err := filepath.Glob(filepath.Dir(socketFile(environ)) + "/admin*")
	if err != nil || !slices.Equal(made, []string{socketFile(environ)}) {
		t.Errorf("the files are %v, %v", made, err)
	}
}

func TestSocketOfAKilledProcessIsReplaced(t *testing.T) {
	environ := emptyStores(t)
	outcomeOf(t, environ, "users create anna").check(t, cli.Success, "created")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: socketFile(environ), Net: "unix"})
	evidencetest.Must(t, err)
	left.SetUnlinkOnClose(false)
	evidencetest.Must(t, left.Close())
	outcomeOf(t, environ, "users list").check(t, cli.Success, "anna")
	startService(t, environ, nil)
	outcomeOf(t, environ, "users list").check(t, cli.Success, "anna")
}

func TestSocketIsRemovedWhenTheServiceStops(t *testing.T) {
	environ := emptyStores(t)
	socket := startService(t, environ, nil)
	outcomeOf(t, environ, "users create anna").check(t, cli.Success, "created")
	evidencetest.Check(t, socket.Close())
	if _, err := os.Lstat(socketFile(environ)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket still exists: %v", err)
	}
	outcomeOf(t, environ, "users list").check(t, cli.Failure, "another process has opened it")
}

func TestRunningServiceRefusesUnknownCommands(t *testing.T) {
	environ := emptyStores(t)
	startService(t, environ, nil)
	var out, errs strings.Builder
	c := caller{args: []string{"users", "promote", "anna"}, environ: environ, out: &out, errs: &errs}
	answered, err := c.callRunning(t.Context())
	var status exitStatus
	if !answered || !errors.As(err, &status) || status != cli.Misuse {
		t.Errorf("answered %v, %v", answered, err)
	}
	outcome{int(status), errs.String()}.check(t, cli.Misuse, `the running service is of another version: unknown command "users promote anna"`)
	if out.String() != "" {
		t.Errorf("printed %s", out.String())
	}
}

func TestCommandsUseTheSettingsOfTheRunningService(t *testing.T) {
	environ := emptyStores(t)
	startService(t, append(slices.Clone(environ), "ATTESTRY_BETA=off"), nil)
	// The command has no setting of the objects and Redis, and ATTESTRY_BETA is on by default.
	for _, line := range []string{"users create anna", "jobs list"} {
		outcomeOf(t, environ[:1], line).check(t, cli.Success, "")
	}
	outcomeOf(t, environ[:1], "organizations list --json").check(t, cli.Success, `"beta":false`)
}

// stuck is a database that blocks when users are read, until the context ends.
type stuck struct {
	storage.Documents
	once         sync.Once
	began, ended chan struct{}
}

func newStuck() *stuck { return &stuck{began: make(chan struct{}), ended: make(chan struct{})} }

func (s *stuck) wrap(docs storage.Documents) storage.Documents {
	s.Documents = docs
	return s
}

func (s *stuck) List(ctx context.Context, schema *storage.Schema, after string, limit, maxBytes int) ([]storage.Record, error) {
	if schema.Name != "users" {
		return s.Documents.List(ctx, schema, after, limit, maxBytes)
	}
	s.once.Do(func() {
		close(s.began)
		<-ctx.Done()
		close(s.ended)
	})
	return nil, ctx.Err()
}

// begin calls a command that blocks, and returns when the service has begun it.
func (s *stuck) begin(ctx context.Context, environ []string) <-chan outcome {
	result := make(chan outcome, 1)
	go func() {
		var printed strings.Builder
		status := Run(ctx, []string{"users", "list"}, environ, &printed, &printed)
		result <- outcome{status, printed.String()}
	}()
	<-s.began
	return result
}

func TestCommandEndsWithItsClient(t *testing.T) {
	environ, docs := emptyStores(t), newStuck()
	startService(t, environ, docs.wrap)
	ctx, stop := context.WithCancel(t.Context())
	result := docs.begin(ctx, environ)
	stop()
	(<-result).check(t, cli.Failure, "context canceled")
	<-docs.ended
	outcomeOf(t, environ, "organizations list").check(t, cli.Success, "NAME")
}

func TestStoppingServiceInterruptsCommands(t *testing.T) {
	environ, docs := emptyStores(t), newStuck()
	socket := startService(t, environ, docs.wrap)
	result := docs.begin(t.Context(), environ)
	evidencetest.Check(t, socket.Close())
	<-docs.ended
	(<-result).check(t, cli.Failure, "the service ended before the command did")
}

// faulty is a database that panics when users are read.
type faulty struct{ storage.Documents }

func (f faulty) List(ctx context.Context, schema *storage.Schema, after string, limit, maxBytes int) ([]storage.Record, error) {
	if schema.Name == "users" {
		panic("poison")
	}
	return f.Documents.List(ctx, schema, after, limit, maxBytes)
}

func TestPanickingCommandDoesNotAffectOthers(t *testing.T) {
	environ := emptyStores(t)
	startService(t, environ, func(docs storage.Documents) storage.Documents { return faulty{docs} })
	outcomeOf(t, environ, "users list").check(t, cli.Failure, "it panicked: poison")
	outcomeOf(t, environ, "organizations list").check(t, cli.Success, "NAME")
}

func TestNoSocketIsMadeIfItsPathIsTooLong(t *testing.T) {
	folder := filepath.Join(shortFolder(t), strings.Repeat("long", 30))
	environ := []string{
		"ATTESTRY_DATABASE_URL=pebble://" + folder, "ATTESTRY_OBJECTS_URL=file://" + folder + "-objects",
		"ATTESTRY_REDIS_URL=redis://127.0.0.1:1", "ATTESTRY_MONITOR_LISTEN=off",
	}
	outcomeOf(t, environ, "users create anna").check(t, cli.Success, "created")
	settings, err := config.Load(environ)
	evidencetest.Must(t, err)
	p, err := process.Open(t.Context(), settings, slog.New(slog.DiscardHandler))
	evidencetest.Must(t, err)
	defer p.Close()
	if _, err := Listen(p); err == nil || !strings.Contains(err.Error(), "a socket cannot have such a long path") {
		t.Errorf("got %v", err)
	}
	if left, err := filepath.Glob(folder + "/admin*"); err != nil || len(left) > 0 {
		t.Errorf("the files are %v, %v", left, err)
	}
	outcomeOf(t, environ, "users list").check(t, cli.Failure, "another process has opened it")
}

func TestRefusedConnectionsSayWhoMayConnect(t *testing.T) {
	denied := &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", syscall.EACCES)}
	answered, err := explainDial(denied)
	if !answered || err.Error() != "dial unix: connect: permission denied: call it as root or as the user that runs the service" {
		t.Errorf("answered %v, %v", answered, err)
	}
}
