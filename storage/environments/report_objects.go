package environments

import (
	"context"
	"errors"

	"attestry/evidence"
	"attestry/storage"
)

// ReportObjects is what the keys of all objects of reports begin with, so that they can be listed.
// Those of earlier versions begin with the id of the organization.
const ReportObjects = "waiting-reports."

// newReportScope returns the scope of the object of one report. It is the report's own, so that
// deleting the object with its report takes nothing from an equal one.
func newReportScope(org string) string { return ReportObjects + org + "." + evidence.NewID() }

// ObjectKeys returns the keys of the objects that waiting and parked reports name. A report that is
// parked meanwhile is found in the second index.
func (r *Reports) ObjectKeys(ctx context.Context) (map[string]bool, error) {
	keys := map[string]bool{}
	for _, index := range []string{"accepted", "parked"} {
		query := storage.Query{Index: index, From: &storage.Bound{Value: 0.0}, Limit: storage.MaxMany}
		err := storage.ForEachPage(ctx, r.collection, query, func(found []storage.Record) error {
			for _, record := range found {
				key, err := r.objectKey(ctx, record)
				if err != nil {
					return err
				}
				if key != "" {
					keys[key] = true
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// objectKey returns the key of the object of a report. A record that an earlier version has written
// does not declare it and is read. A damaged one tells none, and its report cannot be read any more.
func (r *Reports) objectKey(ctx context.Context, record storage.Record) (string, error) {
	if key, declared := record.Fields["object"].(string); declared {
		return key, nil
	}
	report, err := r.collection.Get(ctx, record.ID)
	if errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrDamaged) {
		return "", nil
	}
	return report.Object, err
}
