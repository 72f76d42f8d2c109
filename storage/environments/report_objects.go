package environments

import (
	"context"
	"errors"

	"attestry/evidence"
	"attestry/storage"
)

// ReportObjects begins the keys of all objects of reports, so that they can be listed. Those of earlier versions begin
// with the id of the organization.
const ReportObjects = "waiting-reports."

// newReportScope returns the scope of the object of one report. Equal reports do not share it, so that an object can be
// deleted with its report.
func newReportScope(org string) string { return ReportObjects + org + "." + evidence.NewID() }

// ObjectKeys returns the keys of the objects of waiting and parked reports. A report that is parked meanwhile is found
// in the second index.
func (r *Reports) ObjectKeys(ctx context.Context) (map[string]bool, error) {
	keys := map[string]bool{}
	for _, index := range []string{"accepted", "parked"} {
		query := storage.Query{Index: index, From: &storage.Bound{Value: 0.0}, Limit: storage.MaxMany}
		err := storage.ForEachFields(ctx, r.collection, query, func(record *storage.Record) error {
			key, err := r.objectKey(ctx, record)
			if key != "" {
				keys[key] = true
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// objectKey returns the key of the object of a report, "" if it is damaged, as nobody can read that report. Records of
// earlier versions do not declare it and are read.
func (r *Reports) objectKey(ctx context.Context, record *storage.Record) (string, error) {
	if key, declared := record.Fields["object"].(string); declared {
		return key, nil
	}
	report, err := r.collection.Get(ctx, record.ID)
	if errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrDamaged) {
		return "", nil
	}
	return report.Object, err
}
