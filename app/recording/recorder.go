// Package recording writes what pipelines report: trails, artifacts, attestations and
// their overrides, each with the aggregates and events that follow from it.
package recording

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"attestry/evidence"
	"attestry/evidence/compliance"
	"attestry/storage"
	"attestry/storage/environments"
	"attestry/storage/pipelines"
)

// Recorder writes what pipelines report: the fact first, then the aggregates that
// reflect it, at last its event. Applying a fact is idempotent and in any order,
// so that a fact whose event is missing can be applied again (Reconcile).
type Recorder struct {
	flows        *pipelines.Flows
	templates    *pipelines.Templates
	trails       *pipelines.Trails
	slots        *pipelines.Slots
	artifacts    *pipelines.Artifacts
	attestations *pipelines.Attestations
	events       *pipelines.TrailEvents
	provenances  *pipelines.Provenances
	decisions    *pipelines.Decisions
	repos        *pipelines.Repos
	running      *environments.RunningSet
	generations  *storage.Generations
	marks        *highWaterMarks
}

// Repositories are what a Recorder writes to.
type Repositories struct {
	Flows        *pipelines.Flows
	Templates    *pipelines.Templates
	Trails       *pipelines.Trails
	Slots        *pipelines.Slots
	Artifacts    *pipelines.Artifacts
	Attestations *pipelines.Attestations
	TrailEvents  *pipelines.TrailEvents
	Provenances  *pipelines.Provenances
	Decisions    *pipelines.Decisions
	Repos        *pipelines.Repos
	Running      *environments.RunningSet
	Generations  *storage.Generations
}

// NewRecorder makes a recorder. The engine behind docs must be that of the repositories.
func NewRecorder(to Repositories, docs storage.Documents, clock evidence.Clock) *Recorder {
	return &Recorder{
		flows: to.Flows, templates: to.Templates, trails: to.Trails, slots: to.Slots,
		artifacts: to.Artifacts, attestations: to.Attestations, events: to.TrailEvents,
		provenances: to.Provenances, decisions: to.Decisions, repos: to.Repos, running: to.Running, generations: to.Generations,
		marks: newHighWaterMarks(docs, clock),
	}
}

// Scope says where something is reported, by whom, and when by the clock of this
// process. What is recorded may get a later time: see timeAfter.
type Scope struct {
	Org, OrgName string
	// Flow is the flow's name.
	Flow string
	// Trail is the trail's name.
	Trail    string
	By, ByID string
	At       float64
}

// errTemplateMoved ends an update that was prepared under another template.
var errTemplateMoved = errors.New("the trail's template has changed")

// reflectAttempts bounds how often a change is prepared again because the trail
// got another template meanwhile.
const reflectAttempts = 5

// flow returns the id of a scope's flow, making the flow if need be.
func (r *Recorder) flow(ctx context.Context, scope Scope) (string, error) {
	ref, err := r.flows.Resolve(ctx, scope.Org, scope.Flow)
	if !errors.Is(err, storage.ErrNotFound) {
		return ref.ID, err
	}
	flow, _, err := r.flows.Ensure(ctx, scope.Org, scope.Flow, scope.By, scope.At)
	return flow.ID, err
}

// open returns a trail, which is begun if it is not there, and the time of the newest
// thing in it, in Unix seconds. What the trail is begun for may have the same time as the
// trail, and only that.
func (r *Recorder) open(ctx context.Context, scope Scope, flow string) (seen storage.Versioned[evidence.Trail], last float64, err error) {
	begun := false
	for {
		seen, err := r.trails.Collection.GetVersioned(ctx, evidence.TrailKey(flow, scope.Trail))
		switch {
		case errors.Is(err, storage.ErrNotFound):
		case begun:
			return seen, seen.Value.CreatedAt - microsecond, err
		default:
			return seen, seen.Value.LastModifiedAt, err
		}
		_, err = r.create(ctx, scope, flow, evidence.TrailChange{}, nil)
		if err != nil && !errors.Is(err, storage.ErrExists) {
			return seen, 0, err
		}
		begun = err == nil
	}
}

