package snapshot

import (
	"fmt"
	"slices"

	"attestry/evidence"
)

// runningData are the members of the events that tell a trail of its artifact's
// starts and exits (docs/semantics.md 4.4).
type runningData struct {
	Fingerprint     string `json:"artifact_fingerprint"`
	EnvironmentID   string `json:"environment_id"`
	EnvironmentName string `json:"environment_name"`
	SnapshotIndex   int64  `json:"snapshot_index"`
	ReplicaNumber   *int   `json:"replica_number,omitempty"`
	ReferenceName   string `json:"template_reference_name"`
}

// ConcernTrails tells whether something that a flow knows began or ceased to run.
func ConcernTrails(changes []Change, artifacts map[string]Artifact) bool {
	return slices.ContainsFunc(changes, func(c Change) bool {
		return (c.Type.Started() || c.Type == Exited) && len(c.artifact(artifacts).Origins) > 0
	})
}

// TrailEventsOf tells the trails of the artifacts that began or ceased to run with
// a snapshot: those of the newest record in each flow (docs/semantics.md 11.7).
// environment is the environment's name now. The ids follow from the snapshot.
func (s *Snapshot) TrailEventsOf(changes []Change, artifacts map[string]Artifact, environment string) []evidence.TrailEvent {
	var events []evidence.TrailEvent
	for _, c := range changes {
		kind := evidence.ArtifactStartedRunning
		replicas := new(c.Now)
		if c.Type == Exited {
			kind, replicas = evidence.ArtifactStoppedRunning, nil
		} else if !c.Type.Started() {
			continue
		}
		for _, origin := range c.artifact(artifacts).Origins {
			events = append(events, evidence.TrailEvent{
				ID:  fmt.Sprintf("%s/%d/%s", s.Environment, s.Number, c.Fingerprint),
				Org: s.Org, Flow: origin.Flow, Trail: origin.TrailKey(), Time: s.Timestamp, Type: kind,
				Data: encode(runningData{
					Fingerprint: c.Fingerprint, EnvironmentID: s.Environment, EnvironmentName: environment,
					SnapshotIndex: s.Number, ReplicaNumber: replicas, ReferenceName: origin.Slot,
				}),
			})
		}
	}
	return events
}
