package verify_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/app"
	"attestry/app/apptest"
	"attestry/app/verify"
	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/evidence/evidencetest"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/environments"
	"attestry/storage/filesystem"
	"attestry/storage/logs"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/storagetest"
)

const org = "0b0e6f4e-0000-4000-8000-000000000001"

// stores are a database and an object store with some trails and a snapshot.
type stores struct {
	t       *testing.T
	docs    storage.Documents
	objects storage.Objects
	folder  string // of the objects
	store   *app.Store
	flow    evidence.Flow
	// root is the root of a snapshot's tree, and leaf a chunk below it.
	root, leaf string
}

func newStores(t *testing.T) *stores {
	t.Helper()
	folder := t.TempDir()
	s := &stores{t: t, docs: pebbletest.Open(t, filepath.Join(folder, "documents"), app.Schemas()), folder: filepath.Join(folder, "objects")}
	objects, err := filesystem.Open(s.folder)
	s.must(err)
	s.objects = objects
	t.Cleanup(func() { s.must(objects.Close()) })
	s.store = app.NewStore(s.docs, s.objects, time.Now, slog.New(slog.DiscardHandler))
	t.Cleanup(s.store.Tenancy.Close)
	s.flow, err = apptest.PutTemplatedFlow(t.Context(), s.store, org, "backend")
	s.must(err)
	for i := range 3 {
		s.must(apptest.RecordTrail(t.Context(), s.store, &s.flow, fmt.Sprint("trail-", i)))
	}
	s.snapshot()
	return s
}

func (s *stores) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// snapshot stores a snapshot with a tree of several levels.
func (s *stores) snapshot() {
	var artifacts []snapshot.Artifact
	for i := range 300 {
		artifacts = append(artifacts, snapshot.Artifact{Reported: snapshot.Reported{Fingerprint: fmt.Sprintf("%064x", i), Name: "web"}})
	}
	tree := new(snapshot.Tree).Next(artifacts)
	made := snapshot.Snapshot{Org: org, Environment: "env", Number: 1, Root: tree.Root}
	var batch storage.Batch
	s.store.Snapshots.InsertIn(&batch, &made, tree.Chunks)
	s.must(batch.Write(s.t.Context(), s.docs))
	root := tree.Chunks[tree.Root]
	s.root, s.leaf = tree.Root, root.Children[0]
}

// verify runs a verification, and returns its findings, one per line.
func (s *stores) verify() (verify.Result, string) {
	s.t.Helper()
	var found []string
	result, err := verify.Run(s.t.Context(), verify.Options{Documents: s.docs, Objects: s.objects, Report: func(f verify.Finding) error {
		found = append(found, f.Where+": "+f.What)
		return nil
	}})
	s.must(err)
	if result.Findings != int64(len(found)) {
		s.t.Errorf("%d findings were counted, %d reported", result.Findings, len(found))
	}
	slices.Sort(found)
	return result, strings.Join(found, "\n")
}

// change replaces the body of a document, or deletes the document if change returns nil.
func (s *stores) change(collection, id string, change func([]byte) []byte) {
	s.t.Helper()
	schemas := app.Schemas()
	schema := schemas[slices.IndexFunc(schemas, func(schema *storage.Schema) bool { return schema.Name == collection })]
	record, err := s.docs.Get(s.t.Context(), schema, id)
	s.must(err)
	before := record.Body
	s.must(storagetest.Delete(s.t.Context(), s.docs, schema, id))
	if record.Body = change(record.Body); record.Body == nil {
		return
	}
	if bytes.Equal(record.Body, before) {
		s.t.Fatalf("%s/%s was not changed: %s", collection, id, before)
	}
	s.must(storagetest.Insert(s.t.Context(), s.docs, schema, record))
}

func remove([]byte) []byte { return nil }

func replace(old, fresh string) func([]byte) []byte {
	return func(body []byte) []byte { return bytes.ReplaceAll(body, []byte(old), []byte(fresh)) }
}

// facts returns the ids of the artifact of a trail, and of its attestations by name.
func (s *stores) facts(trail string) (artifact string, attestations map[string]string) {
	s.t.Helper()
	slot, err := s.store.Slots.Get(s.t.Context(), evidence.SlotID(evidence.TrailKey(s.flow.ID, trail), "web"))
	s.must(err)
	stored, err := s.store.Trails.Collection.Get(s.t.Context(), evidence.TrailKey(s.flow.ID, trail))
	s.must(err)
	return slot.Artifacts[0].Record, map[string]string{"test": slot.Entries[0].ID, "review": stored.Entries[0].ID}
}

// file returns the key of the evidence file of a trail.
func (s *stores) file(trail string) string {
	_, attestations := s.facts(trail)
	a, err := s.store.Attestations.Get(s.t.Context(), org, attestations["test"])
	s.must(err)
	return a.Evidence.Object
}

