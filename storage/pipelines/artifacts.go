package pipelines

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"attestry/evidence"
	"attestry/storage"
)

var artifactSchema = storage.NewSchema("artifacts",
	storage.Index{Name: "created", Fields: []string{"org", "created"}},
	storage.Index{Name: "flow", Fields: []string{"org", "flow", "created"}},
	storage.Index{Name: "repo", Fields: []string{"org", "repo", "created"}},
	storage.Index{Name: "fingerprint", Fields: []string{"org", "fingerprint", "created"}},
	storage.Index{Name: "flow_fingerprint", Fields: []string{"org", "flow", "fingerprint", "created"}},
	storage.Index{Name: "flow_branch", Fields: []string{"org", "flow", "branch", "created"}},
	storage.Index{Name: "commit", Fields: []string{"org", "commit", "created"}},
	// Records stored before this index was added have no name.
	storage.Index{Name: "name", Fields: []string{"org", "name", "created"}, Required: "name"},
).With("trail")

// Artifacts keeps the reports of artifacts, each a record of its own.
type Artifacts struct {
	storage.Collection[evidence.ArtifactRecord]
	children children
}

// NewArtifacts binds the repository to an engine.
func NewArtifacts(docs storage.Documents) *Artifacts {
	return &Artifacts{children: newChildren(docs), Collection: storage.NewCollection(docs, artifactSchema,
		func(a *evidence.ArtifactRecord) string { return a.ID },
		func(a *evidence.ArtifactRecord) map[string]any {
			return map[string]any{
				"org": a.Org, "flow": a.Flow, "trail": evidence.TrailKey(a.Flow, a.Trail), "repo": a.Repo,
				"fingerprint": a.Fingerprint, "commit": a.CommitSHA, "branch": a.Branch(), "name": a.Filename, "created": a.CreatedAt,
			}
		})}
}

// InTrail returns the newest record of a fingerprint in a trail, or ErrNotFound.
func (a *Artifacts) InTrail(ctx context.Context, org, flow, trail, fingerprint string) (evidence.ArtifactRecord, error) {
	query := storage.Query{
		Index: "flow_fingerprint", Equal: []any{org, flow, fingerprint}, Descending: true, Limit: 1,
		Where: []storage.Condition{{Field: "trail", Operator: storage.Equals, Value: evidence.TrailKey(flow, trail)}},
	}
	return storage.FindFirst(ctx, a.Collection, query)
}

// Known reports whether any flow of the organization has a fingerprint.
func (a *Artifacts) Known(ctx context.Context, org, fingerprint string) (bool, error) {
	found, _, err := a.Collection.FindFields(ctx, storage.Query{
		Index: "fingerprint", Equal: []any{org, fingerprint}, Limit: 1,
	})
	return len(found) > 0, err
}

