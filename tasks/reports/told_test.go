package reports_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/environments"
)

// storyFiles is how many files there are in stories: f0, f1, f2, …
const storyFiles = 10

// eventReader writes down what the store keeps, as a chronicle.
type eventReader struct {
	*stage
	chronicle model
	names     *strings.Replacer
}

// told is what the store keeps of a stage's environment.
func (s *stage) told(t testing.TB) model {
	t.Helper()
	var pairs []string
	for name, id := range s.flows {
		pairs = append(pairs, id, name)
	}
	for i := range storyFiles {
		file := fmt.Sprint("f", i)
		pairs = append(pairs, fingerprint(file), file)
	}
	w := &eventReader{stage: s, chronicle: model{}, names: strings.NewReplacer(pairs...)}
	latest, err := s.store.Snapshots.LastNumber(t.Context(), s.env)
	if err != nil {
		t.Fatal(err)
	}
	for number := range latest {
		w.tellSnapshot(t, number+1)
	}
	tellAll(t, w, "environment_events", w.tellEvent)
	tellAll(t, w, "deployments", w.tellDeployment)
	tellAll(t, w, "successions", w.tellSuccession)
	w.tellSightings(t)
	tellAll(t, w, "running", w.tellRunning)
	tellAll(t, w, "trail_events", w.tellTrail)
	return w.chronicle
}

func (w *eventReader) file(fingerprint string) string { return w.names.Replace(fingerprint) }

// tellAll writes down a whole collection in the order of its ids.
func tellAll[T any](t testing.TB, w *eventReader, collection string, tell func(T)) {
	t.Helper()
	for _, schema := range app.Schemas() {
		if schema.Name != collection {
			continue
		}
		for after := ""; ; {
			records, err := w.store.Documents.List(t.Context(), schema, after, storage.MaxMany, storage.MaxBody)
			if err != nil {
				t.Fatal(err)
			}
			if len(records) == 0 {
				return
			}
			for _, record := range records {
				var value T
				if err := json.Unmarshal(record.Body, &value); err != nil {
					t.Fatal(err)
				}
				tell(value)
				after = record.ID
			}
		}
	}
}

func (w *eventReader) tellSightings(t testing.TB) {
	t.Helper()
	var files []string
	for i := range storyFiles {
		files = append(files, fingerprint(fmt.Sprint("f", i)))
	}
	first, err := w.store.FirstSeen.First(t.Context(), w.env, files)
	if err != nil {
		t.Fatal(err)
	}
	for fingerprint, at := range first {
		w.chronicle["sighting "+w.file(fingerprint)] = fmt.Sprint(at)
	}
}

func (w *eventReader) source(o *evidence.Origin) string {
	return fmt.Sprintf("%s/%s/%s %s %s repo=%s at=%v first=%v", w.names.Replace(o.Flow), o.Trail, o.Slot, o.Record, o.CommitSHA, o.Repo, o.Time, o.First)
}

func (w *eventReader) previous(p *snapshot.Predecessor) string {
	if p == nil {
		return "nothing"
	}
	return fmt.Sprintf("[%s %s since=%d %s %s]", w.file(p.Fingerprint), p.Name, p.Since, w.source(&p.Origin), p.Status)
}

func (w *eventReader) tellSnapshot(t testing.TB, number int64) {
	t.Helper()
	made, artifacts, changes := w.artifacts(t, number)
	head := fmt.Sprintf("snapshot %d", number)
	w.chronicle[head] = fmt.Sprintf("at %v, %d run", made.Timestamp, len(artifacts))
	for _, one := range artifacts {
		var parts []string
		for _, origin := range one.Origins {
			parts = append(parts, fmt.Sprintf("%s %s behind %s", w.source(&origin.Origin), origin.Status, w.previous(origin.Previous)))
		}
		w.chronicle[head+" "+w.file(one.Fingerprint)] = fmt.Sprintf("%v %v since=%d %v first=%v %s",
			one.AllNames(), one.CreatedAt, one.Since, one.StartedAt, one.FirstAt, strings.Join(parts, "; "))
	}
	for _, one := range changes {
		w.chronicle[head+" change "+w.file(one.Fingerprint)] = fmt.Sprintf("%s %s from %d to %d, learned %v", one.Name, one.Type, one.Was, one.Now, one.Learned)
	}
}

func (w *eventReader) tellEvent(one struct {
	snapshot.Event
	Repo string `json:"repo"`
}) {
	var flows []string
	for _, flow := range one.Flows {
		flows = append(flows, w.names.Replace(flow))
	}
	difference := ""
	if one.CodeDiff != nil {
		difference = *one.CodeDiff
	}
	key := fmt.Sprint("event ", one.Ordinal)
	if one.Repo != "" {
		// That of a repository only names the event, which comes before it.
		w.chronicle[key+" of "+one.Repo] = w.chronicle[key]
		return
	}
	w.chronicle[key] = fmt.Sprintf("snapshot %d at %v: %s %s %s: %s; %v %s %s", one.Snapshot, one.Timestamp,
		w.file(one.Fingerprint), one.Name, one.Type, one.Description, flows, one.Record, difference)
}

func (w *eventReader) tellDeployment(one snapshot.Deployment) {
	origin := "nowhere"
	if one.Origin != nil {
		origin = one.Origin.Record
	}
	key := fmt.Sprintf("deployment %s %d", w.file(one.Fingerprint), one.Snapshot)
	if one.Repo != "" {
		key += " of " + one.Repo
	}
	w.chronicle[key] = fmt.Sprintf("%s at %v from %s", one.Name, one.Timestamp, origin)
}

func (w *eventReader) tellSuccession(one snapshot.Succession) {
	lineage := one.Lineage()
	key := fmt.Sprintf("place %s/%s %s %d", w.names.Replace(lineage.Flow), lineage.Slot, w.file(one.Artifact.Fingerprint), one.Artifact.Since)
	w.chronicle[key] = fmt.Sprintf("%v %s", one.At, w.previous(&one.Artifact))
}

func (w *eventReader) tellRunning(one environments.Running) {
	key, text := fmt.Sprintf("running %s since %d", w.file(one.Fingerprint), one.Since), ""
	if one.Repo != "" {
		key += " of " + one.Repo
		text = fmt.Sprint(one.StartedAt)
	}
	w.chronicle[key] = text
}

func (w *eventReader) tellTrail(one evidence.TrailEvent) {
	if one.Type != evidence.ArtifactStartedRunning && one.Type != evidence.ArtifactStoppedRunning {
		return
	}
	data, instances := one.Data.(*evidence.ArtifactRunData), 0
	if data.Instances != nil {
		instances = *data.Instances
	}
	key := fmt.Sprintf("trail %s %s of %d", w.names.Replace(one.Trail), w.file(data.Fingerprint), data.Snapshot)
	w.chronicle[key] = fmt.Sprintf("%s at %v %s %d", one.Type, one.Time, data.Name, instances)
}
