package pipelines

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"attestry/evidence"
	"attestry/storage"
)

var trailSchema = storage.NewSchema("trails",
	storage.Index{Name: "created", Fields: []string{"org", "created"}},
	storage.Index{Name: "flow", Fields: []string{"org", "flow", "created"}},
	storage.Index{Name: "unsettled", Fields: []string{"unsettled"}, Required: "unsettled"},
	storage.Index{Name: "author", Fields: []string{"org", "author_changed"}, Required: "author_changed"},
).With("approved")

// Trails keeps the trails of flows.
type Trails struct {
	storage.Collection[evidence.Trail]
	Tallies     *TrailTallies
	events      *TrailEvents
	generations *storage.Generations
}

// NewTrails binds the repository to an engine.
func NewTrails(docs storage.Documents, tallies *TrailTallies, events *TrailEvents, generations *storage.Generations) *Trails {
	return &Trails{Tallies: tallies, events: events, generations: generations, Collection: storage.NewCollection(docs, trailSchema,
		func(t *evidence.Trail) string { return t.Key() },
		func(t *evidence.Trail) map[string]any {
			fields := map[string]any{"org": t.Org, "flow": t.Flow, "created": t.CreatedAt}
			if at, ok := unsettledSince(t); ok {
				fields["unsettled"] = at
			}
			if t.AuthorChangedAt != 0 {
				fields["author_changed"] = t.AuthorChangedAt
			}
			if t.Approved {
				fields["approved"] = true
			}
			return fields
		})}
}

// unsettledSince returns since when a trail has changes that are not processed. Later reports do not move this time, so
// that the changes of a busy trail are processed too.
func unsettledSince(t *evidence.Trail) (float64, bool) {
	switch {
	case t.Uncounted:
		return t.CreatedAt, true
	case len(t.Pending) > 0:
		return t.Pending[0].Time, true
	}
	return 0, false
}

// Get returns the trail of that name in a flow, or ErrNotFound.
func (t *Trails) Get(ctx context.Context, flow, name string) (evidence.Trail, error) {
	return t.Collection.Get(ctx, evidence.TrailKey(flow, name))
}

// TrailQuery asks for a page of an organization's trails, newest first.
type TrailQuery struct {
	Org string
	// Flows are the ids of the flows to look in; nil means all.
	Flows         []string
	Offset, Limit int
}

// List reads a page of trails.
func (t *Trails) List(ctx context.Context, q TrailQuery) (*storage.Batches[evidence.Trail], error) {
	query := storage.Query{Index: "created", Equal: []any{q.Org}, Descending: true, Offset: q.Offset, Limit: q.Limit}
	switch {
	case q.Flows == nil:
		return storage.QueryBatches(t.Collection, query), nil
	case len(q.Flows) == 0:
		return storage.SingleBatch[evidence.Trail](nil), nil
	case len(q.Flows) <= storage.MaxMany:
		query.Index, query.Equal = "flow", []any{q.Org, storage.TextSet(q.Flows)}
		return storage.QueryBatches(t.Collection, query), nil
	}
	// Each part has all of its entries that the page may contain, so their merge contains the page.
	var entries []storage.Record
	for flows := range slices.Chunk(q.Flows, storage.MaxMany) {
		query.Index, query.Equal = "flow", []any{q.Org, storage.TextSet(flows)}
		query.Offset, query.Limit = 0, q.Offset+q.Limit
		part, err := storage.FindAllFields(ctx, t.Collection, query)
		if err != nil {
			return nil, err
		}
		entries = append(entries, part...)
	}
	slices.SortFunc(entries, func(a, b storage.Record) int { return compareCreated(b, a) })
	start := min(q.Offset, len(entries))
	return t.OfIDs(storage.RecordIDs(entries[start:min(start+q.Limit, len(entries))])), nil
}

// Containing returns the keys of an organization's newest trails whose names contain a text, in any case
// (docs/semantics.md 15.5).
func (t *Trails) Containing(ctx context.Context, org, text string) ([]string, error) {
	query := storage.Query{Index: "created", Equal: []any{org}, Descending: true}
	return containing(ctx, t.Collection, query, text, func(entry *storage.Record) string {
		_, name, _ := strings.Cut(entry.ID, "/")
		return name
	})
}

// maxSearched is how many of the newest documents a search by name reads.
const maxSearched = 10_000

// containing reads the first maxSearched documents of a query and returns the ids of those whose names contain a text.
// It reads only fields, with a command for each MaxMany.
func containing[T any](ctx context.Context, in storage.Collection[T], query storage.Query, text string, name func(*storage.Record) string) ([]string, error) {
	query.Offset, query.Limit = 0, maxSearched
	entries, err := storage.FindAllFields(ctx, in, query)
	entries = slices.DeleteFunc(entries, func(entry storage.Record) bool { return !evidence.ContainsFold(name(&entry), text) })
	return storage.RecordIDs(entries), err
}

