package recordingtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/compliance"
	"attestry/evidence/template"
	"attestry/storage"
	"attestry/storage/pipelines"
)

// This file evaluates trails by docs/semantics.md 6.2, 6.3 and 7.2 from the stored artifacts and attestations alone. It
// shares no code with the evaluation that it checks.

// everything reads a collection of an organization in the order of one of its indexes.
func everything[T any](t testing.TB, docs storage.Documents, collection, index, org string) []T {
	t.Helper()
	at := slices.IndexFunc(app.Schemas(), func(s *storage.Schema) bool { return s.Name == collection })
	schema := app.Schemas()[at]
	query := storage.Query{Index: index, Equal: []any{org}, Limit: storage.MaxMany}
	var all []T
	for {
		page, err := docs.Find(t.Context(), schema, query)
		if err != nil {
			t.Fatal(err)
		}
		for _, record := range page.Records {
			var one T
			if err := json.Unmarshal(record.Body, &one); err != nil {
				t.Fatal(err)
			}
			all = append(all, one)
		}
		if page.Next == "" {
			return all
		}
		query.After = page.Next
	}
}

// facts are the facts of a trail.
type facts struct {
	template     template.Template
	artifacts    []evidence.ArtifactRecord
	attestations []evidence.Attestation
	events       []evidence.TrailEvent
}

// verdict is a trail's compliance in comparable form.
type verdict struct {
	Status       evidence.Status
	Attestations []string
	Artifacts    []artifactVerdict
	EvaluatedAt  float64
}

type artifactVerdict struct {
	Name, Fingerprint, Record string
	Status                    evidence.Status
	Attestations              []string
	Unexpected                bool
	EvaluatedAt               float64
}

func line(name, kind, id string, compliant bool, overridden string, unexpected bool) string {
	return fmt.Sprintf("%s %s %s compliant=%v of=%s unexpected=%v", name, kind, id, compliant, overridden, unexpected)
}