func TestIntactStoresHaveNoFindings(t *testing.T) {
	s := newStores(t)
	result, found := s.verify()
	if found != "" {
		t.Errorf("found\n%s", found)
	}
	if result.Objects != 3 || result.ObjectBytes == 0 || result.Documents < 30 {
		t.Errorf("read %+v", result)
	}
}

func TestDamagedAndMissingContentIsFound(t *testing.T) {
	key := func(s *stores) string { return evidence.TrailKey(s.flow.ID, "trail-1") }
	for name, c := range map[string]struct {
		damage func(s *stores)
		// want has a part of each finding.
		want []string
	}{
		"a document that is not JSON": {
			damage: func(s *stores) {
				s.change("flows", s.flow.ID, func(body []byte) []byte { return body[:len(body)-1] })
			},
			want: []string{": it does not decode"},
		},
		"a document of another id": {
			damage: func(s *stores) { s.change("trails", key(s), replace(`"trail-1"`, `"trail-x"`)) },
			want:   []string{"its content is that of the document"},
		},
		"an object that is missing": {
			damage: func(s *stores) { s.must(s.objects.Delete(t.Context(), s.file("trail-1"))) },
			want:   []string{"attestations/"},
		},
		"an object with another content": {
			damage: func(s *stores) {
				s.must(os.WriteFile(filepath.Join(s.folder, s.file("trail-1")), []byte("other"), 0o600))
			},
			want: []string{"the content does not have the SHA-256 of its key"},
		},
		"a root of a snapshot that is missing": {
			damage: func(s *stores) { s.change("chunks", s.root, remove) },
			want:   []string{"snapshots/env/1: the chunk "},
		},
		"a chunk below the root that is missing": {
			damage: func(s *stores) { s.change("chunks", s.leaf, remove) },
			want:   []string{"its tree is missing or damaged"},
		},
		"a chunk with another content": {
			damage: func(s *stores) { s.change("chunks", s.leaf, func(body []byte) []byte { return append(body, 32) }) },
			want:   []string{"the SHA-256 of its content is"},
		},
		"an attestation that its trail names and that is missing": {
			damage: func(s *stores) { _, ids := s.facts("trail-1"); s.change("attestations", ids["review"], remove) },
			want:   []string{"trail_events/", "its attestation"},
		},
		"an attestation that its slot names and that differs": {
			damage: func(s *stores) {
				_, ids := s.facts("trail-1")
				s.change("attestations", ids["test"], replace(`"compliant":true`, `"compliant":false`))
			},
			want: []string{"slots/"},
		},
		"an artifact that its slot names and that is missing": {
			damage: func(s *stores) { id, _ := s.facts("trail-1"); s.change("artifacts", id, remove) },
			want:   []string{"trail_events/", "its artifact"},
		},
		"an attestation and an artifact that later ones replaced and that are missing": {
			damage: func(s *stores) {
				artifact, ids := s.facts("trail-1")
				s.must(apptest.RecordTrail(t.Context(), s.store, &s.flow, "trail-1"))
				s.change("attestations", ids["review"], remove)
				s.change("artifacts", artifact, remove)
			},
			want: []string{"its attestation", "its artifact"},
		},
		"a trail that lacks an attestation": {
			damage: func(s *stores) { s.changeTrail("trail-1", func(trail *evidence.Trail) { trail.Entries = nil }) },
			want:   []string{"its trail is missing or does not have it", "its status is COMPLIANT, and INCOMPLETE follows"},
		},
		"a trail with another status": {
			damage: func(s *stores) {
				s.changeTrail("trail-1", func(trail *evidence.Trail) { trail.Status = evidence.NonCompliant })
			},
			want: []string{"its status is NON-COMPLIANT, and COMPLIANT follows"},
		},
		"a trail that is wrongly approved": {
			damage: func(s *stores) { s.changeTrail("trail-1", func(trail *evidence.Trail) { trail.Approved = true }) },
			want:   []string{"it is approved, which does not follow from its facts"},
		},
		"a trail that is missing": {
			damage: func(s *stores) { s.change("trails", key(s), remove) },
			want:   []string{"its trail is missing", "its trail is missing"},
		},
		"a slot that lacks an attestation": {
			damage: func(s *stores) {
				s.change("slots", key(s)+"/web", func(body []byte) []byte {
					var slot evidence.Slot
					s.must(json.Unmarshal(body, &slot))
					slot.Entries = nil
					changed, err := json.Marshal(slot)
					s.must(err)
					return changed
				})
			},
			want: []string{"the slot ", "its artifact name web is not as its slot says"},
		},
		"a slot that is missing": {
			damage: func(s *stores) { s.change("slots", key(s)+"/web", remove) },
			want:   []string{"its trail does not have it under the name web", "the slot ", "its artifact name web is not as its slot says"},
		},
		"a template that is missing": {
			damage: func(s *stores) { s.change("templates", org+"/"+s.flow.Template, remove) },
			want:   []string{"its template", "its template", "its template"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStores(t)
			c.damage(s)
			_, found := s.verify()
			if strings.Count(found, "\n")+1 != len(c.want) {
				t.Errorf("found\n%s\nwant %q", found, c.want)
			}
			evidencetest.Contains(t, found, c.want...)
		})
	}
}

