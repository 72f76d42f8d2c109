package guard

import (
	"context"
	"io"

	"attestry/storage"
)

type progressiveObjects struct {
	*guardedObjects
}

// Progressive is the view that storage.Progressive returns.
func (o *guardedObjects) Progressive() storage.Objects { return progressiveObjects{o} }

// Get reads an object once. It returns the last heldBack bytes of a range only if the whole object has its SHA-256.
func (p progressiveObjects) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	object, err := p.Stat(ctx, key)
	if err != nil {
		return nil, p.explain(storage.Object{Key: key}, err)
	}
	if rest := max(object.Size-offset, 0); length < 0 || length > rest {
		length = rest
	}
	if offset < 0 || length <= heldBack {
		return p.guardedObjects.Get(ctx, key, offset, length)
	}
	content, err := p.Objects.Get(ctx, key, 0, -1)
	if err != nil {
		return nil, p.explain(object, err)
	}
	verified := newVerifyingReader(content, object.SHA256, offset, length)
	return &reportingReader{verifyingReader: verified, objects: p.guardedObjects, object: object, content: content}, nil
}
