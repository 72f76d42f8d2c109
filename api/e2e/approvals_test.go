package e2e_test

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"attestry/evidence"
)

func (s *service) approvalsPath() string { return "/approvals/" + s.org + "/build" }

// approve records an approval of an artifact of the flow build. more are further members, each after a comma.
func (s *service) approve(fingerprint, more string) {
	s.t.Helper()
	s.postApproval(fmt.Sprintf(`{"artifact_fingerprint":%q,"description":"to production","src_commit_list":[%q]%s}`, fingerprint, firstCommit, more))
}

// postApproval posts an approval and checks that the answer equals it.
func (s *service) postApproval(sent string) {
	s.t.Helper()
	var echoed, want map[string]any
	s.want(http.StatusCreated, http.MethodPost, s.approvalsPath(), []byte(sent)).decode(s.t, &echoed)
	answer{body: []byte(sent)}.decode(s.t, &want)
	if !reflect.DeepEqual(echoed, want) {
		s.t.Errorf("echoed %v, want %v", echoed, want)
	}
}

const (
	approved   = `,"approvals":[{"state":"APPROVED","comment":"tested","approved_by":"external://anna","approval_url":"undefined"}]`
	unapproved = `,"approvals":[{"state":"APPROVED"},{"state":"UNAPPROVED","approved_by":"bert"}]`
)

// releases returns the approvals of a list as number:artifact<base:state, with four digits of fingerprints.
func (s *service) releases(path string) string {
	s.t.Helper()
	short := func(value any) string { return value.(string)[:min(4, len(value.(string)))] }
	var parts []string
	for _, approval := range s.read(path).([]any) {
		parts = append(parts, fmt.Sprintf("%v:%s<%s:%s", lookup(s.t, approval, "release_number"),
			short(lookup(s.t, approval, "target_artifact")), short(lookup(s.t, approval, "base_artifact")), lookup(s.t, approval, "state")))
	}
	return strings.Join(parts, " ")
}

