package governance_test

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence"
)

// releases returns the approvals of a list as number:artifact<base:state, with four digits of fingerprints.
func releases(s *apitest.Service, path string) string {
	s.T.Helper()
	short := func(value any) string { return value.(string)[:min(4, len(value.(string)))] }
	var parts []string
	for _, approval := range s.Read(path).([]any) {
		parts = append(parts, fmt.Sprintf("%v:%s<%s:%s", apitest.Lookup(s.T, approval, "release_number"),
			short(apitest.Lookup(s.T, approval, "target_artifact")), short(apitest.Lookup(s.T, approval, "base_artifact")), apitest.Lookup(s.T, approval, "state")))
	}
	return strings.Join(parts, " ")
}

func TestApprovalsAreNumberedAndListedByFlow(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	first, second := strings.Repeat("a", 64), strings.Repeat("b", 64)
	s.ReportArtifact("build", "t1", "api", first, apitest.FirstCommit)
	s.ReportArtifact("build", "t2", "api", second, apitest.SecondCommit)
	s.Approve(first, "")
	s.Approve(first, apitest.Approved)
	s.Approve(second, apitest.Unapproved)
	s.Approve(second, apitest.Approved)
	apitest.Each(s, map[string]string{
		"":                                     "4:bbbb<aaaa:APPROVED 3:bbbb<aaaa:UNAPPROVED 2:aaaa<:APPROVED 1:aaaa<:PENDING",
		"?per_page=3":                          "4:bbbb<aaaa:APPROVED 3:bbbb<aaaa:UNAPPROVED 2:aaaa<:APPROVED",
		"?per_page=3&page=2":                   "1:aaaa<:PENDING",
		"?per_page=100&page=9":                 "",
		"?per_page=9223372036854775807&page=2": "",
	}, func(s *apitest.Service, query, want string) {
		apitest.Equal(s.T, releases(s, s.ApprovalsPath()+query), want)
	})
	for _, digits := range []string{first, first[:5]} {
		want := "2:aaaa<:APPROVED 1:aaaa<:PENDING"
		apitest.Equal(t, releases(s, "/artifacts/"+s.Org+"/build/"+digits+"/approvals"), want, digits)
	}
	if got := apitest.Lookup(t, s.Read("/artifacts/"+s.Org+"/build/fingerprint/"+first), "approvals"); !reflect.DeepEqual(got, []any{1.0, 2.0}) {
		t.Errorf("the artifact has the approvals %v", got)
	}
	if got := apitest.Lookup(t, s.Read("/artifacts/"+s.Org+"/build/commit_sha/"+apitest.SecondCommit), 0, "approvals"); !reflect.DeepEqual(got, []any{3.0, 4.0}) {
		t.Errorf("the artifact of the commit has the approvals %v", got)
	}
	s.ReportArtifact("other", "t1", "api", first, apitest.FirstCommit)
	if got := apitest.Lookup(t, s.Read("/artifacts/"+s.Org+"/other/fingerprint/"+first), "approvals"); !reflect.DeepEqual(got, []any{}) {
		t.Errorf("in another flow it has the approvals %v", got)
	}
	if got := s.Read("/approvals/" + s.Org + "/other"); !reflect.DeepEqual(got, []any{}) {
		t.Errorf("another flow has the approvals %v", got)
	}
}

