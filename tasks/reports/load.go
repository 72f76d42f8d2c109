package reports

import (
	"context"
	"maps"
	"slices"

	"attestry/app/facts"
	"attestry/app/states"
	"attestry/evidence"
	"attestry/evidence/policy"
	"attestry/evidence/snapshot"
	"attestry/goroutine"
	"attestry/storage/environments"
	"attestry/storage/pipelines"
)

// factsPerRead bounds the artifacts whose facts are in memory at a time.
const factsPerRead = 1000

// load reads everything that the decision about a report depends on.
//
// It adds starting artifacts to the running set, then reads the generation, then the facts and policies. So a later
// change of these finds the artifact there and changes the generation. Then the next report, even an equal one, is
// evaluated again.
func (p *Processor) load(ctx context.Context, head snapshot.Head, report *pending) (in *snapshot.Input, err error) {
	in = &snapshot.Input{Head: head, Report: report.ReportRecord}
	if in.SameDigest() {
		if in.Generation, err = p.store.Generations.Get(ctx, report.Org, report.Environment); err != nil {
			return nil, err
		}
	}
	if in.Unchanged() {
		return in, nil
	}
	if err := p.loadImages(ctx, in, report); err != nil {
		return nil, err
	}
	report.announced = evidence.Map(in.Starting, func(fingerprint string) environments.Running {
		return environments.Running{Org: report.Org, Environment: report.Environment, Fingerprint: fingerprint, Since: in.Number()}
	})
	if err := p.store.Running.Start(ctx, report.announced); err != nil {
		return nil, err
	}
	if in.Generation, err = p.store.Generations.Get(ctx, report.Org, report.Environment); err != nil {
		return nil, err
	}
	applied, err := p.loadPolicies(ctx, in)
	if err != nil {
		return nil, err
	}
	if err := p.loadProvenance(ctx, in); err != nil {
		return nil, err
	}
	return in, p.evaluate(ctx, in, applied)
}

// loadCommitted reads the snapshot after that of the head, and its effects.
func (p *Processor) loadCommitted(ctx context.Context, head snapshot.Head) (made snapshot.Snapshot, effects snapshot.Effects, err error) {
	if made, err = p.store.Snapshots.Get(ctx, head.Environment, head.Last+1); err != nil {
		return made, effects, err
	}
	changes, err := p.store.Snapshots.Changes(ctx, &made)
	if err != nil {
		return made, effects, err
	}
	artifacts, err := p.store.Snapshots.Artifacts(ctx, &made)
	if err != nil {
		return made, effects, err
	}
	environment, err := p.store.Environments.GetOrZero(ctx, made.Environment)
	return made, snapshot.EffectsOf(&made, changes, artifacts, environment.Value.Name), err
}

// loadImages reads the artifacts of the last snapshot and of the report, which is unpacked once.
func (p *Processor) loadImages(ctx context.Context, in *snapshot.Input, report *pending) error {
	if report.content == nil {
		content, err := p.store.Reports.Unpack(ctx, &report.WaitingReport)
		if err != nil {
			return err
		}
		report.content = &content
	}
	last, err := p.store.Snapshots.Tree(ctx, in.Head.Root)
	if err != nil {
		return err
	}
	in.SetLast(last)
	in.SetImages(report.content)
	return nil
}

// loadPolicies reads the environment's name and its policies in their latest versions.
func (p *Processor) loadPolicies(ctx context.Context, in *snapshot.Input) ([]policy.Applied, error) {
	environment, err := p.store.Environments.GetOrZero(ctx, in.Report.Environment)
	if err != nil {
		return nil, err
	}
	applied, err := p.store.Policies.Latest(ctx, in.Report.Org, environment.Value.Policies)
	in.EnvironmentName, in.Policies = environment.Value.Name, policy.References(applied)
	return applied, err
}

