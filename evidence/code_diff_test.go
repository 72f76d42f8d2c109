package evidence

import (
	"strings"
	"testing"
)

func TestCommitsOfOneRepositoryCanBeCompared(t *testing.T) {
	before, after := strings.Repeat("1a", 20), strings.Repeat("2b", 20)
	for what, c := range map[string]struct {
		// {B} and {A} stand for the SHAs before and after.
		before, after string
		want          string // "" for nil
	}{
		"GitHub":               {"https://github.com/acme/web/commit/{B}", "https://github.com/acme/web/commit/{A}", "https://github.com/acme/web/compare/{B}...{A}"},
		"GitHub Enterprise":    {"https://git.acme.dev/acme/web/commit/{B}", "https://git.acme.dev/acme/web/commit/{A}", "https://git.acme.dev/acme/web/compare/{B}...{A}"},
		"GitLab":               {"https://gitlab.com/acme/web/-/commit/{B}", "https://gitlab.com/acme/web/-/commit/{A}", "https://gitlab.com/acme/web/-/compare/{B}...{A}"},
		"GitLab, subgroups":    {"https://gitlab.com/a/b/c/web/-/commit/{B}", "https://gitlab.com/a/b/c/web/-/commit/{A}", "https://gitlab.com/a/b/c/web/-/compare/{B}...{A}"},
		"Bitbucket":            {"https://bitbucket.org/acme/web/commits/{B}", "https://bitbucket.org/acme/web/commits/{A}", "https://bitbucket.org/acme/web/branches/compare/{A}..{B}"},
		"Azure DevOps":         {"https://dev.azure.com/acme/p/_git/web/commit/{B}", "https://dev.azure.com/acme/p/_git/web/commit/{A}", "https://dev.azure.com/acme/p/_git/web/branchCompare?baseVersion=GC{B}&targetVersion=GC{A}&_a=commits"},
		"Azure DevOps, query":  {"https://dev.azure.com/acme/p/_git/web/commit/{B}?refName=x", "https://dev.azure.com/acme/p/_git/web/commit/{A}", "https://dev.azure.com/acme/p/_git/web/branchCompare?baseVersion=GC{B}&targetVersion=GC{A}&_a=commits"},
		"a repository /commit": {"https://github.com/acme/commit/commit/{B}", "https://github.com/acme/commit/commit/{A}", "https://github.com/acme/commit/compare/{B}...{A}"},

		"another repository":    {"https://github.com/acme/api/commit/{B}", "https://github.com/acme/web/commit/{A}", ""},
		"another provider":      {"https://gitlab.com/acme/web/-/commit/{B}", "https://github.com/acme/web/commit/{A}", ""},
		"Bitbucket's server":    {"https://bb.acme.dev/projects/p/repos/web/commits/{B}", "https://bb.acme.dev/projects/p/repos/web/commits/{A}", ""},
		"a list at GitHub":      {"https://github.com/acme/web/commits/{B}", "https://github.com/acme/web/commits/{A}", ""},
		"AWS CodeCommit":        {"https://aws.example/codesuite/codecommit/repositories/web/commit/{B}", "https://aws.example/codesuite/codecommit/repositories/web/commit/{A}", ""},
		"cgit":                  {"https://git.acme.dev/web/commit/?id={B}", "https://git.acme.dev/web/commit/?id={A}", ""},
		"no address before":     {"", "https://github.com/acme/web/commit/{A}", ""},
		"no address now":        {"https://github.com/acme/web/commit/{B}", "", ""},
		"not the SHA before":    {"https://github.com/acme/web/commit/{A}", "https://github.com/acme/web/commit/{A}", ""},
		"not the SHA now":       {"https://github.com/acme/web/commit/{B}", "https://github.com/acme/web/commit/{B}", ""},
		"more than the SHA":     {"https://github.com/acme/web/commit/{B}", "https://github.com/acme/web/commit/{A}0", ""},
		"no address of the web": {"javascript:/x/y/commit/{B}", "javascript:/x/y/commit/{A}", ""},
	} {
		shas := strings.NewReplacer("{B}", before, "{A}", after)
		for form, spell := range map[string]func(string) string{"lower": strings.ToLower, "upper": strings.ToUpper} {
			got := CompareURL(
				&Origin{CommitSHA: spell(before), CommitURL: shas.Replace(c.before)},
				&Origin{CommitSHA: spell(after), CommitURL: shas.Replace(c.after)})
			want := shas.Replace(c.want)
			if (got == nil) != (want == "") || got != nil && *got != want {
				t.Errorf("%s, SHAs in %s case: got %v, want %q", what, form, show(got), want)
			}
		}
	}
}

func TestUnknownCommitsCannotBeCompared(t *testing.T) {
	known := Origin{CommitSHA: "abc", CommitURL: "https://github.com/acme/web/commit/abc"}
	unknown := Origin{CommitURL: "https://github.com/acme/web/commit/"}
	if CompareURL(&known, &unknown) != nil || CompareURL(&unknown, &known) != nil || CompareURL(&unknown, &unknown) != nil {
		t.Error("a commit without a SHA is compared")
	}
}

func show(text *string) string {
	if text == nil {
		return "nil"
	}
	return *text
}
