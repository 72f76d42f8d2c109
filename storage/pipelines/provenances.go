package pipelines

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
)

// The indexes are those of the builds: the first record of each fingerprint.
var provenanceSchema = storage.NewSchema("provenance",
	storage.Index{Name: "built", Fields: []string{"org", "built"}},
	storage.Index{Name: "repo", Fields: []string{"org", "repo", "built"}},
)

// maxFlows is how many flows of a fingerprint are kept: the first that had it. Snapshots copy them for each artifact.
const maxFlows = 500

// Provenance has the flows of a fingerprint, and its build: its first report in any flow (docs/semantics.md 14.3).
type Provenance struct {
	Org         string `json:"org"`
	Fingerprint string `json:"fingerprint"`
	// Flows holds the newest record of each flow, by the flow's id.
	Flows map[string]evidence.Origin `json:"flows"`
	// Children are those of all its records, sorted.
	Children []string `json:"children,omitempty"`
	// Build is the first record of all.
	Build evidence.Origin `json:"build"`
	// Latest is the time of the newest record of all, in Unix seconds.
	Latest float64 `json:"latest"`
}

// Origins lists the newest record of each flow, beginning with the flow that built the artifact first.
func (p *Provenance) Origins() []evidence.Origin {
	origins := slices.AppendSeq(make([]evidence.Origin, 0, len(p.Flows)), maps.Values(p.Flows))
	evidence.SortOrigins(origins)
	return origins
}

// add adds a record. Records may come in any order.
func (p *Provenance) add(record *evidence.ArtifactRecord) {
	p.Children = slices.Compact(slices.Sorted(slices.Values(slices.Concat(p.Children, record.ChildFingerprints))))
	p.addOrigin(record.Origin())
	p.prune()
}

func (p *Provenance) addOrigin(origin evidence.Origin) {
	p.Latest = max(p.Latest, origin.Time)
	if p.Build.Record == "" || earlier(&origin, &p.Build) {
		p.Build = origin
	}
	if known, ok := p.Flows[origin.Flow]; ok {
		first := min(known.First, origin.First)
		if known.Later(&origin) {
			origin = known
		}
		origin.First = first
	}
	p.Flows[origin.Flow] = origin
}

// prune drops the flows that had the fingerprint last, if there are too many or they are too large.
func (p *Provenance) prune() {
	size := 0
	for _, origin := range p.Flows {
		size += snapshot.OriginSize(&origin)
	}
	if len(p.Flows) <= maxFlows && size <= snapshot.MaxOriginsSize {
		return
	}
	origins := p.Origins()
	for last := len(origins) - 1; last > 0 && (last >= maxFlows || size > snapshot.MaxOriginsSize); last-- {
		size -= snapshot.OriginSize(&origins[last])
		delete(p.Flows, origins[last].Flow)
	}
}

func earlier(a, b *evidence.Origin) bool {
	return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Record, b.Record)) < 0
}

// Provenances keeps the provenance of fingerprints.
type Provenances struct {
	docs       storage.Documents
	collection storage.Collection[Provenance]
	children   children
}

// NewProvenances binds the repository to an engine.
func NewProvenances(docs storage.Documents) *Provenances {
	return &Provenances{docs: docs, children: newChildren(docs), collection: storage.NewCollection(docs, provenanceSchema,
		func(p *Provenance) string { return idIn(p.Org, p.Fingerprint) },
		func(p *Provenance) map[string]any {
			return map[string]any{"org": p.Org, "repo": p.Build.Repo, "built": p.Build.Time}
		})}
}

// LookUp returns the provenance of a fingerprint for AddIn, with revision 0 if there is none.
func (p *Provenances) LookUp(ctx context.Context, org, fingerprint string) (storage.Versioned[Provenance], error) {
	return p.collection.GetOrZero(ctx, idIn(org, fingerprint))
}

// AddIn adds a record to its provenance with a batch. seen is what LookUp returned.
func (p *Provenances) AddIn(batch *storage.Batch, record *evidence.ArtifactRecord, seen storage.Versioned[Provenance]) {
	known := seen.Value
	if seen.Revision == 0 {
		known = newProvenance(record.Org, record.Fingerprint)
	}
	known.add(record)
	p.collection.StoreIn(batch, &known, seen.Revision)
	p.children.addIn(batch, record)
}

