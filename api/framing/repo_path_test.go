package framing

import "testing"

func TestNamesOfReposWithSlashesBecomeOneSegment(t *testing.T) {
	const repos = "/api/v2/repos"
	const id = "09751ccc-0d15-4b83-a4da-8dc5ad32"
	for sent, want := range map[string]string{
		repos + "/acme":                     repos + "/acme",
		repos + "/acme/":                    repos + "/acme/",
		repos + "/acme/differ":              repos + "/acme/differ",
		repos + "/acme/cyber-dojo/differ":   repos + "/acme/cyber-dojo%2Fdiffer",
		repos + "/acme/cyber-dojo%2Fdiffer": repos + "/acme/cyber-dojo%2Fdiffer",
		repos + "/acme/a/b/c/d":             repos + "/acme/a%2Fb%2Fc%2Fd",
		repos + "/acme/a%2fb/c":             repos + "/acme/a%2fb%2Fc",
		repos + "/acme/a/b%20c":             repos + "/acme/a%2Fb%20c",
		repos + "/acme/a//b":                repos + "/acme/a%2F%2Fb",
		repos + "/acme//b":                  repos + "/acme/%2Fb",
		repos + "/acme/a/b/":                repos + "/acme/a%2Fb%2F",
		repos + "/acme/../b":                repos + "/acme/..%2Fb",
		repos + "//a/b":                     repos + "//a/b",
		repos + "/":                         repos + "/",
		repos:                               repos,
		// A static segment names its operation only if nothing follows it.
		repos + "/acme/tags":             repos + "/acme/tags",
		repos + "/acme/filter-options":   repos + "/acme/filter-options",
		repos + "/acme/tags/x":           repos + "/acme/tags%2Fx",
		repos + "/acme/x/tags":           repos + "/acme/x%2Ftags",
		repos + "/acme/filter-options/x": repos + "/acme/filter-options%2Fx",
		// Operations on a repository by name and by id.
		repos + "/acme/live-artifacts/differ":            repos + "/acme/live-artifacts/differ",
		repos + "/acme/live-artifacts/a/b":               repos + "/acme/live-artifacts/a%2Fb",
		repos + "/acme/live-artifacts":                   repos + "/acme/live-artifacts",
		repos + "/acme/live-artifacts/":                  repos + "/acme/live-artifacts%2F",
		repos + "/acme/" + id + "/deployments":           repos + "/acme/" + id + "/deployments",
		repos + "/acme/" + id + "/deployment-statistics": repos + "/acme/" + id + "/deployment-statistics",
		repos + "/acme/" + id + "/other":                 repos + "/acme/" + id + "%2Fother",
		repos + "/acme/dojo/deployments":                 repos + "/acme/dojo%2Fdeployments",
		repos + "/acme/a/" + id + "/deployments":         repos + "/acme/a%2F" + id + "%2Fdeployments",
		// Other paths stay unchanged.
		"/api/v2/artifacts/acme/a/b": "/api/v2/artifacts/acme/a/b",
		"/api/v2/repositories/a/b/c": "/api/v2/repositories/a/b/c",
		"/api/v2/../repos/acme/a/b":  "/api/v2/../repos/acme/a/b",
		"":                           "",
	} {
		got := RepoPath(sent)
		if got != want {
			t.Errorf("%s became %s, want %s", sent, got, want)
		}
		if RepoPath(got) != got {
			t.Errorf("%s is rewritten twice", sent)
		}
	}
}
