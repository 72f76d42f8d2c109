package governance_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"attestry/evidence/control"
	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/governance"
	"attestry/storage/storagetest"
)

func newControls(t *testing.T) (*governance.Controls, *storagetest.CountingDocuments, *storagetest.FailingCollection) {
	t.Helper()
	counting, failing := openEngine(t)
	return governance.NewControls(counting), counting, failing
}

func freshControl(org, identifier string) control.Control {
	return control.Control{Org: org, Identifier: identifier, Name: "name of " + identifier, CreatedBy: "ann", CreatedAt: 1}
}

func createControls(t *testing.T, controls *governance.Controls, org string, identifiers ...string) {
	t.Helper()
	for _, identifier := range identifiers {
		if _, err := controls.Create(t.Context(), freshControl(org, identifier)); err != nil {
			t.Fatal(err)
		}
	}
}

func rename(t *testing.T, controls *governance.Controls, identifier, name string) (control.Control, error) {
	t.Helper()
	return controls.Change(t.Context(), "o", identifier, control.Change{Name: &name}, "bob", 2)
}

// storedVersions lists the versions of a control: number, status, name.
func storedVersions(t *testing.T, controls *governance.Controls, identifier string) string {
	t.Helper()
	found, err := controls.Get(t.Context(), "o", identifier)
	evidencetest.Must(t, err)
	versions, err := controls.Versions(t.Context(), &found, false, 0, 100)
	evidencetest.Must(t, err)
	var lines []string
	for _, version := range versions {
		lines = append(lines, fmt.Sprint(version.Version, " ", version.Status, " ", version.Name))
	}
	return strings.Join(lines, ", ")
}

func TestUnknownControlsAreNotFound(t *testing.T) {
	controls, _, _ := newControls(t)
	createControls(t, controls, "o", "C-1")
	for name, look := range map[string]func() error{
		"another organization": func() error { _, err := controls.Get(t.Context(), "p", "C-1"); return err },
		"another identifier":   func() error { _, err := controls.Get(t.Context(), "o", "C-2"); return err },
		"a slash":              func() error { _, err := controls.Get(t.Context(), "o", "C-1/1"); return err },
		"another version":      func() error { _, err := controls.Version(t.Context(), "o", "C-1", 2); return err },
		"a change":             func() error { _, err := rename(t, controls, "C-2", "other"); return err },
		"tags":                 func() error { return controls.SetTags(t.Context(), "o", "C-2", map[string]string{"a": "1"}, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			evidencetest.Is(t, look(), storage.ErrNotFound)
		})
	}
	if latest, err := controls.LatestVersion(t.Context(), "o", "C-2"); err != nil || latest != 0 {
		t.Errorf("the latest version is %d, %v", latest, err)
	}
}

func TestTagsDoNotCreateAVersion(t *testing.T) {
	controls, _, _ := newControls(t)
	createControls(t, controls, "o", "C-1")
	evidencetest.Must(t, controls.SetTags(t.Context(), "o", "C-1", map[string]string{"a": "1"}, []string{"b"}))
	if _, err := rename(t, controls, "C-1", "other"); err != nil {
		t.Fatal(err)
	}
	found, err := controls.Get(t.Context(), "o", "C-1")
	if err != nil || found.Version != 2 || found.Tags["a"] != "1" {
		t.Errorf("found %+v, %v", found, err)
	}
}

func TestInterruptedCreationIsCompleted(t *testing.T) {
	controls, _, failing := newControls(t)
	failing.Name = "controls"
	if _, err := controls.Create(t.Context(), freshControl("o", "C-1")); !errors.Is(err, storagetest.ErrWrite) {
		t.Fatalf("got %v", err)
	}
	if latest, err := controls.LatestVersion(t.Context(), "o", "C-1"); err != nil || latest != 0 {
		t.Errorf("decisions see version %d before it is completed, %v", latest, err)
	}
	failing.Name = ""
	if _, err := controls.Create(t.Context(), freshControl("o", "C-1")); !errors.Is(err, storage.ErrExists) {
		t.Errorf("created again: %v", err)
	}
	if all, err := controls.List(t.Context(), "o"); err != nil || len(all) != 1 || all[0].Version != 1 || all[0].Name != "name of C-1" || all[0].CreatedBy != "ann" {
		t.Errorf("listed %+v, %v", all, err)
	}
}