// Add adds a record to its provenance. Concurrent ones of one fingerprint in this process share one write.
func (p *Provenances) Add(ctx context.Context, record *evidence.ArtifactRecord) error {
	_, err := storage.Upsert(ctx, p.collection, newProvenance(record.Org, record.Fingerprint),
		storage.WithoutError(func(known *Provenance) { known.add(record) }))
	if err != nil || len(record.ChildFingerprints) == 0 {
		return err
	}
	batch := &storage.Batch{}
	p.children.addIn(batch, record)
	return batch.Write(ctx, p.docs)
}

func newProvenance(org, fingerprint string) Provenance {
	return Provenance{Org: org, Fingerprint: fingerprint, Flows: map[string]evidence.Origin{}}
}

// GetMany returns the provenance of fingerprints. A child has that of the artifacts it was reported with. Unknown
// fingerprints are left out: looking for them takes a command more for MaxMany, and two if some are children.
func (p *Provenances) GetMany(ctx context.Context, org string, fingerprints []string) ([]Provenance, error) {
	found, err := p.ofArtifacts(ctx, org, fingerprints)
	if err != nil || len(found) == len(fingerprints) {
		return found, err
	}
	known := evidence.SetOf(found, func(p *Provenance) string { return p.Fingerprint })
	unknown := slices.DeleteFunc(slices.Clone(fingerprints), func(fingerprint string) bool { return known[fingerprint] })
	parents, err := p.children.parents(ctx, org, unknown)
	if err != nil || len(parents) == 0 {
		return found, err
	}
	artifacts, err := p.ofArtifacts(ctx, org, evidence.Distinct(slices.Concat(slices.Collect(maps.Values(parents))...)))
	if err != nil {
		return nil, err
	}
	byFingerprint := evidence.ByKey(artifacts, func(p *Provenance) string { return p.Fingerprint })
	for _, child := range slices.Sorted(maps.Keys(parents)) {
		merged := newProvenance(org, child)
		for _, parent := range parents[child] {
			for _, origin := range byFingerprint[parent].Flows {
				origin.Parent = parent
				merged.addOrigin(origin)
			}
		}
		merged.prune()
		found = append(found, merged)
	}
	return found, nil
}

// Children returns the children of artifacts, by fingerprint: one command for MaxMany, and none for no artifact.
func (p *Provenances) Children(ctx context.Context, org string, fingerprints []string) (map[string][]string, error) {
	found, err := p.ofArtifacts(ctx, org, fingerprints)
	return evidence.ToMap(found, func(p *Provenance) (string, []string) { return p.Fingerprint, p.Children }), err
}

func (p *Provenances) ofArtifacts(ctx context.Context, org string, fingerprints []string) ([]Provenance, error) {
	return p.collection.GetMany(ctx, evidence.Map(fingerprints, func(fingerprint string) string { return idIn(org, fingerprint) }))
}

// BuildQuery asks for builds between two times in Unix seconds, both included, newest first.
type BuildQuery struct {
	Org string
	// Repos are the ids of their repositories, at most MaxMany; nil means all.
	Repos         []string
	From, To      float64
	Offset, Limit int
}

func (q *BuildQuery) query() storage.Query {
	query := storage.Query{
		Index: "built", Equal: []any{q.Org}, From: &storage.Bound{Value: q.From}, To: &storage.Bound{Value: q.To},
		Descending: true, Offset: q.Offset, Limit: q.Limit,
	}
	if q.Repos != nil {
		query.Index, query.Equal = "repo", []any{q.Org, storage.OneOrSet(q.Repos)}
	}
	return query
}

// Builds returns a page of builds.
func (p *Provenances) Builds(ctx context.Context, q BuildQuery) ([]Provenance, error) {
	return storage.FindAll(ctx, p.collection, q.query())
}

// CountBuilds returns how many builds there are, at most MaxCount.
func (p *Provenances) CountBuilds(ctx context.Context, q BuildQuery) (int64, error) {
	query := q.query()
	query.Offset, query.Limit = 0, 0
	return p.collection.Count(ctx, query)
}

// BuildTimes returns when builds were made, in Unix seconds, newest first, at most q.Limit: one command per MaxMany.
func (p *Provenances) BuildTimes(ctx context.Context, q BuildQuery) ([]float64, error) {
	entries, err := storage.FindAllFields(ctx, p.collection, q.query())
	return evidence.Map(entries, func(entry storage.Record) float64 { return entry.Float("built") }), err
}