// microsecond is the least difference of two times, in seconds.
const microsecond = 1e-6

// timeAfter returns the time of something that is recorded now: later than last, which is
// the time of the newest thing that it may supersede, and later than what the reconciler
// has seen, so that it is found there too. All are Unix seconds.
func (r *Recorder) timeAfter(ctx context.Context, org string, last, now float64) (float64, error) {
	reconciled, err := r.marks.newest(ctx, org)
	return evidence.TimeAfter(max(last, reconciled), now), err
}

// create begins a trail that is not there yet, or returns ErrExists. It begins later
// than all trails of the flow, the last of which is the flow's latest.
func (r *Recorder) create(ctx context.Context, scope Scope, flow string, change evidence.TrailChange, repo *evidence.Repo) (evidence.Trail, error) {
	found, err := r.flows.GetMany(ctx, []string{flow})
	if err != nil {
		return evidence.Trail{}, err
	}
	if len(found) == 0 {
		return evidence.Trail{}, fmt.Errorf("flow %s has a name but no document", flow)
	}
	tally, err := r.trails.Tallies.LookUp(ctx, flow)
	if err != nil {
		return evidence.Trail{}, err
	}
	if scope.At, err = r.timeAfter(ctx, scope.Org, tally.Value.LatestAt, scope.At); err != nil {
		return evidence.Trail{}, err
	}
	trail := evidence.Trail{
		ID: evidence.NewID(), Org: scope.Org, Flow: flow, Name: scope.Trail,
		CreatedAt: scope.At, CreatedBy: scope.By, CreatedByID: scope.ByID,
		Template: found[0].Template, EntriesAt: scope.At, Uncounted: true,
	}
	trail.Apply(change)
	trail.Touch(scope.At)
	stored, err := r.templates.Get(ctx, scope.Org, trail.Template)
	if err != nil {
		return trail, err
	}
	trail.Status = compliance.Trail(&stored.Template, &trail)
	trail.Pending = []evidence.TrailEvent{begunEvent(&trail, scope, repo)}
	if err := r.trails.Collection.Insert(ctx, trail); err != nil {
		return trail, err
	}
	return trail, r.trails.SettleFrom(ctx, trail, tally)
}

// Begin begins a trail of the flow of that id, or patches the one that is there.
// It tells whether it was begun.
func (r *Recorder) Begin(ctx context.Context, scope Scope, flow string, change evidence.TrailChange, repo *evidence.Repo) (created bool, err error) {
	for range reflectAttempts {
		seen, err := r.trails.Collection.GetVersioned(ctx, evidence.TrailKey(flow, scope.Trail))
		switch {
		case errors.Is(err, storage.ErrNotFound):
			_, err = r.create(ctx, scope, flow, change, repo)
			if !errors.Is(err, storage.ErrExists) {
				return err == nil, err
			}
		case err != nil:
			return false, err
		default:
			err = r.patch(ctx, scope, seen, change, repo)
			if !errors.Is(err, errTemplateMoved) {
				return false, err
			}
		}
	}
	return false, busy()
}

// busy asks the client to try again: the trail is being changed all the time.
func busy() error {
	return &evidence.Error{
		Code:       evidence.Unavailable,
		Message:    "The trail is being changed by many requests at once, please try again.",
		RetryAfter: time.Second,
	}
}

