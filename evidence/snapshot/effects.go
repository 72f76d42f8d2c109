package snapshot

import (
	"cmp"
	"fmt"
	"slices"

	"attestry/evidence"
)

// Effects are the writes that follow from a snapshot. They are idempotent and may be late: they undo no later snapshot.
type Effects struct {
	// Exited are the fingerprints that no longer run.
	Exited []string
	Events []Event
	// Deployments are those of artifacts that began to run and of those that changed while they keep running. Learned are
	// those of artifacts that were deployed before any flow had a record of them.
	Deployments, Learned []Deployment
	// ByRepo are the deployments by repository of all running artifacts that have a change.
	ByRepo      []Deployment
	Successions []Succession
	FirstSeen   []FirstSeen
	TrailEvents []evidence.TrailEvent
}

// EffectsOf returns the effects of a snapshot. environment is a name. The lists are sorted by fingerprint.
func EffectsOf(made *Snapshot, changes []Change, artifacts []Artifact, environment string) Effects {
	changed := make(map[string]Artifact, len(changes))
	for _, change := range changes {
		i, runs := slices.BinarySearchFunc(artifacts, change.Fingerprint, func(a Artifact, fingerprint string) int {
			return cmp.Compare(a.Fingerprint, fingerprint)
		})
		if runs {
			changed[change.Fingerprint] = artifacts[i]
		}
	}
	e := Effects{Events: made.EventsOf(changes, changed), TrailEvents: made.trailEventsOf(changes, changed, environment)}
	for i := range changes {
		change := &changes[i]
		if change.Type == Exited {
			e.Exited = append(e.Exited, change.Fingerprint)
			continue
		}
		artifact := changed[change.Fingerprint]
		deployments := made.Deployments(&artifact)
		e.ByRepo = append(e.ByRepo, deployments[1:]...)
		if change.Type == Unchanged {
			continue
		}
		if change.Type.Started() {
			e.FirstSeen = append(e.FirstSeen, FirstSeen{
				Environment: made.Environment, Fingerprint: artifact.Fingerprint, At: made.Timestamp,
			})
		}
		if change.Learned {
			deployments[0].LearnedAt = made.Timestamp
			e.Learned = append(e.Learned, deployments[0])
		}
		e.Deployments = append(e.Deployments, deployments...)
		e.Successions = append(e.Successions, made.Successions(&artifact)...)
	}
	return e
}

// trailEventsOf returns the trail events of the artifacts that started or stopped with the snapshot, one for the trail
// of the newest record in each flow (docs/semantics.md 11.7). environment is the environment's current name. The ids
// are derived from the snapshot, so that an event which is stored again has the same id.
func (s *Snapshot) trailEventsOf(changes []Change, artifacts map[string]Artifact, environment string) []evidence.TrailEvent {
	var events []evidence.TrailEvent
	for _, c := range changes {
		kind := evidence.ArtifactStartedRunning
		instances := new(c.Now)
		if c.Type == Exited {
			kind, instances = evidence.ArtifactStoppedRunning, nil
		} else if !c.Type.Started() {
			continue
		}
		for _, origin := range c.artifact(artifacts).Origins {
			events = append(events, evidence.TrailEvent{
				ID:  fmt.Sprintf("%s/%d/%s", s.Environment, s.Number, c.Fingerprint),
				Org: s.Org, Flow: origin.Flow, Trail: origin.TrailKey(), Time: s.Timestamp, Type: kind,
				Data: &evidence.ArtifactRunData{
					Fingerprint: c.Fingerprint, Environment: s.Environment, EnvironmentName: environment,
					Snapshot: s.Number, Instances: instances, Name: origin.Slot,
				},
			})
		}
	}
	return events
}
