package storage

import (
	"context"
	"errors"
	"io"
	"time"
)

// ErrRetained reports that an object is kept from deletion until a moment that has not come.
var ErrRetained = errors.New("the object is under retention")

// Object describes a stored object.
type Object struct {
	// Key is `<scope>/sha256/<first two hex digits>/<other 62>`.
	Key    string
	Size   int64
	SHA256 string // lower-case hex
}

// Objects keeps byte streams under content-addressed keys. A Put that returned
// nil is durable. All methods are safe for concurrent use.
type Objects interface {
	// Put streams r into the store, never holding more of it than a part, and
	// returns its content address below scope (an organization's id). size is
	// the number of bytes r will give, or -1 when unknown; a stream of another
	// length is an error and leaves nothing behind. Storing the same content
	// twice is harmless.
	Put(ctx context.Context, scope string, r io.Reader, size int64) (Object, error)
	// Get opens length bytes of an object from offset on; a length of -1 means
	// to its end. ErrNotFound is returned by Get itself, never by the reader.
	Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error)
	// Stat describes an object, or returns ErrNotFound.
	Stat(ctx context.Context, key string) (Object, error)
	// Retain keeps an object from being deleted or replaced until a moment. An earlier
	// moment than the one that is set already changes nothing. An absent object is
	// ErrNotFound. A store without retention keeps nothing, which is no error:
	// storage/retention finds that out.
	Retain(ctx context.Context, key string, until time.Time) error
	// Delete removes an object; an absent one is no error. One under retention is
	// ErrRetained and stays readable.
	Delete(ctx context.Context, key string) error
	// List describes objects in the order of their keys' bytes, beginning behind the key
	// after: at most limit, 1 to MaxMany. Only the end is answered with none.
	List(ctx context.Context, after string, limit int) ([]Object, error)
	// Ping reports whether the store answers.
	Ping(ctx context.Context) error
}

// Progressive returns the view of an object store whose Get gives content while it is verified,
// rather than after all of it was: what does not match ends in ErrDamaged before its last bytes. It
// is for readers who use nothing before they have read all, and for long objects.
func Progressive(objects Objects) Objects {
	if verifying, ok := objects.(interface{ Progressive() Objects }); ok {
		return verifying.Progressive()
	}
	return objects
}
