package auditpackage

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"

	"attestry/app"
	appfacts "attestry/app/facts"
	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/evidence/policy"
	"attestry/evidence/snapshot"
	"attestry/links"
	"attestry/storage/environments"
	"attestry/storage/logs"
	"attestry/storage/pipelines"
)

// judged are the environments in which artifacts of a package run, with the policies and facts of their evaluation.
type judged struct {
	documents []audit.EnvironmentDocument
	applied   []policy.Applied // each version once
	controls  []string
	// ids and allowances are the ids of environments and of allowances, snapshots the names of snapshots in the log.
	ids, snapshots, allowances []string
}

// judge evaluates the artifacts of a package by the policies of the environments in which they run, with the facts of
// now, as an assert does. For trails of the package it uses the facts in the package.
func judge(ctx context.Context, store *app.Store, link links.Links, f *facts) (*judged, error) {
	entries, err := runningOf(ctx, store, f.org, f.fingerprints())
	if err != nil || len(entries) == 0 {
		return &judged{}, err
	}
	found, err := store.Environments.GetMany(ctx, environmentsOf(entries))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b evidence.Environment) int { return cmp.Compare(a.Name, b.Name) })
	j := &judged{}
	for i := range found {
		if found[i].Archived {
			continue
		}
		here := slices.DeleteFunc(slices.Clone(entries), func(e environments.Running) bool { return e.Environment != found[i].ID })
		if err := j.addEnvironment(ctx, store, link, f, &found[i], here); err != nil {
			return nil, err
		}
	}
	return j, nil
}

// runningOf returns the running set's entries of artifacts and children, even children that count as another artifact.
func runningOf(ctx context.Context, store *app.Store, org string, fingerprints []string) ([]environments.Running, error) {
	children, err := store.Provenances.Children(ctx, org, fingerprints)
	if err != nil {
		return nil, err
	}
	for _, some := range children {
		fingerprints = append(fingerprints, some...)
	}
	return store.Running.Entries(ctx, org, evidence.Distinct(fingerprints))
}

// addEnvironment evaluates the artifacts that run in an environment.
func (j *judged) addEnvironment(ctx context.Context, store *app.Store, link links.Links, f *facts, environment *evidence.Environment, entries []environments.Running) error {
	slices.SortFunc(entries, func(a, b environments.Running) int {
		return cmp.Or(cmp.Compare(a.Fingerprint, b.Fingerprint), cmp.Compare(b.Since, a.Since))
	})
	entries = slices.CompactFunc(entries, func(a, b environments.Running) bool { return a.Fingerprint == b.Fingerprint })
	applied, err := store.Policies.Latest(ctx, f.org, environment.Policies)
	if err != nil {
		return err
	}
	subjects, known, err := loadKnown(ctx, store, environment, entries, policy.ControlsOf(applied))
	if err != nil {
		return err
	}
	fingerprints := evidence.Map(subjects, func(of appfacts.Subject) []string { return of.Fingerprints() })
	// Lapsed decides, not the clock, so that the package depends on stored data only.
	allowed, err := store.Allowlist.Of(ctx, environment.ID, fingerprints, func(a *evidence.Allowance) bool { return !a.Lapsed })
	if err != nil {
		return err
	}
	started, err := startTimes(ctx, store, environment.ID, entries)
	if err != nil {
		return err
	}
	own := evidence.SetOf(f.records, func(record *evidence.ArtifactRecord) string { return record.Fingerprint })
	for i, entry := range entries {
		counts := slices.ContainsFunc(fingerprints[i], func(one string) bool { return own[one] })
		if _, begun := started[entry.Since]; !begun || !counts {
			continue // its snapshot is still being made, or it counts as another artifact (docs/semantics.md 5.5)
		}
		document := audit.EnvironmentDocument{
			Environment: environment.Name, Fingerprint: entry.Fingerprint, Since: entry.Since, StartedAt: started[entry.Since],
			HTMLURL: link.Environment(f.of.Organization, environment.Name), Facts: known[i].Facts,
		}
		if allowance, ok := allowed[entry.Fingerprint]; ok {
			document.Allowed = &audit.Allowance{Reason: allowance.Description, By: allowance.UserName, At: allowance.At, Until: allowance.ExpiresAt}
			j.allowances = append(j.allowances, environment.ID+"/"+allowance.Fingerprint)
		}
		f.refer(&document, subjects[i].Origins)
		if err := document.Judge(applied, f.evaluations); err != nil {
			return err
		}
		j.documents = append(j.documents, document)
		j.snapshots = append(j.snapshots, logs.FactName("snapshot", environment.ID, strconv.FormatInt(entry.Since, 10)))
	}
	j.ids = append(j.ids, environment.ID)
	j.applied = evidence.FirstOfEach(append(j.applied, applied...), func(a policy.Applied) policy.Reference { return a.Reference })
	j.controls = evidence.Distinct(append(j.controls, policy.ControlsOf(applied)...))
	return nil
}

