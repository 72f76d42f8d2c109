package environments_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"attestry/app/apptest"
	"attestry/evidence"
)

func allowance(environment, fingerprint string, at float64) evidence.Allowance {
	return evidence.Allowance{
		ID: evidence.NewID(), Org: "acme", Environment: environment, Fingerprint: fingerprint,
		ArtifactName: "app", Description: "why", UserID: "u", UserName: "me", At: at,
	}
}

func TestRepeatedAllowanceKeepsItsIDAndUpdatesTheRest(t *testing.T) {
	s := apptest.NewFixture(t)
	first, err := s.Allowlist.Put(t.Context(), allowance("prod", "f1", 1))
	s.Must(err)
	second := allowance("prod", "f1", 2)
	second.ArtifactName, second.Description, second.UserID, second.UserName = "web", "because", "v", "you"
	got, err := s.Allowlist.Put(t.Context(), second)
	s.Must(err)
	second.ID = first.ID
	if got != second {
		t.Errorf("got %+v", got)
	}
	if all := apptest.AllOf(t, s.Allowlist.List("acme")); len(all) != 1 || all[0] != second {
		t.Errorf("listed %+v", all)
	}
}

func TestRepeatedAllowanceIsNotDatedBack(t *testing.T) {
	s := apptest.NewFixture(t)
	_, err := s.Allowlist.Put(t.Context(), allowance("prod", "f1", 4000))
	s.Must(err)
	got, err := s.Allowlist.Put(t.Context(), allowance("prod", "f1", 400)) // by a clock that is an hour behind
	if err != nil || got.At != 4000.000001 {
		t.Errorf("permitted at %v: %v", got.At, err)
	}
}

func TestAllowancesAreListedNewestFirstWithinTheirOrganization(t *testing.T) {
	s := apptest.NewFixture(t)
	for fingerprint, at := range map[string]float64{"f1": 2, "f2": 3, "f3": 1} {
		_, err := s.Allowlist.Put(t.Context(), allowance("prod", fingerprint, at))
		s.Must(err)
	}
	theirs := allowance("theirs", "f4", 4)
	theirs.Org = "other"
	_, err := s.Allowlist.Put(t.Context(), theirs)
	s.Must(err)
	_, err = s.Allowlist.Put(t.Context(), allowance("prod", "f3", 9)) // repeated: now the newest
	s.Must(err)
	var order []string
	for _, one := range apptest.AllOf(t, s.Allowlist.List("acme")) {
		order = append(order, one.Fingerprint)
	}
	if got := strings.Join(order, " "); got != "f3 f2 f1" {
		t.Errorf("listed %s", got)
	}
}

func TestSimultaneousAllowancesOfOneArtifactShareOneID(t *testing.T) {
	s := apptest.NewFixture(t)
	var group sync.WaitGroup
	ids := sync.Map{}
	for range 50 {
		group.Go(func() {
			one, err := s.Allowlist.Put(context.Background(), allowance("prod", "f1", 1))
			if err != nil {
				t.Error(err)
			}
			ids.Store(one.ID, true)
		})
	}
	group.Wait()
	count := 0
	ids.Range(func(any, any) bool { count++; return true })
	if all := apptest.AllOf(t, s.Allowlist.List("acme")); len(all) != 1 || count != 1 {
		t.Errorf("%d ids, listed %+v", count, all)
	}
}
