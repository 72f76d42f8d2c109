package mutationtest

import (
	"slices"
	"strings"
	"testing"

	"attestry/evidence/evidencetest"
)

const before = `package p

func f(list []int, done bool) (int, error) {
	kept := make([]int, 0, 7)
	if !done && len(list) > 1 {
		g()
	}
	n, err := h(kept)
	n++
	if err != nil {
		return 0, err
	}
	return n + 2, nil
}

func g() (int, bool) { return 1, false }

const wait = 3 * time.Second
`

func TestAlterations(t *testing.T) {
	all, err := alterations("attestry/p", "p.go", before)
	evidencetest.Must(t, err)
	var got []string
	for _, altered := range all {
		_, after, _ := strings.Cut(altered.diff(), "\n+")
		got = append(got, strings.TrimSpace(after))
	}
	want := []string{
		"if true || (!done && len(list) > 1) {",
		"if false && (!done && len(list) > 1) {",
		"if !done || len(list) > 1 {",
		"if done && len(list) > 1 {",
		"if !done && len(list) >= 1 {",
		"if !done && len(list) > (1 + 1) {",
		"", // g()
		"", // n++
		"if true || (err != nil) {",
		"if false && (err != nil) {",
		"if err == nil {",
		"return 0, nil",
		"return n - 2, nil",
		"return n + (2 + 1), nil",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestAlterationHasItsLineAndText(t *testing.T) {
	all, err := alterations("attestry/p", "p.go", before)
	evidencetest.Must(t, err)
	if all[6].line() != 6 || all[6].diff() != "-\t\tg()\n+\t\t\n" {
		t.Errorf("line %d: %s", all[6].line(), all[6].diff())
	}
	evidencetest.Contains(t, all[6].text(), "> 1 {\n\t\t\n\t}\n")
}

func TestSeedChoosesTheSameAlterationsAfterOtherLinesHaveChanged(t *testing.T) {
	chosen := func(seed uint64, text string) (diffs []string) {
		all, err := alterations("attestry/p", "p.go", text)
		evidencetest.Must(t, err)
		for _, altered := range arranged(all, seed) {
			diffs = append(diffs, altered.diff())
		}
		return diffs
	}
	first := chosen(1, before+"func repeated() {\n\tn++\n\tn++\n}\n")
	later := chosen(1, "// One line more.\n"+before+"func repeated() {\n\tn++\n\tn++\n}\nfunc h() { i-- }\n")
	if later = slices.DeleteFunc(later, func(diff string) bool { return strings.Contains(diff, "i--") }); !slices.Equal(first, later) {
		t.Errorf("got %q after %q", later, first)
	}
	if slices.Equal(first, chosen(2, before+"func repeated() {\n\tn++\n\tn++\n}\n")) {
		t.Error("another seed has the same order")
	}
}

func TestPackagesFor(t *testing.T) {
	tests := tests{stories: true}
	for pkg, want := range map[string][]string{
		"attestry/storage/pipelines": {"attestry/storage/pipelines", "./app/recording", "./api/..."},
		"attestry/storage/tenancy":   {"attestry/storage/tenancy", "./storage/pebble", "./storage/pipelines", "./api/..."},
		"attestry/evidence/policy":   {"attestry/evidence/policy", "./evidence/...", "./app/recording", "./api/..."},
		"attestry/app/facts":         {"attestry/app/facts", "./api/..."},
	} {
		if got := tests.packagesFor(pkg); !slices.Equal(got, want) {
			t.Errorf("%s is tested by %v", pkg, got)
		}
	}
}
