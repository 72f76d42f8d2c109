package packages

import (
	"context"

	"attestry/evidence/audit"
	"attestry/storage"
)

// ObjectKeys returns the keys of the objects of all packages that are ready or were replaced.
func (a *Assemblies) ObjectKeys(ctx context.Context) (map[string]bool, error) {
	keys := map[string]bool{}
	// A package that is replaced meanwhile is found in the second index.
	if err := a.readyKeys(ctx, keys); err != nil {
		return nil, err
	}
	query := storage.Query{Index: "replaced", From: &storage.Bound{Value: 0.0}, Limit: storage.MaxMany}
	err := storage.ForEach(ctx, a.collection, query, func(assembly *audit.Assembly) error {
		for _, replaced := range assembly.Replaced {
			keys[replaced.Object] = true
		}
		return nil
	})
	return keys, err
}

func (a *Assemblies) readyKeys(ctx context.Context, keys map[string]bool) error {
	query := storage.Query{Index: "asked", From: &storage.Bound{Value: 0.0}, Limit: storage.MaxMany}
	return storage.ForEachFields(ctx, a.collection, query, func(record *storage.Record) error {
		for _, field := range []string{"archive", "report"} {
			if key, ok := record.Fields[field].(string); ok {
				keys[key] = true
			}
		}
		return nil
	})
}
