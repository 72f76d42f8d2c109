package snapshot

import (
	"fmt"

	"attestry/evidence"
)

// TrailEventsOf tells the trails of the artifacts that began or ceased to run with
// a snapshot: those of the newest record in each flow (docs/semantics.md 11.7).
// environment is the environment's name now. The ids follow from the snapshot.
func (s *Snapshot) TrailEventsOf(changes []Change, artifacts map[string]Artifact, environment string) []evidence.TrailEvent {
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
