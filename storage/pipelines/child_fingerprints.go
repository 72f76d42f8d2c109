package pipelines

import (
	"context"
	"slices"

	"attestry/evidence"
	"attestry/storage"
)

var childSchema = storage.NewSchema("child_fingerprints",
	storage.Index{Name: "child", Fields: []string{"org", "child", "reported"}},
).With("parent")

// maxParents limits the artifacts that are found for one child: those that were reported last.
const maxParents = 100

// childFingerprint says that an artifact was reported with a child (docs/semantics.md 5.5).
type childFingerprint struct {
	Org    string `json:"org"`
	Child  string `json:"child"`
	Parent string `json:"parent"` // fingerprint of the artifact
	// Reported is when it was last reported so, in Unix seconds.
	Reported float64 `json:"reported"`
}

type children struct {
	storage.Collection[childFingerprint]
}

func newChildren(docs storage.Documents) children {
	return children{storage.NewCollection(docs, childSchema,
		func(c *childFingerprint) string { return c.Org + "/" + c.Child + "/" + c.Parent },
		func(c *childFingerprint) map[string]any {
			return map[string]any{"org": c.Org, "child": c.Child, "parent": c.Parent, "reported": c.Reported}
		})}
}

func (c children) addIn(batch *storage.Batch, record *evidence.ArtifactRecord) {
	for _, child := range record.ChildFingerprints {
		c.PutIn(batch, childFingerprint{Org: record.Org, Child: child, Parent: record.Fingerprint, Reported: record.CreatedAt})
	}
}

// parents returns the fingerprints of the artifacts that have children of these fingerprints, by child: one command for
// MaxMany of them, and one more for each MaxMany parents. Of one child it returns at most maxParents.
func (c children) parents(ctx context.Context, org string, fingerprints []string) (map[string][]string, error) {
	parents := map[string][]string{}
	for some := range slices.Chunk(slices.Clone(fingerprints), storage.MaxMany) {
		if err := c.addParents(ctx, org, some, parents); err != nil {
			return nil, err
		}
	}
	return parents, nil
}

// addParents stops reading for a child that has maxParents.
func (c children) addParents(ctx context.Context, org string, fingerprints []string, parents map[string][]string) error {
	query := storage.Query{Index: "child", Descending: true, Limit: storage.MaxMany}
	for len(fingerprints) > 0 {
		query.Equal = []any{org, storage.OneOrSet(fingerprints)}
		found, next, err := c.FindFields(ctx, query)
		if err != nil {
			return err
		}
		for i := range found {
			child := found[i].Text("child")
			if len(parents[child]) < maxParents {
				parents[child] = append(parents[child], found[i].Text("parent"))
			}
		}
		if next == "" {
			return nil
		}
		query.After = next
		fingerprints = slices.DeleteFunc(fingerprints, func(child string) bool { return len(parents[child]) == maxParents })
	}
	return nil
}
