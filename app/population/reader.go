package population

import (
	"context"
	"errors"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/admission"
	"attestry/evidence/period"
	"attestry/evidence/snapshot"
	"attestry/goroutine"
	"attestry/storage"
	"attestry/storage/cache"
	"attestry/storage/environments"
	"attestry/storage/logs"
)

const (
	// breakGlassWindow is the maximum time from a break-glass admission to a deployment that it counts for, in seconds.
	breakGlassWindow = secondsPerDay
	// attestationBytes bounds the attestations that are read at a time.
	attestationBytes = 4 << 20
)

// Reader reads the populations of periods, page by page.
type Reader struct {
	store *app.Store
	// pageBytes bounds the size of a page.
	pageBytes int
	days      cache.LRU[*days]
	// Digests makes the reader compute the digest Totals.Rows, which takes a tenth of its time.
	Digests bool
	// Release, unless nil, is called before each page of a whole period, when the earlier pages are not needed any more.
	Release func(context.Context)
}

// NewReader makes a reader of pages of pageBytes.
func NewReader(store *app.Store, pageBytes int) *Reader {
	return &Reader{store: store, pageBytes: pageBytes, days: cache.NewLRU[*days](maxDays)}
}

func (r *Reader) add(totals *Totals, row *Row) {
	totals.Add(row)
	if r.Digests {
		totals.addSum(row.digest())
	}
}

// Query returns the query for the deployments of a period, oldest first.
func Query(p *period.Period) environments.DeploymentQuery {
	return environments.DeploymentQuery{Org: p.Org, Environments: p.Environments, From: p.From, To: p.Last(), OldestFirst: true}
}

// each calls yield for each element of all pages.
func each[T any](ctx context.Context, r *Reader, yield func(*T), read func(after string) ([]T, string, error)) error {
	for after, more := "", true; more; more = after != "" {
		if r.Release != nil {
			r.Release(ctx)
		}
		found, next, err := read(after)
		if err != nil {
			return err
		}
		for i := range found {
			yield(&found[i])
		}
		after = next
	}
	return nil
}

// walk returns the rows of a page of deployments after a cursor, and the next cursor.
func (r *Reader) walk(ctx context.Context, p *period.Period, after string, found *factsCache) ([]Row, string, error) {
	deployments, next, err := r.store.Deployments.Walk(ctx, Query(p), after, r.pageBytes)
	if err != nil {
		return nil, "", err
	}
	rows, err := r.describe(ctx, p.Org, deployments, found)
	return rows, next, err
}

// eachEvent calls yield for each event of an environment in a period.
func (r *Reader) eachEvent(ctx context.Context, environment string, p *period.Period, yield func(*snapshot.Event)) error {
	bounds := environments.EventRange{Environment: environment, From: p.From, To: p.Last()}
	return each(ctx, r, yield, func(after string) ([]snapshot.Event, string, error) {
		return r.store.Events.Walk(ctx, bounds, after, r.pageBytes)
	})
}

// Checkpoints returns the log's checkpoints before and after a period, zero if there are none. If nothing was recorded
// after the period, end is its last checkpoint, which covers all of it. While the period is open, end is zero.
func (r *Reader) Checkpoints(ctx context.Context, p *period.Period, now float64) (begin, end logs.Checkpoint, err error) {
	if begin, err = r.store.Logs.At(ctx, p.Org, p.From); err != nil || p.Open(now) {
		return begin, end, err
	}
	last, err := r.store.Logs.At(ctx, p.Org, p.Last())
	if err != nil {
		return begin, end, err
	}
	end, err = r.store.Logs.Covering(ctx, p.Org, last.Size+1)
	if errors.Is(err, storage.ErrNotFound) {
		return begin, last, nil
	}
	return begin, end, err
}

// Describe makes the rows of deployments of an organization, by its id, in their order.
func (r *Reader) Describe(ctx context.Context, org string, deployments []snapshot.Deployment) ([]Row, error) {
	return r.describe(ctx, org, deployments, newFactsCache())
}

// describe is Describe with a cache of facts.
func (r *Reader) describe(ctx context.Context, org string, deployments []snapshot.Deployment, found *factsCache) ([]Row, error) {
	rows := evidence.Map(deployments, func(one snapshot.Deployment) Row { return newRow(&one) })
	// Run these at once: each sets different members of the rows.
	var reads goroutine.Group
	reads.Go(func() error { return r.addEnvironments(ctx, org, deployments, rows) })
	reads.Go(func() error { return r.addFacts(ctx, org, deployments, rows, found) })
	reads.Go(func() error { return r.addBreakGlass(ctx, deployments, rows) })
	err := reads.Wait()
	for i := range rows {
		rows[i].countIncidents()
	}
	return rows, err
}

// addEnvironments adds the names of environments and the kinds of the deployments to rows.
func (r *Reader) addEnvironments(ctx context.Context, org string, deployments []snapshot.Deployment, rows []Row) error {
	named, err := r.store.Environments.Names(ctx, org, environmentsOf(deployments))
	if err != nil {
		return err
	}
	kinds, err := r.store.FirstSeen.Kinds(ctx, deployments)
	for i := range rows {
		environment := named[deployments[i].Environment]
		rows[i].Environment, rows[i].Kind, rows[i].environments = environment.Name, kinds[i], environment.Names()
	}
	return err
}

func environmentsOf(deployments []snapshot.Deployment) []string {
	return evidence.Distinct(evidence.Map(deployments, func(one snapshot.Deployment) string { return one.Environment }))
}

// eachAttestation calls yield for the attestations of some ids.
func (r *Reader) eachAttestation(ctx context.Context, ids []string, yield func(*evidence.Attestation)) error {
	return r.store.Attestations.OfIDs(ids).Each(ctx, attestationBytes, func(a *evidence.Attestation) error {
		yield(a)
		return nil
	})
}

// addBreakGlass adds to rows whether the cluster admitted them against the verdict, and the workload's reason.
func (r *Reader) addBreakGlass(ctx context.Context, deployments []snapshot.Deployment, rows []Row) error {
	if len(deployments) == 0 {
		return nil
	}
	started := map[[2]string][]int{} // rows by environment and fingerprint
	first, last := rows[0].DeployedAt, rows[0].DeployedAt
	for i := range deployments {
		key := [2]string{deployments[i].Environment, deployments[i].Fingerprint}
		started[key] = append(started[key], i)
		if origin := deployments[i].Origin; origin != nil && origin.Parent != "" { // the workload may name the index
			key[1] = origin.Parent
			started[key] = append(started[key], i)
		}
		first, last = min(first, rows[i].DeployedAt), max(last, rows[i].DeployedAt)
	}
	return r.store.Admissions.BrokenGlass(ctx, environmentsOf(deployments), first-breakGlassWindow, last, func(record *admission.Record) error {
		for _, refusal := range record.Refusals {
			for _, i := range started[[2]string{record.Environment, refusal.Fingerprint}] {
				if since := rows[i].DeployedAt - record.FirstAt; since >= 0 && since <= breakGlassWindow {
					rows[i].BrokeGlass, rows[i].GlassReason = true, record.Reason
				}
			}
		}
		return nil
	})
}
