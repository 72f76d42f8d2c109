package auditpackage

import (
	"context"
	"maps"
	"slices"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/evidence/control"
	"attestry/storage/environments"
)

// state is the state that a package depends on, besides that of shownOf. The same state makes the same package.
type state struct {
	Schema  int
	OrgName string
	Flow    flowState
	// Trails are the SHA-256 of each stored trail, which changes with each report to it.
	Trails []string
	// Events are those of the trails: how many there are, and when the last one happened.
	Events    int64
	LastEvent float64
	// Log is the origin of the organization's log and the keys that sign it.
	Log []string `json:",omitempty"`
	// Running is where artifacts of the package run. The generation changes with policies and facts
	// (docs/semantics.md 10.4).
	Running []runningState
}

type flowState struct {
	Name, Description string
	Tags              map[string]string
}

type runningState struct {
	Fingerprint, Environment, Name, Generation string
	Archived                                   bool
	Since                                      int64
}

// stateOf returns the state that the package of a trail, an artifact or an attestation depends on, as a SHA-256. It
// takes a constant number of commands, and more only for MaxMany reports of an artifact and for pruned slots.
func stateOf(ctx context.Context, store *app.Store, assembly *audit.Assembly) (string, error) {
	s := state{Schema: audit.SchemaVersion, OrgName: assembly.OrgName}
	flows, err := store.Flows.Names(ctx, assembly.Org, []string{assembly.Flow})
	if err != nil {
		return "", err
	}
	flow := flows[assembly.Flow]
	s.Flow = flowState{Name: flow.Name, Description: flow.Description, Tags: flow.Tags}
	trails, _, err := trailsOf(ctx, store, assembly)
	if err != nil {
		return "", err
	}
	for _, trail := range trails {
		trail.Pending, trail.Uncounted = nil, false // they are about its storage
		sum, err := audit.Sum(trail)
		if err != nil {
			return "", err
		}
		s.Trails = append(s.Trails, sum)
	}
	if s.Events, s.LastEvent, err = store.TrailEvents.Extent(ctx, assembly.Org, keysOf(trails)); err != nil {
		return "", err
	}
	log, err := logOf(ctx, store, assembly.Org)
	if err != nil {
		return "", err
	}
	if log.Checkpoint != "" {
		s.Log = append(s.Log, log.Origin)
		s.Log = append(s.Log, log.Verifiers...)
	}
	if s.Running, err = runningStates(ctx, store, assembly, trails); err != nil {
		return "", err
	}
	return audit.Sum(s)
}

func runningStates(ctx context.Context, store *app.Store, assembly *audit.Assembly, trails []evidence.Trail) ([]runningState, error) {
	fingerprints, err := fingerprintsOf(ctx, store, assembly, trails)
	if err != nil || len(fingerprints) == 0 {
		return nil, err
	}
	entries, err := runningOf(ctx, store, assembly.Org, fingerprints)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	ids := environmentsOf(entries)
	generations, err := store.Generations.GetMany(ctx, assembly.Org, ids)
	if err != nil {
		return nil, err
	}
	names, err := store.Environments.Names(ctx, assembly.Org, ids)
	if err != nil {
		return nil, err
	}
	return evidence.Map(entries, func(entry environments.Running) runningState {
		return runningState{
			Fingerprint: entry.Fingerprint, Environment: entry.Environment, Name: names[entry.Environment].Name,
			Archived: names[entry.Environment].Archived, Generation: generations[entry.Environment], Since: entry.Since,
		}
	}), nil
}

func environmentsOf(entries []environments.Running) []string {
	return evidence.Distinct(evidence.Map(entries, func(entry environments.Running) string { return entry.Environment }))
}

// fingerprintsOf returns the artifacts of a package. A trail has the newest of each name; its slots have the others,
// and if a slot has dropped some, the events of the trail.
func fingerprintsOf(ctx context.Context, store *app.Store, assembly *audit.Assembly, trails []evidence.Trail) ([]string, error) {
	switch assembly.Kind {
	case audit.OfArtifact:
		return []string{assembly.Fingerprint}, nil
	case audit.OfAttestation:
		return nil, nil
	}
	var fingerprints, slots []string
	for i := range trails {
		fingerprints = append(fingerprints, trails[i].Fingerprints()...)
		for name, summary := range trails[i].Slots {
			if summary.HasOlder {
				slots = append(slots, evidence.SlotID(trails[i].Key(), name))
			}
		}
	}
	found, err := store.Slots.GetMany(ctx, slots)
	if err != nil {
		return nil, err
	}
	for i := range found {
		for _, artifact := range found[i].Artifacts {
			fingerprints = append(fingerprints, artifact.Fingerprint)
		}
	}
	if slices.ContainsFunc(found, func(slot evidence.Slot) bool { return slot.Pruned }) {
		reported, err := reportedTo(ctx, store, trails)
		if err != nil {
			return nil, err
		}
		fingerprints = append(fingerprints, reported...)
	}
	slices.Sort(fingerprints)
	return slices.Compact(fingerprints), nil
}

// reportedTo returns the fingerprints that were reported to trails, from their events.
func reportedTo(ctx context.Context, store *app.Store, trails []evidence.Trail) ([]string, error) {
	var fingerprints []string
	for i := range trails {
		events, err := store.Trails.Events(ctx, &trails[i])
		if err != nil {
			return nil, err
		}
		for j := range events {
			if report, ok := events[j].Data.(*evidence.ArtifactReportData); ok {
				fingerprints = append(fingerprints, report.Fingerprint)
			}
		}
	}
	return fingerprints, nil
}

// shownOf returns the SHA-256 of controls and environments that a package shows and its state lacks, with two commands.
func shownOf(ctx context.Context, store *app.Store, org string, controls, environments []string) (string, error) {
	found, err := store.Controls.GetMany(ctx, org, controls)
	if err != nil {
		return "", err
	}
	names, err := environmentNames(ctx, store, org, environments)
	if err != nil {
		return "", err
	}
	return sumShown(found, names)
}

func sumShown(controls map[string]control.Control, environments map[string]string) (string, error) {
	return audit.Sum(struct {
		Controls     map[string]control.Control
		Environments map[string]string
	}{controls, environments})
}

// setShown sets the controls and environments that shownOf compares at the next request.
func (d *draft) setShown(assembled *audit.Assembled) error {
	controls := map[string]control.Control{}
	for _, one := range d.controls {
		controls[one.Identifier] = one.Control
		assembled.Controls = append(assembled.Controls, one.Identifier)
	}
	assembled.Environments = slices.Sorted(maps.Keys(d.environments))
	var err error
	assembled.Shown, err = sumShown(controls, d.environments)
	return err
}
