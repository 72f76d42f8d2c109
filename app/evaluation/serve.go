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
	"attestry/storage/cache"
)

// ServeChild answers requests and exits if this process is a child of an Evaluator.
func ServeChild() {
	if os.Getenv(childVariable) == "" {
		return
	}
	// A terminal or systemd sends these to the parent as well, which ends its children when it stops.
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
	server := newServer(limits)
	for {
		var r request
		if err := requests.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		if err := answers.Encode(server.answer(r)); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
}

// server answers requests in a child process.
type server struct {
	limits Limits
	// schemas caches compiled schemas by their source. A short source can compile to a large schema, so the size of an
	// entry is what its compilation allocated, several times the memory that it occupies.
	schemas cache.LRU[*attestation.Schema]
}

func newServer(limits Limits) *server {
	return &server{limits: limits, schemas: cache.NewLRU[*attestation.Schema](int(limits.Memory / 2))}
}

// answer applies the limits to compilation and evaluation separately, so that a cached schema makes no difference.
func (s *server) answer(r request) answer {
	var err error
	if len(r.Payload) == 0 {
		if r.HasSchema && r.Definition.Schema == nil {
			r.Definition.Schema = json.RawMessage{}
		}
		s.limits.watch(func() { err = attestation.Check(r.Definition) })
		return newAnswer(attestation.Verdict{}, err)
	}
	var schema *attestation.Schema
	if r.HasSchema {
		if schema, err = s.compiled(r.Definition.Schema); err != nil {
			return newAnswer(attestation.Verdict{}, err)
		}
	}
	var verdict attestation.Verdict
	s.limits.watch(func() { verdict, err = attestation.EvaluateBy(schema, r.Definition.Rules, r.Payload) })
	return newAnswer(verdict, err)
}

func (s *server) compiled(source json.RawMessage) (schema *attestation.Schema, err error) {
	if schema, ok := s.schemas.Get(string(source)); ok {
		return schema, nil
	}
	allocated := s.limits.watch(func() { schema, err = attestation.CompileSchema(source) })
	if err == nil {
		s.schemas.Put(string(source), schema, int(allocated)+len(source))
	}
	return schema, err
}

func newAnswer(verdict attestation.Verdict, err error) answer {
	a := answer{Verdict: verdict}
	var invalid *evidence.Error
	switch {
	case errors.Is(err, attestation.ErrTooMuchWork):
		a.OverLimits = true
	case errors.As(err, &invalid):
		a.Invalid = invalid.Fields
	case err != nil:
		a.Fault = err.Error()
	}
	return a
}
