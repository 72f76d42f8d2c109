package pipelines_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"attestry/app"
	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/evidence/attestation/attestationtest"
	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/filesystem"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/pipelines"
	"attestry/storage/storagetest"
)

func newTypes(t *testing.T) (*pipelines.AttestationTypes, *storagetest.CountingDocuments, *storagetest.FailingCollection) {
	t.Helper()
	db := pebbletest.Open(t, filepath.Join(t.TempDir(), "types"), app.Schemas())
	objects, err := filesystem.Open(t.TempDir())
	evidencetest.Must(t, err)
	failing := storagetest.NewFailingCollection(db)
	counting := storagetest.NewCountingDocuments(failing)
	store := app.NewStore(counting, objects, time.Now, slog.New(slog.DiscardHandler))
	t.Cleanup(store.Tenancy.Close)
	return store.AttestationTypes, counting, failing
}

func typeVersion(org, name, rule string, at float64) evidence.AttestationTypeVersion {
	return evidence.AttestationTypeVersion{
		Org: org, Name: name, Timestamp: at, CreatedBy: "somebody",
		Evaluator: &evidence.Evaluator{ContentType: evidence.JQEvaluator, Rules: []string{rule}},
	}
}

func putTypes(t *testing.T, types *pipelines.AttestationTypes, versions ...evidence.AttestationTypeVersion) {
	t.Helper()
	for _, version := range versions {
		if _, err := types.Put(t.Context(), version); err != nil {
			t.Fatal(err)
		}
	}
}

func numbers(t *testing.T, found pipelines.AttestationTypeHistory) string {
	t.Helper()
	var numbers []int
	for _, version := range apptest.AllOf(t, found.Versions) {
		numbers = append(numbers, version.Version)
	}
	return fmt.Sprint(numbers)
}

func TestCachedAttestationTypeTakesOneCommand(t *testing.T) {
	types, counting, _ := newTypes(t)
	putTypes(t, types, typeVersion("o", "n", ".n == 1", 1))
	current := func() bool {
		_, _, definition, err := types.Current(t.Context(), "o", "n")
		evidencetest.Must(t, err)
		verdict, err := attestationtest.Evaluate(definition, json.RawMessage(`{"n":1}`))
		evidencetest.Must(t, err)
		return verdict.Compliant
	}
	for _, commands := range []int{2, 1, 1} {
		counting.Reset()
		if !current() || counting.Snapshot().Commands() != commands {
			t.Errorf("took %d commands, want %d", counting.Snapshot().Commands(), commands)
		}
	}
	putTypes(t, types, typeVersion("o", "n", ".n == 2", 2))
	if current() {
		t.Error("the version before still judges")
	}
	if _, _, _, err := types.Current(t.Context(), "other", "n"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("another organization: %v", err)
	}
}

func TestListOfAttestationTypesTakesAConstantNumberOfCommands(t *testing.T) {
	types, counting, _ := newTypes(t)
	for i := range 30 {
		putTypes(t, types, typeVersion("o", fmt.Sprintf("n%02d", 30-i), "true", float64(i)), typeVersion("o", fmt.Sprintf("n%02d", 30-i), "false", float64(i)))
	}
	for i := range 11 {
		putTypes(t, types, typeVersion("o", "n30", "true", float64(100+i)))
	}
	putTypes(t, types, typeVersion("other", "n", "true", 1))
	counting.Reset()
	all := apptest.AllOf(t, types.List("o"))
	versions := numbers(t, all[0])
	if len(all) != 30 || counting.Snapshot().Commands() != 2 {
		t.Fatalf("%d types with %d commands", len(all), counting.Snapshot().Commands())
	}
	if all[0].Name != "n30" || all[29].Name != "n01" || versions != "[13 12 11 10 9 8 7 6 5 4 3 2 1]" || all[1].Latest != 2 {
		t.Errorf("got %+v", all[0])
	}
}

