package evaluation

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
)

const (
	// childVariable is set in the child processes of an Evaluator.
	childVariable = "ATTESTRY_EVALUATION_CHILD"
	// Exit statuses of a child: it failed, exceeded a limit, or was ended by the runtime.
	brokenStatus     = 1
	overLimitsStatus = 3
	runtimeStatus    = 2
	raceStatus       = 66
	// maxDiagnosis bounds the kept beginning of a child's standard error, in bytes.
	maxDiagnosis = 512
)

// errNotSent is for a child that did not get a request.
var errNotSent = errors.New("the child does not read requests")

// child is a process that answers one request after the other.
type child struct {
	command   *exec.Cmd
	input     io.Closer
	requests  *gob.Encoder
	answers   *gob.Decoder
	diagnosis *diagnosis
}

// startChild starts this program again. The child gets none of the environment variables but TZ.
func startChild(limits Limits) (*child, error) {
	if os.Getenv(childVariable) != "" {
		return nil, errors.New("a child of an Evaluator starts another: main must call evaluation.ServeChild first")
	}
	program, err := findProgram()
	if err != nil {
		return nil, fmt.Errorf("find the program: %w", err)
	}
	c := &child{command: exec.Command(program), diagnosis: &diagnosis{}}
	c.command.Args = []string{os.Args[0], "evaluate"} // shown in lists of processes
	c.command.Env = []string{childVariable + "=1", "GOTRACEBACK=none"}
	if zone, ok := os.LookupEnv("TZ"); ok { // jq has functions of local time
		c.command.Env = append(c.command.Env, "TZ="+zone)
	}
	c.command.Stderr = c.diagnosis
	input, err := c.command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("connect a child: %w", err)
	}
	output, err := c.command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("connect a child: %w", err)
	}
	if err := c.command.Start(); err != nil {
		return nil, fmt.Errorf("start a child: %w", err)
	}
	c.input, c.requests, c.answers = input, gob.NewEncoder(input), gob.NewDecoder(output)
	if err := c.requests.Encode(limits); err != nil {
		return nil, fmt.Errorf("configure a child: %w: %w", err, c.end())
	}
	return c, nil
}

// findProgram returns the program of this process. On Linux it stays the same one when an upgrade replaces the file.
func findProgram() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// call sends a request and reads the answer. After an error the child must be ended; after errNotSent it was dead.
func (c *child) call(ctx context.Context, r request) (a answer, err error) {
	release := context.AfterFunc(ctx, func() { c.command.Process.Kill() })
	if err = c.requests.Encode(r); err != nil {
		err = fmt.Errorf("%w: %w", errNotSent, err)
	} else {
		err = c.answers.Decode(&a)
	}
	if !release() {
		err = ctx.Err()
	}
	if err != nil {
		return answer{}, fmt.Errorf("ask a child: %w", err)
	}
	return a, nil
}

// end ends the child and returns how it ended, as errOverLimits if it exceeded its limits.
func (c *child) end() error {
	c.input.Close()
	c.command.Process.Kill() // changes nothing if it is ending already
	if exit, ok := errors.AsType[*exec.ExitError](c.command.Wait()); ok && c.exceeded(exit.ExitCode()) {
		return fmt.Errorf("%w: %s", errOverLimits, c.diagnosis.firstLine())
	}
	return fmt.Errorf("a child ended with %s: %s", c.command.ProcessState, c.diagnosis.firstLine())
}

// exceeded reports whether a child with this exit status exceeded its limits. The runtime ends a process that is out of
// memory or stack with status 2, or 66 with the race detector, but also for other reasons.
func (c *child) exceeded(status int) bool {
	if status != runtimeStatus && status != raceStatus {
		return status == overLimitsStatus
	}
	return slices.ContainsFunc(outOfMemory, func(text string) bool {
		return bytes.Contains(c.diagnosis.kept, []byte(text))
	})
}

// outOfMemory are the runtime's texts for a process out of memory or stack. The garbage collector fails with SIGSEGV
// when it is refused memory; the race detector takes refused addresses for collisions.
var outOfMemory = []string{"out of memory", "cannot allocate memory", "failed to allocate", "stack overflow", "stack exceeds", "SIGSEGV", "address space collisions"}

// diagnosis keeps the beginning of what is written to it.
type diagnosis struct {
	kept []byte
}

func (d *diagnosis) Write(p []byte) (int, error) {
	d.kept = append(d.kept, p[:min(len(p), maxDiagnosis-len(d.kept))]...)
	return len(p), nil
}

func (d *diagnosis) firstLine() string {
	line, _, _ := bytes.Cut(d.kept, []byte("\n"))
	return string(line)
}
