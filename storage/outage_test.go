package storage

import (
	"context"
	"errors"
	"testing"

	"attestry/evidence"
)

var errTorn = errors.New("the connection was torn")

// torn is an engine out of reach.
type torn struct {
	Documents
	cause error
}

func (t torn) Get(context.Context, *Schema, string) (Record, error) { return Record{}, t.cause }
func (t torn) Outage(err error) bool                                { return errors.Is(err, errTorn) }

func TestOutageIsUnavailableAndKeepsItsCause(t *testing.T) {
	for cause, want := range map[error]evidence.Code{
		errTorn:                  evidence.Unavailable,
		errors.New("some fault"): evidence.Internal,
	} {
		c := NewCollection(torn{cause: cause}, &Schema{Name: "things"}, func(s *string) string { return *s }, nil)
		_, got := c.Get(t.Context(), "a")
		_, updated := c.Update(t.Context(), "a", func(*string) error { return nil })
		for _, err := range []error{got, updated} {
			if evidence.CodeOf(err) != want || !errors.Is(err, cause) {
				t.Errorf("%v: got %q: %v", cause, evidence.CodeOf(err), err)
			}
		}
	}
}
