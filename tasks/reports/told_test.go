package reports_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/environments"
)

// fileCount is the number of files in operations: f0, f1, f2, …
const fileCount = 10

// modelReader makes a model of the stored records.
type modelReader struct {
	*modelScene
	model model
	names *strings.Replacer
}

// storedModel returns the model of the stored records of the scene's environment.
func (s *modelScene) storedModel(t testing.TB) model {
	t.Helper()
	var pairs []string
	for name, id := range s.flows {
		pairs = append(pairs, id, name)
	}
	for i := range fileCount {
		file := fmt.Sprint("f", i)
		pairs = append(pairs, fingerprint(file), file)
	}
	w := &modelReader{modelScene: s, model: model{}, names: strings.NewReplacer(pairs...)}
	latest, err := s.store.Snapshots.LastNumber(t.Context(), s.env)
	evidencetest.Must(t, err)
	for number := range latest {
		w.readSnapshot(t, number+1)
	}
	readAll(t, w, "environment_events", w.readEvent)
	readAll(t, w, "deployments", w.readDeployment)
	readAll(t, w, "successions", w.readSuccession)
	w.readFirstSeen(t)
	readAll(t, w, "running", w.readRunning)
	readAll(t, w, "trail_events", w.readTrailEvent)
	return w.model
}

func (w *modelReader) file(fingerprint string) string { return w.names.Replace(fingerprint) }

// readAll reads a whole collection in the order of its ids.
func readAll[T any](t testing.TB, w *modelReader, collection string, read func(T)) {
	t.Helper()
	schema := apptest.Schema(t, collection)
	for after := ""; ; {
		records, err := w.store.Documents.List(t.Context(), schema, after, storage.MaxMany, storage.MaxBody)
		evidencetest.Must(t, err)
		if len(records) == 0 {
			return
		}
		for _, record := range records {
			var value T
			evidencetest.Must(t, json.Unmarshal(record.Body, &value))
			read(value)
			after = record.ID
		}
	}
}

func (w *modelReader) readFirstSeen(t testing.TB) {
	t.Helper()
	var files []string
	for i := range fileCount {
		files = append(files, fingerprint(fmt.Sprint("f", i)))
	}
	first, err := w.store.FirstSeen.First(t.Context(), w.env, files)
	evidencetest.Must(t, err)
	for fingerprint, at := range first {
		w.model["sighting "+w.file(fingerprint)] = fmt.Sprint(at)
	}
}

func (w *modelReader) source(o *evidence.Origin) string {
	return fmt.Sprintf("%s/%s/%s %s %s repo=%s at=%v first=%v", w.names.Replace(o.Flow), o.Trail, o.Slot, o.Record, o.CommitSHA, o.Repo, o.Time, o.First)
}

func (w *modelReader) previous(p *snapshot.Predecessor) string {
	if p == nil {
		return "nothing"
	}
	return fmt.Sprintf("[%s %s since=%d %s %s]", w.file(p.Fingerprint), p.Name, p.Since, w.source(&p.Origin), p.Status)
}

func (w *modelReader) readSnapshot(t testing.TB, number int64) {
	t.Helper()
	made, artifacts, changes := w.artifacts(t, number)
	head := fmt.Sprintf("snapshot %d", number)
	w.model[head] = fmt.Sprintf("at %v, %d run", made.Timestamp, len(artifacts))
	for _, stored := range artifacts {
		var parts []string
		for _, origin := range stored.Origins {
			parts = append(parts, fmt.Sprintf("%s %s behind %s", w.source(&origin.Origin), origin.Status, w.previous(origin.Previous)))
		}
		w.model[head+" "+w.file(stored.Fingerprint)] = fmt.Sprintf("%v %v since=%d %v first=%v %s",
			stored.AllNames(), stored.CreatedAt, stored.Since, stored.StartedAt, stored.FirstAt, strings.Join(parts, "; "))
	}
	for _, stored := range changes {
		w.model[head+" change "+w.file(stored.Fingerprint)] = fmt.Sprintf("%s %s from %d to %d, learned %v", stored.Name, stored.Type, stored.Was, stored.Now, stored.Learned)
	}
}

func (w *modelReader) readEvent(stored struct {
	snapshot.Event
	Repo string `json:"repo"`
}) {
	flows := evidence.Map(stored.Flows, w.names.Replace)
	difference := ""
	if stored.CodeDiff != nil {
		difference = *stored.CodeDiff
	}
	key := fmt.Sprint("event ", stored.Ordinal)
	if stored.Repo != "" {
		// The document for a repository only has the ordinal of an event, which was read before.
		w.model[key+" of "+stored.Repo] = w.model[key]
		return
	}
	w.model[key] = fmt.Sprintf("snapshot %d at %v: %s %s %s: %s; %v %s %s", stored.Snapshot, stored.Timestamp,
		w.file(stored.Fingerprint), stored.Name, stored.Type, stored.Description, flows, stored.Record, difference)
}

func (w *modelReader) readDeployment(stored snapshot.Deployment) {
	origin := "nowhere"
	if stored.Origin != nil {
		origin = stored.Origin.Record
	}
	key := fmt.Sprintf("deployment %s %d", w.file(stored.Fingerprint), stored.Snapshot)
	if stored.Repo != "" {
		key += " of " + stored.Repo
	}
	w.model[key] = fmt.Sprintf("%s at %v from %s", stored.Name, stored.Timestamp, origin)
}

func (w *modelReader) readSuccession(stored snapshot.Succession) {
	lineage := stored.Lineage()
	key := fmt.Sprintf("place %s/%s %s %d", w.names.Replace(lineage.Flow), lineage.Slot, w.file(stored.Artifact.Fingerprint), stored.Artifact.Since)
	w.model[key] = fmt.Sprintf("%v %s", stored.At, w.previous(&stored.Artifact))
}

func (w *modelReader) readRunning(stored environments.Running) {
	key, text := fmt.Sprintf("running %s since %d", w.file(stored.Fingerprint), stored.Since), ""
	if stored.Repo != "" {
		key += " of " + stored.Repo
		text = fmt.Sprint(stored.StartedAt)
	}
	w.model[key] = text
}

func (w *modelReader) readTrailEvent(stored evidence.TrailEvent) {
	if stored.Type != evidence.ArtifactStartedRunning && stored.Type != evidence.ArtifactStoppedRunning {
		return
	}
	data, instances := stored.Data.(*evidence.ArtifactRunData), 0
	if data.Instances != nil {
		instances = *data.Instances
	}
	key := fmt.Sprintf("trail %s %s of %d", w.names.Replace(stored.Trail), w.file(data.Fingerprint), data.Snapshot)
	w.model[key] = fmt.Sprintf("%s at %v %s %d", stored.Type, stored.Time, data.Name, instances)
}