// NewestNamed returns the fingerprints of the newest records of file names, by name: a command for each name, so that a
// name with many records hides no other.
func (a *Artifacts) NewestNamed(ctx context.Context, org string, names []string) (map[string]string, error) {
	newest := make(map[string]string, len(names))
	for _, name := range names {
		found, _, err := a.FindFields(ctx, storage.Query{Index: "name", Equal: []any{org, name}, Descending: true, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			newest[name] = found[0].Text("fingerprint")
		}
	}
	return newest, nil
}

// ArtifactQuery asks for a page of an organization's records, newest first.
type ArtifactQuery struct {
	Org string
	// Flow is the id of the flow to look in, "" for all.
	Flow string
	// Repo is the id of the repository to look in, "" for all.
	Repo          string
	Offset, Limit int
}

// List reads a page of records.
func (a *Artifacts) List(q ArtifactQuery) *storage.Batches[evidence.ArtifactRecord] {
	return storage.QueryBatches(a.Collection, q.query())
}

func (q *ArtifactQuery) query() storage.Query {
	query := storage.Query{Index: "created", Equal: []any{q.Org}, Descending: true, Offset: q.Offset, Limit: q.Limit}
	switch {
	case q.Repo != "":
		query.Index, query.Equal = "repo", []any{q.Org, q.Repo}
		query.Narrow(q.Flow != "", "flow", storage.Equals, q.Flow)
	case q.Flow != "":
		query.Index, query.Equal = "flow", []any{q.Org, q.Flow}
	}
	return query
}

// Containing returns the ids of a query's newest records whose file names contain a text, in any case
// (docs/semantics.md 15.5).
func (a *Artifacts) Containing(ctx context.Context, q ArtifactQuery, text string) ([]string, error) {
	return containing(ctx, a.Collection, q.query(), text, func(entry *storage.Record) string { return entry.Text("name") })
}

// TrailsWith returns the keys of the trails to which a fingerprint was reported, the last first.
func (a *Artifacts) TrailsWith(ctx context.Context, org, fingerprint string) ([]string, error) {
	return a.trails(ctx, storage.Query{Index: "fingerprint", Equal: []any{org, fingerprint}})
}

// TrailsInFlow is TrailsWith in a flow. fingerprint may be the beginning of one: then the artifact is the newest with it.
func (a *Artifacts) TrailsInFlow(ctx context.Context, org, flow, fingerprint string) ([]string, error) {
	newest, err := a.Latest(ctx, org, flow, "", fingerprint)
	if err != nil {
		return nil, storage.IgnoreMissing(err)
	}
	return a.trails(ctx, storage.Query{Index: "flow_fingerprint", Equal: []any{org, flow, newest.Fingerprint}})
}

// trails returns the keys of the trails of a query's records, the last first.
func (a *Artifacts) trails(ctx context.Context, query storage.Query) ([]string, error) {
	query.Descending, query.Limit = true, storage.MaxMany
	var keys []string
	err := storage.ForEachFields(ctx, a.Collection, query, func(entry *storage.Record) error {
		if key := entry.Text("trail"); key != "" {
			keys = append(keys, key)
		}
		return nil
	})
	return evidence.Distinct(keys), err
}

// Latest returns the newest record of a flow whose fingerprint begins with hex digits, in a trail unless that is "", or
// ErrNotFound.
func (a *Artifacts) Latest(ctx context.Context, org, flow, trail, fingerprint string) (evidence.ArtifactRecord, error) {
	query := storage.Query{Index: "flow_fingerprint", Equal: []any{org, flow}}
	query.Narrow(trail != "", "trail", storage.Equals, evidence.TrailKey(flow, trail))
	return a.newest(ctx, org, query, fingerprint)
}

// LatestOnBranch is Latest among the records built from a branch; "" means any.
func (a *Artifacts) LatestOnBranch(ctx context.Context, org, flow, branch, fingerprint string) (evidence.ArtifactRecord, error) {
	query := storage.Query{Index: "flow_fingerprint", Equal: []any{org, flow}}
	query.Narrow(branch != "", "branch", storage.Equals, branch)
	return a.newest(ctx, org, query, fingerprint)
}

// newest returns the newest record of a query by fingerprint, or ErrNotFound. A whole fingerprint may be a child's.
func (a *Artifacts) newest(ctx context.Context, org string, query storage.Query, fingerprint string) (evidence.ArtifactRecord, error) {
	if len(fingerprint) == fingerprintDigits {
		scope := query.Equal
		query.Descending, query.Limit = true, 1
		query.Equal = append(slices.Clip(scope), fingerprint)
		found, err := storage.FindFirst(ctx, a.Collection, query)
		if !errors.Is(err, storage.ErrNotFound) {
			return found, err
		}
		parents, err := a.children.parents(ctx, org, []string{fingerprint})
		if err != nil || len(parents) == 0 {
			return evidence.ArtifactRecord{}, cmp.Or(err, storage.ErrNotFound)
		}
		query.Equal = append(slices.Clip(scope), storage.OneOrSet(parents[fingerprint]))
		return storage.FindFirst(ctx, a.Collection, query)
	}
	found, err := storage.FindByPrefix(ctx, a.Collection, query, "fingerprint", fingerprint)
	if err != nil {
		return evidence.ArtifactRecord{}, err
	}
	if len(found) == 0 {
		return evidence.ArtifactRecord{}, storage.ErrNotFound
	}
	return a.Collection.Get(ctx, slices.MaxFunc(found, compareCreated).ID)
}

const fingerprintDigits = 64

// compareCreated orders index entries by time, then by id.
func compareCreated(a, b storage.Record) int {
	return cmp.Or(cmp.Compare(a.Float("created"), b.Float("created")), cmp.Compare(a.ID, b.ID))
}

// LatestOfFlow returns the newest record of a flow, built from a branch unless that is "", or ErrNotFound.
func (a *Artifacts) LatestOfFlow(ctx context.Context, org, flow, branch string) (evidence.ArtifactRecord, error) {
	query := storage.Query{Index: "flow", Equal: []any{org, flow}, Descending: true, Limit: 1}
	if branch != "" {
		query.Index, query.Equal = "flow_branch", []any{org, flow, branch}
	}
	return storage.FindFirst(ctx, a.Collection, query)
}

// NewestTime returns when the newest record of a flow was made, in Unix seconds; 0 if it has none.
func (a *Artifacts) NewestTime(ctx context.Context, org, flow string) (float64, error) {
	return storage.NewestTime(ctx, a.Collection, storage.Query{Index: "flow", Equal: []any{org, flow}}, "created")
}

// maxBuilds is how many records are read to find the builds of MaxMany commits.
const maxBuilds = 10 * storage.MaxMany

// Builds returns the newest record built from each commit that has one, by SHA. MaxMany commits take one command, one
// more for each MaxMany of their newest maxBuilds records, and one to read the records.
func (a *Artifacts) Builds(ctx context.Context, org string, commits []string) (map[string]evidence.ArtifactRecord, error) {
	builds := map[string]evidence.ArtifactRecord{}
	for some := range slices.Chunk(evidence.Distinct(commits), storage.MaxMany) {
		entries, err := storage.FindAllFields(ctx, a.Collection, storage.Query{
			Index: "commit", Equal: []any{org, storage.OneOrSet(some)}, Descending: true, Limit: maxBuilds,
		})
		if err != nil {
			return nil, err
		}
		newest := evidence.FirstOfEach(entries, func(entry storage.Record) any { return entry.Fields["commit"] })
		records, err := a.GetMany(ctx, storage.RecordIDs(newest))
		if err != nil {
			return nil, err
		}
		maps.Copy(builds, evidence.ByKey(records, func(record *evidence.ArtifactRecord) string { return record.CommitSHA }))
	}
	return builds, nil
}

// commitDigits is the length of a whole commit SHA, minDigits the length of the shortest prefix that is searched for.
const (
	commitDigits = 40
	minDigits    = 5
)

// OfCommit reads the records of a flow built from a commit, or from those that begin with five or more hex digits:
// newest first, at most limit, in a trail unless that is "". ErrAmbiguous means that too many commits begin so.
func (a *Artifacts) OfCommit(ctx context.Context, org, flow, trail, commit string, limit int) (*storage.Batches[evidence.ArtifactRecord], error) {
	query := storage.Query{
		Index: "commit", Equal: []any{org},
		Where: []storage.Condition{{Field: "flow", Operator: storage.Equals, Value: flow}}, // few flows share a commit
	}
	query.Narrow(trail != "", "trail", storage.Equals, evidence.TrailKey(flow, trail))
	if len(commit) >= commitDigits || len(commit) < minDigits {
		query.Equal = append(query.Equal, commit)
		query.Descending, query.Limit = true, limit
		return storage.QueryBatches(a.Collection, query), nil
	}
	found, err := storage.FindByPrefix(ctx, a.Collection, query, "commit", commit)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b storage.Record) int { return compareCreated(b, a) })
	return a.OfIDs(storage.RecordIDs(found[:min(len(found), limit)])), nil
}