func TestApprovalsAreNumberedAndListedByFlow(t *testing.T) {
	t.Parallel()
	s := share(t)
	first, second := strings.Repeat("a", 64), strings.Repeat("b", 64)
	s.reportArtifact("build", "t1", "api", first, firstCommit)
	s.reportArtifact("build", "t2", "api", second, secondCommit)
	s.approve(first, "")
	s.approve(first, approved)
	s.approve(second, unapproved)
	s.approve(second, approved)
	for query, want := range map[string]string{
		"":                     "4:bbbb<aaaa:APPROVED 3:bbbb<aaaa:UNAPPROVED 2:aaaa<:APPROVED 1:aaaa<:PENDING",
		"?per_page=3":          "4:bbbb<aaaa:APPROVED 3:bbbb<aaaa:UNAPPROVED 2:aaaa<:APPROVED",
		"?per_page=3&page=2":   "1:aaaa<:PENDING",
		"?per_page=100&page=9": "",
	} {
		t.Run(s.caseName(query), func(t *testing.T) {
			if got := s.in(t).releases(s.approvalsPath() + query); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
	for _, digits := range []string{first, first[:5]} {
		want := "2:aaaa<:APPROVED 1:aaaa<:PENDING"
		if got := s.releases("/artifacts/" + s.org + "/build/" + digits + "/approvals"); got != want {
			t.Errorf("approvals of %s: %s, want %s", digits, got, want)
		}
	}
	if got := lookup(t, s.read("/artifacts/"+s.org+"/build/fingerprint/"+first), "approvals"); !reflect.DeepEqual(got, []any{1.0, 2.0}) {
		t.Errorf("the artifact has the approvals %v", got)
	}
	if got := lookup(t, s.read("/artifacts/"+s.org+"/build/commit_sha/"+secondCommit), 0, "approvals"); !reflect.DeepEqual(got, []any{3.0, 4.0}) {
		t.Errorf("the artifact of the commit has the approvals %v", got)
	}
	s.reportArtifact("other", "t1", "api", first, firstCommit)
	if got := lookup(t, s.read("/artifacts/"+s.org+"/other/fingerprint/"+first), "approvals"); !reflect.DeepEqual(got, []any{}) {
		t.Errorf("in another flow it has the approvals %v", got)
	}
	if got := s.read("/approvals/" + s.org + "/other"); !reflect.DeepEqual(got, []any{}) {
		t.Errorf("another flow has the approvals %v", got)
	}
}

func TestApprovalIsReadBackAndEchoed(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.reportArtifact("build", "t1", "api", attestedFingerprint, firstCommit)
	s.postApproval(fmt.Sprintf(`{"artifact_fingerprint":%q,"description":"","src_commit_list":[%q,%q],"environment":"prod","oldest_commit":%q,
		"user_data":{"ticket":[1]}%s}`, attestedFingerprint, secondCommit, firstCommit, secondCommit, approved))
	s.renameEnvironment("prod", "production")

	record := s.read(s.approvalsPath()).([]any)[0].(map[string]any)
	created := wantMicroseconds(t, record["created_at"])
	wantRecord := map[string]any{
		"release_number": 1.0, "base_artifact": "", "target_artifact": attestedFingerprint, "artifact_name": "app.jar", "description": "",
		"src_commit_list": []any{secondCommit, firstCommit}, "created_at": created, "last_modified_at": created, "state": "APPROVED",
		"environment": "production", "user_data": map[string]any{"ticket": []any{1.0}},
		"approvals": []any{map[string]any{
			"approval_url": "undefined", "approved_by": "external://anna", "comment": "tested", "state": "APPROVED", "timestamp": created,
		}},
	}
	if !reflect.DeepEqual(record, wantRecord) {
		t.Errorf("got %v, want %v", record, wantRecord)
	}
	event := s.lastEvent("build", "t1").(map[string]any)
	if lookup(t, event, "approval_id") == "" || lookup(t, event, "trail_id") == "" || lookup(t, event, "timestamp") != created {
		t.Errorf("the event is %v", event)
	}
	wantEvent := map[string]any{
		"org_id": s.orgID(), "flow_id": s.flowID("build"), "trail_id": event["trail_id"], "timestamp": created, "type": "artifact_approval_reported",
		"git_commit_info": nil, "repo_info": nil, "artifact_fingerprint": attestedFingerprint, "approval_id": event["approval_id"],
		"approval_number": 1.0, "environment_id": s.environmentID("production"), "state": "APPROVED", "reviewer": "external://anna",
	}
	if !reflect.DeepEqual(event, wantEvent) {
		t.Errorf("the event is %v, want %v", event, wantEvent)
	}
}

func TestApprovalIsEchoedWithTheMembersThatWereSent(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.reportArtifact("build", "t1", "api", attestedFingerprint, firstCommit)
	for _, members := range []string{
		"", `,"environment":null,"approvals":null,"oldest_commit":null,"user_data":null`, `,"environment":"","approvals":[],"user_data":[]`,
		`,"approvals":[{"state":"APPROVED","comment":null,"approved_by":"<b>"},{"state":"UNAPPROVED"}]`,
	} {
		t.Run(members, func(t *testing.T) { s.in(t).approve(attestedFingerprint, members) })
	}
}

func TestPendingApprovalHasNoReviewerAndNoEnvironment(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.reportArtifact("build", "t1", "api", attestedFingerprint, firstCommit)
	s.reportArtifact("build", "t2", "api", attestedFingerprint, firstCommit)
	s.want(http.StatusCreated, http.MethodPost, s.approvalsPath(), fmt.Appendf(nil,
		`{"artifact_fingerprint":%q,"description":"","src_commit_list":[],"environment":null,"oldest_commit":null,"approvals":null,"user_data":null}`, attestedFingerprint))
	record := s.read(s.approvalsPath() + "/1")
	for member, want := range map[string]any{
		"environment": nil, "src_commit_list": []any{}, "approvals": []any{}, "user_data": map[string]any{}, "state": "PENDING",
	} {
		if got := lookup(t, record, member); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, want %v", member, got, want)
		}
	}
	// The newest record of the artifact is in the second trail.
	event := s.lastEvent("build", "t2")
	if lookup(t, event, "type") != "artifact_approval_reported" || lookup(t, event, "reviewer") != nil || lookup(t, event, "environment_id") != nil {
		t.Errorf("the event is %v", event)
	}
	if kind := lookup(t, s.lastEvent("build", "t1"), "type"); kind != "artifact_creation_reported" {
		t.Errorf("the last event of the first trail is %v", kind)
	}
}

func TestApprovalShowsKnownDetailsOfItsCommits(t *testing.T) {
	t.Parallel()
	s := share(t)
	third, fourth := strings.Repeat("3", 40), strings.Repeat("4", 40)
	report := func(flow, trail, fingerprint, more string) {
		s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/"+flow, fmt.Appendf(nil,
			`{"fingerprint":%q,"filename":"app","build_url":"https://ci.example.com","commit_url":"https://git.example.com","trail_name":%q%s}`,
			fingerprint, trail, more))
	}
	commit := func(sha, message string) string {
		return fmt.Sprintf(`{"sha1":%q,"message":%q,"author":"anna","timestamp":7,"branch":"main"}`, sha, message)
	}
	report("other", "t", strings.Repeat("c", 64), fmt.Sprintf(`,"git_commit":%q,"git_commit_info":%s`, secondCommit, commit(secondCommit, "second")))
	report("build", "t", attestedFingerprint, fmt.Sprintf(`,"git_commit":%q,"commits_list":[%s,%s]`,
		firstCommit, commit(firstCommit, "first"), commit(third, "third")))
	s.want(http.StatusCreated, http.MethodPost, s.approvalsPath(), fmt.Appendf(nil,
		`{"artifact_fingerprint":%q,"description":"","src_commit_list":[%q,%q,%q,%q]}`, attestedFingerprint, firstCommit, secondCommit, third, fourth))
	list := lookup(t, s.read(s.approvalsPath()+"/1"), "src_commit_list").([]any)
	if got, want := column(t, list, "message"), "first second third <nil>"; got != want {
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
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.createEnvironment("idle", evidence.Server)
	s.createLogical("all", "prod", "idle")
	s.createFlow("build")
	wantCommit := func(environment string, want any) {
		t.Helper()
		if got := lookup(t, s.read(s.approvalsPath()+"/artifact-commit/"+environment), "commit_sha"); got != want {
			t.Errorf("%s runs commit %v, want %v", environment, got, want)
		}
	}
	wantCommit("prod", nil)
	s.reportArtifact("build", "t1", "api", evidence.HashAPIKey("v1"), firstCommit)
	s.reportArtifact("build", "t2", "api", evidence.HashAPIKey("v2"), secondCommit)
	s.reportArtifact("other", "t", "api", evidence.HashAPIKey("elsewhere"), strings.Repeat("3", 40))
	wantCommit("prod", nil)
	s.reportServer("prod", "v1", "elsewhere", "unknown")
	wantCommit("prod", firstCommit)
	wantCommit("all", firstCommit)
	wantCommit("idle", nil)
	s.reportServer("prod", "v1", "v2")
	wantCommit("prod", secondCommit)
	s.reportServer("prod", "v1")
	wantCommit("prod", firstCommit)
	s.wantError(http.StatusNotFound, "Environment named 'none' does not exist for organization '"+s.org+"'",
		http.MethodGet, s.approvalsPath()+"/artifact-commit/none", "")
	s.wantError(http.StatusNotFound, "Flow named 'none' does not exist for organization '"+s.org+"'",
		http.MethodGet, "/approvals/"+s.org+"/none/artifact-commit/prod", "")
}

func TestInvalidApprovalsAreRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.reportArtifact("build", "t1", "api", attestedFingerprint, firstCommit)
	s.reportArtifact("other", "t1", "api", strings.Repeat("c", 64), firstCommit)
	body := func(more string) string {
		return fmt.Sprintf(`{"artifact_fingerprint":%q,"description":"d","src_commit_list":[]%s}`, attestedFingerprint, more)
	}
	for name, c := range map[string]struct {
		body, message string
		status        int
		errors        map[string]string
	}{
		"unknown artifact": {strings.Replace(body(""), attestedFingerprint, strings.Repeat("d", 64), 1),
			"Artifact with fingerprint '" + strings.Repeat("d", 64) + "' does not exist in flow 'build' belonging to organization '" + s.org + "'", http.StatusNotFound, nil},
		"artifact of another flow": {strings.Replace(body(""), attestedFingerprint, strings.Repeat("c", 64), 1),
			"Artifact with fingerprint '" + strings.Repeat("c", 64) + "' does not exist in flow 'build' belonging to organization '" + s.org + "'", http.StatusNotFound, nil},
		"unknown environment": {body(`,"environment":"none"`),
			"Environment named 'none' does not exist for organization '" + s.org + "'", http.StatusNotFound, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			wantProblem(t, s.do(http.MethodPost, "/api/v2"+s.approvalsPath(), memberKey, []byte(c.body)), c.status, c.message, c.errors)
		})
	}
	unknownFlow := "Flow named 'none' does not exist for organization '" + s.org + "'"
	s.wantError(http.StatusNotFound, unknownFlow, http.MethodPost, "/approvals/"+s.org+"/none", body(""))
	for path, message := range map[string]string{
		"/approvals/" + s.org + "/none":                                           unknownFlow,
		"/approvals/" + s.org + "/none/1":                                         unknownFlow,
		"/artifacts/" + s.org + "/none/" + attestedFingerprint + "/approvals":     unknownFlow,
		s.approvalsPath() + "/1":                                                  "Approval number '1' does not exist in flow 'build' belonging to organization '" + s.org + "'",
		s.approvalsPath() + "/0":                                                  "Approval number '0' does not exist in flow 'build' belonging to organization '" + s.org + "'",
		"/artifacts/" + s.org + "/build/" + strings.Repeat("d", 9) + "/approvals": "Artifact with fingerprint 'ddddddddd' does not exist in flow 'build' belonging to organization '" + s.org + "'",
	} {
		t.Run(s.caseName(path), func(t *testing.T) { s.in(t).wantError(http.StatusNotFound, message, http.MethodGet, path, "") })
	}
	if got := s.read(s.approvalsPath()); !reflect.DeepEqual(got, []any{}) {
		t.Errorf("recorded %v", got)
	}
}

