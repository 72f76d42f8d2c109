package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"strings"

	"attestry/storage"
)

// ErrContent reports content that is not what its key names.
var ErrContent = errors.New("the content does not have the SHA-256 of its key")

// CopyObject streams an object to another store. Content that does not have the SHA-256 of its key is not stored: the
// stream breaks at its end.
func CopyObject(ctx context.Context, from, to storage.Objects, object *storage.Object) error {
	content, err := from.Get(ctx, object.Key, 0, -1)
	if err != nil {
		return err
	}
	scope, _, _ := strings.Cut(object.Key, "/")
	_, err = to.Put(ctx, scope, Verified(content, object.SHA256), object.Size)
	return errors.Join(err, content.Close())
}

// WriteObject streams an object to a writer. The error is ErrContent if the content does not have the SHA-256 of its key.
func WriteObject(ctx context.Context, objects storage.Objects, object *storage.Object, out io.Writer) error {
	content, err := objects.Get(ctx, object.Key, 0, -1)
	if err != nil {
		return err
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
	if errors.Is(err, io.EOF) && hex.EncodeToString(v.hash.Sum(nil)) != v.sum {
		return n, ErrContent
	}
	return n, err
}
