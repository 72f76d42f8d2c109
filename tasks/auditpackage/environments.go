package auditpackage

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"attestry/app"
	appfacts "attestry/app/facts"
	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/evidence/policy"
	"attestry/links"
	"attestry/storage"
	"attestry/storage/environments"
	"attestry/storage/logs"
	"attestry/storage/pipelines"
)

// judged are the environments in which artifacts of a package run, with all that judges them there.
type judged struct {
	documents []audit.EnvironmentDocument
	applied   []policy.Applied // each version once
	controls  []string
	// ids are those of the environments, snapshots the names of the snapshots in the log, and allowances the ids of the
	// allowances.
	ids, snapshots, allowances []string
}

// judge evaluates the artifacts of a package by the policies of the environments in which they run,
// by what is known now, as an assert does. What is known of them in trails of the package follows
// from the facts in the package.
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

// runningOf returns what runs of artifacts, also by their children.
func runningOf(ctx context.Context, store *app.Store, org string, fingerprints []string) ([]environments.Running, error) {
	children, err := store.Provenances.Children(ctx, org, fingerprints)
	if err != nil {
		return nil, err
	}
	for _, some := range children {
		fingerprints = append(fingerprints, some...)
	}
	return store.Running.Entries(ctx, org, storage.Distinct(fingerprints))
}

// addEnvironment judges the artifacts that run in an environment.
func (j *judged) addEnvironment(ctx context.Context, store *app.Store, link links.Links, f *facts, environment *evidence.Environment, entries []environments.Running) error {
	slices.SortFunc(entries, func(a, b environments.Running) int {
		return cmp.Or(cmp.Compare(a.Fingerprint, b.Fingerprint), cmp.Compare(b.Since, a.Since))
	})
	entries = slices.CompactFunc(entries, func(a, b environments.Running) bool { return a.Fingerprint == b.Fingerprint })
	applied, err := store.Policies.Latest(ctx, f.org, environment.Policies)
	if err != nil {
		return err
	}
	var fingerprints []string
	var numbers []int64
	for _, entry := range entries {
		fingerprints, numbers = append(fingerprints, entry.Fingerprint), append(numbers, entry.Since)
	}
	known, err := loadKnown(ctx, store, f.org, fingerprints, policy.ControlsOf(applied))
	if err != nil {
		return err
	}
	goBy := storage.Map(known, func(of knownArtifact) []string { return evidence.Fingerprints(of.facts.Fingerprint, of.origins) })
	allowed, err := store.Allowlist.Of(ctx, environment.ID, goBy, 0)
	if err != nil {
		return err
	}
	started, err := startTimes(ctx, store, environment.ID, numbers)
	if err != nil {
		return err
	}
	for i, entry := range entries {
		if _, begun := started[entry.Since]; !begun {
			continue // its snapshot is still being made
		}
		document := audit.EnvironmentDocument{
			Environment: environment.Name, Fingerprint: entry.Fingerprint, Since: entry.Since, StartedAt: started[entry.Since],
			HTMLURL: link.Environment(f.of.Organization, environment.Name), Facts: known[i].facts,
		}
		if allowance, ok := allowed[entry.Fingerprint]; ok && !allowance.Lapsed {
			document.Allowed = &audit.Allowance{Reason: allowance.Description, By: allowance.UserName, At: allowance.At, Until: allowance.ExpiresAt}
			j.allowances = append(j.allowances, environment.ID+"/"+entry.Fingerprint)
		}
		f.refer(&document, known[i].origins)
		if err := document.Judge(applied, f.evaluations); err != nil {
			return err
		}
		j.documents = append(j.documents, document)
		j.snapshots = append(j.snapshots, logs.FactName("snapshot", environment.ID, strconv.FormatInt(entry.Since, 10)))
	}
	j.ids = append(j.ids, environment.ID)
	j.add(applied)
	return nil
}

// add notes what judges in an environment.
func (j *judged) add(applied []policy.Applied) {
	for _, one := range applied {
		if !slices.ContainsFunc(j.applied, func(a policy.Applied) bool { return a.Name == one.Name && a.Version == one.Version }) {
			j.applied = append(j.applied, one)
		}
	}
	j.controls = storage.Distinct(append(j.controls, policy.ControlsOf(applied)...))
}

// knownArtifact is what flows know of an artifact.
type knownArtifact struct {
	facts   policy.Facts
	origins []evidence.Origin
}

// loadKnown reads what policies evaluate artifacts by, in the order of their fingerprints. An
// artifact is known to policies by the file name of its newest report.
func loadKnown(ctx context.Context, store *app.Store, org string, fingerprints, controls []string) ([]knownArtifact, error) {
	provenances, err := store.Provenances.GetMany(ctx, org, fingerprints)
	if err != nil {
		return nil, err
	}
	byFingerprint := map[string]*pipelines.Provenance{}
	for i := range provenances {
		byFingerprint[provenances[i].Fingerprint] = &provenances[i]
	}
	subjects := make([]appfacts.Subject, len(fingerprints))
	for i, fingerprint := range fingerprints {
		subjects[i].Fingerprint = fingerprint
		if provenance := byFingerprint[fingerprint]; provenance != nil {
			subjects[i].Origins = provenance.Origins()
		}
	}
	loaded, err := store.Facts.Load(ctx, org, subjects, controls)
	if err != nil {
		return nil, err
	}
	known := make([]knownArtifact, len(fingerprints))
	for i := range loaded {
		known[i] = knownArtifact{facts: loaded[i].Facts, origins: subjects[i].Origins}
		known[i].facts.Name = appfacts.NewestName(subjects[i].Origins, loaded[i].States)
		for j := range known[i].facts.Flows {
			slices.SortFunc(known[i].facts.Flows[j].Attestations, evidence.CompareEntries)
		}
	}
	return known, nil
}

// refer puts references to the package's trails in the place of what was read of an artifact in them,
// which may be newer than the facts of the package. origins are in the order of the facts' flows.
func (f *facts) refer(document *audit.EnvironmentDocument, origins []evidence.Origin) {
	ids := f.trailIDs()
	flows := []policy.Flow{}
	document.Trails = []audit.TrailReference{}
	document.ChildOf = evidence.Fingerprints(document.Fingerprint, origins)[1:]
	for i := range origins {
		id := ids[origins[i].TrailKey()]
		if evaluation := f.evaluations[id]; evaluation == nil {
			flows = append(flows, document.Facts.Flows[i])
		} else if _, ok := evaluation.Flow(origins[i].Slot, origins[i].Fingerprint(document.Fingerprint)); ok {
			document.Trails = append(document.Trails, audit.TrailReference{
				TrailID: id, ArtifactName: origins[i].Slot, Fingerprint: origins[i].Parent, Position: len(flows) + len(document.Trails),
			})
		}
	}
	document.Facts.Flows = flows
}

// startTimes returns the times of snapshots, by number. Those that are not there are left out.
func startTimes(ctx context.Context, store *app.Store, environment string, numbers []int64) (map[int64]float64, error) {
	slices.Sort(numbers)
	made, err := store.Snapshots.GetMany(ctx, environment, slices.Compact(numbers))
	times := make(map[int64]float64, len(made))
	for i := range made {
		times[made[i].Number] = made[i].Timestamp
	}
	return times, err
}
