package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"

	"attestry/config"
)

// The fields of the form that is sent: the arguments of the command, and the folder of the caller.
const (
	argument = "argument"
	folder   = "folder"
)

// errEnded reports a truncated response.
var errEnded = errors.New("the service ended before the command did")

// exitStatus is the error for the exit status, 0 included, of a command that another process has executed. Its output
// has been printed.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// callRunning sends the command to the process that has the embedded database open. answered is false if there is no
// such process, or if the database is a server.
func (c caller) callRunning(ctx context.Context) (answered bool, err error) {
	file := socketFile(c.environ)
	if file == "" {
		return false, nil
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", file)
	if err != nil {
		return explainDial(err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	dial := func(context.Context, string, string) (net.Conn, error) { return conn, nil }
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
	response, err := client.PostForm("http://service", url.Values{argument: c.args, folder: {c.folder}})
	if err != nil {
		return true, cmp.Or(ctx.Err(), fmt.Errorf("%w: %w", errEnded, err))
	}
	defer response.Body.Close()
	return true, c.printAnswer(ctx, response.Body)
}

// socketFile returns the path of the socket, "" if the settings name no embedded database. It reads no other settings,
// as those of the running process are used.
func socketFile(environ []string) string {
	var database config.Database
	for _, variable := range (config.Sources{Environ: environ}).Environment() {
		if value, ok := strings.CutPrefix(variable, "ATTESTRY_DATABASE_URL="); ok {
			_ = database.UnmarshalText([]byte(value)) // opening the database reports a wrong address
		}
	}
	if database.Engine != config.Pebble {
		return ""
	}
	return filepath.Join(database.Path, socketName)
}

// explainDial returns false if no process listens: the caller may open the stores. If the path is too long for a
// socket, no process can listen.
func explainDial(err error) (answered bool, _ error) {
	for _, absent := range []error{fs.ErrNotExist, syscall.ENOTDIR, syscall.ECONNREFUSED, syscall.EINVAL} {
		if errors.Is(err, absent) {
			return false, nil
		}
	}
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w: call it as root or as the user that runs the service", err)
	}
	return true, err
}

// printAnswer prints the output of the command, and returns its exit status.
func (c caller) printAnswer(ctx context.Context, body io.Reader) error {
	for parts := json.NewDecoder(body); ; {
		var p part
		if err := parts.Decode(&p); err != nil {
			return cmp.Or(ctx.Err(), fmt.Errorf("%w: %w", errEnded, err))
		}
		_, outErr := c.out.Write(p.Out)
		_, errsErr := c.errs.Write(p.Errs)
		if err := errors.Join(outErr, errsErr); err != nil {
			return err
		}
		if p.Status != nil {
			return exitStatus(*p.Status)
		}
	}
}