// Totals returns how many trails flows have; nil means all flows.
func (t *Trails) Totals(ctx context.Context, org string, flows []string) (int64, error) {
	var tallies []TrailTally
	var err error
	if flows == nil {
		tallies, err = t.Tallies.OfOrg(ctx, org)
	} else {
		tallies, err = t.Tallies.GetMany(ctx, flows)
	}
	total := int64(0)
	for _, tally := range tallies {
		total += tally.Trails
	}
	return total, err
}

// Latest returns the newest trail of each flow, by the flow's id.
func (t *Trails) Latest(ctx context.Context, flows []string) (map[string]evidence.Trail, error) {
	tallies, err := t.Tallies.GetMany(ctx, flows)
	if err != nil {
		return nil, err
	}
	found, err := t.GetMany(ctx, evidence.Map(tallies, func(tally TrailTally) string { return tally.Latest }))
	return evidence.ByKey(found, func(trail *evidence.Trail) string { return trail.Flow }), err
}

// Events returns the events of a trail, oldest first.
func (t *Trails) Events(ctx context.Context, trail *evidence.Trail) ([]evidence.TrailEvent, error) {
	events, err := t.events.OfTrail(ctx, trail.Org, trail.Key())
	if err != nil {
		return nil, err
	}
	known := evidence.SetOf(events, func(event *evidence.TrailEvent) string { return event.ID })
	for _, event := range trail.Pending {
		if !known[event.ID] {
			events = append(events, event)
		}
	}
	slices.SortStableFunc(events, func(a, b evidence.TrailEvent) int { return cmp.Compare(a.Time, b.Time) })
	return events, nil
}

// ApplyPending applies the pending events of a trail, and its count, to the collections that keep them. It is
// idempotent.
func (t *Trails) ApplyPending(ctx context.Context, trail evidence.Trail) error {
	if !trail.Uncounted && len(trail.Pending) == 0 {
		return nil
	}
	if trail.Uncounted {
		if err := t.Tallies.Add(ctx, &trail); err != nil {
			return err
		}
	}
	if err := t.events.Add(ctx, trail.Pending...); err != nil {
		return err
	}
	_, err := t.Collection.Update(ctx, trail.Key(), func(stored *evidence.Trail) error {
		stored.Uncounted = false
		stored.Pending = slices.DeleteFunc(stored.Pending, func(event evidence.TrailEvent) bool {
			return slices.ContainsFunc(trail.Pending, func(done evidence.TrailEvent) bool { return done.ID == event.ID })
		})
		return nil
	})
	return err
}

// ApplyPendingBefore calls ApplyPending for trails that have been unsettled since before a time, as after a crash, and
// returns how many. A change may be another template, so everything that runs in the organization is evaluated again.
func (t *Trails) ApplyPendingBefore(ctx context.Context, before float64) (int, error) {
	settled := 0
	err := storage.ForEach(ctx, t.Collection, storage.Query{
		Index: "unsettled", From: &storage.Bound{Value: 0.0}, To: &storage.Bound{Value: before}, Limit: 100,
	}, func(trail *evidence.Trail) error {
		settled++
		if err := t.generations.Bump(ctx, trail.Org); err != nil {
			return err
		}
		return t.ApplyPending(ctx, *trail)
	})
	return settled, err
}

var trailTallySchema = storage.NewSchema("trail_tallies", storage.Index{Name: "org", Fields: []string{"org"}})

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
	storage.Collection[TrailTally]
}

// NewTrailTallies binds the repository to an engine.
func NewTrailTallies(docs storage.Documents) *TrailTallies {
	return &TrailTallies{Collection: storage.NewCollection(docs, trailTallySchema,
		func(t *TrailTally) string { return t.Flow },
		func(t *TrailTally) map[string]any { return map[string]any{"org": t.Org} })}
}

// Add counts a trail. Concurrent calls for one flow in this process share one write.
func (t *TrailTallies) Add(ctx context.Context, trail *evidence.Trail) error {
	_, err := storage.Upsert(ctx, t.Collection, TrailTally{Org: trail.Org, Flow: trail.Flow},
		storage.WithoutError(func(tally *TrailTally) { tally.add(trail) }))
	return err
}

// AddIn counts trails of a flow with a batch. seen is what GetOrZero returned.
func (t *TrailTallies) AddIn(batch *storage.Batch, trails []evidence.Trail, seen storage.Versioned[TrailTally]) {
	tally := seen.Value
	if seen.Revision == 0 {
		tally = TrailTally{Org: trails[0].Org, Flow: trails[0].Flow}
	}
	for i := range trails {
		tally.add(&trails[i])
	}
	t.Collection.StoreIn(batch, &tally, seen.Revision)
}

// OfOrg returns the tallies of all flows of an organization.
func (t *TrailTallies) OfOrg(ctx context.Context, org string) ([]TrailTally, error) {
	return storage.FindAll(ctx, t.Collection, storage.Query{Index: "org", Equal: []any{org}, Limit: storage.Unlimited})
}