// TestMissingObjectsOfAllDocumentsAreFound deletes the objects of all kinds of documents that have some.
func TestMissingObjectsOfAllDocumentsAreFound(t *testing.T) {
	s := newStores(t)
	put := func(content string) string {
		object, err := s.objects.Put(t.Context(), org, strings.NewReader(content), -1)
		s.must(err)
		return object.Key
	}
	_, err := s.store.Templates.Put(t.Context(), org, []byte("version: 1\ntrail: {artifacts: [{name: web}]}\n#"+strings.Repeat("x", 300<<10)))
	s.must(err)
	_, err = s.store.AttestationTypes.Put(t.Context(), evidence.AttestationTypeVersion{
		Org: org, Name: "scan", Schema: []byte(`{"type":"object","description":"` + strings.Repeat("x", 100<<10) + `"}`),
	})
	s.must(err)
	s.must(s.store.Reports.Put(t.Context(), environments.WaitingReport{
		ReportRecord: snapshot.ReportRecord{Org: org, Environment: "env", Arrival: 1}, Object: put("report"), Failure: "no luck",
	}))
	_, err = s.store.Assemblies.Change(t.Context(), audit.Assembly{ID: "package", Org: org}, func(a *audit.Assembly) {
		a.Ready = &audit.Assembled{Archive: audit.Stored{Object: put("archive")}, Report: &audit.Stored{Object: put("pdf")}}
		a.Replaced = []audit.ReplacedObject{{Object: put("replaced")}}
	})
	s.must(err)
	s.must(s.store.Logs.Begin(t.Context(), org, "logs.example"))
	log, err := s.store.Logs.GetVersioned(t.Context(), org)
	s.must(err)
	_, err = s.store.Logs.Commit(t.Context(), &log.Value, log.Revision, &logs.Change{Parts: []logs.Part{{Org: org, Path: "tile/0/000", Object: put("tile")}}})
	s.must(err)
	if _, found := s.verify(); found != "" {
		t.Fatalf("found\n%s", found)
	}
	for page, err := s.objects.List(t.Context(), "", 1); len(page) > 0; page, err = s.objects.List(t.Context(), "", 1) {
		s.must(errors.Join(err, s.objects.Delete(t.Context(), page[0].Key)))
	}
	_, found := s.verify()
	counts := map[string]int{}
	for line := range strings.Lines(found) {
		collection, _, _ := strings.Cut(line, "/")
		counts[collection]++
	}
	want := map[string]int{"attestations": 3, "templates": 1, "attestation_type_versions": 1, "reports": 1, "packages": 3, "log_parts": 1}
	if !maps.Equal(counts, want) {
		t.Errorf("found %v, want %v:\n%s", counts, want, found)
	}
}

func (s *stores) changeTrail(name string, change func(*evidence.Trail)) {
	s.t.Helper()
	s.change("trails", evidence.TrailKey(s.flow.ID, name), func(body []byte) []byte {
		var trail evidence.Trail
		s.must(json.Unmarshal(body, &trail))
		change(&trail)
		changed, err := json.Marshal(trail)
		s.must(err)
		return changed
	})
}

func TestCommandsDoNotGrowWithTheDocumentsOfAPage(t *testing.T) {
	s := newStores(t)
	commands := func() int {
		counter := storagetest.NewCountingDocuments(s.docs)
		_, err := verify.Run(t.Context(), verify.Options{Documents: counter, Objects: s.objects, Report: func(f verify.Finding) error {
			t.Errorf("%s: %s", f.Where, f.What)
			return nil
		}})
		s.must(err)
		return counter.Snapshot().Commands()
	}
	few := commands()
	for i := range 20 {
		s.must(apptest.RecordTrail(t.Context(), s.store, &s.flow, fmt.Sprint("more-", i)))
	}
	// The further trails have more than a page of events and of log entries.
	if many := commands(); many > few+3 {
		t.Errorf("%d commands for 3 trails, %d for 23", few, many)
	}
}

func TestRecordingMeanwhileCausesNoFindings(t *testing.T) {
	s := newStores(t)
	stop, written := make(chan struct{}), make(chan error)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				written <- nil
				return
			default:
			}
			if err := apptest.RecordTrail(t.Context(), s.store, &s.flow, fmt.Sprint("meanwhile-", i%5)); err != nil {
				written <- err
				return
			}
		}
	}()
	for range 3 {
		if _, found := s.verify(); found != "" {
			t.Errorf("found\n%s", found)
		}
	}
	close(stop)
	s.must(<-written)
}