func TestVersionAfterAnInterruptedFirstOneGetsTheNextNumber(t *testing.T) {
	types, _, failing := newTypes(t)
	failing.Name = "attestation_types"
	if _, err := types.Put(t.Context(), typeVersion("o", "n", "true", 1)); !errors.Is(err, storagetest.ErrWrite) {
		t.Fatalf("got %v", err)
	}
	if _, err := types.Get(t.Context(), "o", "n"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("an unfinished type is found: %v", err)
	}
	failing.Name = ""
	if number, err := types.Put(t.Context(), typeVersion("o", "n", "false", 2)); err != nil || number != 2 {
		t.Fatalf("got %d %v", number, err)
	}
	found, err := types.Get(t.Context(), "o", "n")
	evidencetest.Must(t, err)
	if found.Latest != 2 || numbers(t, found) != "[2 1]" {
		t.Errorf("got %+v %v", found, err)
	}
}

func TestVersionAfterTheHeadIsHidden(t *testing.T) {
	types, _, failing := newTypes(t)
	putTypes(t, types, typeVersion("o", "n", "true", 1))
	failing.Name = "attestation_types"
	if _, err := types.Put(t.Context(), typeVersion("o", "n", "false", 2)); !errors.Is(err, storagetest.ErrWrite) {
		t.Fatalf("got %v", err)
	}
	found, err := types.Get(t.Context(), "o", "n")
	evidencetest.Must(t, err)
	if found.Latest != 1 || numbers(t, found) != "[1]" {
		t.Errorf("got %+v %v", found, err)
	}
	if _, err := types.Version(t.Context(), found.AttestationType, 2); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("version 2: %v", err)
	}
}

func TestConcurrentVersionsLeaveNoGap(t *testing.T) {
	types, _, _ := newTypes(t)
	const writers = 24
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			if _, err := types.Put(t.Context(), typeVersion("o", "n", fmt.Sprintf(". == %d", i), float64(i))); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	found, err := types.Get(t.Context(), "o", "n")
	evidencetest.Must(t, err)
	versions := apptest.AllOf(t, found.Versions)
	if found.Latest != writers || len(versions) != writers {
		t.Fatalf("latest %d of %d", found.Latest, len(versions))
	}
	for i, version := range versions {
		if version.Version != writers-i {
			t.Errorf("version %d is in place %d", version.Version, i)
		}
	}
}

func TestArchivedTypeIsRestoredByItsNextVersion(t *testing.T) {
	types, _, _ := newTypes(t)
	putTypes(t, types, typeVersion("o", "n", "true", 1))
	evidencetest.Must(t, types.Archive(t.Context(), "o", "n", 5))
	evidencetest.Must(t, types.Archive(t.Context(), "o", "n", 9))
	head, _, _, err := types.Current(t.Context(), "o", "n")
	if err != nil || !head.Archived || head.LastModifiedAt != 5 || head.CreatedAt != 1 {
		t.Errorf("got %+v %v", head, err)
	}
	putTypes(t, types, typeVersion("o", "n", "true", 11))
	head, number, _, err := types.Current(t.Context(), "o", "n")
	if err != nil || head.Archived || number != 2 || head.LastModifiedAt != 11 || head.CreatedAt != 1 {
		t.Errorf("got %+v %d %v", head, number, err)
	}
	evidencetest.Is(t, types.Archive(t.Context(), "o", "other", 1), storage.ErrNotFound)
}

func TestLargeSchemasAreStoredAndEvaluated(t *testing.T) {
	types, _, _ := newTypes(t)
	version := typeVersion("o", "n", "true", 1)
	version.Schema = json.RawMessage(`{"description":"` + strings.Repeat("x", 100_000) + `","required":["a"]}`)
	putTypes(t, types, version)
	found, err := types.Get(t.Context(), "o", "n")
	evidencetest.Must(t, err)
	read := apptest.AllOf(t, found.Versions)[0]
	if err := types.LoadSchema(t.Context(), &read); err != nil || string(read.Schema) != string(version.Schema) {
		t.Errorf("%d bytes of schema: %v", len(read.Schema), err)
	}
	_, _, definition, err := types.Current(t.Context(), "o", "n")
	evidencetest.Must(t, err)
	if _, err := attestationtest.Evaluate(definition, json.RawMessage(`{}`)); evidence.CodeOf(err) != evidence.Invalid {
		t.Errorf("got %v", err)
	}
}
