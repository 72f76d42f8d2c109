package storage

import (
	"context"
	"errors"
	"testing"

	"attestry/evidence"
)

var errTorn = errors.New("the connection was torn")

// failing is an engine whose reads fail.
type failing struct {
	Documents
	cause error
}

func (f failing) Get(context.Context, *Schema, string) (Record, error) { return Record{}, f.cause }

func TestOutageIsUnavailableAndKeepsItsCause(t *testing.T) {
	fault := errors.New("some fault")
	for name, c := range map[string]struct {
		returned, cause error
		want            evidence.Code
	}{
		"an outage":     {Outage("database", errTorn), errTorn, evidence.Unavailable},
		"another fault": {fault, fault, evidence.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			collection := NewCollection(failing{cause: c.returned}, &Schema{Name: "things"}, func(s *string) string { return *s }, nil)
			_, got := collection.Get(t.Context(), "a")
			_, updated := collection.Update(t.Context(), "a", func(*string) error { return nil })
			for _, err := range []error{got, updated} {
				if evidence.CodeOf(err) != c.want || !errors.Is(err, c.cause) || errors.Is(err, ErrOutage) != (c.want == evidence.Unavailable) {
					t.Errorf("got %q: %v", evidence.CodeOf(err), err)
				}
			}
		})
	}
}
