package evaluation

import (
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"attestry/evidence"
	"attestry/evidence/attestation"
)

// ServeChild answers requests until the parent ends and then exits, if this process
// is a child of an Evaluator. In any other process it does nothing.
func ServeChild() {
	if os.Getenv(childVariable) == "" {
		return
	}
	// A terminal sends these to the parent as well, which ends in its own time.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(brokenStatus)
	}
	os.Exit(0)
}

func serve(in io.Reader, out io.Writer) error {
	requests, answers := gob.NewDecoder(in), gob.NewEncoder(out)
	var limits Limits
	if err := requests.Decode(&limits); err != nil {
		return fmt.Errorf("read the limits: %w", err)
	}
	if err := limits.apply(); err != nil {
		return err
	}
	for {
		var r request
		if err := requests.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		var a answer
		if _, err := limits.watch(func() { a = evaluate(r) }); err != nil {
			return err
		}
		if err := answers.Encode(a); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
}

func evaluate(r request) (a answer) {
	if r.HasSchema && r.Definition.Schema == nil {
		r.Definition.Schema = json.RawMessage{}
	}
	var err error
	if len(r.Payload) == 0 {
		err = attestation.Check(r.Definition)
	} else {
		a.Verdict, err = attestation.Judge(r.Definition, r.Payload)
	}
	var invalid *evidence.Error
	switch {
	case errors.As(err, &invalid):
		a.Invalid = invalid.Fields
	case err != nil:
		a.Fault = err.Error()
	}
	return a
}
