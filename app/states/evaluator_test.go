package states_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"attestry/app/apptest"
	"attestry/app/recording"
	"attestry/app/states"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/storagetest"
)

// readCounter counts the commands to an engine and the documents that they read.
type readCounter struct {
	storage.Documents
	commands, documents, bytes int
}

func (r *readCounter) count(records ...storage.Record) {
	r.commands++
	for _, record := range records {
		r.documents++
		r.bytes += storagetest.Size(&record)
	}
}

func (r *readCounter) Get(ctx context.Context, s *storage.Schema, id string) (storage.Record, error) {
	record, err := r.Documents.Get(ctx, s, id)
	r.count(record)
	return record, err
}

func (r *readCounter) GetMany(ctx context.Context, s *storage.Schema, ids []string) ([]storage.Record, error) {
	records, err := r.Documents.GetMany(ctx, s, ids)
	r.count(records...)
	return records, err
}

func (r *readCounter) Find(ctx context.Context, s *storage.Schema, q storage.Query) (storage.Page, error) {
	page, err := r.Documents.Find(ctx, s, q)
	r.count(page.Records...)
	return page, err
}

// TestArtifactsOfIncompleteSlotsAreReadTogether evaluates many artifacts of one name that are not in a slot. Each was
// attested repeatedly, by fingerprint and by name, and the attestations are large.
func TestArtifactsOfIncompleteSlotsAreReadTogether(t *testing.T) {
	s := apptest.NewFixture(t)
	flow, _, err := s.PutFlow("org", "flow")
	s.Must(err)
	scope := recording.Scope{Org: "org", OrgName: "org", Flow: "flow", Trail: "t", By: "me", ByID: "me", At: 1}
	_, err = s.Recorder.Begin(t.Context(), scope, flow, evidence.TrailChange{}, nil)
	s.Must(err)
	const artifacts, each, size = 60, 6, 10_000
	large := new(strings.Repeat("x", size))
	var records []evidence.ArtifactRecord
	var attestations []evidence.Attestation
	for i := range artifacts {
		commit := fmt.Sprintf("%040x", i)
		record := apptest.ArtifactRecord(flow, "t", fmt.Sprintf("%064x", i), commit, float64(2+i))
		record.ID = fmt.Sprint("record-", i)
		records = append(records, record)
		for n := range each {
			// The last attestation of each name counts. Only for every third artifact it fails, the one by name.
			a := apptest.AttestationRecord(fmt.Sprint("n", n%2), flow, evidence.TypeGeneric, i%3 != 0 && n >= 2, float64(100+each*i+n))
			a.ID, a.Description = fmt.Sprint("a-", i, "-", n), large
			if n%2 == 0 {
				a.Targets, a.Commit, a.Compliant = []string{"lib", "app"}, &evidence.GitCommit{SHA1: commit}, n < 4 || i%3 != 0
			} else {
				a.Fingerprint, a.Compliant = record.Fingerprint, n > 1
			}
			attestations = append(attestations, a)
		}
	}
	apptest.PutArtifacts(t, s.Store, records...)
	apptest.PutAttestations(t, s.Store, attestations...)
	docs := &readCounter{Documents: s.Db}
	s.Docs.Documents = docs
	spent := func(n int) *readCounter {
		t.Helper()
		*docs = readCounter{Documents: s.Db}
		var queries []states.Query
		for i := range n {
			origin := records[i].Origin()
			queries = append(queries, states.QueryOf(records[i].Fingerprint, &origin))
		}
		evaluated, err := s.States.Of(t.Context(), "org", queries)
		s.Must(err)
		for i, query := range queries {
			want := evidence.Compliant
			if i%3 == 0 {
				want = evidence.NonCompliant
			}
			if evaluated[query] != want {
				t.Errorf("artifact %d is %s, want %s", i, evaluated[query], want)
			}
		}
		return &readCounter{commands: docs.commands, documents: docs.documents, bytes: docs.bytes}
	}
	spent(1) // caches the template
	one, all := spent(1), spent(artifacts)
	if all.commands != one.commands {
		t.Errorf("%d commands for one artifact, %d for %d", one.commands, all.commands, artifacts)
	}
	// At most the trail, the records, and their attestations are read.
	if most := 1 + artifacts + artifacts*each; all.documents > most || all.bytes > 1000*most {
		t.Errorf("read %d documents with %d bytes", all.documents, all.bytes)
	}
}

func TestSlotsAreRebuiltFromTheFieldsOfAttestations(t *testing.T) {
	commit := apptest.Sha("1", 40)
	artifact := apptest.ArtifactRecord("f", "t", apptest.Sha("1", 64), commit, 1)
	byName := apptest.AttestationRecord("by-name", "f", evidence.TypeGeneric, false, 2)
	byName.Targets, byName.Commit, byName.Finding = []string{"lib", "app"}, &evidence.GitCommit{SHA1: commit}, "1 of 2 tests failed"
	byName.Approvers, byName.Unapproved, byName.Involved = 2, "nobody", "wrote ada"
	byFingerprint := apptest.AttestationRecord("by-fingerprint", "f", evidence.TypeGeneric, false, 3)
	byFingerprint.Fingerprint, byFingerprint.Targets = artifact.Fingerprint, []string{"app"}
	override := byFingerprint
	override.ID, override.CreatedAt, override.Override = "override", 4, &evidence.Override{Original: byFingerprint.ID}
	ofTrail := apptest.AttestationRecord("of-trail", "f", evidence.TypeGeneric, false, 5)
	ofOthers := byName
	ofOthers.ID, ofOthers.Commit = "of-others", &evidence.GitCommit{SHA1: apptest.Sha("2", 40)}
	attestations := []evidence.Attestation{byName, byFingerprint, override, ofTrail, ofOthers}

	store, docs, _ := apptest.NewStore(t)
	apptest.PutAttestations(t, store, attestations...)
	before := docs.Snapshot().Commands()
	slots, err := store.Attestations.RebuildSlots(t.Context(), "org", []evidence.ArtifactRecord{artifact})
	evidencetest.Must(t, err)
	entries, took := slots[artifact.ID].Entries, docs.Snapshot().Commands()-before
	if want := []evidence.SlotEntry{byName.SlotEntry(), override.SlotEntry()}; !slices.Equal(entries, want) || took != 1 {
		t.Errorf("rebuilt %+v by %d commands, want %+v", entries, took, want)
	}
}

