package environments

import (
	"context"
	"slices"
	"strconv"

	"attestry/evidence"
	"attestry/storage"
)

// An entry without a repository is found by "fingerprint", one with a repository by "repo"; both by "exit".
var runningSchema = storage.NewSchema("running",
	storage.Index{Name: "fingerprint", Fields: []string{"org", "fingerprint"}, Required: "fingerprint"},
	storage.Index{Name: "repo", Fields: []string{"repo"}, Required: "repo"},
	storage.Index{Name: "exit", Fields: []string{"environment", "artifact", "since"}})

// Running says that a fingerprint runs, or is about to run, in an environment.
type Running struct {
	Org         string `json:"org"`
	Environment string `json:"environment"` // id
	Fingerprint string `json:"fingerprint"`
	// Since is the number of the snapshot it started with. Until that snapshot is stored, it is starting.
	Since int64 `json:"since"`
	// Repo is the id of a repository that the artifact comes from, "" in the entry that is found by fingerprint. Entries
	// with a repository are stored after the snapshot; only they have the other fields.
	Repo      string  `json:"repo,omitempty"`
	Name      string  `json:"name,omitempty"`
	StartedAt float64 `json:"started_at,omitempty"` // Unix seconds
}

func (r *Running) id() string {
	id := r.Environment + "/" + r.Fingerprint + "/" + strconv.FormatInt(r.Since, 10)
	if r.Repo != "" {
		id += "/" + r.Repo
	}
	return id
}

func (r *Running) fields() map[string]any {
	fields := map[string]any{"environment": r.Environment, "artifact": r.Fingerprint, "since": r.Since}
	if r.Repo != "" {
		fields["repo"] = r.Repo
		return fields
	}
	fields["org"], fields["fingerprint"] = r.Org, r.Fingerprint
	return fields
}

// runningVersionSchema declares a document per organization: its revision is the running set's version (see Version).
var runningVersionSchema = &storage.Schema{Name: "running_versions"}

type runningVersion struct {
	Org string `json:"org"`
}

// RunningSet keeps what runs where, so that writers of facts find the environments concerned. An entry is stored before
// the facts of a starting artifact are read, and removed after the snapshot in which it exited.
type RunningSet struct {
	docs storage.Documents
	storage.Collection[Running]
	versions storage.Collection[runningVersion]
}

// NewRunningSet binds the repository to an engine.
func NewRunningSet(docs storage.Documents) *RunningSet {
	return &RunningSet{
		docs:       docs,
		Collection: storage.NewCollection(docs, runningSchema, (*Running).id, (*Running).fields),
		versions:   storage.NewCollection(docs, runningVersionSchema, func(v *runningVersion) string { return v.Org }, nil),
	}
}

// Start adds entries without a repository for an organization, and changes its version.
func (r *RunningSet) Start(ctx context.Context, entries []Running) error {
	if len(entries) == 0 {
		return nil
	}
	batch := &storage.Batch{}
	r.Collection.PutIn(batch, entries...)
	r.ChangeIn(batch, entries[0].Org)
	return batch.Write(ctx, r.docs)
}

// Version returns the version of what runs in an organization, for CheckIn. Read it before the running set and check it
// in the batch that writes: then nothing was added in between (docs/semantics.md 10.4).
func (r *RunningSet) Version(ctx context.Context, org string) (int64, error) {
	seen, err := r.versions.GetOrZero(ctx, org)
	return seen.Revision, err
}

// ChangeIn changes the version of what runs in an organization with a batch.
func (r *RunningSet) ChangeIn(batch *storage.Batch, org string) {
	r.versions.PutIn(batch, runningVersion{Org: org})
}

// CheckIn adds to a batch the condition that nothing was added to what runs in an organization since a version.
func (r *RunningSet) CheckIn(batch *storage.Batch, org string, version int64) {
	r.versions.CheckIn(batch, org, version)
}

// Stop removes the entries that Ended finds.
func (r *RunningSet) Stop(ctx context.Context, environment string, fingerprints []string, number int64) error {
	ended, err := r.Ended(ctx, environment, fingerprints, number)
	if err != nil {
		return err
	}
	return r.Collection.Delete(ctx, ended...)
}

// Ended returns the ids of the entries of fingerprints that have exited from an environment with a snapshot, however
// late it is called: entries of later snapshots are not among them.
func (r *RunningSet) Ended(ctx context.Context, environment string, fingerprints []string, number int64) ([]string, error) {
	var ended []string
	err := storage.EachSet(fingerprints, func(set any) error {
		query := storage.Query{Index: "exit", Equal: []any{environment, set}, Limit: storage.MaxMany}
		return storage.ForEachFields(ctx, r.Collection, query, func(entry *storage.Record) error {
			if since, ok := entry.Fields["since"].(int64); ok && since < number {
				ended = append(ended, entry.ID)
			}
			return nil
		})
	})
	return ended, err
}

// OfRepo returns the entries of a repository, in no order.
func (r *RunningSet) OfRepo(ctx context.Context, repo string) ([]Running, error) {
	return storage.FindAll(ctx, r.Collection, storage.Query{Index: "repo", Equal: []any{repo}, Limit: storage.Unlimited})
}

// In returns what runs, or is starting, in environments of these ids, in no order and without fields of repositories:
// one command for MaxMany environments, and one more for each MaxMany entries.
func (r *RunningSet) In(ctx context.Context, environments []string) ([]Running, error) {
	var running []Running
	err := storage.EachSet(environments, func(set any) error {
		query := storage.Query{Index: "exit", Equal: []any{set}, Limit: storage.MaxMany}
		return storage.ForEachFields(ctx, r.Collection, query, func(entry *storage.Record) error {
			running = append(running, Running{
				Environment: entry.Text("environment"), Fingerprint: entry.Text("artifact"), Since: entry.Integer("since"),
			})
			return nil
		})
	})
	return evidence.FirstOfEach(running, func(one Running) Running { return one }), err
}

// Where returns the ids of the environments of an organization in which fingerprints run, or are starting, by
// fingerprint: one command for MaxMany fingerprints. It is not complete if these have more than MaxMany entries.
func (r *RunningSet) Where(ctx context.Context, org string, fingerprints []string) (where map[string][]string, complete bool, err error) {
	where, complete = map[string][]string{}, true
	for wanted := range slices.Chunk(fingerprints, storage.MaxMany) {
		found, next, err := r.Collection.FindFields(ctx, storage.Query{
			Index: "fingerprint", Equal: []any{org, storage.OneOrSet(wanted)}, Limit: storage.MaxMany,
		})
		if err != nil {
			return nil, false, err
		}
		complete = complete && next == ""
		for _, entry := range found {
			fingerprint, environment := entry.Text("fingerprint"), entry.Text("environment")
			if !slices.Contains(where[fingerprint], environment) {
				where[fingerprint] = append(where[fingerprint], environment)
			}
		}
	}
	return where, complete, nil
}

// Entries returns what runs, or is starting, of fingerprints: one command per MaxMany of them, and more where they run
// in more environments.
func (r *RunningSet) Entries(ctx context.Context, org string, fingerprints []string) ([]Running, error) {
	var entries []Running
	err := storage.EachSet(fingerprints, func(set any) error {
		found, err := storage.FindAll(ctx, r.Collection, storage.Query{
			Index: "fingerprint", Equal: []any{org, set}, Limit: storage.Unlimited,
		})
		entries = append(entries, found...)
		return err
	})
	return entries, err
}