// patch changes a trail. Under another template, all slots are evaluated anew.
func (r *Recorder) patch(ctx context.Context, scope Scope, seen storage.Versioned[evidence.Trail], change evidence.TrailChange, repo *evidence.Repo) error {
	wanted := seen.Value.Template
	if change.Template != "" {
		wanted = change.Template
	}
	stored, err := r.templates.Get(ctx, scope.Org, wanted)
	if err != nil {
		return err
	}
	summaries := map[string]evidence.SlotSummary{}
	if wanted != seen.Value.Template {
		slots, err := r.slots.OfTrail(ctx, seen.Value.Key(), seen.Value.SlotNames())
		if err != nil {
			return err
		}
		for name, slot := range slots {
			summaries[name] = compliance.Summarize(wanted, &stored.Template, &slot)
		}
	}
	event, now := evidence.NewID(), scope.At
	moved := false
	trail, err := r.trails.Collection.UpdateFrom(ctx, seen, func(t *evidence.Trail) error {
		changed := t.Apply(change)
		if len(changed) == 0 {
			return nil
		}
		if t.Template != wanted {
			return errTemplateMoved
		}
		if moved = slices.Contains(changed, "template"); moved {
			for name, known := range t.Slots {
				fresh, ok := summaries[name]
				if !ok || fresh.Version < known.Version {
					return errTemplateMoved
				}
				t.Slots[name] = fresh
			}
		}
		scope.At = evidence.TimeAfter(t.LastModifiedAt, now)
		t.Touch(scope.At)
		t.EntriesAt = max(t.EntriesAt, scope.At)
		t.Status = compliance.Trail(&stored.Template, t)
		t.Pending = append(t.Pending, changedEvent(t, event, scope, repo, changed))
		return nil
	})
	if err != nil {
		return err
	}
	if moved || leftBehind(&trail, event) {
		if err := r.bumpIfTrailRuns(ctx, &trail); err != nil {
			return err
		}
	}
	return r.trails.Settle(ctx, trail)
}

// leftBehind tells whether a change of a trail is pending whose author may have been
// killed before announcing it.
func leftBehind(trail *evidence.Trail, own string) bool {
	return slices.ContainsFunc(trail.Pending, func(e evidence.TrailEvent) bool {
		return e.Type == evidence.TrailUpdated && e.ID != own
	})
}

// reflect makes a trail reflect a change of its own entries, or of slots. An error
// of change ends it.
func (r *Recorder) reflect(ctx context.Context, seen storage.Versioned[evidence.Trail], at float64, repo string, slots []evidence.Slot, change func(*evidence.Trail) error) (evidence.Trail, error) {
	for range reflectAttempts {
		stored, err := r.templates.Get(ctx, seen.Value.Org, seen.Value.Template)
		if err != nil {
			return seen.Value, err
		}
		trail, err := r.trails.Collection.UpdateFrom(ctx, seen, func(t *evidence.Trail) error {
			if t.Template != stored.ID {
				return errTemplateMoved
			}
			if err := change(t); err != nil {
				return err
			}
			for _, slot := range slots {
				t.Summarize(slot.Name, compliance.Summarize(stored.ID, &stored.Template, &slot))
			}
			t.AddRepo(repo)
			t.Touch(at)
			t.Status = compliance.Trail(&stored.Template, t)
			return nil
		})
		if !errors.Is(err, errTemplateMoved) {
			return trail, err
		}
		if seen, err = r.trails.Collection.GetVersioned(ctx, seen.Value.Key()); err != nil {
			return seen.Value, err
		}
	}
	return seen.Value, busy()
}

// bumpIfRunning lets the environments judge anew in which one of the fingerprints
// runs.
func (r *Recorder) bumpIfRunning(ctx context.Context, org string, fingerprints []string) error {
	runs, err := r.running.Any(ctx, org, fingerprints)
	if err != nil || !runs {
		return err
	}
	return r.generations.Bump(ctx, org)
}

// bumpIfTrailRuns is announce for all artifacts of a trail. Those that are not the
// newest of their name may run as well; a trail does not know which they are.
func (r *Recorder) bumpIfTrailRuns(ctx context.Context, trail *evidence.Trail) error {
	for _, summary := range trail.Slots {
		if summary.Displaced {
			return r.generations.Bump(ctx, trail.Org)
		}
	}
	return r.bumpIfRunning(ctx, trail.Org, trail.Fingerprints())
}
