package pipelines

import (
	"context"
	"slices"

	"attestry/evidence"
	"attestry/storage"
)

var trailTallySchema = &storage.Schema{
	Name:    "trail_tallies",
	Fields:  []string{"org"},
	Indexes: []storage.Index{{Name: "org", Fields: []string{"org"}}},
}

// maxRecent is how many of the last trails a tally remembers, so that a crash does not make it count one twice.
const maxRecent = 64

// TrailTally counts the trails of a flow.
type TrailTally struct {
	Org    string `json:"org"`
	Flow   string `json:"flow"` // id
	Trails int64  `json:"trails"`
	// Latest is the key of the trail that was begun last, at LatestAt.
	Latest   string   `json:"latest"`
	LatestAt float64  `json:"latest_at"`
	Recent   []string `json:"recent"`
}

func (t *TrailTally) add(trail *evidence.Trail) {
	key := trail.Key()
	if slices.Contains(t.Recent, key) {
		return
	}
	t.Trails++
	t.Recent = append(t.Recent, key)
	if excess := len(t.Recent) - maxRecent; excess > 0 {
		t.Recent = slices.Delete(t.Recent, 0, excess)
	}
	if trail.CreatedAt > t.LatestAt || trail.CreatedAt == t.LatestAt && key > t.Latest {
		t.Latest, t.LatestAt = key, trail.CreatedAt
	}
}

// TrailTallies keeps one tally per flow.
type TrailTallies struct {
	collection storage.Collection[TrailTally]
}

// NewTrailTallies binds the repository to an engine.
func NewTrailTallies(docs storage.Documents) *TrailTallies {
	return &TrailTallies{collection: storage.NewCollection(docs, trailTallySchema,
		func(t *TrailTally) string { return t.Flow },
		func(t *TrailTally) map[string]any { return map[string]any{"org": t.Org} })}
}

// LookUp returns the tally of a flow for AddIn, with revision 0 if there is none.
func (t *TrailTallies) LookUp(ctx context.Context, flow string) (storage.Versioned[TrailTally], error) {
	return storage.GetOrZero(ctx, t.collection, flow)
}

// Add counts a trail. Those of a flow that are counted at once in this process share one write.
func (t *TrailTallies) Add(ctx context.Context, trail *evidence.Trail) error {
	_, err := storage.Upsert(ctx, t.collection, trail.Flow,
		func() TrailTally { return TrailTally{Org: trail.Org, Flow: trail.Flow} },
		func(tally *TrailTally) error {
			tally.add(trail)
			return nil
		})
	return err
}

// AddIn adds to a batch that trails of a flow are counted. seen is what LookUp returned.
func (t *TrailTallies) AddIn(batch *storage.Batch, trails []evidence.Trail, seen storage.Versioned[TrailTally]) {
	tally := seen.Value
	if seen.Revision == 0 {
		tally = TrailTally{Org: trails[0].Org, Flow: trails[0].Flow}
	}
	for i := range trails {
		tally.add(&trails[i])
	}
	t.collection.StoreIn(batch, &tally, seen.Revision)
}

// Of returns the tallies of flows; a flow without trails may have none.
func (t *TrailTallies) Of(ctx context.Context, flows []string) ([]TrailTally, error) {
	return t.collection.GetMany(ctx, flows)
}

// OfOrg returns the tallies of all flows of an organization.
func (t *TrailTallies) OfOrg(ctx context.Context, org string) ([]TrailTally, error) {
	return storage.FindAll(ctx, t.collection, storage.Query{Index: "org", Equal: []any{org}, Limit: storage.Unlimited})
}
