package logs_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"attestry/app/apptest"
	"attestry/evidence/translog"
	"attestry/storage"
	"attestry/storage/logs"
)

// TestFactsAreReadByTheirLeaves reads a fact of each kind.
func TestFactsAreReadByTheirLeaves(t *testing.T) {
	s := apptest.NewFixture(t)
	record(t, s)
	var names []string
	for _, leaf := range leavesIn(t, s.Db) {
		if leaf.Org == "org" {
			names = append(names, logs.FactName(leaf.Kind, leaf.ID))
		}
	}
	slices.Sort(names)
	leaves, err := s.Logs.LeavesOf(t.Context(), "org", append([]string{"attestation/unknown"}, names...))
	s.Must(err)
	var read []string
	s.Must(s.Logs.EachFact(t.Context(), leaves, func(leaf *logs.Leaf, fact []byte) error {
		if leaf.Hash != translog.Commitment(leaf.Salt, fact) {
			t.Errorf("%s %s is read as %s", leaf.Kind, leaf.ID, fact)
		}
		read = append(read, logs.FactName(leaf.Kind, leaf.ID))
		return nil
	}))
	if !slices.Equal(read, names) || len(names) < 10 {
		t.Errorf("read %q, want %q", read, names)
	}
	failed := errors.New("it cannot be written")
	if err := s.Logs.EachFact(t.Context(), leaves, func(*logs.Leaf, []byte) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("an error becomes %v", err)
	}
}

func TestNamesOfCurrentVersionsMatchTheirLeaves(t *testing.T) {
	s := apptest.NewFixture(t)
	record(t, s)
	for kind, document := range map[string]string{"environment": "env", "allowance": "env/" + apptest.Sha("f1", 64)} {
		names, err := s.Logs.VersionNames(t.Context(), "org", kind, []string{document, "unknown"})
		s.Must(err)
		leaves, err := s.Logs.LeavesOf(t.Context(), "org", names)
		s.Must(err)
		if len(leaves) != 1 || leaves[0].Kind != kind || !strings.HasPrefix(leaves[0].ID, strings.ReplaceAll(document, "/", ":")+":") {
			t.Errorf("the leaves of %q are %+v", names, leaves)
		}
	}
}

func TestTheFirstCheckpointThatCoversEntriesIsFound(t *testing.T) {
	s := apptest.NewFixture(t)
	s.Must(s.Logs.Begin(t.Context(), "org", "attestry.example.com/acme"))
	for _, size := range []int64{3, 100, 20} {
		log, err := s.Logs.GetVersioned(t.Context(), "org")
		s.Must(err)
		_, err = s.Logs.Commit(t.Context(), &log.Value, log.Revision, &logs.Change{Checkpoint: &logs.Checkpoint{Org: "org", Size: size}})
		s.Must(err)
	}
	for entries, want := range map[int64]int64{1: 3, 3: 3, 4: 20, 20: 20, 21: 100, 101: 0} {
		found, err := s.Logs.Covering(t.Context(), "org", entries)
		if found.Size != want || errors.Is(err, storage.ErrNotFound) != (want == 0) {
			t.Errorf("of %d entries: %d, want %d, %v", entries, found.Size, want, err)
		}
	}
}

func TestTheLastCheckpointBeforeATimeIsFound(t *testing.T) {
	s := apptest.NewFixture(t)
	if last, err := s.Logs.At(t.Context(), "org", 1e9); err != nil || last.Size != 0 {
		t.Errorf("without a log: %+v, %v", last, err)
	}
	s.Must(s.Logs.Begin(t.Context(), "org", "attestry.example.com/acme"))
	for size := int64(3); size <= 100; size += 7 {
		log, err := s.Logs.GetVersioned(t.Context(), "org")
		s.Must(err)
		log.Value.Signed = size
		_, err = s.Logs.Commit(t.Context(), &log.Value, log.Revision, &logs.Change{Checkpoint: &logs.Checkpoint{Org: "org", Size: size, At: float64(10 * size)}})
		s.Must(err)
	}
	for at, want := range map[float64]int64{0: 0, 29.9: 0, 30: 3, 99: 3, 100: 10, 500: 45, 939: 87, 940: 94, 1e9: 94} {
		if last, err := s.Logs.At(t.Context(), "org", at); err != nil || last.Size != want {
			t.Errorf("at %g: %d, want %d, %v", at, last.Size, want, err)
		}
	}
}

func TestPendingFactsAreFoundBeforeTheyAreIndexed(t *testing.T) {
	s := apptest.NewFixture(t)
	record(t, s)
	reader := s.Logs
	pending, err := reader.Pending(t.Context(), "org", 0, storage.MaxMany)
	s.Must(err)
	for _, leaf := range pending {
		for org, want := range map[string]bool{"org": true, "other": false} {
			if has, err := reader.HasFact(t.Context(), org, leaf.Kind, leaf.ID); err != nil || has != want {
				t.Errorf("%s has %s %s: %v, %v", org, leaf.Kind, leaf.ID, has, err)
			}
		}
		if entered, err := reader.Indexed(t.Context(), "org", []string{leaf.Kind + "/" + leaf.ID}); err != nil || len(entered) > 0 {
			t.Errorf("%s %s has a place: %v, %v", leaf.Kind, leaf.ID, entered, err)
		}
	}
	for _, kind := range []string{"artifact", "environment", "secret", ""} {
		if has, err := reader.HasFact(t.Context(), "org", kind, "none"); err != nil || has {
			t.Errorf("there is a %s that nobody recorded: %v", kind, err)
		}
	}
	if len(pending) < 9 {
		t.Errorf("only %d facts were recorded", len(pending))
	}
}

func TestTheOriginOfAContinuationKeepsTheOrganization(t *testing.T) {
	for _, row := range []struct {
		of         logs.Log
		generation int
		want       string
	}{
		{logs.Log{Origin: "example.com/acme"}, 1, "example.com/acme/1"},
		{logs.Log{Origin: "example.com/acme/1", Generation: 1}, 2, "example.com/acme/2"},
		{logs.Log{Origin: "example.com/0"}, 1, "example.com/0/1"},
		{logs.Log{Origin: "example.com/1/1", Generation: 1}, 3, "example.com/1/3"},
	} {
		if got := logs.NextOrigin(row.of, row.generation); got != row.want {
			t.Errorf("%s is continued as %s, want %s", row.of.Origin, got, row.want)
		}
	}
}
