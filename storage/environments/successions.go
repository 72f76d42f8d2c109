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
		func(s *snapshot.Succession) string {
			return successionKey(s.Environment, PredecessorQuery{s.Lineage(), s.Artifact.Fingerprint, s.Artifact.Since})
		},
		func(s *snapshot.Succession) map[string]any {
			return map[string]any{
				"lineage": lineageKey(s.Environment, s.Lineage()), "since": s.Artifact.Since,
				"flow": flowKey(s.Environment, s.Artifact.Origin.Flow), "time": s.At,
			}
		})}
}

func flowKey(environment, flow string) string { return environment + "/" + flow }

func successionKey(environment string, of PredecessorQuery) string {
	return lineageKey(environment, of.Lineage) + "/" + strconv.FormatInt(of.Since, 10) + "/" + of.Fingerprint
}

func lineageKey(environment string, lineage snapshot.Lineage) string {
	return flowKey(environment, lineage.Flow) + "/" + lineage.Slot
}

// PredecessorQuery asks for the predecessor of an artifact in a lineage.
type PredecessorQuery struct {
	Lineage     snapshot.Lineage
	Fingerprint string
	// Since is the number of the snapshot with which it began to run.
	Since int64
}

// Predecessors returns for each query the last other artifact of its lineage that began to run before it, if any. It
// takes one command if the lineages have at most a thousand successions, and two if the last thousand contain them all.
func (s *Successions) Predecessors(ctx context.Context, environment string, queries []PredecessorQuery) (map[PredecessorQuery]snapshot.Predecessor, error) {
	waiting := map[string][]PredecessorQuery{}
	for _, query := range queries {
		key := lineageKey(environment, query.Lineage)
		waiting[key] = append(waiting[key], query)
	}
	found := map[PredecessorQuery]snapshot.Predecessor{}
	own := map[PredecessorQuery]int64{}
	keys := slices.Sorted(maps.Keys(waiting))
	for some := range slices.Chunk(keys, storage.MaxMany) {
		all, err := s.find(ctx, some, waiting, found, own)
		if err == nil && !all {
			err = s.setTogether(ctx, environment, found)
		}
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// find reads the successions of lineages backwards. It stops for lineages without a waiting query. all is true if it has
// read all of them.
func (s *Successions) find(ctx context.Context, keys []string, waiting map[string][]PredecessorQuery, found map[PredecessorQuery]snapshot.Predecessor, own map[PredecessorQuery]int64) (all bool, err error) {
	query := storage.Query{Index: "lineage", Descending: true, Limit: storage.MaxMany}
	for len(keys) > 0 {
		query.Equal = []any{storage.OneOrSet(keys)}
		page, next, err := s.Collection.Find(ctx, query)
		if err != nil {
			return false, err
		}
		for i := range page {
			key := lineageKey(page[i].Environment, page[i].Lineage())
			waiting[key] = slices.DeleteFunc(waiting[key], func(query PredecessorQuery) bool {
				return query.accept(page[i:], found, own)
			})
		}
		if next == "" {
			return true, nil
		}
		query.After = next
		keys = slices.DeleteFunc(keys, func(key string) bool { return len(waiting[key]) == 0 })
	}
	return false, nil
}

// accept adds the artifact of the first succession to found if it is the query's predecessor, and then returns true. If it
// is an earlier run of the query's artifact, it adds the snapshot of the last one to own.
func (q PredecessorQuery) accept(successions []snapshot.Succession, found map[PredecessorQuery]snapshot.Predecessor, own map[PredecessorQuery]int64) bool {
	artifact := &successions[0].Artifact
	if artifact.Since >= q.Since {
		return false
	}
	if artifact.Fingerprint == q.Fingerprint {
		own[q] = max(own[q], artifact.Since)
		return false
	}
	predecessor := *artifact
	predecessor.Again = own[q] > artifact.Since
	// The successions of a snapshot are in the order of their ids, so the query's artifact may be before or behind this one.
	predecessor.Together = own[q] == artifact.Since
	for i := range successions {
		run := &successions[i]
		if run.Artifact.Since == artifact.Since && run.Artifact.Fingerprint == q.Fingerprint && run.Lineage() == q.Lineage {
			predecessor.Together = true
		}
	}
	found[q] = predecessor
	return true
}

// setTogether looks for runs that began with the same snapshot as their predecessors and that find has not read.
func (s *Successions) setTogether(ctx context.Context, environment string, found map[PredecessorQuery]snapshot.Predecessor) error {
	asked := map[string]PredecessorQuery{}
	for query, predecessor := range found {
		if !predecessor.Again && !predecessor.Together {
			asked[successionKey(environment, PredecessorQuery{query.Lineage, query.Fingerprint, predecessor.Since})] = query
		}
	}
	together, err := s.Collection.GetMany(ctx, slices.Sorted(maps.Keys(asked)))
	for i := range together {
		run := &together[i].Artifact
		query := asked[successionKey(environment, PredecessorQuery{together[i].Lineage(), run.Fingerprint, run.Since})]
		predecessor := found[query]
		predecessor.Together = true
		found[query] = predecessor
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
	keys := evidence.Map(environments, func(environment string) string { return flowKey(environment, flow) })
	entries, err := storage.FindAllFields(ctx, s.Collection, storage.Query{
		Index: "flow", Equal: []any{storage.OneOrSet(keys)},
		From: &storage.Bound{Value: from}, To: &storage.Bound{Value: to}, Descending: true, Limit: limit,
	})
	// Entries under two reference names differ in nothing else.
	starts := storage.FirstOfEach(entries, func(entry storage.Record) [3]any {
		return [3]any{entry.Fields["time"], entry.Fields["flow"], path.Base(entry.ID)}
	})
	return evidence.Map(starts, func(start storage.Record) float64 { return start.Float("time") }), err
}
