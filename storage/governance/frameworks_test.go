package governance_test

import (
	"testing"

	"attestry/storage/governance"
)

func TestFrameworksAreKeptInVersions(t *testing.T) {
	engine, _ := openEngine(t)
	frameworks := governance.NewFrameworks(engine)
	put := func(name, content string) int {
		t.Helper()
		stored, err := frameworks.Put(t.Context(), governance.Framework{File: governance.File{Org: "o", Name: name, Content: []byte(content), CreatedBy: "ada", CreatedAt: 3}})
		if err != nil {
			t.Fatal(err)
		}
		return stored.Version
	}
	for _, step := range []struct {
		name, content string
		version       int
	}{{"b", "1", 1}, {"b", "1", 1}, {"a", "1", 1}, {"b", "2", 2}, {"b", "1", 3}} {
		if got := put(step.name, step.content); got != step.version {
			t.Errorf("%s with %s is version %d, want %d", step.name, step.content, got, step.version)
		}
	}
	listed, err := frameworks.List(t.Context(), "o")
	if err != nil || len(listed) != 2 || listed[0].Name != "a" || listed[1].Version != 3 || listed[1].CreatedBy != "ada" || listed[1].CreatedAt != 3 {
		t.Errorf("it lists %+v, %v", listed, err)
	}
	for version, want := range map[int]string{1: "1", 2: "2", 3: "1"} {
		if found, err := frameworks.Version(t.Context(), "o", "b", version); err != nil || string(found.Content) != want {
			t.Errorf("version %d is %+v, %v", version, found, err)
		}
	}
	if none, err := frameworks.List(t.Context(), "other"); err != nil || len(none) != 0 {
		t.Errorf("another organization has %+v, %v", none, err)
	}
}
