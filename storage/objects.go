package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"
)

// ErrRetained reports that an object cannot be deleted yet.
var ErrRetained = errors.New("the object is under retention")

// Object describes a stored object.
type Object struct {
	// Key is `<scope>/sha256/<first two hex digits>/<other 62>`.
	Key    string
	Size   int64
	SHA256 string // lower-case hex
}

// Objects keeps byte streams under content-addressed keys. A Put that returned nil is durable. All methods are safe for
// concurrent use.
type Objects interface {
	// Put streams r into the store, holding no more than a part, and returns its content address in a scope, the id
	// of an organization. size is the number of bytes of r, -1 if unknown; a stream of another length is an error
	// and leaves nothing behind. The same content may be stored again.
	Put(ctx context.Context, scope string, r io.Reader, size int64) (Object, error)
	// Get opens length bytes of an object from an offset, to its end if length is -1. Get itself returns
	// ErrNotFound, the reader never does.
	Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error)
	// Stat describes an object, or returns ErrNotFound.
	Stat(ctx context.Context, key string) (Object, error)
	// Retain keeps an object from being deleted or replaced until a moment; an earlier moment than the one set changes
	// nothing. An absent object is ErrNotFound. A store without retention does nothing, which storage/retention
	// detects.
	Retain(ctx context.Context, key string, until time.Time) error
	// Delete removes an object; an absent one is no error. One under retention is ErrRetained and stays.
	Delete(ctx context.Context, key string) error
	// List describes objects in the order of their keys' bytes, after a key: at most limit, 1 to MaxMany. It returns
	// none only at the end.
	List(ctx context.Context, after string, limit int) ([]Object, error)
	// Ping reports whether the store answers.
	Ping(ctx context.Context) error
}

// Progressive returns a view of an object store whose readers return content before all of it is verified; a mismatch
// is ErrDamaged before the last bytes. It is for long objects, and callers that use nothing before the end.
func Progressive(objects Objects) Objects {
	if verifying, ok := objects.(interface{ Progressive() Objects }); ok {
		return verifying.Progressive()
	}
	return objects
}

// ReadObject reads and charges an object; what names it in errors. lost converts an ErrNotFound or ErrDamaged of Get.
func ReadObject(ctx context.Context, objects Objects, key, what string, lost func(cause error) error) ([]byte, error) {
	reader, err := objects.Get(ctx, key, 0, -1)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrDamaged) {
		return nil, lost(err)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", what, err)
	}
	defer reader.Close()
	content, err := io.ReadAll(reader)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return content, ChargeRead(ctx, len(content))
}

// A scope is part of file names: at most 128 letters and digits, and after the first of them also ".", "_" and "-".
var (
	scopeForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	keyForm   = regexp.MustCompile(`^([^/]+)/sha256/([0-9a-f]{2})/([0-9a-f]{62})$`)
)

// ObjectKey is the key of an object with the given content in a scope.
func ObjectKey(scope, sum string) string {
	return scope + "/sha256/" + sum[:2] + "/" + sum[2:]
}

// ParseObjectKey describes the object of a key, without its size. It accepts only keys of ObjectKey, so that no key
// escapes its scope.
func ParseObjectKey(key string) (Object, error) {
	parts := keyForm.FindStringSubmatch(key)
	if parts == nil || !ValidScope(parts[1]) {
		return Object{}, fmt.Errorf("invalid object key %q", key)
	}
	return Object{Key: key, SHA256: parts[2] + parts[3]}, nil
}

// ValidScope reports whether a text can be a scope.
func ValidScope(scope string) bool { return scopeForm.MatchString(scope) }

// ConvertErrors reads content with its errors converted, but for io.EOF, and closes it with closer.
func ConvertErrors(content io.Reader, closer io.Closer, convert func(error) error) io.ReadCloser {
	return &converted{content, closer, convert}
}

type converted struct {
	io.Reader
	io.Closer
	convert func(error) error
}

func (c *converted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = c.convert(err)
	}
	return n, err
}
