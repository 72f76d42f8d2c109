package storagetest

import (
	"os"
	"runtime"
	"syscall"
)

// nobody is a user who owns no files.
const nobody = 65534

// AsNobody calls f without the rights of root, whom file permissions do not restrict, and returns its error.
func AsNobody(f func() error) error {
	result := make(chan error)
	go func() {
		if os.Geteuid() == 0 {
			// Only this thread loses its rights; it ends with the goroutine.
			runtime.LockOSThread()
			if err := syscall.Setfsuid(nobody); err != nil {
				result <- err
				return
			}
		}
		result <- f()
	}()
	return <-result
}
