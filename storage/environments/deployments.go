package environments

import (
	"cmp"
	"context"
	"slices"

	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
)

// A deployment has no field that begins with "repo". Its copy for a repository, which has Repo, has only these and the
// times. So a query finds one or the other.
var deploymentSchema = storage.NewSchema("deployments",
	storage.Index{Name: "time", Fields: []string{"org", "time"}, Required: "org"},
	storage.Index{Name: "environment", Fields: []string{"environment", "time"}, Required: "environment"},
	storage.Index{Name: "artifact", Fields: []string{"environment", "fingerprint", "time"}, Required: "environment"},
	storage.Index{Name: "learned", Fields: []string{"environment", "learned"}, Required: "learned"},
	storage.Index{Name: "repo", Fields: []string{"repo", "time"}, Required: "repo"},
	storage.Index{Name: "repo_environment", Fields: []string{"repo", "repo_environment", "time"}, Required: "repo"}).With("lead_time")

// Deployments keeps the deployments to environments.
type Deployments struct {
	storage.Collection[snapshot.Deployment]
}

// NewDeployments binds the repository to an engine.
func NewDeployments(docs storage.Documents) *Deployments {
	return &Deployments{storage.NewCollection(docs, deploymentSchema, (*snapshot.Deployment).ID, deploymentFields)}
}

func deploymentFields(d *snapshot.Deployment) map[string]any {
	fields := map[string]any{"time": d.Timestamp}
	if lead := d.LeadTime(); lead != nil {
		fields["lead_time"] = *lead
	}
	if d.Repo != "" {
		fields["repo"], fields["repo_environment"] = d.Repo, d.Environment
		return fields
	}
	fields["org"], fields["environment"], fields["fingerprint"] = d.Org, d.Environment, d.Fingerprint
	if d.LearnedAt != 0 {
		fields["learned"] = d.LearnedAt
	}
	return fields
}

// RecordIn adds deployments to a batch. Those in made that exist stay as they are. Those in learned are replaced, as a
// flow has become known since they were recorded.
func (d *Deployments) RecordIn(batch *storage.Batch, made, learned []snapshot.Deployment) {
	d.Collection.AddIn(batch, made...)
	d.Collection.PutIn(batch, learned...)
}

// KeepStarts copies the stored names and verdicts with which artifacts began to run before snapshot number: to learned
// deployments, and the names to those for repositories in made. It takes one command for each storage.MaxMany of them.
func (d *Deployments) KeepStarts(ctx context.Context, number int64, made, learned []snapshot.Deployment) error {
	startID := func(one snapshot.Deployment) string {
		one.Repo = ""
		return one.ID()
	}
	kept := slices.Clone(learned)
	for _, one := range made {
		if one.Repo != "" && one.Snapshot < number {
			kept = append(kept, one)
		}
	}
	stored, err := d.GetMany(ctx, evidence.Distinct(evidence.Map(kept, startID)))
	known := evidence.ByKey(stored, (*snapshot.Deployment).ID)
	for i := range learned {
		start := known[learned[i].ID()]
		learned[i].Start, learned[i].Name = start.Start, cmp.Or(start.Name, learned[i].Name)
	}
	for i := range made {
		made[i].Name = cmp.Or(known[startID(made[i])].Name, made[i].Name)
	}
	return err
}

// DeploymentQuery asks for deployments between two times in Unix seconds, both included, newest first.
type DeploymentQuery struct {
	Org string
	// Repo is the id of a repository, "" for all.
	Repo string
	// Environments are ids, at most MaxMany; nil means all.
	Environments  []string
	From, To      float64
	Offset, Limit int
	OldestFirst   bool
}