func TestApprovalIsReadBackAndEchoed(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.ReportArtifact("build", "t1", "api", apitest.AttestedFingerprint, apitest.FirstCommit)
	s.PostApproval(fmt.Sprintf(`{"artifact_fingerprint":%q,"description":"","src_commit_list":[%q,%q],"environment":"prod","oldest_commit":%q,
		"user_data":{"ticket":[1]}%s}`, apitest.AttestedFingerprint, apitest.SecondCommit, apitest.FirstCommit, apitest.SecondCommit, apitest.Approved))
	s.RenameEnvironment("prod", "production")

	record := s.Read(s.ApprovalsPath()).([]any)[0].(map[string]any)
	created := apitest.WantMicroseconds(t, record["created_at"])
	wantRecord := map[string]any{
		"release_number": 1.0, "base_artifact": "", "target_artifact": apitest.AttestedFingerprint, "artifact_name": "app.jar", "description": "",
		"src_commit_list": []any{apitest.SecondCommit, apitest.FirstCommit}, "created_at": created, "last_modified_at": created, "state": "APPROVED",
		"environment": "production", "user_data": map[string]any{"ticket": []any{1.0}},
		"approvals": []any{map[string]any{
			"approval_url": "undefined", "approved_by": "external://anna", "comment": "tested", "state": "APPROVED", "timestamp": created,
		}},
	}
	if !reflect.DeepEqual(record, wantRecord) {
		t.Errorf("got %v, want %v", record, wantRecord)
	}
	event := s.LastEvent("build", "t1").(map[string]any)
	if apitest.Lookup(t, event, "approval_id") == "" || apitest.Lookup(t, event, "trail_id") == "" || apitest.Lookup(t, event, "timestamp") != created {
		t.Errorf("the event is %v", event)
	}
	wantEvent := map[string]any{
		"org_id": s.OrgID(), "flow_id": s.FlowID("build"), "trail_id": event["trail_id"], "timestamp": created, "type": "artifact_approval_reported",
		"git_commit_info": nil, "repo_info": nil, "artifact_fingerprint": apitest.AttestedFingerprint, "approval_id": event["approval_id"],
		"approval_number": 1.0, "environment_id": s.EnvironmentID("production"), "state": "APPROVED", "reviewer": "external://anna",
	}
	if !reflect.DeepEqual(event, wantEvent) {
		t.Errorf("the event is %v, want %v", event, wantEvent)
	}
}

func TestApprovalIsEchoedWithTheMembersThatWereSent(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.ReportArtifact("build", "t1", "api", apitest.AttestedFingerprint, apitest.FirstCommit)
	for _, members := range []string{
		"", `,"environment":null,"approvals":null,"oldest_commit":null,"user_data":null`, `,"environment":"","approvals":[],"user_data":[]`,
		`,"approvals":[{"state":"APPROVED","comment":null,"approved_by":"<b>"},{"state":"UNAPPROVED"}]`,
	} {
		t.Run(members, func(t *testing.T) { s.In(t).Approve(apitest.AttestedFingerprint, members) })
	}
}

func TestPendingApprovalHasNoReviewerAndNoEnvironment(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.ReportArtifact("build", "t1", "api", apitest.AttestedFingerprint, apitest.FirstCommit)
	s.ReportArtifact("build", "t2", "api", apitest.AttestedFingerprint, apitest.FirstCommit)
	s.Want(http.StatusCreated, http.MethodPost, s.ApprovalsPath(), fmt.Appendf(nil,
		`{"artifact_fingerprint":%q,"description":"","src_commit_list":[],"environment":null,"oldest_commit":null,"approvals":null,"user_data":null}`, apitest.AttestedFingerprint))
	record := s.Read(s.ApprovalsPath() + "/1")
	for member, want := range map[string]any{
		"environment": nil, "src_commit_list": []any{}, "approvals": []any{}, "user_data": map[string]any{}, "state": "PENDING",
	} {
		if got := apitest.Lookup(t, record, member); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, want %v", member, got, want)
		}
	}
	// The newest record of the artifact is in the second trail.
	event := s.LastEvent("build", "t2")
	if apitest.Lookup(t, event, "type") != "artifact_approval_reported" || apitest.Lookup(t, event, "reviewer") != nil || apitest.Lookup(t, event, "environment_id") != nil {
		t.Errorf("the event is %v", event)
	}
	if kind := apitest.Lookup(t, s.LastEvent("build", "t1"), "type"); kind != "artifact_creation_reported" {
		t.Errorf("the last event of the first trail is %v", kind)
	}
}