// loadKnown reads the facts that policies evaluate about artifacts that run in an environment, in the order of entries.
// The name of an artifact is the file name of its newest report.
func loadKnown(ctx context.Context, store *app.Store, environment *evidence.Environment, entries []environments.Running, controls []string) ([]appfacts.Subject, []appfacts.Artifact, error) {
	fingerprints := evidence.Map(entries, func(entry environments.Running) string { return entry.Fingerprint })
	provenances, err := store.Provenances.GetMany(ctx, environment.Org, fingerprints)
	if err != nil {
		return nil, nil, err
	}
	byFingerprint := evidence.ByKey(provenances, func(p *pipelines.Provenance) string { return p.Fingerprint })
	subjects := evidence.Map(fingerprints, func(fingerprint string) appfacts.Subject {
		provenance := byFingerprint[fingerprint]
		return appfacts.Subject{Fingerprint: fingerprint, Origins: provenance.Origins()}
	})
	if err := loadUnapproved(ctx, store, environment.ID, entries, subjects); err != nil {
		return nil, nil, err
	}
	known, err := store.Facts.Load(ctx, environment.Org, subjects, controls)
	for i := range known {
		known[i].Name = appfacts.NewestName(subjects[i].Origins, known[i].States)
		for j := range known[i].Flows {
			slices.SortFunc(known[i].Flows[j].Attestations, evidence.CompareEntries)
		}
	}
	return subjects, known, err
}

// loadUnapproved sets the changes that were unapproved when subjects, in the order of entries, began to run.
func loadUnapproved(ctx context.Context, store *app.Store, environment string, entries []environments.Running, subjects []appfacts.Subject) error {
	queries := map[environments.PredecessorQuery]*appfacts.Subject{}
	for i := range subjects {
		subjects[i].Unapproved = map[string][]string{}
		for j := range subjects[i].Origins {
			queries[environments.PredecessorQuery{
				Lineage: snapshot.LineageOf(&subjects[i].Origins[j]), Fingerprint: entries[i].Fingerprint, Since: entries[i].Since,
			}] = &subjects[i]
		}
	}
	unapproved, err := store.Successions.Unapproved(ctx, environment, slices.Collect(maps.Keys(queries)))
	for query, trails := range unapproved {
		queries[query].Unapproved[query.Lineage.Flow] = trails
	}
	return err
}

// refer replaces the policy facts about the package's own trails by references to these trails: the facts may be newer
// than the trails in the package. origins are in the order of the facts' flows.
func (f *facts) refer(document *audit.EnvironmentDocument, origins []evidence.Origin) {
	ids := f.trailIDs()
	flows := []policy.Flow{}
	document.Trails = []audit.TrailReference{}
	document.ChildOf = evidence.Fingerprints(document.Fingerprint, origins)[1:]
	for i := range origins {
		id, fingerprint := ids[origins[i].TrailKey()], origins[i].Fingerprint(document.Fingerprint)
		// The package of an artifact lacks other artifacts of its trails, of which the running one may be a child too.
		lacks := f.of.Kind == audit.OfArtifact && fingerprint != f.of.Fingerprint
		if evaluation := f.evaluations[id]; evaluation == nil || lacks {
			flows = append(flows, document.Facts.Flows[i])
		} else if _, ok := evaluation.Flow(origins[i].Slot, fingerprint); ok {
			document.Trails = append(document.Trails, audit.TrailReference{
				TrailID: id, ArtifactName: origins[i].Slot, Fingerprint: origins[i].Parent, Position: len(flows) + len(document.Trails),
				Unapproved: document.Facts.Flows[i].Unapproved,
			})
		}
	}
	document.Facts.Flows = flows
}

// startTimes returns when artifacts began to run, by snapshot number. Missing snapshots are left out.
func startTimes(ctx context.Context, store *app.Store, environment string, entries []environments.Running) (map[int64]float64, error) {
	numbers := evidence.Map(entries, func(entry environments.Running) int64 { return entry.Since })
	slices.Sort(numbers)
	made, err := store.Snapshots.GetMany(ctx, environment, slices.Compact(numbers))
	return evidence.ToMap(made, func(one *snapshot.Snapshot) (int64, float64) { return one.Number, one.Timestamp }), err
}
