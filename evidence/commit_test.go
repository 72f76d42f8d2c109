package evidence

import (
	"strings"
	"testing"
)

func TestSHAsUnderSevenCharactersAreShownAsUnknown(t *testing.T) {
	for name, c := range map[string]struct{ sha, want string }{
		"unknown":          {"", NoCommit},
		"too short":        {"v1.0.0", NoCommit},
		"just long enough": {"v1.0.00", "v1.0.00"},
		"a whole SHA":      {strings.Repeat("a", 40), strings.Repeat("a", 40)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ShownSHA(c.sha); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestCommitsWithoutAKnownBranchMayBeOnAny(t *testing.T) {
	on := func(branch string) *GitCommit { return &GitCommit{Branch: &branch} }
	for name, c := range map[string]struct {
		one, other *GitCommit
		want       bool
	}{
		"the same branch":      {on("main"), on("main"), true},
		"another branch":       {on("main"), on("fix"), false},
		"no commit":            {nil, on("main"), true},
		"no other commit":      {on("main"), nil, true},
		"no branch":            {&GitCommit{}, on("main"), true},
		"no branch of another": {on("main"), &GitCommit{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.one.OnBranchOf(c.other); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
