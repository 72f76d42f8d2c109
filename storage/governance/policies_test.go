package governance_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/policy"
	"attestry/storage"
	"attestry/storage/governance"
	"attestry/storage/storagetest"
)

func newPolicies(t *testing.T) (*governance.Policies, *storagetest.CountingDocuments, *storagetest.FailingCollection) {
	t.Helper()
	counting, failing := openEngine(t)
	return governance.NewPolicies(counting), counting, failing
}

func policyChange(org, name, content string, at float64) governance.Change {
	return governance.Change{Org: org, Name: name, By: "ann", At: at, Content: []byte(content)}
}

func putPolicies(t *testing.T, policies *governance.Policies, changes ...governance.Change) {
	t.Helper()
	for _, change := range changes {
		if _, err := policies.Put(t.Context(), change); err != nil {
			t.Fatal(err)
		}
	}
}

// storedPolicy lists the versions of a policy of organization o, with their contents.
func storedPolicy(t *testing.T, policies *governance.Policies, name string) string {
	t.Helper()
	history, err := policies.History(t.Context(), "o", name)
	evidencetest.Must(t, err)
	return contents(t, history)
}

func contents(t *testing.T, history governance.History) string {
	t.Helper()
	var lines []string
	for _, version := range apptest.AllOf(t, history.Versions) {
		lines = append(lines, fmt.Sprint(version.Version, " ", string(version.Content)))
	}
	return strings.Join(lines, ", ")
}

func TestPolicyIsStoredWithItsVersions(t *testing.T) {
	policies, _, _ := newPolicies(t)
	change := policyChange("o", "p", "one", 10)
	change.Description, change.Comment, change.Controls = "said", "why", []string{"C-1"}
	for i, want := range []bool{true, false, false} {
		if created, err := policies.Put(t.Context(), change); err != nil || created != want {
			t.Errorf("put %d: created %v, %v", i, created, err)
		}
	}
	second := policyChange("o", "p", "two", 20)
	second.Description = "said"
	putPolicies(t, policies, second, governance.Change{Org: "o", Name: "p", By: "bob", At: 30, Description: "else"})
	head, err := policies.Get(t.Context(), "o", "p")
	if err != nil || head.Latest != 2 || head.Description != "else" || head.CreatedAt != 10 || head.LastModifiedAt != 30 || len(head.Controls) != 0 || len(head.Updates) != 1 {
		t.Errorf("the head is %+v, %v", head, err)
	}
	if versions := storedPolicy(t, policies, "p"); versions != "1 one, 2 two" {
		t.Errorf("the versions are %s", versions)
	}
	if many, err := policies.GetMany(t.Context(), "o", []string{"p", "p", "none"}); err != nil || len(many) != 1 || many["p"].Latest != 2 {
		t.Errorf("got %+v, %v", many, err)
	}
}

