package apitest

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"attestry/evidence"
)

// FlowBody has the members of a flow.
type FlowBody struct {
	ID               string            `json:"id"`
	Name             string            `json:"name"`
	Description      string            `json:"description"`
	Visibility       string            `json:"visibility"`
	Org              string            `json:"org"`
	Template         string            `json:"template"`
	RepoURL          *string           `json:"repo_url"`
	Tags             map[string]string `json:"tags"`
	LatestActivityAt *float64          `json:"latest_activity_at"`
	LatestState      *string           `json:"latest_state"`
}

// FlowsPath returns the path of the flows.
func (s *Service) FlowsPath() string { return "/flows/" + s.Org }

// CreateFlow creates a flow, with a template if that is among the files.
func (s *Service) CreateFlow(name string, files ...Part) {
	s.T.Helper()
	s.WantForm(http.StatusCreated, http.MethodPut, s.FlowsPath()+"/template_file",
		`{"name":"`+name+`","description":"of a test"}`, files...)
}

// GetFlow reads a flow.
func (s *Service) GetFlow(name string) FlowBody {
	s.T.Helper()
	var body FlowBody
	s.Want(http.StatusOK, http.MethodGet, s.FlowsPath()+"/"+name, nil).Decode(s.T, &body)
	return body
}

// ListFlows lists the flows that a query finds.
func (s *Service) ListFlows(query string) []FlowBody {
	s.T.Helper()
	var bodies []FlowBody
	s.Want(http.StatusOK, http.MethodGet, s.FlowsPath()+query, nil).Decode(s.T, &bodies)
	return bodies
}

// UnusualTemplate is a template that changes if it is decoded and encoded again.
const UnusualTemplate = "# kept: byte for byte\r\nversion: 1\ntrail:\n  attestations:\n    - {name: \"a\", type: '*'} # ü\n\n\n"

// PadHex appends zeros to hexadecimal digits, up to a length.
func PadHex(start string, length int) string { return start + strings.Repeat("0", length-len(start)) }

// History returns the events of an artifact's history and checks that those after the report are in the order of time.
func History(t *testing.T, artifact any) string {
	t.Helper()
	events := ClientReadsEach(t, "history", Lookup(t, artifact, "history"))
	before := 0.0
	for _, event := range events[1:] {
		if when := Lookup(t, event, "timestamp").(float64); when < before {
			t.Errorf("the history is out of order: %s", AsJSON(events))
		} else {
			before = when
		}
	}
	return Column(t, events, "event")
}