// latest keeps the last attestation of each name, in order of time.
func latest(all []evidence.Attestation) []evidence.Attestation {
	last := map[string]evidence.Attestation{}
	for _, a := range all {
		known, ok := last[a.Name]
		if !ok || a.CreatedAt > known.CreatedAt || a.CreatedAt == known.CreatedAt && a.ID > known.ID {
			last[a.Name] = a
		}
	}
	return slices.SortedFunc(maps.Values(last), func(a, b evidence.Attestation) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}

// tally is the result of attestations under requirements.
type tally struct {
	lines                 []string
	nonCompliant, missing bool
}

func assess(required []template.Attestation, all []evidence.Attestation) tally {
	var result tally
	expected := map[string]bool{}
	show := func(a evidence.Attestation, unexpected bool) {
		overridden := ""
		if a.Override != nil {
			overridden = a.Override.Original
		}
		result.lines = append(result.lines, line(a.Name, a.Type, a.ID, a.Compliant, overridden, unexpected))
	}
	for _, need := range required {
		found := false
		for _, a := range all {
			fits := need.Type == "*" || need.Type == a.Type || need.Type == "decision" && a.Type == "system:decision"
			if a.Name == need.Name && fits {
				found, expected[a.ID] = true, true
				show(a, false)
			}
		}
		if !found {
			result.missing = true
			result.lines = append(result.lines, line(need.Name, need.Type, "MISSING", false, "", false))
		}
	}
	for _, a := range all {
		if !a.Compliant {
			result.nonCompliant = true
		}
		if !expected[a.ID] {
			show(a, true)
		}
	}
	return result
}

func statusOf(nonCompliant, missing bool) evidence.Status {
	if nonCompliant {
		return "NON-COMPLIANT"
	}
	if missing {
		return "INCOMPLETE"
	}
	return "COMPLIANT"
}

func (f *facts) required(name string) ([]template.Attestation, bool) {
	for _, artifact := range f.template.Trail.Artifacts {
		if artifact.Name == name {
			return artifact.Attestations, true
		}
	}
	return nil, false
}

// ofTrail assesses the attestations of the trail itself.
func (f *facts) ofTrail() tally {
	var own []evidence.Attestation
	for _, a := range f.attestations {
		if a.Fingerprint == "" && len(a.Targets) == 0 {
			own = append(own, a)
		}
	}
	return assess(f.template.Trail.Attestations, latest(own))
}

// newest returns the newest record of a name and, unless it is "", a fingerprint.
func (f *facts) newest(name, fingerprint string) (found evidence.ArtifactRecord, ok bool) {
	for _, record := range f.artifacts {
		if record.Name != name || fingerprint != "" && record.Fingerprint != fingerprint {
			continue
		}
		if !ok || record.CreatedAt > found.CreatedAt || record.CreatedAt == found.CreatedAt && record.ID > found.ID {
			found, ok = record, true
		}
	}
	return found, ok
}

// bound returns the attestations of a record: those by its fingerprint, and those by its name with its commit or none.
func (f *facts) bound(record evidence.ArtifactRecord) []evidence.Attestation {
	var bound []evidence.Attestation
	for _, a := range f.attestations {
		commit := ""
		if a.Commit != nil {
			commit = a.Commit.SHA1
		}
		byName := slices.Contains(a.Targets, record.Name) && (commit == "" || commit == record.CommitSHA)
		if a.Fingerprint == record.Fingerprint || a.Fingerprint == "" && byName {
			bound = append(bound, a)
		}
	}
	return bound
}

// byName returns the attestations by the name of an artifact.
func (f *facts) byName(name string) []evidence.Attestation {
	var found []evidence.Attestation
	for _, a := range f.attestations {
		if a.Fingerprint == "" && slices.Contains(a.Targets, name) {
			found = append(found, a)
		}
	}
	return found
}

// names returns the artifact names of the template in its order, then all others of reports and attestations.
func (f *facts) names() []string {
	seen := map[string]bool{}
	for _, record := range f.artifacts {
		seen[record.Name] = true
	}
	for _, a := range f.attestations {
		for _, target := range a.Targets {
			seen[target] = true
		}
	}
	var names []string
	for _, artifact := range f.template.Trail.Artifacts {
		names = append(names, artifact.Name)
		delete(seen, artifact.Name)
	}
	return append(names, slices.Sorted(maps.Keys(seen))...)
}

// touched returns the times of the last facts about an artifact name, and about the trail itself.
func (f *facts) touched(name string) (slot, trail float64) {
	prints := map[string]bool{}
	for _, record := range f.artifacts {
		if record.Name == name {
			prints[record.Fingerprint] = true
			slot = max(slot, record.CreatedAt)
		}
	}
	for _, a := range f.attestations {
		switch {
		case a.Fingerprint == "" && len(a.Targets) == 0:
			trail = max(trail, a.CreatedAt)
		case prints[a.Fingerprint] || a.Fingerprint == "" && slices.Contains(a.Targets, name):
			slot = max(slot, a.CreatedAt)
		}
	}
	for _, event := range f.events {
		if event.Type == evidence.TrailReported || event.Type == evidence.TrailUpdated {
			trail = max(trail, event.Time)
		}
	}
	return slot, trail
}

// evaluatedAt returns the time of the last event of the trail.
func (f *facts) evaluatedAt() float64 {
	_, at := f.touched("")
	for _, record := range f.artifacts {
		at = max(at, record.CreatedAt)
	}
	for _, a := range f.attestations {
		at = max(at, a.CreatedAt)
	}
	return at
}

func (f *facts) evaluate() verdict {
	trail := f.ofTrail()
	result := verdict{Attestations: trail.lines}
	nonCompliant, missing := trail.nonCompliant, trail.missing
	for _, name := range f.names() {
		required, expected := f.required(name)
		slotAt, trailAt := f.touched(name)
		artifact := artifactVerdict{Name: name, Unexpected: !expected}
		record, reported := f.newest(name, "")
		if reported {
			own := assess(required, latest(f.bound(record)))
			artifact.Fingerprint, artifact.Record, artifact.Attestations = record.Fingerprint, record.ID, own.lines
			artifact.Status = statusOf(own.nonCompliant || trail.nonCompliant, own.missing || trail.missing)
			artifact.EvaluatedAt = max(slotAt, trailAt)
			nonCompliant, missing = nonCompliant || own.nonCompliant, missing || own.missing
		} else {
			own := assess(required, latest(f.byName(name)))
			artifact.Status, artifact.Attestations, artifact.EvaluatedAt = "MISSING", own.lines, slotAt
			nonCompliant, missing = nonCompliant || own.nonCompliant, true
		}
		result.Artifacts = append(result.Artifacts, artifact)
	}
	result.EvaluatedAt = f.evaluatedAt()
	result.Status = statusOf(nonCompliant, missing)
	return result
}

// verdictOf returns the verdict of a report.
func verdictOf(report compliance.Report) verdict {
	result := verdict{Status: report.Status, Attestations: lines(report.Attestations), EvaluatedAt: report.EvaluatedAt}
	for _, one := range report.Artifacts {
		artifact := artifactVerdict{
			Name: one.Name, Status: one.Status, Attestations: lines(one.Attestations),
			Unexpected: one.Unexpected, EvaluatedAt: one.EvaluatedAt,
		}
		if one.Artifact != nil {
			artifact.Fingerprint, artifact.Record = one.Artifact.Fingerprint, one.Artifact.Record
		}
		result.Artifacts = append(result.Artifacts, artifact)
	}
	return result
}

func lines(all []compliance.AttestationStatus) []string {
	var out []string
	for _, one := range all {
		if one.Entry == nil {
			out = append(out, line(one.Name, one.Type, "MISSING", false, "", one.Unexpected))
			continue
		}
		out = append(out, line(one.Name, one.Type, one.Entry.ID, one.Entry.Compliant, one.Entry.Overridden, one.Unexpected))
	}
	return out
}

// check compares the aggregates of the organization with its facts.
func (c *model) check(t testing.TB) {
	t.Helper()
	store := newStore(t, c.engine)
	artifacts := everything[evidence.ArtifactRecord](t, c.engine, "artifacts", "created", c.org)
	attestations := everything[evidence.Attestation](t, c.engine, "attestations", "time", c.org)
	trails := everything[evidence.Trail](t, c.engine, "trails", "created", c.org)
	c.checkAcknowledged(t, artifacts, attestations)
	c.checkOrder(t, trails, artifacts, attestations)
	for _, trail := range trails {
		f := facts{}
		for _, record := range artifacts {
			if record.Trail == trail.Name {
				f.artifacts = append(f.artifacts, record)
			}
		}
		for _, a := range attestations {
			if a.Trail == trail.Name {
				f.attestations = append(f.attestations, a)
			}
		}
		c.checkTrail(t, store, trail, f)
	}
	total, err := store.Trails.Totals(t.Context(), c.org, []string{c.flow.ID})
	if err != nil || total != int64(len(trails)) {
		t.Errorf("counted %d trails, there are %d: %v", total, len(trails), err)
	}
	c.checkProvenance(t, store, artifacts)
	c.checkDecisions(t, attestations)
}

func (c *model) checkAcknowledged(t testing.TB, artifacts []evidence.ArtifactRecord, attestations []evidence.Attestation) {
	t.Helper()
	stored := map[string]bool{}
	for _, record := range artifacts {
		stored[record.ID] = true
	}
	for _, a := range attestations {
		stored[a.ID] = true
		if a.Override != nil && slices.ContainsFunc(attestations, func(b evidence.Attestation) bool {
			return b.ID == a.Override.Original && b.Override != nil
		}) {
			t.Errorf("override %s names another override as the original", a.ID)
		}
	}
	for id := range c.acked {
		if !stored[id] {
			t.Errorf("%s was acknowledged and is lost", id)
		}
	}
}

func (c *model) checkTrail(t testing.TB, store *app.Store, trail evidence.Trail, f facts) {
	t.Helper()
	ctx := t.Context()
	stored, err := store.Templates.Get(ctx, c.org, trail.Template)
	if err != nil {
		t.Fatal(err)
	}
	slots, err := store.Slots.OfTrail(ctx, trail.Key(), trail.SlotNames())
	if err != nil {
		t.Fatal(err)
	}
	if f.events, err = store.TrailEvents.OfTrail(ctx, c.org, trail.Key()); err != nil {
		t.Fatal(err)
	}
	f.template = stored.Template
	got, want := verdictOf(compliance.Describe(&stored.Template, &trail, slots)), f.evaluate()
	ignorePrunedTimes(&got, slots)
	ignorePrunedTimes(&want, slots)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("trail %s is\n%s\nby its facts\n%s", trail.Name, pretty(got), pretty(want))
	}
	if trail.Status != want.Status {
		t.Errorf("trail %s is stored as %s, by its facts it is %s", trail.Name, trail.Status, want.Status)
	}
	if trail.Approved != compliance.Approved(&trail) {
		t.Errorf("trail %s is stored as approved: %t, by its facts it is not so", trail.Name, trail.Approved)
	}
	for name, summary := range trail.Slots {
		slot := slots[name]
		if fresh := compliance.Summarize(stored.ID, &stored.Template, trail.Author(), &slot); summary != fresh {
			t.Errorf("trail %s summarizes %s as %+v, want %+v", trail.Name, name, summary, fresh)
		}
	}
	c.checkOlder(t, store, &trail, slots, &f)
	checkEvents(t, &trail, &f)
}

