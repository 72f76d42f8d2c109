// Package recording writes what pipelines report: trails, artifacts, attestations and
// their overrides, each with the aggregates and events that follow from it.
package recording

import (
	"context"

	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/cache"
	"attestry/storage/environments"
	"attestry/storage/governance"
	"attestry/storage/logs"
	"attestry/storage/pipelines"
)

// Recorder writes what pipelines report with one batch: the fact, then the aggregates that reflect it, then its event.
// Facts can be applied again in any order. Reconcile does so for facts without an event.
type Recorder struct {
	Repositories
	docs  storage.Documents
	marks *highWaterMarks

	// changes combines concurrent changes of a trail, by its key. begins combines new trails of a flow, by its id.
	changes *storage.Combiner[*change]
	begins  *storage.Combiner[*newTrail]
	// cached are trails as this process wrote them last, by key.
	cached cache.LRU[*trailUpdate]
	// running caches where fingerprints run.
	running cache.LRU[cachedRunning]
}

// Repositories are those that a Recorder reads and writes.
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
	Controls     *governance.Controls
	People       *governance.People
	Approvals    *governance.Approvals
	Repos        *pipelines.Repos
	Running      *environments.RunningSet
	Generations  *storage.Generations
	// Logged writes each fact and then, in the same command, its leaf in the transparency log.
	Logged *logs.Documents
}

// NewRecorder makes a recorder. The engine behind docs must be that of the repositories.
func NewRecorder(to Repositories, docs storage.Documents, clock evidence.Clock) *Recorder {
	r := &Recorder{
		Repositories: to, docs: docs, marks: newHighWaterMarks(docs, clock),
		cached: cache.NewLRU[*trailUpdate](maxCached), running: cache.NewLRU[cachedRunning](maxCachedRunning),
	}
	r.changes = storage.NewCombiner(r.applyChanges)
	r.begins = storage.NewCombiner(r.beginAll)
	return r
}

// Scope says where something is reported, by whom, and when. The recorded fact may get a later time.
type Scope struct {
	Org, OrgName string
	// Flow is the flow's name.
	Flow string
	// Trail is the trail's name.
	Trail    string
	By, ByID string
	At       float64
}

// microsecond is the least difference of two times, in seconds.
const microsecond = 1e-6

// timeAfter returns a time for a new fact, in Unix seconds. It is later than last, the newest fact it may
// supersede, and than the facts that the reconciler has read, which reads on from there.
func (r *Recorder) timeAfter(ctx context.Context, org string, last, now float64) (float64, error) {
	reconciled, err := r.marks.newest(ctx, org)
	return evidence.TimeAfter(max(last, reconciled), now), err
}

// errBusy asks the client to try again, as other requests keep changing the trail.
var errBusy = evidence.Busy("The trail is being changed by many requests at once, please try again.")
