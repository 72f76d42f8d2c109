package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"attestry/storage"
)

// objectCopy copies the objects of one store to another.
type objectCopy struct {
	from, to  storage.Objects
	out, errs io.Writer
}

func (c *objectCopy) run(ctx context.Context) error {
	if err := c.refuseForeign(ctx); err != nil {
		return err
	}
	if err := c.copyMissing(ctx); err != nil {
		return err
	}
	return c.verify(ctx)
}

// requireObjects refuses a source without any object: so do a parent folder and a folder of
// documents look.
func requireObjects(ctx context.Context, objects storage.Objects) error {
	if first, err := objectsIn(objects).peek(ctx); err != nil || first != nil {
		return err
	}
	return errors.New("the source has no objects; is its URL right?")
}

// refuseForeign refuses a target with objects that the source lacks.
func (c *objectCopy) refuseForeign(ctx context.Context) error {
	foreign := 0
	for p, err := range merge(ctx, objectsIn(c.from), objectsIn(c.to)) {
		if err != nil {
			return err
		}
		if p.source == nil {
			foreign++
		}
	}
	if foreign > 0 {
		return fmt.Errorf("the target has %d objects that the source lacks; nothing was copied; name an empty object store", foreign)
	}
	return nil
}

// copyMissing copies the objects that the target lacks or has in another size. The others are
// copied even if some are damaged: an operator may have to do without those.
func (c *objectCopy) copyMissing(ctx context.Context) error {
	copied, there, told := 0, 0, time.Now()
	var faults []error
	for p, err := range merge(ctx, objectsIn(c.from), objectsIn(c.to)) {
		switch {
		case err != nil:
			return err
		case p.source == nil:
			continue
		case p.target != nil && p.target.Size == p.source.Size:
			there++
			continue
		}
		switch err := c.copyObject(ctx, p.source); {
		case errors.Is(err, errContent):
			faults = append(faults, fmt.Errorf("object %s was not copied: %w", p.source.Key, err))
		case err != nil:
			return fmt.Errorf("object %s: %w", p.source.Key, err)
		default:
			copied++
		}
		if time.Since(told) > progressInterval {
			told = time.Now()
			fmt.Fprintf(c.errs, "%d objects copied so far\n", copied)
		}
	}
	fmt.Fprintf(c.errs, "%d objects copied, %d were there already\n", copied, there)
	return errors.Join(faults...)
}

// copyObject streams an object. Content that does not have the SHA-256 of its key is not
// stored: the stream breaks at its end.
func (c *objectCopy) copyObject(ctx context.Context, object *storage.Object) error {
	content, err := c.from.Get(ctx, object.Key, 0, -1)
	if err != nil {
		return err
	}
	scope, _, _ := strings.Cut(object.Key, "/")
	_, err = c.to.Put(ctx, scope, &verifier{content: content, hash: sha256.New(), sum: object.SHA256}, object.Size)
	return errors.Join(err, content.Close())
}

// verify compares the lists of both stores and hashes every object of the target.
func (c *objectCopy) verify(ctx context.Context) error {
	fmt.Fprintln(c.errs, "reading the objects of the target")
	source, target := newChecksum(), newChecksum()
	var faults []error
	for p, err := range merge(ctx, objectsIn(c.from), objectsIn(c.to)) {
		if err != nil {
			return err
		}
		if p.source != nil {
			source.addObject(p.source)
		}
		if p.target == nil {
			continue
		}
		target.addObject(p.target)
		if err := c.hashObject(ctx, p.target); errors.Is(err, errContent) {
			faults = append(faults, fmt.Errorf("object %s of the target is damaged: %w; delete it and copy again", p.target.Key, err))
		} else if err != nil {
			return fmt.Errorf("object %s of the target: %w", p.target.Key, err)
		}
	}
	if !source.equal(target) {
		faults = append(faults, fmt.Errorf("the stores differ: the source has %d objects of %d bytes, the target %d of %d bytes; stop all that writes to them, and copy again",
			source.count, source.bytes, target.count, target.bytes))
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	table := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "OBJECTS\tBYTES\tSHA-256 OF KEYS AND SIZES\n%d\t%d\t%.16s\n", target.count, target.bytes, target.sum())
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(c.out, "every object of the target has the content that its key names")
	return err
}

func (c *objectCopy) hashObject(ctx context.Context, object *storage.Object) error {
	content, err := c.to.Get(ctx, object.Key, 0, -1)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, &verifier{content: content, hash: sha256.New(), sum: object.SHA256})
	return errors.Join(err, content.Close())
}

// errContent reports content that is not what its key names.
var errContent = errors.New("the content does not have the SHA-256 of its key")

// verifier reads an object, and fails at its end if the content is not what the key names.
type verifier struct {
	content io.Reader
	hash    hash.Hash
	sum     string
}

func (v *verifier) Read(p []byte) (int, error) {
	n, err := v.content.Read(p)
	v.hash.Write(p[:n])
	if errors.Is(err, io.EOF) && hex.EncodeToString(v.hash.Sum(nil)) != v.sum {
		return n, errContent
	}
	return n, err
}