func TestPolicyWithoutAFileIsNotFound(t *testing.T) {
	policies, _, _ := newPolicies(t)
	putPolicies(t, policies, policyChange("other", "p", "one", 1))
	if _, err := policies.Put(t.Context(), governance.Change{Org: "o", Name: "p", Description: "said"}); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := policies.History(t.Context(), "o", "p"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestVersionsDoNotGoBackInTime(t *testing.T) {
	policies, _, _ := newPolicies(t)
	putPolicies(t, policies, policyChange("o", "p", "one", 100), policyChange("o", "p", "two", 50))
	history, err := policies.History(t.Context(), "o", "p")
	evidencetest.Must(t, err)
	versions := apptest.AllOf(t, history.Versions)
	if versions[1].CreatedAt != 100 || history.LastModifiedAt != 100 {
		t.Errorf("the second version is of %v, the policy of %v", versions[1].CreatedAt, history.LastModifiedAt)
	}
}

func TestInterruptedPolicyVersion(t *testing.T) {
	first := policyChange("o", "p", "one", 1)
	cut := policyChange("o", "p", "cut", 2)
	second := policyChange("o", "p", "two", 3)
	for name, c := range map[string]struct {
		before, after []governance.Change
		want          string
	}{
		"is hidden":                      {[]governance.Change{first}, nil, "1 one"},
		"stays hidden behind the former": {[]governance.Change{first}, []governance.Change{first}, "1 one"},
		"shows when it is sent again":    {[]governance.Change{first}, []governance.Change{cut, cut}, "1 one, 2 cut"},
		"shows with a further one":       {[]governance.Change{first}, []governance.Change{second}, "1 one, 2 cut, 3 two"},
		"of a new policy is completed":   {nil, []governance.Change{cut}, "1 cut"},
		"of a new policy is followed":    {nil, []governance.Change{second}, "1 cut, 2 two"},
	} {
		t.Run(name, func(t *testing.T) {
			policies, _, failing := newPolicies(t)
			putPolicies(t, policies, c.before...)
			failing.Name = "policies"
			if _, err := policies.Put(t.Context(), cut); !errors.Is(err, storagetest.ErrWrite) {
				t.Fatalf("got %v", err)
			}
			failing.Name = ""
			putPolicies(t, policies, c.after...)
			if versions := storedPolicy(t, policies, "p"); versions != c.want {
				t.Errorf("the versions are %s, want %s", versions, c.want)
			}
		})
	}
}

func TestConcurrentVersionsOfAPolicyLeaveNoGap(t *testing.T) {
	policies, _, _ := newPolicies(t)
	const writers = 16
	var created atomic.Int64
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			fresh, err := policies.Put(t.Context(), policyChange("o", "p", fmt.Sprint("content ", i), 1))
			evidencetest.Check(t, err)
			if fresh {
				created.Add(1)
			}
		})
	}
	group.Wait()
	history, err := policies.History(t.Context(), "o", "p")
	if err != nil || created.Load() != 1 || history.Latest != writers {
		t.Fatalf("created %d times, latest %d, %v", created.Load(), history.Latest, err)
	}
	versions := apptest.AllOf(t, history.Versions)
	for i, version := range versions {
		if version.Version != i+1 {
			t.Errorf("version %d is in place %d", version.Version, i)
		}
	}
	if evidence.SHA256(versions[len(versions)-1].Content) != history.Sum {
		t.Error("the head has the sum of another version than the latest")
	}
}