func TestConcurrentApprovalsGetNumbersWithoutGaps(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.reportArtifact("build", "t1", "api", attestedFingerprint, firstCommit)
	const approvals = 12
	var group sync.WaitGroup
	for range approvals {
		group.Go(func() {
			body := fmt.Appendf(nil, `{"artifact_fingerprint":%q,"description":"","src_commit_list":[]%s}`, attestedFingerprint, approved)
			if got := s.do(http.MethodPost, "/api/v2"+s.approvalsPath(), memberKey, body); got.status != http.StatusCreated {
				t.Errorf("status %d: %s", got.status, got.body)
			}
		})
	}
	group.Wait()
	var numbers, want []any
	for i, approval := range s.read(s.approvalsPath()).([]any) {
		numbers, want = append(numbers, lookup(t, approval, "release_number")), append(want, float64(approvals-i))
	}
	if len(numbers) != approvals || !slices.Equal(numbers, want) {
		t.Errorf("release numbers %v", numbers)
	}
	events := 0
	for _, event := range lookup(t, s.getTrail("build", "t1"), "events").([]any) {
		if lookup(t, event, "type") == "artifact_approval_reported" {
			events++
			if number := lookup(t, event, "approval_number"); number != float64(events) {
				t.Errorf("event %d is of approval %v", events, number)
			}
		}
	}
	if events != approvals {
		t.Errorf("%d events, want %d", events, approvals)
	}
}
