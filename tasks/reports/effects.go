package reports

import (
	"attestry/app"
	"attestry/evidence"
	rules "attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/environments"
)

// effects are what follows from a snapshot. All of it can be written again, and it can be
// written late: nothing of it takes back what a later snapshot has written.
type effects struct {
	// exited are the fingerprints that no longer run, ended the ids of the running entries
	// that they have.
	exited, ended []string
	// running lists what runs by its repositories.
	running []environments.Running
	events  []rules.Event
	// deployments are those of what newly runs and, of what runs on, what flows have learned
	// of it since. Those that are learned were known before, with less.
	deployments, learned []rules.Deployment
	places               []rules.Succession
	sightings            []rules.FirstSeen
	trailEvents          []evidence.TrailEvent
}

// effectsOf returns what follows from a snapshot of an environment of that name, but for the
// ids of running entries.
func effectsOf(made *rules.Snapshot, changes []rules.Change, artifacts []rules.Artifact, environment string) *effects {
	running := changedArtifacts(changes, artifacts)
	e := &effects{events: made.EventsOf(changes, running), trailEvents: made.TrailEventsOf(changes, running, environment)}
	for _, change := range changes {
		if change.Type == rules.Exited {
			e.exited = append(e.exited, change.Fingerprint)
			continue
		}
		artifact := running[change.Fingerprint]
		e.list(made, &artifact)
		if change.Type != rules.Unchanged {
			e.deploy(made, &change, &artifact)
		}
	}
	return e
}

// changedArtifacts are those of the artifacts that are among the changes, by fingerprint. Both
// lists are sorted by fingerprint.
func changedArtifacts(changes []rules.Change, artifacts []rules.Artifact) map[string]rules.Artifact {
	changed := make(map[string]rules.Artifact, len(changes))
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

// list lists an artifact by its repositories.
func (e *effects) list(made *rules.Snapshot, artifact *rules.Artifact) {
	for _, repo := range artifact.Repos() {
		e.running = append(e.running, environments.Running{
			Org: made.Org, Environment: made.Environment, Fingerprint: artifact.Fingerprint, Since: artifact.Since,
			Repo: repo, Name: artifact.Name, StartedAt: artifact.StartedAt,
		})
	}
}

// deploy adds what an artifact that has changed is in the histories of its environment.
func (e *effects) deploy(made *rules.Snapshot, change *rules.Change, artifact *rules.Artifact) {
	if change.Type.Started() {
		e.sightings = append(e.sightings, rules.FirstSeen{
			Environment: made.Environment, Fingerprint: artifact.Fingerprint, At: made.Timestamp,
		})
	}
	all := made.Deployments(artifact)
	if change.Learned {
		e.learned = append(e.learned, all[0])
	}
	e.deployments = append(e.deployments, all...)
	e.places = append(e.places, made.Successions(artifact)...)
}

// addTo adds the effects to a batch.
func (e *effects) addTo(batch *storage.Batch, store *app.Store) {
	store.Running.RemoveIn(batch, e.ended...)
	store.Running.AddIn(batch, e.running...)
	store.Events.RecordIn(batch, e.events)
	store.Deployments.RecordIn(batch, e.deployments, e.learned)
	store.Successions.RecordIn(batch, e.places)
	store.FirstSeen.RecordIn(batch, e.sightings)
	store.TrailEvents.AddIn(batch, e.trailEvents...)
}