func TestConcurrentRequestsWithOneContentMakeOneVersion(t *testing.T) {
	policies, _, _ := newPolicies(t)
	putPolicies(t, policies, policyChange("o", "p", "one", 1))
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			if _, err := policies.Put(t.Context(), policyChange("o", "p", "two", 2)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if versions := storedPolicy(t, policies, "p"); versions != "1 one, 2 two" {
		t.Errorf("the versions are %s", versions)
	}
}

func TestHistoriesTakeAConstantNumberOfCommands(t *testing.T) {
	policies, counting, failing := newPolicies(t)
	for i := range 20 {
		name := fmt.Sprintf("p%02d", 20-i)
		putPolicies(t, policies, policyChange("o", name, "one", 1), policyChange("o", name, "two", 2))
	}
	putPolicies(t, policies, policyChange("other", "p00", "one", 1))
	failing.Name = "policies"
	if _, err := policies.Put(t.Context(), policyChange("o", "p01", "cut", 3)); !errors.Is(err, storagetest.ErrWrite) {
		t.Fatalf("got %v", err)
	}
	for name, c := range map[string]struct{ bytes, commands int }{
		"one batch":       {1 << 20, 2},
		"several batches": {1 << 10, 0}, // 0 is any number
	} {
		t.Run(name, func(t *testing.T) {
			counting.Reset()
			var names []string
			for histories := policies.Histories("o"); histories.More(); {
				batch, err := histories.Next(t.Context(), c.bytes)
				evidencetest.Must(t, err)
				for _, history := range batch {
					names = append(names, history.Name)
					if versions := contents(t, history); versions != "1 one, 2 two" {
						t.Errorf("the versions of %s are %s", history.Name, versions)
					}
				}
			}
			if len(names) != 20 || !slices.IsSorted(names) || names[0] != "p01" {
				t.Errorf("the policies are %q", names)
			}
			if commands := counting.Snapshot().Commands(); c.commands > 0 && commands != c.commands {
				t.Errorf("%d commands", commands)
			}
		})
	}
}

func TestParsedPoliciesAreCached(t *testing.T) {
	policies, counting, _ := newPolicies(t)
	const content = "_schema: https://kosli.com/schemas/policy/environment/v1\nartifacts: {provenance: {required: true}}\n"
	putPolicies(t, policies, policyChange("o", "p", content, 1), policyChange("o", "broken", "- no policy", 1))
	first := policy.Reference{Name: "p", Version: 1}
	for _, commands := range []int{1, 0} {
		counting.Reset()
		applied, err := policies.Applied(t.Context(), "o", []policy.Reference{first, first})
		if err != nil || len(applied) != 2 || !applied[1].Policy.Provenance.Required || counting.Snapshot().Commands() != commands {
			t.Errorf("applied %+v with %d commands, want %d: %v", applied, counting.Snapshot().Commands(), commands, err)
		}
	}
	for _, damaged := range []policy.Reference{{Name: "p", Version: 2}, {Name: "broken", Version: 1}} {
		if _, err := policies.Applied(t.Context(), "o", []policy.Reference{first, damaged}); !errors.Is(err, storage.ErrDamaged) {
			t.Errorf("%v: %v", damaged, err)
		}
	}
}

func TestLatestVersionsAreInTheOrderOfTheGivenNames(t *testing.T) {
	policies, _, _ := newPolicies(t)
	const content = "_schema: https://kosli.com/schemas/policy/environment/v1\n"
	putPolicies(t, policies, policyChange("o", "a", content, 1), policyChange("o", "b", content, 1), policyChange("o", "a", content+"\n", 2))
	applied, err := policies.Latest(t.Context(), "o", []string{"b", "unknown", "a"})
	if err != nil || len(applied) != 2 || applied[0].Name != "b" || applied[1].Name != "a" || applied[1].Version != 2 || applied[0].ID == "" {
		t.Errorf("latest %+v: %v", applied, err)
	}
	if foreign, err := policies.Latest(t.Context(), "other", []string{"a"}); err != nil || len(foreign) > 0 {
		t.Errorf("another organization has %+v: %v", foreign, err)
	}
}

func TestFilesOfPoliciesAreInTheOrderOfTheReferencesAndComplete(t *testing.T) {
	policies, _, _ := newPolicies(t)
	putPolicies(t, policies, policyChange("o", "a", "a1", 1), policyChange("o", "a", "a2", 2), policyChange("o", "b", "b1", 3))
	a1, a2, b1 := policy.Reference{Name: "a", Version: 1}, policy.Reference{Name: "a", Version: 2}, policy.Reference{Name: "b", Version: 1}
	for _, c := range []struct {
		org        string
		references []policy.Reference
		want, lost string
	}{
		{"o", nil, "", ""},
		{"o", []policy.Reference{b1, a1, a2}, "b1 a1 a2", ""},
		{"o", []policy.Reference{{Name: "c", Version: 1}, a1, a2}, "", "c"},
		{"o", []policy.Reference{b1, {Name: "a", Version: 3}, a1}, "", "a"},
		{"o", []policy.Reference{a1, a2, {Name: "b", Version: 2}}, "", "b"},
		{"other", []policy.Reference{a1}, "", "a"},
	} {
		found, err := policies.Files(t.Context(), c.org, c.references)
		got := strings.Join(evidence.Map(found, func(version policy.Version) string { return string(version.Content) }), " ")
		if got != c.want || errors.Is(err, storage.ErrDamaged) != (c.lost != "") || (err == nil) != (c.lost == "") {
			t.Errorf("%v of %s: %q, %v", c.references, c.org, got, err)
		}
		if c.lost != "" && !strings.Contains(fmt.Sprint(err), "'"+c.lost+"'") {
			t.Errorf("%v of %s: the error is %v, want one of %s", c.references, c.org, err, c.lost)
		}
	}
}