// ignorePrunedTimes leaves out the times of pruned slots, which do not reflect facts about dropped artifacts.
func ignorePrunedTimes(v *verdict, slots map[string]evidence.Slot) {
	for i, artifact := range v.Artifacts {
		if slots[artifact.Name].Pruned {
			v.Artifacts[i].EvaluatedAt = 0
		}
	}
}

func pretty(value any) string {
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// checkOlder compares the state of each artifact, also of those that are not the newest of their name.
func (c *model) checkOlder(t testing.TB, store *app.Store, trail *evidence.Trail, slots map[string]evidence.Slot, f *facts) {
	t.Helper()
	checked := map[string]bool{}
	for _, one := range f.artifacts {
		record, _ := f.newest(one.Name, one.Fingerprint)
		if checked[record.ID] {
			continue
		}
		checked[record.ID] = true
		slot := slots[record.Name]
		artifact, known := slot.Artifact(record.Fingerprint)
		if slot.Pruned {
			rebuilt, err := store.Attestations.RebuildSlots(t.Context(), c.org, []evidence.ArtifactRecord{record})
			if err != nil {
				t.Fatal(err)
			}
			slot = rebuilt[record.ID]
			artifact, known = slot.Current()
		}
		required, _ := f.required(record.Name)
		own, trailTally := assess(required, latest(f.bound(record))), f.ofTrail()
		want := statusOf(own.nonCompliant || trailTally.nonCompliant, own.missing || trailTally.missing)
		described := compliance.DescribeArtifact(&f.template, trail, &slot, artifact)
		if !known || described.Status != want || !slices.Equal(lines(described.Attestations), own.lines) {
			t.Errorf("trail %s: %s of %s is %s with %q, by the facts %s with %q",
				trail.Name, record.Fingerprint, record.Name, described.Status, lines(described.Attestations), want, own.lines)
		}
	}
}

// checkEvents checks that the trail has each event once.
func checkEvents(t testing.TB, trail *evidence.Trail, f *facts) {
	t.Helper()
	if len(trail.Pending) > 0 || trail.Uncounted {
		t.Errorf("trail %s has unfinished changes", trail.Name)
	}
	begun := 0
	got, want := map[string]int{}, map[string]int{}
	for i, event := range f.events {
		switch event.Type {
		case evidence.TrailReported:
			begun++
		case evidence.TrailUpdated:
		default:
			got[event.ID]++
		}
		if i > 0 && event.Time < f.events[i-1].Time {
			t.Errorf("trail %s: event %s is out of order", trail.Name, event.ID)
		}
	}
	for _, record := range f.artifacts {
		want[record.ID]++
	}
	for _, a := range f.attestations {
		want[a.ID]++
		for i := 1; a.Fingerprint == "" && i < len(a.Targets); i++ {
			want[fmt.Sprint(a.ID, "-", i)]++
		}
	}
	for id := range want {
		if got[id] != want[id] {
			t.Errorf("trail %s has event %s %d times", trail.Name, id, got[id])
		}
	}
	if begun != 1 || len(got) != len(want) {
		t.Errorf("trail %s was begun %d times and has %d other events, want %d", trail.Name, begun, len(got), len(want))
	}
}

func (c *model) checkProvenance(t testing.TB, store *app.Store, artifacts []evidence.ArtifactRecord) {
	t.Helper()
	newest, oldest := map[string]evidence.ArtifactRecord{}, map[string]evidence.ArtifactRecord{}
	children, parents := map[string][]string{}, map[string][]string{}
	for _, record := range artifacts {
		for _, child := range record.ChildFingerprints {
			children[record.Fingerprint] = append(children[record.Fingerprint], child)
			parents[child] = append(parents[child], record.Fingerprint)
		}
		known, ok := newest[record.Fingerprint]
		if !ok || record.CreatedAt > known.CreatedAt || record.CreatedAt == known.CreatedAt && record.ID > known.ID {
			newest[record.Fingerprint] = record
		}
		known, ok = oldest[record.Fingerprint]
		if !ok || record.CreatedAt < known.CreatedAt || record.CreatedAt == known.CreatedAt && record.ID < known.ID {
			oldest[record.Fingerprint] = record
		}
	}
	for fingerprint, record := range newest {
		known, err := store.Provenances.GetMany(t.Context(), c.org, []string{fingerprint})
		if err != nil {
			t.Fatal(err)
		}
		first := oldest[fingerprint]
		want := pipelines.Provenance{
			Org: c.org, Fingerprint: fingerprint, Build: first.Origin(), Latest: record.CreatedAt,
			Flows: map[string]evidence.Origin{c.flow.ID: record.Origin()},
		}
		slices.Sort(children[fingerprint])
		want.Children = slices.Compact(children[fingerprint])
		want.Flows[c.flow.ID] = since(want.Flows[c.flow.ID], first.CreatedAt)
		if len(known) != 1 || !reflect.DeepEqual(known[0], want) {
			t.Errorf("%s has the provenance %+v, want %+v", fingerprint, known, want)
		}
	}
	c.checkChildren(t, store, parents, newest)
}

// checkChildren checks that the provenance of a child names the artifact that was recorded last of those that have it.
func (c *model) checkChildren(t testing.TB, store *app.Store, parents map[string][]string, newest map[string]evidence.ArtifactRecord) {
	t.Helper()
	for child, artifacts := range parents {
		want := newest[artifacts[0]]
		for _, fingerprint := range artifacts {
			if other := newest[fingerprint]; other.CreatedAt > want.CreatedAt {
				want = other
			}
		}
		known, err := store.Provenances.GetMany(t.Context(), c.org, []string{child})
		if err != nil {
			t.Fatal(err)
		}
		if len(known) != 1 || known[0].Flows[c.flow.ID].Record != want.ID || known[0].Flows[c.flow.ID].Parent != want.Fingerprint {
			t.Errorf("the child %s has the provenance %+v, want the record %s", child, known, want.ID)
		}
	}
}

func since(origin evidence.Origin, first float64) evidence.Origin {
	origin.First = first
	return origin
}

// checkDecisions compares the latest decision on each control and subject.
func (c *model) checkDecisions(t testing.TB, attestations []evidence.Attestation) {
	t.Helper()
	groups := map[string][]evidence.Attestation{}
	for _, a := range attestations {
		if a.Control == "" {
			continue
		}
		subjects := []string{c.flow.ID + "/" + a.Trail}
		targets := a.Targets
		if a.Fingerprint != "" {
			subjects[0], targets = a.Fingerprint, nil
		}
		for i, target := range targets {
			subject := c.flow.ID + "/" + a.Trail + "/" + target
			if a.Commit != nil {
				subject += "@" + a.Commit.SHA1
			}
			subjects = append(subjects[:i], subject)
		}
		a.Name = "" // the last decision on a subject counts, whatever its name
		for _, subject := range subjects {
			groups[subject] = append(groups[subject], a)
		}
	}
	at := slices.IndexFunc(app.Schemas(), func(s *storage.Schema) bool { return s.Name == "decisions" })
	for subject, all := range groups {
		want := latest(all)[0]
		record, err := c.engine.Get(t.Context(), app.Schemas()[at], c.org+"/"+want.Control+"/"+subject)
		if err != nil {
			t.Errorf("the decision on %s: %v", subject, err)
			continue
		}
		var known pipelines.Decision
		if err := json.Unmarshal(record.Body, &known); err != nil || known.Entry.ID != want.ID {
			t.Errorf("the decision on %s is %+v, want %s: %v", subject, known, want.ID, err)
		}
	}
}
