package environments

import (
	"context"
	"maps"
	"path"
	"slices"
	"strconv"

	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
)

var successionSchema = storage.NewSchema("successions",
	storage.Index{Name: "lineage", Fields: []string{"lineage", "since"}},
	storage.Index{Name: "flow", Fields: []string{"flow", "time"}})

// Successions keeps which artifacts of a flow's reference name have run in an environment one after the other.
type Successions struct {
	storage.Collection[snapshot.Succession]
}

// NewSuccessions binds the repository to an engine.
func NewSuccessions(docs storage.Documents) *Successions {
	return &Successions{Collection: storage.NewCollection(docs, successionSchema,
		successionID,
		func(s *snapshot.Succession) map[string]any {
			return map[string]any{
				"lineage": lineageKey(s.Environment, s.Lineage()), "since": s.Artifact.Since,
				"flow": idIn(s.Environment, s.Artifact.Origin.Flow), "time": s.At,
			}
		})}
}

func successionID(s *snapshot.Succession) string {
	return successionKey(s.Environment, PredecessorQuery{s.Lineage(), s.Artifact.Fingerprint, s.Artifact.Since})
}

func successionKey(environment string, of PredecessorQuery) string {
	return lineageKey(environment, of.Lineage) + "/" + strconv.FormatInt(of.Since, 10) + "/" + of.Fingerprint
}

func lineageKey(environment string, lineage snapshot.Lineage) string {
	return idIn(environment, lineage.Flow) + "/" + lineage.Slot
}

// PredecessorQuery asks for the predecessor of an artifact in a lineage.
type PredecessorQuery struct {
	Lineage     snapshot.Lineage
	Fingerprint string
	// Since is the number of the snapshot with which it began to run.
	Since int64
}

// predecessorSearch is the search for the predecessors of queries.
type predecessorSearch struct {
	environment string
	waiting     map[string][]PredecessorQuery // by the key of their lineage
	found       map[PredecessorQuery]snapshot.Predecessor
	// own has the snapshots of the last earlier runs of the queries' artifacts that were read.
	own map[PredecessorQuery]int64
	// unread has queries by the ids of runs that would have begun together with the predecessor, and were not read.
	unread map[string]PredecessorQuery
}

// Predecessors returns for each query the last other artifact of its lineage that began to run before it, if any. It
// takes one command if the last thousand successions of the lineages contain them all, and another one if those end amid
// the successions of a predecessor's snapshot.
func (s *Successions) Predecessors(ctx context.Context, environment string, queries []PredecessorQuery) (map[PredecessorQuery]snapshot.Predecessor, error) {
	search := &predecessorSearch{
		environment: environment, waiting: map[string][]PredecessorQuery{}, found: map[PredecessorQuery]snapshot.Predecessor{},
		own: map[PredecessorQuery]int64{}, unread: map[string]PredecessorQuery{},
	}
	for _, query := range queries {
		key := lineageKey(environment, query.Lineage)
		search.waiting[key] = append(search.waiting[key], query)
	}
	keys := slices.Sorted(maps.Keys(search.waiting))
	for some := range slices.Chunk(keys, storage.MaxMany) {
		if err := s.find(ctx, some, search); err != nil {
			return nil, err
		}
	}
	return search.found, s.findUnread(ctx, search)
}

// find reads the successions of lineages backwards. It stops for lineages without a waiting query.
func (s *Successions) find(ctx context.Context, keys []string, search *predecessorSearch) error {
	query := storage.Query{Index: "lineage", Descending: true, Limit: storage.MaxMany}
	for len(keys) > 0 {
		query.Equal = []any{storage.OneOrSet(keys)}
		page, next, err := s.Collection.Find(ctx, query)
		if err != nil {
			return err
		}
		for i := range page {
			key := lineageKey(page[i].Environment, page[i].Lineage())
			search.waiting[key] = slices.DeleteFunc(search.waiting[key], func(query PredecessorQuery) bool {
				return search.accept(query, page[i:], next != "")
			})
		}
		if next == "" {
			return nil
		}
		query.After = next
		keys = slices.DeleteFunc(keys, func(key string) bool { return len(search.waiting[key]) == 0 })
	}
	return nil
}

// accept sets the artifact of the first succession as the query's predecessor, if it is, and then returns true. more is
// set if further ones follow the successions.
func (p *predecessorSearch) accept(query PredecessorQuery, successions []snapshot.Succession, more bool) bool {
	predecessor := successions[0].Artifact
	if predecessor.Since >= query.Since {
		return false
	}
	if predecessor.Fingerprint == query.Fingerprint {
		p.own[query] = max(p.own[query], predecessor.Since)
		return false
	}
	predecessor.Again = p.own[query] > predecessor.Since
	// The successions of a snapshot are in the order of their ids, so a run of the query's artifact may be before or behind.
	run := PredecessorQuery{query.Lineage, query.Fingerprint, predecessor.Since}
	predecessor.Together = p.own[query] == run.Since || slices.ContainsFunc(successions, func(one snapshot.Succession) bool {
		return one.Artifact.Since == run.Since && one.Artifact.Fingerprint == run.Fingerprint && one.Lineage() == run.Lineage
	})
	if last := &successions[len(successions)-1].Artifact; more && last.Since == run.Since && !predecessor.Together {
		p.unread[successionKey(p.environment, run)] = query
	}
	p.found[query] = predecessor
	return true
}

// findUnread looks up the runs that were not read.
func (s *Successions) findUnread(ctx context.Context, search *predecessorSearch) error {
	runs, err := s.Collection.GetMany(ctx, slices.Sorted(maps.Keys(search.unread)))
	for i := range runs {
		query := search.unread[successionID(&runs[i])]
		predecessor := search.found[query]
		predecessor.Together = true
		search.found[query] = predecessor
	}
	return err
}

// Unapproved returns the earlier trails that artifacts brought to an environment unapproved: one command per MaxMany.
func (s *Successions) Unapproved(ctx context.Context, environment string, artifacts []PredecessorQuery) (map[PredecessorQuery][]string, error) {
	keys := evidence.Map(artifacts, func(of PredecessorQuery) string { return successionKey(environment, of) })
	found, err := s.Collection.GetMany(ctx, keys)
	unapproved := make(map[PredecessorQuery][]string, len(found))
	for i := range found {
		artifact := &found[i].Artifact
		unapproved[PredecessorQuery{found[i].Lineage(), artifact.Fingerprint, artifact.Since}] = found[i].Unapproved
	}
	return unapproved, err
}

// Moments returns when artifacts of a flow began to run in environments between two times in Unix seconds, newest
// first, from the newest limit successions: one command per MaxMany. An artifact with two reference names counts once.
func (s *Successions) Moments(ctx context.Context, environments []string, flow string, from, to float64, limit int) ([]float64, error) {
	if len(environments) == 0 {
		return nil, nil
	}
	keys := evidence.Map(environments, func(environment string) string { return idIn(environment, flow) })
	entries, err := storage.FindAllFields(ctx, s.Collection, storage.Query{
		Index: "flow", Equal: []any{storage.OneOrSet(keys)},
		From: &storage.Bound{Value: from}, To: &storage.Bound{Value: to}, Descending: true, Limit: limit,
	})
	// Entries under two reference names differ in nothing else.
	starts := evidence.FirstOfEach(entries, func(entry storage.Record) [3]any {
		return [3]any{entry.Fields["time"], entry.Fields["flow"], path.Base(entry.ID)}
	})
	return evidence.Map(starts, func(start storage.Record) float64 { return start.Float("time") }), err
}