// TestArtifactsOfANameShareAttestationsByName compares the bytes allocated for one artifact with those for many, all
// with the same attestations by name.
func TestArtifactsOfANameShareAttestationsByName(t *testing.T) {
	store, _, _ := apptest.NewStore(t)
	const artifacts, attested = 200, 1000
	var records []evidence.ArtifactRecord
	for i := range artifacts {
		records = append(records, apptest.ArtifactRecord("f", "t", fmt.Sprintf("%064x", i), apptest.Sha("1", 40), float64(i)))
	}
	var attestations []evidence.Attestation
	for i := range attested {
		a := apptest.AttestationRecord("check", "f", evidence.TypeGeneric, true, float64(artifacts+i))
		a.ID, a.Targets = fmt.Sprint("a", i), []string{"app"}
		attestations = append(attestations, a)
	}
	apptest.PutAttestations(t, store, attestations...)
	for name, read := range map[string]func([]evidence.ArtifactRecord) error{
		"slots": func(records []evidence.ArtifactRecord) error {
			slots, err := store.Attestations.RebuildSlots(t.Context(), "org", records)
			if last := slots[records[len(records)-1].ID]; len(last.Entries) != 1 || last.Entries[0].ID != attestations[attested-1].ID {
				t.Errorf("the last artifact has %+v", last.Entries)
			}
			return err
		},
		"histories": func(records []evidence.ArtifactRecord) error {
			all, err := store.Attestations.OfRecords(t.Context(), "org", records)
			if got := all.Of(&records[len(records)-1]); len(got) != attested {
				t.Errorf("the last artifact has %d attestations", len(got))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			allocated := func(n int) uint64 {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				evidencetest.Must(t, read(records[:n]))
				runtime.ReadMemStats(&after)
				return after.TotalAlloc - before.TotalAlloc
			}
			allocated(1) // the first call also prepares statements
			if one, all := allocated(1), allocated(artifacts); all > 2*one {
				t.Errorf("%d bytes for one artifact, %d for %d", one, all, artifacts)
			}
		})
	}
}

// scanCounter counts the index entries that queries scan, whether or not they meet the conditions.
type scanCounter struct {
	storage.Documents
	entries int64
}

func (c *scanCounter) Find(ctx context.Context, schema *storage.Schema, q storage.Query) (storage.Page, error) {
	n, err := c.Count(ctx, schema, storage.Query{Index: q.Index, Equal: q.Equal, From: q.From, To: q.To})
	if err != nil {
		return storage.Page{}, err
	}
	c.entries += n
	return c.Documents.Find(ctx, schema, q)
}

// TestReadingOneArtifactSkipsTheAttestationsOfOthers has many attestations of other artifacts in the trail.
func TestReadingOneArtifactSkipsTheAttestationsOfOthers(t *testing.T) {
	s := apptest.NewFixture(t)
	docs := &scanCounter{Documents: s.Db}
	s.Docs.Documents = docs
	artifact := apptest.ArtifactRecord("f", "t", apptest.Sha("1", 64), apptest.Sha("1", 40), 1)
	attestation := func(id, fingerprint string, at float64) evidence.Attestation {
		a := apptest.AttestationRecord("check", "f", evidence.TypeGeneric, true, at)
		a.ID, a.Fingerprint, a.Targets = id, fingerprint, []string{"app"}
		return a
	}
	attestations := []evidence.Attestation{attestation("own", artifact.Fingerprint, 2), attestation("by-name", "", 3)}
	for i := range 100 {
		attestations = append(attestations, attestation(fmt.Sprint("foreign", i), fmt.Sprintf("f%063x", i), 4))
	}
	apptest.PutAttestations(t, s.Store, attestations...)
	want := []evidence.SlotEntry{attestations[0].SlotEntry(), attestations[1].SlotEntry()}
	elsewhere := apptest.ArtifactRecord("f", "other", artifact.Fingerprint, artifact.CommitSHA, 1)
	for name, c := range map[string]struct {
		records  []evidence.ArtifactRecord
		commands int64
	}{
		"in one trail":      {[]evidence.ArtifactRecord{artifact}, 1},
		"in several trails": {[]evidence.ArtifactRecord{artifact, elsewhere}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			before, scanned := s.Docs.Commands.Load(), docs.entries
			all, err := s.Attestations.OfRecords(t.Context(), "org", c.records)
			s.Must(err)
			if got := all.Of(&artifact); !slices.Equal(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if took, scanned := s.Docs.Commands.Load()-before, docs.entries-scanned; took != c.commands || scanned != 2 {
				t.Errorf("took %d commands, which scanned %d attestations", took, scanned)
			}
		})
	}
}