// Traces are the records that a search has found.
type Traces struct {
	// Fingerprints and Commits are the different ones found, sorted.
	Fingerprints, Commits []string
	// Children are those that were found; their artifacts are among Fingerprints.
	Children []string
	// Records are the ids of the newest record of each fingerprint in each flow, newest first.
	Records []string
}

// Search finds the records of an organization whose fingerprint or commit begins with hex digits. ErrAmbiguous means
// that these are too many. Of artifacts that were reported many times, it reads the newest thousand reports.
func (a *Artifacts) Search(ctx context.Context, org, digits string) (Traces, error) {
	byFingerprint, err := storage.FindByPrefix(ctx, a.Collection, storage.Query{Index: "fingerprint", Equal: []any{org}}, "fingerprint", digits)
	if err != nil {
		return Traces{}, err
	}
	children, err := storage.FindByPrefix(ctx, a.children.Collection, storage.Query{Index: "child", Equal: []any{org}}, "child", digits)
	if err != nil {
		return Traces{}, err
	}
	byCommit, err := storage.FindByPrefix(ctx, a.Collection, storage.Query{Index: "commit", Equal: []any{org}}, "commit", digits)
	if err != nil {
		return Traces{}, err
	}
	reported := storage.DistinctValues(byFingerprint, "fingerprint") // they do not count as children
	children = slices.DeleteFunc(children, func(one storage.Record) bool { return slices.Contains(reported, one.Text("child")) })
	if parents := storage.DistinctValues(children, "parent"); len(parents) > 0 {
		of, err := storage.FindAllFields(ctx, a.Collection, storage.Query{
			Index: "fingerprint", Equal: []any{org, storage.OneOrSet(parents[:min(len(parents), storage.MaxMany)])}, Descending: true, Limit: storage.MaxMany,
		})
		if err != nil {
			return Traces{}, err
		}
		byFingerprint = append(byFingerprint, of...)
	}
	traces := Traces{Fingerprints: storage.DistinctValues(byFingerprint, "fingerprint"), Commits: storage.DistinctValues(byCommit, "commit"),
		Children: storage.DistinctValues(children, "child")}
	if len(traces.Fingerprints)+len(traces.Commits) > storage.MaxPrefixMatches {
		return Traces{}, storage.ErrAmbiguous
	}
	entries := append(byFingerprint, byCommit...)
	slices.SortFunc(entries, func(a, b storage.Record) int { return compareCreated(b, a) })
	traces.Records = storage.RecordIDs(evidence.FirstOfEach(entries, func(entry storage.Record) [2]any {
		return [2]any{entry.Fields["flow"], entry.Fields["fingerprint"]}
	}))
	return traces, nil
}