func (q *DeploymentQuery) query() storage.Query {
	query := storage.Query{
		Index: "time", Equal: []any{q.Org}, From: &storage.Bound{Value: q.From}, To: &storage.Bound{Value: q.To},
		Descending: !q.OldestFirst, Offset: q.Offset, Limit: q.Limit,
	}
	switch {
	case q.Repo != "" && q.Environments != nil:
		query.Index, query.Equal = "repo_environment", []any{q.Repo, storage.OneOrSet(q.Environments)}
	case q.Repo != "":
		query.Index, query.Equal = "repo", []any{q.Repo}
	case q.Environments != nil:
		query.Index, query.Equal = "environment", []any{storage.OneOrSet(q.Environments)}
	}
	return query
}

func (q *DeploymentQuery) matchesNothing() bool {
	return q.Environments != nil && len(q.Environments) == 0
}

// List returns a page of deployments.
func (d *Deployments) List(ctx context.Context, q DeploymentQuery) ([]snapshot.Deployment, error) {
	if q.matchesNothing() {
		return nil, nil
	}
	return storage.FindAll(ctx, d.Collection, q.query())
}

// Walk returns the next deployments after a cursor, MaxMany or as many as fit maxBytes, and the next cursor. The cursor
// is "" at the beginning and the end.
func (d *Deployments) Walk(ctx context.Context, q DeploymentQuery, after string, maxBytes int) ([]snapshot.Deployment, string, error) {
	query := q.query()
	query.After, query.Limit, query.MaxBytes = after, storage.MaxMany, maxBytes
	return d.Collection.Find(ctx, query)
}

// EachID calls yield with the environment and the id of each deployment: one command for each MaxMany.
func (d *Deployments) EachID(ctx context.Context, q DeploymentQuery, yield func(environment, id string)) error {
	query := q.query()
	query.Limit = storage.MaxMany
	return storage.ForEachFields(ctx, d.Collection, query, func(record *storage.Record) error {
		yield(record.Text("environment"), record.ID)
		return nil
	})
}

// Count returns how many deployments there are, at most MaxCount.
func (d *Deployments) Count(ctx context.Context, q DeploymentQuery) (int64, error) {
	if q.matchesNothing() {
		return 0, nil
	}
	query := q.query()
	query.Offset, query.Limit = 0, 0
	return d.Collection.Count(ctx, query)
}

// DeploymentMoment is when something was deployed, and how long that took.
type DeploymentMoment struct {
	Environment string  // id
	At          float64 // Unix seconds
	// LeadTime is in seconds, nil when unknown.
	LeadTime *float64
}

// Moments returns when deployments were made, newest first, at most q.Limit: one command for each MaxMany.
func (d *Deployments) Moments(ctx context.Context, q DeploymentQuery) ([]DeploymentMoment, error) {
	if q.matchesNothing() {
		return nil, nil
	}
	entries, err := storage.FindAllFields(ctx, d.Collection, q.query())
	return evidence.Map(entries, momentOf), err
}

func momentOf(entry storage.Record) DeploymentMoment {
	moment := DeploymentMoment{At: entry.Float("time"), Environment: cmp.Or(entry.Text("repo_environment"), entry.Text("environment"))}
	if lead, ok := entry.Fields["lead_time"].(float64); ok {
		moment.LeadTime = &lead
	}
	return moment
}

// Learned returns the times of an environment's deployments whose flow became known after since, all in Unix seconds.
func (d *Deployments) Learned(ctx context.Context, environment string, since float64) ([]float64, error) {
	found, err := storage.FindAllFields(ctx, d.Collection, storage.Query{
		Index: "learned", Equal: []any{environment}, From: &storage.Bound{Value: since, Exclusive: true}, Limit: storage.MaxCount,
	})
	return evidence.Map(found, func(one storage.Record) float64 { return one.Float("time") }), err
}

// Latest returns the last deployment of a fingerprint in environments, or ErrNotFound.
func (d *Deployments) Latest(ctx context.Context, environments []string, fingerprint string) (snapshot.Deployment, error) {
	if len(environments) == 0 {
		return snapshot.Deployment{}, storage.ErrNotFound
	}
	return storage.FindFirst(ctx, d.Collection, storage.Query{
		Index: "artifact", Equal: []any{storage.OneOrSet(environments), fingerprint}, Descending: true, Limit: 1,
	})
}
