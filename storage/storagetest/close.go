package storagetest

import (
	"errors"
	"fmt"
	"testing"

	"attestry/storage"
)

// CloseDuringWrites closes a database while several goroutines call insert with new ids. Every call must return; the
// last call of each goroutine must return the error closed.
func CloseDuringWrites(t *testing.T, db storage.Documents, insert func(id string) error, closed error) {
	t.Helper()
	const writers = 8
	started, answered := make(chan struct{}, 100), make(chan error)
	for writer := range writers {
		go func() {
			for i := 0; ; i++ {
				if err := insert(fmt.Sprint(writer, "-", i)); err != nil {
					answered <- err
					return
				}
				select {
				case started <- struct{}{}:
				default:
				}
			}
		}()
	}
	for range 50 {
		<-started
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for range writers {
		if err := <-answered; !errors.Is(err, closed) {
			t.Errorf("a write ended with another error than that of the closed database: %v", err)
		}
	}
}
