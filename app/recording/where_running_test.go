package recording_test

import (
	"slices"
	"testing"

	"attestry/app/apptest"
	"attestry/storage/environments"
)

// TestGivenChildrenAreFoundBesideStoredOnes queries an artifact that is being reported with a child, which is not stored
// yet, together with one that is attested.
func TestGivenChildrenAreFoundBesideStoredOnes(t *testing.T) {
	s := apptest.NewFixture(t)
	reported, child, attested := apptest.Sha("1", 64), apptest.Sha("2", 64), apptest.Sha("3", 64)
	for environment, fingerprint := range map[string]string{"a": reported, "b": child, "c": attested} {
		s.Must(s.Running.Start(t.Context(), []environments.Running{{Org: "org", Environment: environment, Fingerprint: fingerprint, Since: 1}}))
	}
	found, err := s.Recorder.WhereRunning(t.Context(), "org", []string{reported, attested}, map[string][]string{reported: {child}}, true)
	s.Must(err)
	if slices.Sort(found); !slices.Equal(found, []string{"a", "b", "c"}) {
		t.Errorf("the artifacts run in %q", found)
	}
}

func TestWhereAnArtifactRunsIsCached(t *testing.T) {
	s := apptest.NewFixture(t)
	artifact := apptest.Sha("1", 64)
	start := func(environment string) {
		s.Must(s.Running.Start(t.Context(), []environments.Running{{Org: "org", Environment: environment, Fingerprint: artifact, Since: 1}}))
	}
	start("a")
	for _, c := range []struct {
		name    string
		refresh bool
		reads   bool
		want    []string
	}{
		{"first", false, true, []string{"a"}},
		{"cached", false, false, []string{"a"}},
		{"refreshed", true, true, []string{"a", "b"}},
		{"cached again", false, false, []string{"a", "b"}},
	} {
		before := s.Docs.Commands.Load()
		found, err := s.Recorder.WhereRunning(t.Context(), "org", []string{artifact}, nil, c.refresh)
		s.Must(err)
		if reads := s.Docs.Commands.Load() > before; reads != c.reads || !slices.Equal(slices.Sorted(slices.Values(found)), c.want) {
			t.Errorf("%s: found %v, reads the database: %t", c.name, found, reads)
		}
		if c.name == "cached" {
			start("b")
		}
	}
}
