package auditpackage

import (
	"archive/tar"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestMemberThatCannotBeCopiedFailsTheArchive expects the error of the content, which may be an outage.
func TestMemberThatCannotBeCopiedFailsTheArchive(t *testing.T) {
	failure := errors.New("a fault of a test")
	for name, c := range map[string]struct {
		content io.Reader // of a member of two bytes
		want    error
	}{
		"its content cannot be read": {io.MultiReader(strings.NewReader("a"), iotest.ErrReader(failure)), failure},
		"its content is too long":    {strings.NewReader("abc"), tar.ErrWriteTooLong},
		"its content is too short":   {strings.NewReader("a"), nil}, // found at the end
	} {
		t.Run(name, func(t *testing.T) {
			out := newArchive(io.Discard)
			if err := out.stream("member", 0, 2, c.content); !errors.Is(err, c.want) {
				t.Errorf("got %v", err)
			}
			if err := out.close(); c.want != tar.ErrWriteTooLong && err == nil {
				t.Error("the archive ends without an error")
			}
		})
	}
}
