package logs

import (
	"context"

	"attestry/evidence/job"
	"attestry/storage"
)

// Unplaced names, for a relay, the next organization behind the one of the cursor with leaves that have no place yet: one
// command.
func (l *Logs) Unplaced(ctx context.Context, _ float64, after string) ([]job.Ref, string, error) {
	found, _, err := l.leaves.FindFields(ctx, storage.Query{Index: "pending", From: &storage.Bound{Value: after, Exclusive: true}, Limit: 1})
	if err != nil || len(found) == 0 {
		return nil, "", err
	}
	org, _ := found[0].Fields["org"].(string)
	since, _ := found[0].Fields["pending"].(float64)
	return []job.Ref{{Kind: &job.Sequence, Key: org, Payload: job.Payload{Org: org}, Due: since}}, org, nil
}

// Unsigned names, for a relay, a page of the logs of which a checkpoint is due.
func (l *Logs) Unsigned(ctx context.Context, now float64, after string) ([]job.Ref, string, error) {
	return l.due(ctx, "due", &job.Sequence, now, after)
}

// Uncosigned names, for a relay, a page of the logs whose witnesses are to be asked.
func (l *Logs) Uncosigned(ctx context.Context, now float64, after string) ([]job.Ref, string, error) {
	return l.due(ctx, cosignIndex.Name, &job.Cosign, now, after)
}

// due names the logs on which work of a kind is due, by the index of its time, which has the name of its field.
func (l *Logs) due(ctx context.Context, index string, kind *job.Kind, now float64, after string) ([]job.Ref, string, error) {
	found, next, err := l.logs.FindFields(ctx, storage.Query{
		Index: index, From: &storage.Bound{Value: 0.0}, To: &storage.Bound{Value: now}, After: after, Limit: storage.MaxMany,
	})
	refs := make([]job.Ref, 0, len(found))
	for _, record := range found {
		due, _ := record.Fields[index].(float64)
		refs = append(refs, job.Ref{Kind: kind, Key: record.ID, Payload: job.Payload{Org: record.ID}, Due: due})
	}
	return refs, next, err
}

// Oldest returns since when leaves of an organization, or of the one behind it, have no place, in Unix seconds, and the
// organization; "" if there is none.
func (l *Logs) Oldest(ctx context.Context, after string) (org string, since float64, err error) {
	refs, org, err := l.Unplaced(ctx, 0, after)
	if len(refs) == 0 {
		return "", 0, err
	}
	return org, refs[0].Due, nil
}
