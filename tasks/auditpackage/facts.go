package auditpackage

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/storage"
	"attestry/storage/pipelines"
)

// facts are the facts of a package without the content of attestations, which is read in batches.
type facts struct {
	of     audit.Subject
	org    string // id
	flow   evidence.Flow
	trails []evidence.Trail
	// omittedTrails is to how many other trails the artifact was reported.
	omittedTrails int
	records       []evidence.ArtifactRecord // the oldest first
	events        []evidence.TrailEvent
	// attested are the attestations that the package has, in the order of their ids.
	attested    []pipelines.TrailAttestation
	templates   map[string]pipelines.StoredTemplate // by id
	evaluations map[string]*audit.Evaluation        // by the trail's id
}

func loadFacts(ctx context.Context, store *app.Store, assembly *audit.Assembly) (*facts, error) {
	f := &facts{org: assembly.Org, of: audit.Subject{
		Kind: assembly.Kind, Organization: assembly.OrgName, Fingerprint: assembly.Fingerprint, Attestation: assembly.Attestation,
	}}
	flows, err := store.Flows.Names(ctx, assembly.Org, []string{assembly.Flow})
	if err != nil {
		return nil, err
	}
	f.flow = flows[assembly.Flow]
	f.of.Flow, f.of.Trail = f.flow.Name, assembly.Trail
	if err := f.loadTrails(ctx, store, assembly); err != nil {
		return nil, err
	}
	if f.attested, err = store.Attestations.OfTrails(ctx, f.org, keysOf(f.trails)); err != nil {
		return nil, err
	}
	slices.SortFunc(f.attested, func(a, b pipelines.TrailAttestation) int { return audit.CompareMembers(a.ID, b.ID) })
	if err := f.loadRecords(ctx, store, assembly); err != nil {
		return nil, err
	}
	templates := evidence.Map(f.trails, func(trail evidence.Trail) string { return trail.Template })
	if f.templates, err = store.Templates.GetMany(ctx, f.org, evidence.Distinct(templates)); err != nil {
		return nil, err
	}
	f.evaluate()
	return f, nil
}

// loadTrails reads the trail of the package, or those that its artifact was reported to, with their events.
func (f *facts) loadTrails(ctx context.Context, store *app.Store, assembly *audit.Assembly) error {
	var err error
	if f.trails, f.omittedTrails, err = trailsOf(ctx, store, assembly); err != nil {
		return err
	}
	if len(f.trails) == 0 {
		return storage.Damaged(fmt.Sprintf("The trails of the package %s are lost", assembly.ID), storage.ErrNotFound)
	}
	slices.SortFunc(f.trails, func(a, b evidence.Trail) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	for i := range f.trails {
		events, err := store.Trails.Events(ctx, &f.trails[i])
		if err != nil {
			return err
		}
		f.events = append(f.events, events...)
	}
	slices.SortStableFunc(f.events, func(a, b evidence.TrailEvent) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Trail, b.Trail), cmp.Compare(a.ID, b.ID))
	})
	return nil
}

// trailsOf reads the trail of a package, or the newest audit.MaxTrails of its artifact, which has omitted more.
func trailsOf(ctx context.Context, store *app.Store, assembly *audit.Assembly) (trails []evidence.Trail, omitted int, err error) {
	keys := []string{evidence.TrailKey(assembly.Flow, assembly.Trail)}
	if assembly.Kind == audit.OfArtifact {
		if keys, err = store.Artifacts.TrailsInFlow(ctx, assembly.Org, assembly.Flow, assembly.Fingerprint); err != nil {
			return nil, 0, err
		}
		omitted = max(0, len(keys)-audit.MaxTrails)
		keys = keys[:len(keys)-omitted]
	}
	trails, err = store.Trails.GetMany(ctx, keys)
	return trails, omitted, err
}

func keysOf(trails []evidence.Trail) []string {
	return evidence.Map(trails, func(trail evidence.Trail) string { return trail.Key() })
}

// trailIDs are the ids of the trails, by key.
func (f *facts) trailIDs() map[string]string {
	return evidence.ToMap(f.trails, func(trail *evidence.Trail) (string, string) { return trail.Key(), trail.ID })
}

