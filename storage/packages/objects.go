package packages

import (
	"context"

	"attestry/evidence/audit"
	"attestry/storage"
)

// ObjectKeys returns the keys of the objects of all packages that are ready, and of those that they
// have replaced.
func (a *Assemblies) ObjectKeys(ctx context.Context) (map[string]bool, error) {
	keys := map[string]bool{}
	// A package that is replaced meanwhile is found in the second index.
	if err := a.readyKeys(ctx, keys); err != nil {
		return nil, err
	}
	query := storage.Query{Index: "replaced", From: &storage.Bound{Value: 0.0}, Limit: storage.MaxMany}
	for {
		found, next, err := a.collection.Find(ctx, query)
		if err != nil {
			return nil, err
		}
		for i := range found {
			addReplaced(keys, &found[i])
		}
		if query.After = next; next == "" {
			return keys, nil
		}
	}
}

func (a *Assemblies) readyKeys(ctx context.Context, keys map[string]bool) error {
	query := storage.Query{Index: "asked", From: &storage.Bound{Value: 0.0}, Limit: storage.MaxMany}
	for {
		found, next, err := a.collection.FindFields(ctx, query)
		if err != nil {
			return err
		}
		for _, record := range found {
			for _, field := range []string{"archive", "report"} {
				if key, ok := record.Fields[field].(string); ok {
					keys[key] = true
				}
			}
		}
		if query.After = next; next == "" {
			return nil
		}
	}
}

func addReplaced(keys map[string]bool, assembly *audit.Assembly) {
	for _, replaced := range assembly.Replaced {
		keys[replaced.Object] = true
	}
}