// ReportIndex reports an image index as an artifact. The images for the platforms are its children.
func (s *Service) ReportIndex(flow, trail, name string, platforms ...string) {
	s.T.Helper()
	var children []string
	for _, platform := range platforms {
		children = append(children, DigestOf(platform))
	}
	s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/"+flow, fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":%q,"git_commit":%q,"build_url":"https://ci.example.com/1","commit_url":"https://git.example.com/1",
		"template_reference_name":"image","trail_name":%q,"child_fingerprints":%s}`, DigestOf(name), name, strings.Repeat("a", 40), trail, AsJSON(children)))
}

// AttestImage sends a scan of an image to a trail.
func (s *Service) AttestImage(flow, trail, name string, compliant bool) {
	s.T.Helper()
	s.WantForm(http.StatusCreated, http.MethodPost, "/attestations/"+s.Org+"/"+flow+"/trail/"+trail+"/generic", fmt.Sprintf(
		`{"attestation_name":"scan","is_compliant":%t,"artifact_fingerprint":%q}`, compliant, DigestOf(name)))
}

// RequireScans creates flows whose templates require a scan, and environments whose policy requires compliant trails.
func (s *Service) RequireScans(environments ...string) {
	s.T.Helper()
	for _, flow := range []string{"images", "release"} {
		s.CreateFlow(flow, YAMLFile("version: 1\ntrail:\n  artifacts:\n    - {name: image, attestations: [{name: scan, type: generic}]}\n"))
	}
	s.StorePolicy("guard", "provenance: {required: true}\n  trail-compliance: {required: true}")
	for _, environment := range environments {
		s.CreateEnvironment(environment, evidence.Docker)
		s.Attach(environment, "guard")
	}
}

// The commits and fingerprints of the pipeline. The second artifact is built on a branch.
const (
	PipelineCommit = "e4757683b74df7033c95aa544a7824b395c2f8bb"
	BranchCommit   = "30dffd09c3f896a322c65029247abcea3019c43a"
	CLIFingerprint = "54f6da185cd0f0ef001a0b33c099565fa736546562e0411f706832e7aaaaaaaa"
	NewFingerprint = "0cbbe3a6e73e733e8ca4b8813738d68e824badad0508ff20842832b5bbbbbbbb"
)

// CommitInfo is the git_commit_info of the pipeline.
const CommitInfo = `{"sha1":"` + PipelineCommit + `","message":"Change the button","author":"A. Person <person@example.com>",` +
	`"branch":"main","timestamp":1750923680,"url":"https://github.com/acme/cli/commit/` + PipelineCommit + `"}`

// RepoInfo is the repo_info of the pipeline.
const RepoInfo = `{"name":"acme/cli","id":"290597708","url":"https://github.com/acme/cli","provider":"github"}`

// ArtifactReport returns the body that reports an artifact of the pipeline.
func ArtifactReport(trail, name, fingerprint, commit string) []byte {
	return fmt.Appendf(nil, `{"fingerprint":%q,"filename":"registry.example.com/cli:1.0","git_commit":%q,"git_commit_info":%s,"repo_info":%s,
		"build_url":"https://github.com/acme/cli/actions/runs/1","commit_url":"https://github.com/acme/cli/commit/%s","repo_url":"https://github.com/acme/cli",
		"template_reference_name":%q,"trail_name":%q,"annotations":{"tier":1}}`,
		fingerprint, commit, strings.ReplaceAll(CommitInfo, PipelineCommit, commit), RepoInfo, commit, name, trail)
}

// ReportRepo reports a repository along with an artifact and returns its internal id.
func (s *Service) ReportRepo(organization, name, provider, id, more string) string {
	s.T.Helper()
	info := fmt.Sprintf(`{"name":%q,"url":"https://%s.example.com/%s","provider":%q,"id":%q%s}`, name, provider, name, provider, id, more)
	s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+organization+"/repo-ci", fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":"app","build_url":"b","commit_url":"c","trail_name":"t","template_reference_name":"app","repo_info":%s}`,
		evidence.HashAPIKey(name+provider+id), info))
	for _, found := range s.ListRepos(organization, "?per_page=50&repo_id="+url.QueryEscape(id)) {
		if Lookup(s.T, found, "provider") == provider {
			return Lookup(s.T, found, "id").(string)
		}
	}
	s.T.Fatalf("no repo %s came of its report", name)
	return ""
}

// ListRepos lists the repositories of an organization that a query finds.
func (s *Service) ListRepos(organization, query string) []any {
	s.T.Helper()
	return Lookup(s.T, s.Read("/repos/"+organization+query), "repos").([]any)
}

// Search returns the artifacts that a search finds and, as one line, what it resolves to.
func (s *Service) Search(value string) (artifacts any, resolved string) {
	s.T.Helper()
	found := s.Read("/search/" + s.Org + "/sha/" + value)
	ClientReads(s.T, "search", found)
	ClientReads(s.T, "search.resolved_to", Lookup(s.T, found, "resolved_to"))
	ClientReadsEach(s.T, "search.artifact", Lookup(s.T, found, "artifacts"))
	to := Lookup(s.T, found, "resolved_to")
	for _, kind := range []string{"fingerprints", "commits"} {
		ClientReads(s.T, "search.matches", Lookup(s.T, to, kind))
		if count := Lookup(s.T, to, kind, "count"); count != float64(len(Lookup(s.T, to, kind, "matches").([]any))) {
			s.T.Errorf("%s: %v %s", value, count, kind)
		}
	}
	return Lookup(s.T, found, "artifacts"), fmt.Sprint(Lookup(s.T, to, "type"), " ", Lookup(s.T, to, "full_match"), " ",
		Lookup(s.T, to, "fingerprints", "matches"), " ", Lookup(s.T, to, "commits", "matches"))
}

// TagsPath returns the path of the tags.
func (s *Service) TagsPath() string { return "/tags/" + s.Org }

// GetTrail reads a trail.
func (s *Service) GetTrail(flow, name string) any {
	s.T.Helper()
	return s.Read("/trails/" + s.Org + "/" + flow + "/" + name)
}

// LastEvent returns the newest event of a trail.
func (s *Service) LastEvent(flow, name string) any {
	s.T.Helper()
	events := Lookup(s.T, s.GetTrail(flow, name), "events").([]any)
	return events[len(events)-1]
}
