package governance_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/evidence/approval"
	"attestry/storage"
	"attestry/storage/storagetest"
)

func fresh(flow, fingerprint string, at float64, states ...approval.State) approval.Approval {
	one := approval.Approval{
		ID: evidence.NewID(), Org: "acme", Flow: flow, Record: "r", Trail: "t", Target: fingerprint, Commits: []string{}, CreatedAt: at,
	}
	for _, state := range states {
		one.Reviews = append(one.Reviews, approval.Review{State: state})
	}
	one.State = approval.Overall(one.Reviews)
	return one
}

func addApprovals(t *testing.T, s *apptest.Fixture, all ...approval.Approval) []approval.Approval {
	t.Helper()
	var added []approval.Approval
	for _, one := range all {
		made, err := s.Approvals.Add(t.Context(), one, nil)
		s.Must(err)
		added = append(added, made)
	}
	return added
}

// numbered lists approvals as number, fingerprint and base.
func numbered(approvals []approval.Approval) string {
	var parts []string
	for _, one := range approvals {
		parts = append(parts, fmt.Sprintf("%d:%s<%s", one.Number, one.Target, one.Base))
	}
	return strings.Join(parts, " ")
}

func TestApprovalsAreNumberedWithinTheirFlow(t *testing.T) {
	s := apptest.NewFixture(t)
	added := addApprovals(t, s,
		fresh("one", "a", 5), fresh("two", "x", 5), fresh("one", "a", 4, approval.Approved), fresh("one", "b", 6, approval.Unapproved),
		fresh("one", "b", 7), fresh("one", "b", 8, approval.Approved), fresh("one", "c", 9, approval.Approved))
	if got, want := numbered(added), "1:a< 1:x< 2:a< 3:b<a 4:b<a 5:b<a 6:c<b"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if added[2].CreatedAt != 5.000001 {
		t.Errorf("the second approval is of %v", added[2].CreatedAt)
	}
	if got, want := numbered(apptest.AllOf(t, s.Approvals.List("one", 1, 3))), "5:b<a 4:b<a 3:b<a"; got != want {
		t.Errorf("page %s, want %s", got, want)
	}
	if got, want := numbered(apptest.AllOf(t, s.Approvals.OfArtifact("one", "a"))), "2:a< 1:a<"; got != want {
		t.Errorf("of an artifact %s, want %s", got, want)
	}
	for _, want := range added {
		got, err := s.Approvals.Get(t.Context(), want.Flow, want.Number)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
	if _, err := s.Approvals.Get(t.Context(), "two", 2); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("a number of another flow gives %v", err)
	}
}

func TestReleaseNumbersAreFoundByArtifact(t *testing.T) {
	s := apptest.NewFixture(t)
	addApprovals(t, s, fresh("one", "a", 1), fresh("two", "a", 1), fresh("one", "b", 2), fresh("one", "a", 3), fresh("one", "c", 4))
	s.Docs.Commands.Store(0)
	got, err := s.Approvals.Numbers(t.Context(), "one", []string{"a", "b", "a", "none"})
	if want := map[string][]int{"a": {1, 3}, "b": {2}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if n := s.Docs.Commands.Load(); n != 1 {
		t.Errorf("it took %d commands, want 1", n)
	}
}

func TestConcurrentApprovalsLeaveNoGaps(t *testing.T) {
	s := apptest.NewFixture(t)
	const approvals = 16
	var group sync.WaitGroup
	for range approvals {
		group.Go(func() {
			if _, err := s.Approvals.Add(context.Background(), fresh("one", "a", 1, approval.Approved), nil); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	all := apptest.AllOf(t, s.Approvals.List("one", 0, storage.Unlimited))
	if len(all) != approvals {
		t.Fatalf("%d approvals, want %d", len(all), approvals)
	}
	for i, one := range all {
		if one.Number != approvals-i || i > 0 && all[i-1].CreatedAt <= one.CreatedAt || (one.Base == "") != (one.Number == 1) {
			t.Errorf("approval %d is %+v", i, one)
		}
	}
}

func TestUnacknowledgedApprovalIsCountedIfItWasStored(t *testing.T) {
	for name, c := range map[string]struct {
		stored bool
		want   string
	}{
		"lost":   {false, "1:b<"},
		"stored": {true, "2:b<a"},
	} {
		t.Run(name, func(t *testing.T) {
			s := apptest.NewFixture(t)
			s.Restart(1, c.stored)
			if _, err := s.Approvals.Add(t.Context(), fresh("one", "a", 1, approval.Approved), nil); !errors.Is(err, storagetest.ErrKilled) {
				t.Fatalf("got %v", err)
			}
			s.Restart(0, false)
			if got := numbered(addApprovals(t, s, fresh("one", "b", 2))); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
