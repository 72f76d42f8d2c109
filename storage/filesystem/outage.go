package filesystem

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"attestry/storage"
)

// asOutage marks an error of the file system itself: a full or failing disk, missing rights, too many open files. A
// missing file is none, nor is an error of a stream that is to be stored.
func asOutage(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	if !errors.As(err, &path) && !errors.As(err, &link) {
		return err
	}
	var code syscall.Errno
	if errors.Is(err, os.ErrClosed) || errors.As(err, &code) && code != syscall.ENOENT && code != syscall.ENAMETOOLONG {
		return storage.Outage(storage.ObjectStore, err)
	}
	return err
}

// outageReader marks errors of the disk while an object is read.
type outageReader struct{ io.Reader }

func (r outageReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	return n, asOutage(err)
}
