package apitest

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"attestry/evidence"
)

// CommitOf returns an invented commit SHA for the name of an artifact.
func CommitOf(name string) string { return evidence.HashAPIKey("commit of " + name)[:40] }

// ReportBuild reports to a flow the artifact that ServerReport reports under a name. Its commit is an hour old and in a
// repository at GitHub.
func (s *Service) ReportBuild(organization, flow, slot, name, repo, id string) {
	s.T.Helper()
	s.ReportBuildFrom(organization, flow, slot, name,
		fmt.Sprintf(`{"name":%q,"id":%q,"url":"https://github.com/%s","provider":"github"}`, repo, id, repo), repo)
}

// ReportBuildFrom is reportBuild for a build with the given repo_info and repo_url.
func (s *Service) ReportBuildFrom(organization, flow, slot, name, info, repo string) {
	s.T.Helper()
	commit, committed := CommitOf(name), s.Clock.Read().Add(-time.Hour).Unix()
	address := "https://github.com/" + repo + "/commit/" + commit
	s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+organization+"/"+flow, fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":%q,"build_url":"b","commit_url":%q,"git_commit":%q,"trail_name":%q,"template_reference_name":%q,
		"git_commit_info":{"sha1":%q,"message":"m","author":"a","branch":"main","timestamp":%d,"url":%q},"repo_info":%s}`,
		evidence.HashAPIKey(name), name, address, commit, "trail-of-"+name, slot, commit, committed, address, info))
}

// FollowLink reads the resource at a link in an answer.
func (s *Service) FollowLink(value any, path ...any) any {
	s.T.Helper()
	return s.Read(strings.TrimPrefix(Lookup(s.T, value, path...).(string), s.URL+"/api/v2"))
}

// FlowID returns the id of a flow.
func (s *Service) FlowID(name string) string {
	s.T.Helper()
	return Lookup(s.T, s.Read("/flows/"+s.Org+"/"+name), "id").(string)
}
