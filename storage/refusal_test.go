package storage_test

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"attestry/storage"
)

func TestRefusalsOfTheOperatingSystemHaveAReason(t *testing.T) {
	for name, test := range map[string]struct {
		cause error
		want  string
	}{
		"no space":         {syscall.ENOSPC, "the disk is full"},
		"quota":            {syscall.EDQUOT, "its quota is used up"},
		"read-only":        {syscall.EROFS, "it is read-only"},
		"not permitted":    {syscall.EPERM, "permission is denied"},
		"no access":        {syscall.EACCES, "permission is denied"},
		"broken disk":      {syscall.EIO, "the disk reports an error"},
		"no such file":     {syscall.ENOENT, ""},
		"any other reason": {errors.New("the stream broke"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := storage.RefusalOf(&fs.PathError{Op: "write", Path: "x", Err: test.cause}); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestOnlyMissingDocumentsAreIgnored(t *testing.T) {
	broken := errors.New("the disk is broken")
	for name, test := range map[string]struct{ err, want error }{
		"none": {nil, nil}, "missing": {fmt.Errorf("get a: %w", storage.ErrNotFound), nil}, "another": {broken, broken},
	} {
		t.Run(name, func(t *testing.T) {
			if got := storage.IgnoreMissing(test.err); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
