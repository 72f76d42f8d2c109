package governance

import (
	"context"
	"errors"

	"attestry/evidence"
	"attestry/evidence/approval"
	"attestry/storage"
)

// The reconciler finds approvals by "created" and the trails of their events in "trail".
var approvalSchema = storage.NewSchema("approvals",
	storage.Index{Name: "number", Fields: []string{"flow", "number"}},
	storage.Index{Name: "state", Fields: []string{"flow", "state", "number"}},
	storage.Index{Name: "fingerprint", Fields: []string{"flow", "fingerprint", "number"}},
	storage.Index{Name: "created", Fields: []string{"org", "created"}}).With("trail")

// Approvals keeps the approvals of artifacts, by flow and release number.
type Approvals struct {
	docs       storage.Documents
	Collection storage.Collection[approval.Approval]
}

// NewApprovals binds the repository to an engine.
func NewApprovals(docs storage.Documents) *Approvals {
	return &Approvals{docs: docs, Collection: storage.NewCollection(docs, approvalSchema, (*approval.Approval).Key,
		func(a *approval.Approval) map[string]any {
			return map[string]any{
				"org": a.Org, "flow": a.Flow, "number": int64(a.Number), "state": string(a.State),
				"fingerprint": a.Target, "trail": a.TrailKey(), "created": a.CreatedAt,
			}
		})}
}

// Add stores an approval under the next release number of its flow, with a later time than the one before, and returns
// it. Its insertion takes the number, so that there are no gaps. addWrites, if not nil, adds later writes to its batch.
func (a *Approvals) Add(ctx context.Context, fresh approval.Approval, addWrites func(*storage.Batch, *approval.Approval) error) (approval.Approval, error) {
	for range versionAttempts {
		last, err := a.last(ctx, storage.Query{Index: "number", Equal: []any{fresh.Flow}})
		if err != nil {
			return fresh, err
		}
		approved := last
		if last.State != approval.Approved {
			approved, err = a.last(ctx, storage.Query{Index: "state", Equal: []any{fresh.Flow, string(approval.Approved)}})
			if err != nil {
				return fresh, err
			}
		}
		next := fresh
		next.Follow(&last, &approved)
		batch := &storage.Batch{}
		a.Collection.InsertIn(batch, &next)
		if addWrites != nil {
			if err := addWrites(batch, &next); err != nil {
				return fresh, err
			}
		}
		err = batch.Write(ctx, a.docs)
		if !errors.Is(err, storage.ErrExists) {
			return next, err
		}
	}
	return fresh, evidence.Errorf(evidence.Conflict,
		"Artifact '%s' is being approved by many requests at once, please try again", fresh.Target)
}

// last returns the last document of a query that orders by number, zero if there is none.
func (a *Approvals) last(ctx context.Context, query storage.Query) (approval.Approval, error) {
	query.Descending, query.Limit = true, 1
	found, err := storage.FindFirst(ctx, a.Collection, query)
	return found, storage.IgnoreMissing(err)
}

// Get returns the approval of a flow with a release number, or ErrNotFound.
func (a *Approvals) Get(ctx context.Context, flow string, number int) (approval.Approval, error) {
	return a.Collection.Get(ctx, approval.Key(flow, number))
}

// List reads a page of the approvals of a flow, newest first.
func (a *Approvals) List(flow string, offset, limit int) *storage.Batches[approval.Approval] {
	return storage.QueryBatches(a.Collection, storage.Query{
		Index: "number", Equal: []any{flow}, Descending: true, Offset: offset, Limit: limit,
	})
}

// OfArtifact reads the approvals of an artifact in a flow, newest first.
func (a *Approvals) OfArtifact(flow, fingerprint string) *storage.Batches[approval.Approval] {
	return storage.QueryBatches(a.Collection, storage.Query{
		Index: "fingerprint", Equal: []any{flow, fingerprint}, Descending: true, Limit: storage.Unlimited,
	})
}

// Numbers returns the release numbers of artifacts in a flow, ascending, by fingerprint: one command for MaxMany
// fingerprints, and one more for each MaxMany approvals.
func (a *Approvals) Numbers(ctx context.Context, flow string, fingerprints []string) (map[string][]int, error) {
	numbers := map[string][]int{}
	err := storage.EachSet(evidence.Distinct(fingerprints), func(set any) error {
		query := storage.Query{Index: "fingerprint", Equal: []any{flow, set}, Limit: storage.MaxMany}
		return storage.ForEachFields(ctx, a.Collection, query, func(record *storage.Record) error {
			fingerprint := record.Text("fingerprint")
			numbers[fingerprint] = append(numbers[fingerprint], int(record.Integer("number")))
			return nil
		})
	})
	return numbers, err
}
