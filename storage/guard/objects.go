package guard

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"sync"
	"syscall"

	"attestry/storage"
	"attestry/storage/transfer"
)

// probeScope is the scope of the probe, which no id of an organization is.
const probeScope = "probe"

// guardedObjects verifies the objects of a store when they are read.
type guardedObjects struct {
	storage.Objects
	guard   *Guard
	refusal refusal
	// deletions is held for reading while an object is deleted. held counts the running backups.
	deletions sync.RWMutex
	held      int
}

// HoldDeletions makes Delete do nothing, and return nil, until release is called. An object that no record names is
// deleted later: by the collector, or a checkpoint of a log by the sequencer within a day.
func (o *guardedObjects) HoldDeletions() (release func()) {
	o.holdDeletions(1)
	return func() { o.holdDeletions(-1) }
}

func (o *guardedObjects) holdDeletions(change int) {
	o.deletions.Lock()
	defer o.deletions.Unlock()
	o.held += change
}

// Delete deletes an object, unless deletions are held.
func (o *guardedObjects) Delete(ctx context.Context, key string) error {
	o.deletions.RLock()
	defer o.deletions.RUnlock()
	if o.held > 0 {
		return nil
	}
	ctx, command := begin(ctx, "objects delete")
	return command.end(o.Objects.Delete(ctx, key))
}

func (o *guardedObjects) Put(ctx context.Context, scope string, r io.Reader, size int64) (storage.Object, error) {
	ctx, command := begin(ctx, "objects put")
	object, err := o.Objects.Put(ctx, scope, r, size)
	return object, o.refusal.observe(command.end(err))
}

// Get verifies the whole object before it returns its first byte; a mismatch is a storage.ErrDamaged. It takes constant
// memory: a range of at most heldBack bytes is buffered while verifying, a longer one is read and verified again.
func (o *guardedObjects) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	object, err := storage.ParseObjectKey(key)
	if err != nil || offset < 0 || length < -1 {
		// The engine returns the error.
		return o.Objects.Get(ctx, key, offset, length)
	}
	first, err := o.readOnce(ctx, object, offset, length)
	if err != nil {
		return nil, o.explain(key, err)
	}
	if first.complete {
		return io.NopCloser(bytes.NewReader(first.content)), nil
	}
	return o.open(ctx, object, offset, first.length)
}

// open opens a range of an object that is longer than heldBack, and verifies the object while it is read. The span of
// the command ends before that.
func (o *guardedObjects) open(ctx context.Context, object storage.Object, offset, length int64) (io.ReadCloser, error) {
	ctx, command := begin(ctx, "objects open")
	content, err := o.Objects.Get(ctx, object.Key, 0, -1)
	if command.end(err) != nil {
		return nil, o.explain(object.Key, err)
	}
	verified := newVerifyingReader(content, object.SHA256, offset, length)
	return storage.ConvertErrors(verified, content, func(err error) error { return o.explain(object.Key, err) }), nil
}

// Stat implements storage.Objects.
func (o *guardedObjects) Stat(ctx context.Context, key string) (storage.Object, error) {
	ctx, command := begin(ctx, "objects stat")
	object, err := o.Objects.Stat(ctx, key)
	return object, command.end(err)
}

// readOnce verifies the whole object, and returns the content of the range if that is short.
func (o *guardedObjects) readOnce(ctx context.Context, object storage.Object, offset, length int64) (window, error) {
	ctx, command := begin(ctx, "objects get")
	content, err := o.Objects.Get(ctx, object.Key, 0, -1)
	if err != nil {
		return window{}, command.end(err)
	}
	found, err := readWindow(content, object.SHA256, offset, length)
	return found, command.end(errors.Join(err, content.Close()))
}

// explain reports damage and returns an error with a message for clients. Altered content, and content that the disk
// cannot read, is storage.ErrDamaged. A lost object stays storage.ErrNotFound.
func (o *guardedObjects) explain(key string, err error) error {
	switch {
	case errors.Is(err, storage.ErrNotFound):
		o.guard.report(storage.ObjectStore, key, err)
		return err
	case errors.Is(err, transfer.ErrContent), errors.Is(err, syscall.EIO), errors.Is(err, syscall.EISDIR):
		o.guard.report(storage.ObjectStore, key, err)
		object, _ := storage.ParseObjectKey(key) // the engine has checked it
		return storage.Damaged("The stored object with SHA-256 "+object.SHA256+" is damaged", err)
	default:
		return err
	}
}

// Ping reports whether the store answers and, after a refused write, whether it accepts writes again.
func (o *guardedObjects) Ping(ctx context.Context) error {
	if err := o.Objects.Ping(ctx); err != nil {
		return err
	}
	return o.refusal.check(ctx, o.probe)
}

// probe is ProbeObjects. A store that denies only deletions is usable; it keeps this small object.
func (o *guardedObjects) probe(ctx context.Context) error {
	key, kept, err := ProbeObjects(ctx, o.Objects)
	if kept != nil {
		o.guard.log.Warn("the probe of a store cannot be deleted", "store", storage.ObjectStore, "id", key, "reason", kept.Error())
	}
	return err
}

// ProbeObjects puts an object of probeSize and deletes it. kept is why it could not be deleted, nil if it was. The
// content is random, as a store that keeps all versions does not write the same object again.
func ProbeObjects(ctx context.Context, objects storage.Objects) (key string, kept, err error) {
	content := rand.Text() + strings.Repeat("x", probeSize)
	object, err := objects.Put(ctx, probeScope, strings.NewReader(content), int64(len(content)))
	if err != nil {
		return "", nil, err
	}
	return object.Key, objects.Delete(ctx, object.Key), nil
}

type progressiveObjects struct {
	*guardedObjects
}

// Progressive implements storage.Progressive.
func (o *guardedObjects) Progressive() storage.Objects { return progressiveObjects{o} }

// Get reads an object once. It returns the last heldBack bytes of a range only if the whole object has its SHA-256.
func (p progressiveObjects) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	object, err := p.Stat(ctx, key)
	if err != nil {
		return nil, p.explain(key, err)
	}
	if rest := max(object.Size-offset, 0); length < 0 || length > rest {
		length = rest
	}
	if offset < 0 || length <= heldBack {
		return p.guardedObjects.Get(ctx, key, offset, length)
	}
	return p.open(ctx, object, offset, length)
}
