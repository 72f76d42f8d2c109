package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"syscall"

	"attestry/storage"
)

// ErrContent reports content that does not match its key, or that the disk cannot read.
var ErrContent = errors.New("the content does not have the SHA-256 of its key")

// copyObject streams an object to another store. If the content does not match the key, the stream fails at its end, so
// nothing is stored.
func copyObject(ctx context.Context, from, to storage.Objects, object *storage.Object) error {
	content, err := from.Get(ctx, object.Key, 0, -1)
	if err != nil {
		return explain(err)
	}
	scope, _, _ := strings.Cut(object.Key, "/")
	_, err = to.Put(ctx, scope, Verified(content, object.SHA256), object.Size)
	return errors.Join(err, content.Close())
}

// CopyMissing copies the objects that a store lacks or has in another size, and returns how many it had already. It
// calls done after each copy, with its error; an error of done ends it.
func CopyMissing(ctx context.Context, from, to storage.Objects, done func(object *storage.Object, err error) error) (existing int, err error) {
	for p, err := range Merge(ctx, ObjectsIn(from), ObjectsIn(to)) {
		switch {
		case err != nil:
			return existing, err
		case p.Source == nil:
			continue
		case p.Target != nil && p.Target.Size == p.Source.Size:
			existing++
			continue
		}
		if err := done(p.Source, copyObject(ctx, from, to, p.Source)); err != nil {
			return existing, fmt.Errorf("copy the object %s: %w", p.Source.Key, err)
		}
	}
	return existing, nil
}

// WriteObject streams an object to a writer. The error is ErrContent if the content does not match the key.
func WriteObject(ctx context.Context, objects storage.Objects, object *storage.Object, out io.Writer) error {
	content, err := objects.Get(ctx, object.Key, 0, -1)
	if err != nil {
		return explain(err)
	}
	_, err = io.Copy(out, Verified(content, object.SHA256))
	return errors.Join(err, content.Close())
}

// Verified reads content, and fails at its end with ErrContent if it does not have a SHA-256, in lower-case hex.
func Verified(content io.Reader, sum string) io.Reader {
	return &verifier{content: content, hash: sha256.New(), sum: sum}
}

type verifier struct {
	content io.Reader
	hash    hash.Hash
	sum     string
}

func (v *verifier) Read(p []byte) (int, error) {
	n, err := v.content.Read(p)
	v.hash.Write(p[:n])
	if !errors.Is(err, io.EOF) {
		return n, explain(err)
	}
	if found := hex.EncodeToString(v.hash.Sum(nil)); found != v.sum {
		return n, fmt.Errorf("%w: it is %s", ErrContent, found)
	}
	return n, io.EOF
}

// explain adds ErrContent to the error of a disk that cannot read an object.
func explain(err error) error {
	if errors.Is(err, syscall.EIO) {
		return fmt.Errorf("%w: %w", ErrContent, err)
	}
	return err
}
