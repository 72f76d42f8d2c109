package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"attestry/storage"
	"attestry/storage/s3"
	"attestry/storage/transfer"
)

type objectCopy struct {
	from, to  storage.Objects
	out, errs io.Writer
	// kept and unkept count the objects under retention in the source, kept those that are under it in the target too.
	// held counts the objects on legal hold in the source.
	kept, unkept, held int
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

// requireObjects refuses a source without objects, as it may be a parent folder or a folder of documents by mistake.
func requireObjects(ctx context.Context, objects storage.Objects) error {
	if first, err := transfer.ObjectsIn(objects).Peek(ctx); err != nil || first != nil {
		return err
	}
	return errors.New("the source has no objects; is its URL right?")
}

func (c *objectCopy) refuseForeign(ctx context.Context) error {
	foreign := 0
	for p, err := range transfer.Merge(ctx, transfer.ObjectsIn(c.from), transfer.ObjectsIn(c.to)) {
		if err != nil {
			return err
		}
		if p.Source == nil {
			foreign++
		}
	}
	if foreign > 0 {
		return fmt.Errorf("the target has %d objects that the source lacks; nothing was copied; name an empty object store", foreign)
	}
	return nil
}

// copyMissing copies the objects that the target lacks. It continues after damaged ones, which may have no intact copy.
func (c *objectCopy) copyMissing(ctx context.Context) error {
	copied, printedAt := 0, time.Now()
	var faults []error
	there, err := transfer.CopyMissing(ctx, c.from, c.to, func(object *storage.Object, err error) error {
		switch {
		case errors.Is(err, transfer.ErrContent):
			faults = append(faults, fmt.Errorf("object %s was not copied: %w", object.Key, err))
		case err != nil:
			return err
		default:
			copied++
		}
		if due(&printedAt) {
			fmt.Fprintf(c.errs, "%d objects copied so far\n", copied)
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(c.errs, "%d objects copied, %d were there already\n", copied, there)
	return errors.Join(faults...)
}

// verify compares the lists of both stores and hashes every object of the target. It puts only intact objects under
// retention, so that damaged ones can be deleted.
func (c *objectCopy) verify(ctx context.Context) error {
	fmt.Fprintln(c.errs, "reading the objects of the target")
	count, different, bytes := 0, 0, int64(0)
	var faults []error
	for p, err := range transfer.Merge(ctx, transfer.ObjectsIn(c.from), transfer.ObjectsIn(c.to)) {
		if err != nil {
			return err
		}
		if p.Source == nil || p.Target == nil || p.Source.Size != p.Target.Size {
			different++
		}
		if p.Target == nil {
			continue
		}
		count, bytes = count+1, bytes+p.Target.Size
		err := transfer.WriteObject(ctx, c.to, p.Target, io.Discard)
		if err == nil && p.Source != nil {
			err = c.copyRetention(ctx, p.Source.Key)
		}
		if errors.Is(err, transfer.ErrContent) {
			faults = append(faults, fmt.Errorf("object %s of the target is damaged: %w; delete it and copy again", p.Target.Key, err))
		} else if err != nil {
			return fmt.Errorf("object %s of the target: %w", p.Target.Key, err)
		}
	}
	if different > 0 {
		faults = append(faults, fmt.Errorf("the stores differ in %d objects, the target has %d; stop all that writes to them, and copy again", different, count))
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	_, err := fmt.Fprintf(c.out, "every one of %d objects of %d bytes of the target has the content that its key names\n", count, bytes)
	return errors.Join(err, c.printRetention())
}

// copyRetention puts an object of the target under the retention of the source.
func (c *objectCopy) copyRetention(ctx context.Context, key string) error {
	source, ok := c.from.(*s3.Store)
	if !ok {
		return nil
	}
	retention, err := source.RetentionOf(ctx, key)
	if err != nil {
		return err
	}
	if retention.Held {
		c.held++
	}
	if !retention.Runs() {
		return nil
	}
	err = s3.ErrNoObjectLock
	if target, ok := c.to.(*s3.Store); ok {
		err = target.Lock(ctx, key, retention)
	}
	switch {
	case err == nil:
		c.kept++
	case errors.Is(err, s3.ErrNoObjectLock):
		c.unkept++
		return nil
	}
	return err
}

// printRetention prints nothing for a source without retention.
func (c *objectCopy) printRetention() (err error) {
	for _, line := range []struct {
		count  int
		format string
	}{
		{c.kept, "%d objects are under retention as in the source\n"},
		{c.unkept, "%d objects are under retention in the source and not in the target, which has no object lock\n"},
		{c.held, "%d objects are on legal hold in the source, which is not copied\n"},
	} {
		if err == nil && line.count > 0 {
			_, err = fmt.Fprintf(c.out, line.format, line.count)
		}
	}
	return err
}