// loadRecords reads all reports of artifacts in the trails, and drops facts that do not concern the package's subject.
func (f *facts) loadRecords(ctx context.Context, store *app.Store, assembly *audit.Assembly) error {
	var ids []string
	for i := range f.events {
		if report, ok := f.events[i].Data.(*evidence.ArtifactReportData); ok {
			ids = append(ids, report.Record)
		}
	}
	for i := range f.trails {
		for _, name := range f.trails[i].SlotNames() {
			if record := f.trails[i].Slots[name].Record; record != "" {
				ids = append(ids, record)
			}
		}
	}
	records, err := store.Artifacts.GetMany(ctx, evidence.Distinct(ids))
	if err != nil {
		return err
	}
	slices.SortFunc(records, func(a, b evidence.ArtifactRecord) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	f.records = records
	switch assembly.Kind {
	case audit.OfArtifact:
		f.limitToArtifact(assembly.Fingerprint)
	case audit.OfAttestation:
		return f.limitToAttestation(assembly.Attestation)
	}
	return nil
}

// limitToArtifact keeps the reports of an artifact, its attestations, and those of its trails.
func (f *facts) limitToArtifact(fingerprint string) {
	f.records = slices.DeleteFunc(f.records, func(r evidence.ArtifactRecord) bool { return r.Fingerprint != fingerprint })
	subjects := map[evidence.Subject]bool{}
	for i := range f.records {
		for _, subject := range f.records[i].Subjects() {
			subjects[subject] = true
		}
	}
	f.attested = slices.DeleteFunc(f.attested, func(a pipelines.TrailAttestation) bool {
		ofTrail := a.Fingerprint == "" && len(a.Targets) == 0
		return !ofTrail && !slices.ContainsFunc(a.Subjects(), func(s evidence.Subject) bool { return subjects[s] })
	})
}

// limitToAttestation keeps the attestation of an id, those that it replaced and those that replaced it: all have its
// name and one of its subjects. The trail is not evaluated.
func (f *facts) limitToAttestation(id string) error {
	f.records, f.events = nil, nil
	i := slices.IndexFunc(f.attested, func(a pipelines.TrailAttestation) bool { return a.ID == id })
	if i < 0 {
		return storage.Damaged(fmt.Sprintf("Attestation %s is lost", id), storage.ErrNotFound)
	}
	name, subjects := f.attested[i].Name, f.attested[i].Subjects()
	f.attested = slices.DeleteFunc(f.attested, func(a pipelines.TrailAttestation) bool {
		same := func(s evidence.Subject) bool { return slices.Contains(subjects, s) }
		return a.Name != name || !slices.ContainsFunc(a.Subjects(), same)
	})
	return nil
}

// evaluate evaluates the trails by the facts of the package.
func (f *facts) evaluate() {
	f.evaluations = map[string]*audit.Evaluation{}
	if f.of.Kind == audit.OfAttestation {
		return
	}
	for i := range f.trails {
		trail := &f.trails[i]
		evaluated := audit.NewTrail(audit.NewFlowDocument(&f.flow), trail.Name, trail.Commit, trail.Template, f.templates[trail.Template].Template)
		for j := range f.records {
			if f.records[j].Trail == trail.Name {
				evaluated.Report(&f.records[j])
			}
		}
		for _, one := range f.attested {
			if one.Trail == trail.Key() {
				evaluated.AttestEntry(one.SlotEntry, one.Targets)
			}
		}
		f.evaluations[trail.ID] = evaluated.Evaluate()
	}
}

// fingerprints are those of the artifacts of the package, sorted.
func (f *facts) fingerprints() []string {
	fingerprints := evidence.Map(f.records, func(record evidence.ArtifactRecord) string { return record.Fingerprint })
	slices.Sort(fingerprints)
	return slices.Compact(fingerprints)
}

// latest is the time of the latest fact, in Unix seconds.
func (f *facts) latest() float64 {
	var latest float64
	for i := range f.trails {
		latest = max(latest, f.trails[i].LastModifiedAt)
	}
	for i := range f.events {
		latest = max(latest, f.events[i].Time)
	}
	return latest
}
