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
	found, err := s.Recorder.WhereRunning(t.Context(), "org", []string{reported, attested}, map[string][]string{reported: {child}})
	s.Must(err)
	if slices.Sort(found); !slices.Equal(found, []string{"a", "b", "c"}) {
		t.Errorf("the artifacts run in %q", found)
	}
}
