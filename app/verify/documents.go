package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/transfer"
)

// checkDocuments decodes documents, and looks for the objects and chunks that they name. Chunks are checked like other
// documents. So a tree is complete if its root exists, and with each chunk those below it.
func (v *verification) checkDocuments(ctx context.Context, schema *storage.Schema, records []storage.Record) (findings, error) {
	found, objects, chunks := findings{}, map[string][]string{}, map[string][]string{}
	for _, record := range records {
		v.result.Documents++
		references, err := v.catalog.References(schema, record)
		if err != nil {
			found.add(record.ID, "it does not decode: "+err.Error())
			continue
		}
		for _, key := range references.Objects {
			objects[key] = append(objects[key], record.ID)
		}
		for _, id := range references.Chunks {
			chunks[id] = append(chunks[id], record.ID)
		}
	}
	if err := v.findObjects(ctx, objects, found); err != nil {
		return nil, err
	}
	return found, v.findDocuments(ctx, "chunks", chunks, found, "the chunk %s of its tree is missing or damaged")
}

// findObjects looks for objects that documents name.
func (v *verification) findObjects(ctx context.Context, named map[string][]string, found findings) error {
	for key, documents := range named {
		_, err := v.Objects.Stat(ctx, key)
		switch _, invalid := storage.ParseObjectKey(key); {
		case err == nil:
			continue
		case invalid == nil && !errors.Is(err, storage.ErrNotFound):
			return err
		}
		for _, id := range documents {
			found.add(id, "the object "+key+" that it names is missing")
		}
	}
	return nil
}

// findDocuments looks for documents of a collection that others name. what says of an id that it is missing.
func (v *verification) findDocuments(ctx context.Context, collection string, named map[string][]string, found findings, what string) error {
	existing, err := fetch(ctx, v, collection, slices.Sorted(maps.Keys(named)), func(*struct{}) bool { return true })
	if err != nil {
		return err
	}
	for id, documents := range named {
		if existing[id] {
			continue
		}
		for _, document := range documents {
			found.add(document, fmt.Sprintf(what, id))
		}
	}
	return nil
}

// fetch reads documents by id, with one command per page of ids, and returns the result of keep for each. It omits
// those that do not decode, which checkDocuments reports.
func fetch[T, K any](ctx context.Context, v *verification, collection string, ids []string, keep func(*T) K) (map[string]K, error) {
	kept := map[string]K{}
	for some := range slices.Chunk(evidence.Distinct(ids), pageSize) {
		records, err := v.Documents.GetMany(ctx, v.schemas[collection], some)
		if err != nil {
			return nil, err
		}
		for i := range records {
			if value, ok := decode[T](&records[i]); ok {
				kept[records[i].ID] = keep(value)
			}
		}
	}
	return kept, nil
}

// readObjects hashes all objects.
func (v *verification) readObjects(ctx context.Context) error {
	for object, err := range transfer.ObjectsIn(v.Objects).All(ctx, "") {
		if err == nil {
			err = v.readObject(ctx, object)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readObject hashes an object. One that was deleted meanwhile is no finding: checkDocuments finds missing objects.
func (v *verification) readObject(ctx context.Context, object *storage.Object) error {
	err := transfer.WriteObject(ctx, v.Objects, object, io.Discard)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, storage.ErrNotFound):
		return nil
	case err != nil:
		// A disk that cannot read one object may read the others.
		return v.report(object.Key, err.Error())
	}
	v.result.Objects++
	v.result.ObjectBytes += object.Size
	v.progress()
	return nil
}
