package evidence

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// commitForm is a provider's form of commit URLs: the URL of the repository, a path, and the SHA.
type commitForm struct {
	path string
	// fits reports whether a repository is at the provider.
	fits func(repo *url.URL) bool
	// compare is the format of the URL that compares two commits. It takes the repository's URL and the two SHAs.
	compare string
}

// commitForms are those of the providers that can compare two commits. The first one is GitLab's.
var commitForms = []commitForm{
	{"/-/commit/", func(*url.URL) bool { return true }, "%s/-/compare/%s...%s"},
	// Bitbucket Cloud. GitHub uses /commits/ for lists.
	{"/commits/", func(repo *url.URL) bool { return repo.Host == "bitbucket.org" }, "%[1]s/branches/compare/%[3]s..%[2]s"},
	// Azure DevOps, on any host.
	{
		"/commit/", func(repo *url.URL) bool { return strings.Contains(repo.Path, "/_git/") },
		"%s/branchCompare?baseVersion=GC%s&targetVersion=GC%s&_a=commits",
	},
	// GitHub and compatible servers, on any host.
	{"/commit/", func(repo *url.URL) bool { return ownerAndName.MatchString(repo.Path) }, "%s/compare/%s...%s"},
}

var ownerAndName = regexp.MustCompile(`^/?[^/]+/[^/]+$`)

// CompareURL is the URL of the code difference between the commits of two origins. It is nil unless both are in one
// repository, at a provider whose URLs are known.
func CompareURL(before, after *Origin) *string {
	for _, form := range commitForms {
		repo, ok := form.repo(after)
		if !ok {
			continue
		}
		if former, ok := form.repo(before); !ok || former != repo {
			return nil
		}
		return new(fmt.Sprintf(form.compare, repo, strings.ToLower(before.CommitSHA), strings.ToLower(after.CommitSHA)))
	}
	return nil
}

// repo is the URL of the repository of an origin's commit, if the commit's URL has the provider's form.
func (f *commitForm) repo(origin *Origin) (string, bool) {
	i := strings.LastIndex(origin.CommitURL, f.path)
	if i < 0 || origin.CommitSHA == "" {
		return "", false
	}
	address, commit := origin.CommitURL[:i], origin.CommitURL[i+len(f.path):]
	if end := strings.IndexAny(commit, "/?#"); end >= 0 {
		commit = commit[:end]
	}
	repo, err := url.Parse(address)
	if err != nil || repo.Host == "" || (repo.Scheme != "https" && repo.Scheme != "http") {
		return "", false
	}
	return address, strings.EqualFold(commit, origin.CommitSHA) && f.fits(repo)
}