func TestInterruptedVersionIsListedAfterTheNextChange(t *testing.T) {
	controls, _, failing := newControls(t)
	createControls(t, controls, "o", "C-1", "C-2")
	failing.Name = "controls"
	for _, identifier := range []string{"C-1", "C-2"} {
		if _, err := rename(t, controls, identifier, "second"); !errors.Is(err, storagetest.ErrWrite) {
			t.Fatalf("got %v", err)
		}
	}
	failing.Name = ""
	if versions := storedVersions(t, controls, "C-1"); versions != "1 Created name of C-1" {
		t.Errorf("the versions are %s", versions)
	}
	if again, err := rename(t, controls, "C-1", "second"); err != nil || again.Version != 2 {
		t.Errorf("the same change makes %+v, %v", again, err)
	}
	if _, err := rename(t, controls, "C-2", "third"); err != nil {
		t.Fatal(err)
	}
	if versions := storedVersions(t, controls, "C-2"); versions != "1 Created name of C-2, 2 Edited second, 3 Edited third" {
		t.Errorf("the versions are %s", versions)
	}
}

func TestOneOfConcurrentCreationsSucceeds(t *testing.T) {
	controls, _, _ := newControls(t)
	var created atomic.Int64
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			_, err := controls.Create(t.Context(), freshControl("o", "C-1"))
			if err == nil {
				created.Add(1)
			} else if !errors.Is(err, storage.ErrExists) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if created.Load() != 1 || storedVersions(t, controls, "C-1") != "1 Created name of C-1" {
		t.Errorf("%d were created: %s", created.Load(), storedVersions(t, controls, "C-1"))
	}
}

func TestConcurrentChangesOfAControlLeaveNoGap(t *testing.T) {
	controls, _, _ := newControls(t)
	createControls(t, controls, "o", "C-1")
	const writers = 16
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			if _, err := rename(t, controls, "C-1", fmt.Sprint("name ", i)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	found, err := controls.Get(t.Context(), "o", "C-1")
	if err != nil || found.Version != writers+1 {
		t.Fatalf("found %+v, %v", found, err)
	}
	last, err := controls.Version(t.Context(), "o", "C-1", found.Version)
	if err != nil || last.Name != found.Name {
		t.Errorf("the control is named %s, its last version %+v, %v", found.Name, last, err)
	}
	if versions := strings.Count(storedVersions(t, controls, "C-1"), "Edited"); versions != writers {
		t.Errorf("%d versions", versions)
	}
}

func TestControlsAreReadWithOneCommand(t *testing.T) {
	controls, counting, _ := newControls(t)
	for i := range 30 {
		createControls(t, controls, "o", fmt.Sprintf("C-%02d", 30-i))
	}
	createControls(t, controls, "p", "C-01")
	for name, read := range map[string]func() error{
		"a list": func() error {
			all, err := controls.List(t.Context(), "o")
			if len(all) != 30 || all[0].Identifier != "C-01" || all[29].Identifier != "C-30" {
				t.Errorf("listed %+v", all)
			}
			return err
		},
		"some": func() error {
			some, err := controls.GetMany(t.Context(), "o", []string{"C-02", "C-02", "none", "C-01"})
			if len(some) != 2 || some["C-01"].Org != "o" {
				t.Errorf("got %+v", some)
			}
			return err
		},
		"the latest version": func() error { _, err := controls.LatestVersion(t.Context(), "o", "none"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			counting.Reset()
			if err := read(); err != nil || counting.Snapshot().Commands() != 1 {
				t.Errorf("%d commands, %v", counting.Snapshot().Commands(), err)
			}
		})
	}
}
