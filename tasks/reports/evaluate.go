package reports

import (
	"context"
	"maps"
	"slices"

	"attestry/app/states"
	"attestry/evidence"
	"attestry/evidence/policy"
	rules "attestry/evidence/snapshot"
	"attestry/goroutine"
	"attestry/storage/environments"
	"attestry/storage/pipelines"
)

// evaluate evaluates images against what ran before, under the facts of now. What newly runs
// is announced before the token is read, and the facts and the environment's policies are
// read behind the token: whoever changes one of them from now on moves it, and the next
// report is evaluated again. As long as the token and the policies are those of the last
// snapshot, what runs on is known from there and nothing is looked up for it, unless policies
// apply and may judge it by another name than before.
func (p *Processor) evaluate(ctx context.Context, head *rules.Head, next *nextSnapshot, images []rules.Reported, before map[string]rules.Artifact) (err error) {
	made := &next.made
	var starting, renamed []string
	for _, image := range images {
		running, runs := before[image.Fingerprint]
		switch {
		case !runs:
			starting = append(starting, image.Fingerprint)
		case running.Name != image.Name:
			renamed = append(renamed, image.Fingerprint)
		}
	}
	next.announced = runningEntries(made, starting)
	if err := p.store.Running.Start(ctx, next.announced); err != nil {
		return err
	}
	if made.Token, err = p.store.Generations.Get(ctx, made.Org, made.Environment); err != nil {
		return err
	}
	applied, err := p.attachedPolicies(ctx, next)
	if err != nil {
		return err
	}
	made.Policies = policy.References(applied)
	wanted := starting
	switch {
	case head.Last > 0 && (made.Token != head.SnapshotToken || !slices.Equal(made.Policies, head.Policies)):
		wanted = fingerprintsOf(images)
	case len(applied) > 0:
		wanted = slices.Concat(starting, renamed)
	}
	known, err := p.loadProvenance(ctx, made, wanted, starting, before)
	if err != nil {
		return err
	}
	if err := p.applyPolicies(ctx, made, applied, images, known); err != nil {
		return err
	}
	next.artifacts = rules.Evaluate(images, &rules.Basis{
		Before: before, Number: made.Number, Timestamp: made.Timestamp, Known: known,
	})
	return nil
}

func fingerprintsOf(images []rules.Reported) []string {
	fingerprints := make([]string, 0, len(images))
	for _, image := range images {
		fingerprints = append(fingerprints, image.Fingerprint)
	}
	return fingerprints
}

// runningEntries says that fingerprints are about to run.
func runningEntries(next *rules.Snapshot, fingerprints []string) []environments.Running {
	var starting []environments.Running
	for _, fingerprint := range fingerprints {
		starting = append(starting, environments.Running{
			Org: next.Org, Environment: next.Environment, Fingerprint: fingerprint, Since: next.Number,
		})
	}
	return starting
}

// loadProvenance reads what is known of fingerprints: where they come from, their states
// there, what they follow, and when those that are starting first ran.
func (p *Processor) loadProvenance(ctx context.Context, next *rules.Snapshot, fingerprints, starting []string, before map[string]rules.Artifact) (map[string]rules.Known, error) {
	var provenances []pipelines.Provenance
	var first map[string]float64
	var reads goroutine.Group
	reads.Go(func() (err error) {
		provenances, err = p.store.Provenances.GetMany(ctx, next.Org, fingerprints)
		return err
	})
	reads.Go(func() (err error) {
		first, err = p.store.FirstSeen.First(ctx, next.Environment, starting)
		return err
	})
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	known := make(map[string]rules.Known, len(fingerprints))
	for _, fingerprint := range fingerprints {
		known[fingerprint] = rules.Known{FirstAt: first[fingerprint]}
	}
	for _, provenance := range provenances {
		one := known[provenance.Fingerprint]
		for _, origin := range provenance.Origins() {
			one.Origins = append(one.Origins, rules.Origin{Origin: origin})
		}
		known[provenance.Fingerprint] = one
	}
	found, err := p.followUp(ctx, next, known, before)
	if err != nil {
		return nil, err
	}
	if len(next.Policies) > 0 {
		// The states in their trails come with the other facts that policies evaluate.
		return known, p.setStates(ctx, next.Org, nil, found)
	}
	return known, p.setStates(ctx, next.Org, known, found)
}

// followUp finds the predecessors of what is new to a lineage, and returns them.
// What was in it before keeps the one it had.
func (p *Processor) followUp(ctx context.Context, next *rules.Snapshot, known map[string]rules.Known, before map[string]rules.Artifact) ([]*rules.Predecessor, error) {
	var queries []environments.PredecessorQuery
	origins := map[environments.PredecessorQuery]*rules.Origin{}
	for fingerprint, one := range known {
		since := next.Number
		running, runs := before[fingerprint]
		if runs {
			since = running.Since
		}
		for i := range one.Origins {
			origin := &one.Origins[i]
			lineage := rules.LineageOf(&origin.Origin)
			if previous, in := running.PreviousIn(lineage); in {
				origin.Previous = previous // shared with what ran before, and not changed
				continue
			}
			query := environments.PredecessorQuery{Lineage: lineage, Fingerprint: fingerprint, Since: since}
			queries, origins[query] = append(queries, query), origin
		}
	}
	found, err := p.store.Successions.Predecessors(ctx, next.Environment, queries)
	if err != nil {
		return nil, err
	}
	var fresh []*rules.Predecessor
	for query, predecessor := range found {
		previous := newest(predecessor, before)
		origins[query].Previous = previous
		fresh = append(fresh, previous)
	}
	return fresh, nil
}

// newest shows a predecessor that runs until now as it is known now.
func newest(predecessor rules.Predecessor, before map[string]rules.Artifact) *rules.Predecessor {
	lineage := rules.LineageOf(&predecessor.Origin)
	running := before[predecessor.Fingerprint]
	for _, origin := range running.Origins {
		if rules.LineageOf(&origin.Origin) == lineage {
			predecessor.Name, predecessor.Origin = running.Name, origin.Origin
		}
	}
	return &predecessor
}

// setStates sets the states of what was looked up, and of the predecessors that were
// found, in their trails.
func (p *Processor) setStates(ctx context.Context, org string, known map[string]rules.Known, found []*rules.Predecessor) error {
	queries := map[*evidence.Status]states.Query{}
	for _, previous := range found {
		queries[&previous.Status] = states.QueryOf(previous.Fingerprint, &previous.Origin)
	}
	for fingerprint, one := range known {
		for i := range one.Origins {
			origin := &one.Origins[i]
			queries[&origin.Status] = states.QueryOf(fingerprint, &origin.Origin)
		}
	}
	evaluated, err := p.store.States.Of(ctx, org, slices.Collect(maps.Values(queries)))
	for status, query := range queries {
		*status = evaluated[query]
	}
	return err
}
