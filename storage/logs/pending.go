package logs

import (
	"context"
	"strings"

	"github.com/bytedance/sonic"

	"attestry/evidence"
	"attestry/evidence/job"
	"attestry/storage"
)

// pageBytes bounds the documents that are read with one command.
const pageBytes = 8 << 20

// Pending returns the pending leaves of an organization from a time on, in Unix seconds, or 0 for all times, in the
// order of their times: at most limit.
func (l *Logs) Pending(ctx context.Context, org string, since float64, limit int) ([]Leaf, error) {
	after := leafKey(org, "")
	if since > 0 {
		after = pendingKey(org, since, "")
	}
	return l.list(ctx, after, org, limit)
}

// list returns pending leaves after a key, of one organization or, if org is "", of all.
func (l *Logs) list(ctx context.Context, after, org string, limit int) ([]Leaf, error) {
	records, err := l.docs.List(ctx, PendingSchema, after, limit, pageBytes)
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
			return nil, storage.Damaged("A leaf that waits for the log is damaged", err)
		}
		leaves = append(leaves, leaf)
	}
	return leaves, nil
}

// DropIndexed returns the leaves that are not in the log, each once, and deletes the others from the pending leaves.
func (l *Logs) DropIndexed(ctx context.Context, leaves []Leaf) ([]Leaf, error) {
	indexed, err := l.locations.GetMany(ctx, evidence.Map(leaves, func(leaf Leaf) string { return leaf.key() }))
	if err != nil {
		return nil, err
	}
	seen := evidence.SetOf(indexed, func(at *location) string { return at.Name })
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

// WithPending returns, for a relay, the job of the next organization with pending leaves after the cursor: one command.
func (l *Logs) WithPending(ctx context.Context, _ float64, after string) ([]job.Ref, string, error) {
	if after != "" {
		after += "0" // sorts after all keys that begin with the organization and a slash
	}
	found, err := l.list(ctx, after, "", 1)
	if err != nil || len(found) == 0 {
		return nil, "", err
	}
	org := found[0].Org
	return []job.Ref{{Kind: &job.Sequence, Key: org, Payload: job.Payload{Org: org}, Due: found[0].At}}, org, nil
}

// Lag returns for how long the oldest pending leaf of all organizations has waited, in seconds; 0 if there is none.
func (l *Logs) Lag(ctx context.Context, now float64) (longest float64, err error) {
	for after := ""; ; {
		refs, org, err := l.WithPending(ctx, 0, after)
		if err != nil || len(refs) == 0 {
			return longest, err
		}
		after, longest = org, max(longest, now-refs[0].Due)
	}
}

// Unsigned returns, for a relay, a page of the logs of which a checkpoint is due.
func (l *Logs) Unsigned(ctx context.Context, now float64, after string) ([]job.Ref, string, error) {
	return l.due(ctx, "due", &job.Sequence, now, after)
}

// Uncosigned returns, for a relay, a page of the logs that witnesses are to cosign.
func (l *Logs) Uncosigned(ctx context.Context, now float64, after string) ([]job.Ref, string, error) {
	return l.due(ctx, cosignIndex.Name, &job.Cosign, now, after)
}

// due returns a page of the logs on which work of a kind is due. index is that of its time, and the name of its field.
func (l *Logs) due(ctx context.Context, index string, kind *job.Kind, now float64, after string) ([]job.Ref, string, error) {
	found, next, err := l.Collection.FindFields(ctx, storage.Query{
		Index: index, From: &storage.Bound{Value: 0.0}, To: &storage.Bound{Value: now}, After: after, Limit: storage.MaxMany,
	})
	refs := evidence.Map(found, func(record storage.Record) job.Ref {
		return job.Ref{Kind: kind, Key: record.ID, Payload: job.Payload{Org: record.ID}, Due: record.Float(index)}
	})
	return refs, next, err
}
