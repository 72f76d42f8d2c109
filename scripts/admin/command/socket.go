package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"attestry/goroutine"
	"attestry/process"
	"attestry/process/cli"
)

// socketName is the name of the socket in the folder of the embedded database. Only the process that has the folder
// open creates or removes it.
const socketName = "admin.sock"

// Socket executes commands of other processes in this one, which has the embedded database open.
type Socket struct {
	process  *process.Process
	file     string
	server   http.Server
	serving  goroutine.Group
	commands sync.WaitGroup
}

// Listen creates the socket in the folder of the embedded database. Until Close, root and the user of this process can
// send commands to it.
func Listen(p *process.Process) (*Socket, error) {
	s := &Socket{process: p, file: filepath.Join(p.Settings.Stores.Database.Path, socketName)}
	listener, err := listen(s.file)
	if errors.Is(err, syscall.EINVAL) {
		err = fmt.Errorf("%w: a socket cannot have such a long path, shorten that of the data folder", err)
	}
	if err != nil {
		return nil, err
	}
	s.server.Handler = s
	s.serving.Go(func() error { return s.server.Serve(listener) })
	return s, nil
}

// listen creates a socket that only the user of the process and root can open. It replaces one of a killed process. It
// is created in a folder with mode 0700 and renamed, so that it never has a wider mode at its final path.
func listen(file string) (net.Listener, error) {
	folder, err := os.MkdirTemp(filepath.Dir(file), "admin-*") // mode 0700
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	fresh := filepath.Join(folder, "s")
	listener, err := net.Listen("unix", fresh)
	if err != nil {
		return nil, err
	}
	if err = os.Chmod(fresh, 0o600); err == nil {
		err = os.Rename(fresh, file)
	}
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// Close removes the socket, cancels running commands and waits for them. Call it before the stores are closed.
func (s *Socket) Close() error {
	// RemoveAll ignores a missing file. Closing a connection cancels the context of its command.
	err := errors.Join(os.RemoveAll(s.file), s.server.Close())
	if served := s.serving.Wait(); !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	s.commands.Wait()
	return err
}

// ServeHTTP executes one command. The form has its arguments, the response is a stream of parts. It cancels the command
// if the client disconnects.
func (s *Socket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.commands.Add(1)
	defer s.commands.Done()
	a := &answer{encoder: json.NewEncoder(w), flush: http.NewResponseController(w).Flush}
	if err := errors.Join(r.ParseForm(), a.flush()); err != nil {
		return // the client has disconnected
	}
	c := caller{
		args: r.PostForm[argument], folder: r.PostForm.Get(folder), running: s.process,
		// Standard output is buffered, as tables are written cell by cell.
		out:  output(func(p []byte) error { return a.send(part{Out: p}, false) }),
		errs: output(func(p []byte) error { return a.send(part{Errs: p}, true) }),
	}
	status := c.execute(r.Context())
	_ = a.send(part{Status: &status}, true) // an error means that the client has disconnected
}

// execute runs the command of a client in this process.
func (c caller) execute(ctx context.Context) int {
	act, err := parse(c.args)
	if err != nil {
		fmt.Fprintf(c.errs, "the running service is of another version: %v\n", err)
		return cli.Misuse
	}
	return c.run(ctx, func(ctx context.Context, c caller) error {
		return goroutine.Recovered(func() error { return act(ctx, c) })
	})
}

// part is a part of the response: output, or the exit status, which is the last part.
type part struct {
	Out    []byte `json:",omitempty"`
	Errs   []byte `json:",omitempty"`
	Status *int   `json:",omitempty"`
}

// answer sends parts. It is safe for concurrent use.
type answer struct {
	mu      sync.Mutex
	encoder *json.Encoder
	flush   func() error
}

// send sends a part, now or with a later one.
func (a *answer) send(p part, now bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.encoder.Encode(p); err != nil || !now {
		return err
	}
	return a.flush()
}

// output is an io.Writer.
type output func(p []byte) error

func (o output) Write(p []byte) (int, error) { return len(p), o(p) }