// loadProvenance reads origins with predecessors and states, when artifacts first ran, and the last scaling.
func (p *Processor) loadProvenance(ctx context.Context, in *snapshot.Input) error {
	fingerprints := in.ToEvaluate()
	var provenances []pipelines.Provenance
	var first map[string]float64
	var reads goroutine.Group
	reads.Go(func() (err error) {
		provenances, err = p.store.Provenances.GetMany(ctx, in.Report.Org, fingerprints)
		return err
	})
	reads.Go(func() (err error) {
		first, err = p.store.FirstSeen.First(ctx, in.Report.Environment, in.Starting)
		return err
	})
	if !in.Report.Repeat {
		reads.Go(func() (err error) {
			in.Scaling, err = p.store.Scalings.Of(ctx, &in.Head)
			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return err
	}
	in.Known = make(map[string]snapshot.Known, len(fingerprints))
	for _, fingerprint := range fingerprints {
		in.Known[fingerprint] = snapshot.Known{FirstAt: first[fingerprint]}
	}
	for _, provenance := range provenances {
		known := in.Known[provenance.Fingerprint]
		for _, origin := range provenance.Origins() {
			known.Origins = append(known.Origins, snapshot.Origin{Origin: origin})
		}
		in.Known[provenance.Fingerprint] = known
	}
	predecessors, err := p.loadPredecessors(ctx, in)
	if err != nil {
		return err
	}
	return p.loadStates(ctx, in, predecessors)
}

// loadPredecessors sets the predecessors of artifacts in their lineages, and the unapproved changes since then. It
// returns the predecessors that it read. An artifact that was already in a lineage keeps its predecessor there.
func (p *Processor) loadPredecessors(ctx context.Context, in *snapshot.Input) ([]*snapshot.Predecessor, error) {
	var queries []environments.PredecessorQuery
	origins := map[environments.PredecessorQuery]*snapshot.Origin{}
	for fingerprint, known := range in.Known {
		since := in.Number()
		running, runs := in.Before[fingerprint]
		if runs {
			since = running.Since
		}
		for i := range known.Origins {
			origin := &known.Origins[i]
			lineage := snapshot.LineageOf(&origin.Origin)
			if before := running.OriginIn(lineage); before != nil {
				origin.Previous, origin.Unapproved = before.Previous, before.Unapproved // shared with the last snapshot, and not changed
				continue
			}
			query := environments.PredecessorQuery{Lineage: lineage, Fingerprint: fingerprint, Since: since}
			queries, origins[query] = append(queries, query), origin
		}
	}
	found, err := p.store.Successions.Predecessors(ctx, in.Report.Environment, queries)
	if err != nil {
		return nil, err
	}
	var predecessors []*snapshot.Predecessor
	var releases []pipelines.Release
	for query, predecessor := range found {
		running, runs := in.Before[predecessor.Fingerprint]
		predecessor.Update(&running)
		// Both began together. Unless the other ran on, both were stopped, and this one replaced nothing.
		predecessor.Again = predecessor.Again || predecessor.Together && !runs
		origins[query].Previous = &predecessor
		predecessors = append(predecessors, &predecessor)
		releases = append(releases, releaseOf(origins[query]))
	}
	unapproved, err := p.store.Trails.Unapproved(ctx, releases)
	for query := range found {
		origins[query].Unapproved = unapproved[releaseOf(origins[query])]
	}
	return predecessors, err
}

// releaseOf is the release that an origin with a predecessor makes.
func releaseOf(origin *snapshot.Origin) pipelines.Release {
	return pipelines.Release{Trail: origin.TrailKey(), Replaced: origin.Previous.Origin.TrailKey(), Slot: origin.Slot}
}

// loadStates sets the states of predecessors in their trails, and those of artifacts unless policies apply: then
// evaluate sets them.
func (p *Processor) loadStates(ctx context.Context, in *snapshot.Input, predecessors []*snapshot.Predecessor) error {
	queries := map[*evidence.Status]states.Query{}
	for _, previous := range predecessors {
		queries[&previous.Status] = states.QueryOf(previous.Fingerprint, &previous.Origin)
	}
	if len(in.Policies) == 0 {
		for fingerprint, known := range in.Known {
			for i := range known.Origins {
				origin := &known.Origins[i]
				queries[&origin.Status] = states.QueryOf(fingerprint, &origin.Origin)
			}
		}
	}
	evaluated, err := p.store.States.Of(ctx, in.Report.Org, slices.Collect(maps.Values(queries)))
	for status, query := range queries {
		*status = evaluated[query]
	}
	return err
}

// evaluate sets the policies' decisions, with a constant number of commands per factsPerRead artifacts.
func (p *Processor) evaluate(ctx context.Context, in *snapshot.Input, applied []policy.Applied) error {
	if len(applied) == 0 {
		return nil
	}
	controls := policy.ControlsOf(applied)
	images := slices.DeleteFunc(slices.Clone(in.Images), func(image snapshot.Reported) bool {
		_, ok := in.Known[image.Fingerprint]
		return !ok
	})
	for some := range slices.Chunk(images, factsPerRead) {
		subjects, fingerprints := subjectsOf(some, in.Known)
		loaded, err := p.store.Facts.Load(ctx, in.Report.Org, subjects, controls)
		if err != nil {
			return err
		}
		// The evaluation after the end of a permission may have been requested by a process whose clock is ahead.
		now := max(evidence.Seconds(p.clock()), in.Report.AcceptedAt)
		allowed, err := p.store.Allowlist.Of(ctx, in.Report.Environment, fingerprints, evidence.InForceAt(now))
		if err != nil {
			return err
		}
		for i := range subjects {
			fingerprint := subjects[i].Fingerprint
			// Policies can be made to take long; the task has a time limit.
			if err := ctx.Err(); err != nil {
				return err
			}
			known := in.Known[fingerprint]
			_, known.Allowed = allowed[fingerprint]
			setStates(&known, &loaded[i])
			known.Decisions, known.Compliant = snapshot.EvaluatePolicies(applied, &loaded[i].Facts, known.Allowed)
			in.Known[fingerprint] = known
		}
	}
	return nil
}

// subjectsOf returns the artifacts whose facts are to be read, and all fingerprints of each.
func subjectsOf(images []snapshot.Reported, known map[string]snapshot.Known) (subjects []facts.Subject, fingerprints [][]string) {
	for _, image := range images {
		subject := facts.Subject{Fingerprint: image.Fingerprint, Name: image.Name, Unapproved: map[string][]string{}}
		for _, origin := range known[image.Fingerprint].Origins {
			subject.Origins, subject.Unapproved[origin.Flow] = append(subject.Origins, origin.Origin), origin.Unapproved
		}
		subjects, fingerprints = append(subjects, subject), append(fingerprints, subject.Fingerprints())
	}
	return subjects, fingerprints
}

// setStates sets the states of an artifact in its trails, and what it lacks there.
func setStates(known *snapshot.Known, artifact *facts.Artifact) {
	for i := range known.Origins {
		flow := &artifact.Flows[i]
		known.Origins[i].Status = flow.Status
		if flow.Status != evidence.Compliant {
			known.Origins[i].Shortfall = new(flow.Shortfall)
		}
	}
}
