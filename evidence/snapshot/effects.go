package snapshot

import "attestry/evidence"

// Effects are what follows from a snapshot. They may be repeated and late: they undo nothing of later snapshots.
type Effects struct {
	// Exited are the fingerprints that no longer run.
	Exited []string
	Events []Event
	// Deployments are those of what newly runs and of what changed while it runs on. Learned are
	// those of artifacts that were deployed before, and that no flow had known then.
	Deployments, Learned []Deployment
	// ByRepo are the deployments in repositories of everything that has a change and runs.
	ByRepo      []Deployment
	Successions []Succession
	FirstSeen   []FirstSeen
	TrailEvents []evidence.TrailEvent
}

// EffectsOf returns what follows from a snapshot of an environment of that name. The lists are sorted by fingerprint.
func EffectsOf(made *Snapshot, changes []Change, artifacts []Artifact, environment string) Effects {
	running := changedArtifacts(changes, artifacts)
	e := Effects{Events: made.EventsOf(changes, running), TrailEvents: made.TrailEventsOf(changes, running, environment)}
	for i := range changes {
		change := &changes[i]
		if change.Type == Exited {
			e.Exited = append(e.Exited, change.Fingerprint)
			continue
		}
		artifact := running[change.Fingerprint]
		e.deploy(made, change, &artifact)
	}
	return e
}

// changedArtifacts returns the artifacts that are among the changes, by fingerprint.
func changedArtifacts(changes []Change, artifacts []Artifact) map[string]Artifact {
	changed := make(map[string]Artifact, len(changes))
	for _, change := range changes {
		for len(artifacts) > 0 && artifacts[0].Fingerprint < change.Fingerprint {
			artifacts = artifacts[1:]
		}
		if len(artifacts) > 0 && artifacts[0].Fingerprint == change.Fingerprint {
			changed[change.Fingerprint] = artifacts[0]
		}
	}
	return changed
}

// deploy adds an artifact that runs to the histories of its environment.
func (e *Effects) deploy(made *Snapshot, change *Change, artifact *Artifact) {
	deployments := made.Deployments(artifact)
	e.ByRepo = append(e.ByRepo, deployments[1:]...)
	if change.Type == Unchanged {
		return
	}
	if change.Type.Started() {
		e.FirstSeen = append(e.FirstSeen, FirstSeen{
			Environment: made.Environment, Fingerprint: artifact.Fingerprint, At: made.Timestamp,
		})
	}
	if change.Learned {
		e.Learned = append(e.Learned, deployments[0])
	}
	e.Deployments = append(e.Deployments, deployments...)
	e.Successions = append(e.Successions, made.Successions(artifact)...)
}
