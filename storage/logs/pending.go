package logs

import (
	"context"
	"strings"

	"github.com/bytedance/sonic"

	"attestry/evidence/job"
	"attestry/storage"
)

// pageBytes bounds the documents that are read with one command.
const pageBytes = 8 << 20

// Pending returns the leaves of an organization from a time on, in Unix seconds, or 0 for all times, that have no place yet, in
// the order of their times: at most limit.
func (l *Logs) Pending(ctx context.Context, org string, since float64, limit int) ([]Leaf, error) {
	after := leafKey(org, "")
	if since > 0 {
		after = pendingKey(org, since, "")
	}
	return l.list(ctx, after, org, limit)
}

// list returns pending leaves behind a key, of one organization or, if org is "", of all.
func (l *Logs) list(ctx context.Context, after, org string, limit int) ([]Leaf, error) {
	records, err := l.docs.List(ctx, pendingSchema, after, limit, pageBytes)
	if err != nil {
		return nil, l.pending.Wrap("list", org, err)
	}
	leaves := make([]Leaf, 0, len(records))
	for i := range records {
		if org != "" && !strings.HasPrefix(records[i].ID, org+"/") {
			break
		}
		var leaf Leaf
		if err := sonic.Unmarshal(records[i].Body, &leaf); err != nil {
			return nil, storage.Damaged("What waits for the log is damaged", err)
		}
		leaves = append(leaves, leaf)
	}
	return leaves, nil
}

// DropPlaced returns those of the leaves of an organization that are not in the log, each of them once. The others wait no more.
func (l *Logs) DropPlaced(ctx context.Context, leaves []Leaf) ([]Leaf, error) {
	placed, err := l.places.GetMany(ctx, storage.Map(leaves, func(leaf Leaf) string { return leaf.key() }))
	if err != nil {
		return nil, err
	}
	seen := storage.SetOf(placed, func(at *place) string { return at.Name })
	fresh := make([]Leaf, 0, len(leaves))
	var dropped []string
	for i := range leaves {
		if name := leaves[i].name(); !seen[name] {
			seen[name] = true
			fresh = append(fresh, leaves[i])
			continue
		}
		dropped = append(dropped, leaves[i].pendingKey())
	}
	return fresh, l.pending.Delete(ctx, dropped...)
}

// Unplaced names, for a relay, the next organization behind the one of the cursor with leaves that have no place yet: one
// command.
func (l *Logs) Unplaced(ctx context.Context, _ float64, after string) ([]job.Ref, string, error) {
	if after != "" {
		after += "0" // behind all keys that begin with the organization and a slash
	}
	found, err := l.list(ctx, after, "", 1)
	if err != nil || len(found) == 0 {
		return nil, "", err
	}
	org := found[0].Org
	return []job.Ref{{Kind: &job.Sequence, Key: org, Payload: job.Payload{Org: org}, Due: found[0].At}}, org, nil
}

// Lag is for how long the oldest leaf of all organizations waits that has no place, in seconds; 0 if none does.
func (l *Logs) Lag(ctx context.Context, now float64) (longest float64, err error) {
	for after := ""; ; {
		refs, org, err := l.Unplaced(ctx, 0, after)
		if err != nil || len(refs) == 0 {
			return longest, err
		}
		after, longest = org, max(longest, now-refs[0].Due)
	}
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
	refs := storage.Map(found, func(record storage.Record) job.Ref {
		return job.Ref{Kind: kind, Key: record.ID, Payload: job.Payload{Org: record.ID}, Due: record.Float(index)}
	})
	return refs, next, err
}