func TestApprovalShowsKnownDetailsOfItsCommits(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	third, fourth := strings.Repeat("3", 40), strings.Repeat("4", 40)
	report := func(flow, trail, fingerprint, more string) {
		s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/"+flow, fmt.Appendf(nil,
			`{"fingerprint":%q,"filename":"app","build_url":"https://ci.example.com","commit_url":"https://git.example.com","trail_name":%q%s}`,
			fingerprint, trail, more))
	}
	commit := func(sha, message string) string {
		return fmt.Sprintf(`{"sha1":%q,"message":%q,"author":"anna","timestamp":7,"branch":"main"}`, sha, message)
	}
	report("other", "t", strings.Repeat("c", 64), fmt.Sprintf(`,"git_commit":%q,"git_commit_info":%s`, apitest.SecondCommit, commit(apitest.SecondCommit, "second")))
	report("build", "t", apitest.AttestedFingerprint, fmt.Sprintf(`,"git_commit":%q,"commits_list":[%s,%s]`,
		apitest.FirstCommit, commit(apitest.FirstCommit, "first"), commit(third, "third")))
	s.Want(http.StatusCreated, http.MethodPost, s.ApprovalsPath(), fmt.Appendf(nil,
		`{"artifact_fingerprint":%q,"description":"","src_commit_list":[%q,%q,%q,%q]}`, apitest.AttestedFingerprint, apitest.FirstCommit, apitest.SecondCommit, third, fourth))
	list := apitest.Lookup(t, s.Read(s.ApprovalsPath()+"/1"), "src_commit_list").([]any)
	if got, want := apitest.Column(t, list, "message"), "first second third <nil>"; got != want {
		t.Errorf("messages %s, want %s", got, want)
	}
	want := map[string]any{
		"sha1": fourth, "message": nil, "author": nil, "author_username": nil, "branch": nil, "timestamp": nil, "url": nil,
		"parents": nil, "verified": nil, "signature_state": nil,
	}
	if !reflect.DeepEqual(list[3], want) {
		t.Errorf("the unknown commit is %v", list[3])
	}
}

func TestArtifactCommitIsThatOfTheRunningArtifact(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.CreateEnvironment("idle", evidence.Server)
	s.CreateLogical("all", "prod", "idle")
	s.CreateFlow("build")
	wantCommit := func(environment string, want any) {
		t.Helper()
		apitest.Equal(t, apitest.Lookup(t, s.Read(s.ApprovalsPath()+"/artifact-commit/"+environment), "commit_sha"),
			want, environment)
	}
	wantCommit("prod", nil)
	s.ReportArtifact("build", "t1", "api", evidence.HashAPIKey("v1"), apitest.FirstCommit)
	s.ReportArtifact("build", "t2", "api", evidence.HashAPIKey("v2"), apitest.SecondCommit)
	s.ReportArtifact("other", "t", "api", evidence.HashAPIKey("elsewhere"), strings.Repeat("3", 40))
	wantCommit("prod", nil)
	s.ReportServer("prod", "v1", "elsewhere", "unknown")
	wantCommit("prod", apitest.FirstCommit)
	wantCommit("all", apitest.FirstCommit)
	wantCommit("idle", nil)
	s.ReportServer("prod", "v1", "v2")
	wantCommit("prod", apitest.SecondCommit)
	s.ReportServer("prod", "v1")
	wantCommit("prod", apitest.FirstCommit)
	s.WantError(http.StatusNotFound, "Environment named 'none' does not exist for organization '"+s.Org+"'",
		http.MethodGet, s.ApprovalsPath()+"/artifact-commit/none", "")
	s.WantError(http.StatusNotFound, "Flow named 'none' does not exist for organization '"+s.Org+"'",
		http.MethodGet, "/approvals/"+s.Org+"/none/artifact-commit/prod", "")
}

func TestInvalidApprovalsAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.ReportArtifact("build", "t1", "api", apitest.AttestedFingerprint, apitest.FirstCommit)
	s.ReportArtifact("other", "t1", "api", strings.Repeat("c", 64), apitest.FirstCommit)
	body := func(more string) string {
		return fmt.Sprintf(`{"artifact_fingerprint":%q,"description":"d","src_commit_list":[]%s}`, apitest.AttestedFingerprint, more)
	}
	// The second one is of another flow.
	for _, fingerprint := range []string{strings.Repeat("d", 64), strings.Repeat("c", 64)} {
		s.WantError(http.StatusNotFound,
			"Artifact with fingerprint '"+fingerprint+"' does not exist in flow 'build' belonging to organization '"+s.Org+"'",
			http.MethodPost, s.ApprovalsPath(), strings.Replace(body(""), apitest.AttestedFingerprint, fingerprint, 1))
	}
	s.WantError(http.StatusNotFound, "Environment named 'none' does not exist for organization '"+s.Org+"'",
		http.MethodPost, s.ApprovalsPath(), body(`,"environment":"none"`))
	unknownFlow := "Flow named 'none' does not exist for organization '" + s.Org + "'"
	s.WantError(http.StatusNotFound, unknownFlow, http.MethodPost, "/approvals/"+s.Org+"/none", body(""))
	for path, message := range map[string]string{
		"/approvals/" + s.Org + "/none":                                               unknownFlow,
		"/approvals/" + s.Org + "/none/1":                                             unknownFlow,
		"/artifacts/" + s.Org + "/none/" + apitest.AttestedFingerprint + "/approvals": unknownFlow,
		s.ApprovalsPath() + "/1":                                                      "Approval number '1' does not exist in flow 'build' belonging to organization '" + s.Org + "'",
		s.ApprovalsPath() + "/0":                                                      "Approval number '0' does not exist in flow 'build' belonging to organization '" + s.Org + "'",
		"/artifacts/" + s.Org + "/build/" + strings.Repeat("d", 9) + "/approvals":     "Artifact with fingerprint 'ddddddddd' does not exist in flow 'build' belonging to organization '" + s.Org + "'",
	} {
		t.Run(s.CaseName(path), func(t *testing.T) { s.In(t).WantError(http.StatusNotFound, message, http.MethodGet, path, "") })
	}
	if got := s.Read(s.ApprovalsPath()); !reflect.DeepEqual(got, []any{}) {
		t.Errorf("recorded %v", got)
	}
}

func TestConcurrentApprovalsGetNumbersWithoutGaps(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.ReportArtifact("build", "t1", "api", apitest.AttestedFingerprint, apitest.FirstCommit)
	const approvals = 12
	var group sync.WaitGroup
	for range approvals {
		group.Go(func() {
			body := fmt.Appendf(nil, `{"artifact_fingerprint":%q,"description":"","src_commit_list":[]%s}`, apitest.AttestedFingerprint, apitest.Approved)
			apitest.WantAnswer(t, s.Do(http.MethodPost, "/api/v2"+s.ApprovalsPath(), apitest.MemberKey, body),
				http.StatusCreated)
		})
	}
	group.Wait()
	var numbers, want []any
	for i, approval := range s.Read(s.ApprovalsPath()).([]any) {
		numbers, want = append(numbers, apitest.Lookup(t, approval, "release_number")), append(want, float64(approvals-i))
	}
	if len(numbers) != approvals || !slices.Equal(numbers, want) {
		t.Errorf("release numbers %v", numbers)
	}
	events := 0
	for _, event := range apitest.Lookup(t, s.GetTrail("build", "t1"), "events").([]any) {
		if apitest.Lookup(t, event, "type") == "artifact_approval_reported" {
			events++
			apitest.Equal[any](t, apitest.Lookup(t, event, "approval_number"), float64(events), events)
		}
	}
	apitest.Equal(t, events, approvals, "events")
}
