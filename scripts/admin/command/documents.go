package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"text/tabwriter"
	"time"

	"attestry/evidence"
	"attestry/process"
	"attestry/storage"
	"attestry/storage/transfer"
)

type documentCopy struct {
	from, to  storage.Documents
	schemas   []*storage.Schema
	out, errs io.Writer
}

// targetState is the state of a collection in the target.
type targetState struct {
	// after is the last id up to which both databases are equal. equal is the number of documents up to it, total the
	// number of documents of the target that the source has too.
	after        string
	equal, total int
	// foreign is the number of documents that the source lacks, differing of those with other content there.
	foreign, differing int
}

func (c *documentCopy) run(ctx context.Context) error {
	states, err := c.compareAll(ctx)
	if err != nil {
		return err
	}
	if err := process.BeginCopy(ctx, c.to); err != nil {
		return err
	}
	for i, schema := range c.schemas {
		if err := c.copyCollection(ctx, schema, states[i]); err != nil {
			return fmt.Errorf("collection %s: %w", schema.Name, err)
		}
	}
	if err := c.verify(ctx); err != nil {
		return err
	}
	return process.EndCopy(ctx, c.to)
}

// compareAll compares all collections before the first write. It refuses a target with documents that the source lacks
// or that differ there: a service has used it meanwhile, or it is an unrelated database.
func (c *documentCopy) compareAll(ctx context.Context) ([]targetState, error) {
	states := make([]targetState, len(c.schemas))
	var refusals []error
	for i, schema := range c.schemas {
		var err error
		if states[i], err = c.compare(ctx, schema); err != nil {
			return nil, fmt.Errorf("collection %s: %w", schema.Name, err)
		}
		if n := states[i].foreign; n > 0 {
			refusals = append(refusals, fmt.Errorf("collection %s of the target has %d documents that the source lacks", schema.Name, n))
		}
		if n := states[i].differing; n > 0 {
			refusals = append(refusals, fmt.Errorf("collection %s of the target has %d documents that differ from those of the source", schema.Name, n))
		}
	}
	if len(refusals) > 0 {
		return nil, errors.Join(append(refusals, errors.New("nothing was copied; name an empty database"))...)
	}
	return states, nil
}

// compare reads the documents of the target, and those of the source up to the last id of the target.
func (c *documentCopy) compare(ctx context.Context, schema *storage.Schema) (targetState, error) {
	found, equal := targetState{}, true
	target := transfer.DocumentsIn(c.to, schema)
	// Usually the target is empty, and the source need not be read.
	if first, err := target.Peek(ctx); err != nil || first == nil {
		return found, err
	}
	source := transfer.DocumentsIn(c.from, schema)
	for p, err := range transfer.Merge(ctx, source, target) {
		if err != nil {
			return targetState{}, err
		}
		if p.Source == nil {
			found.foreign++
			continue
		}
		if p.Target != nil {
			found.total++
			if !sameDocument(p.Source, p.Target) {
				found.differing++
			}
		}
		if equal = equal && p.Target != nil; equal {
			found.after = p.Source.ID
			found.equal++
		}
		if last, err := target.Peek(ctx); err != nil || last == nil {
			return found, err
		}
	}
	return found, nil
}

// sameDocument compares two documents of one id by their revisions, declared fields and bodies.
func sameDocument(a, b *storage.Record) bool {
	return a.Revision == b.Revision && bytes.Equal(a.Body, b.Body) && maps.Equal(a.Fields, b.Fields)
}

// copyCollection inserts the documents after the equal part. It never overwrites documents of the target, as an
// interrupted copy leaves none that differ.
func (c *documentCopy) copyCollection(ctx context.Context, schema *storage.Schema, found targetState) error {
	// The pages also have the documents of the target after the equal part. Subtract them.
	copied, printedAt := found.equal-found.total, time.Now()
	for after := found.after; ; {
		page, err := transfer.ListDocuments(ctx, c.from, schema, after)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		writes := evidence.Map(page, func(record storage.Record) storage.Write {
			return storage.Write{Kind: storage.WriteAdd, Schema: schema, Record: record}
		})
		if err := c.to.Write(ctx, writes...); err != nil {
			return err
		}
		copied, after = copied+len(page), page[len(page)-1].ID
		if due(&printedAt) {
			fmt.Fprintf(c.errs, "%s: %d documents copied so far\n", schema.Name, max(0, copied))
		}
	}
	if copied+found.total > 0 {
		fmt.Fprintf(c.errs, "%s: %d documents copied, %d were there already\n", schema.Name, copied, found.total)
	}
	return nil
}

func requireDocuments(ctx context.Context, docs storage.Documents, schemas []*storage.Schema) error {
	for _, schema := range schemas {
		if first, err := transfer.DocumentsIn(docs, schema).Peek(ctx); err != nil || first != nil {
			return err
		}
	}
	return errors.New("the source has no documents; is its URL right?")
}

// verify compares both databases and prints the numbers of documents and bytes.
func (c *documentCopy) verify(ctx context.Context) error {
	fmt.Fprintln(c.errs, "comparing both databases")
	table := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "COLLECTION\tDOCUMENTS\tBYTES")
	var differences []error
	documents := 0
	for _, schema := range c.schemas {
		same, bytes, different := 0, 0, 0
		for p, err := range transfer.Merge(ctx, transfer.DocumentsIn(c.from, schema), transfer.DocumentsIn(c.to, schema)) {
			switch {
			case err != nil:
				return fmt.Errorf("collection %s: %w", schema.Name, err)
			case p.Source == nil || p.Target == nil || !sameDocument(p.Source, p.Target):
				different++
			default:
				same++
				bytes += len(p.Target.Body)
			}
		}
		if different > 0 {
			differences = append(differences, fmt.Errorf("collection %s differs in %d documents, %d are the same", schema.Name, different, same))
		}
		if documents += same; same > 0 {
			fmt.Fprintf(table, "%s\t%d\t%d\n", schema.Name, same, bytes)
		}
	}
	if len(differences) > 0 {
		return errors.Join(append(differences, errors.New("stop all that writes to the databases, and copy to an empty database"))...)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.out, "%d documents are the same in both databases; collections that are not listed are empty\n", documents)
	return err
}
