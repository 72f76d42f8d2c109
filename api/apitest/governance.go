package apitest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/signing"
)

// ApprovalsPath returns the path of the approvals of the flow build.
func (s *Service) ApprovalsPath() string { return "/approvals/" + s.Org + "/build" }

// Approve records an approval of an artifact of the flow build. more are further members, each after a comma.
func (s *Service) Approve(fingerprint, more string) {
	s.T.Helper()
	s.PostApproval(fmt.Sprintf(`{"artifact_fingerprint":%q,"description":"to production","src_commit_list":[%q]%s}`, fingerprint, FirstCommit, more))
}

// PostApproval posts an approval and checks that the answer equals it.
func (s *Service) PostApproval(sent string) {
	s.T.Helper()
	var echoed, want map[string]any
	s.Want(http.StatusCreated, http.MethodPost, s.ApprovalsPath(), []byte(sent)).Decode(s.T, &echoed)
	Answer{Body: []byte(sent)}.Decode(s.T, &want)
	if !reflect.DeepEqual(echoed, want) {
		s.T.Errorf("echoed %v, want %v", echoed, want)
	}
}

const (
	Approved   = `,"approvals":[{"state":"APPROVED","comment":"tested","approved_by":"external://anna","approval_url":"undefined"}]`
	Unapproved = `,"approvals":[{"state":"APPROVED"},{"state":"UNAPPROVED","approved_by":"bert"}]`
)

// AssertPath returns the path that asserts the artifact of a file, with a query.
func (s *Service) AssertPath(file, query string) string {
	return "/asserts/" + s.Org + "/fingerprint/" + evidence.HashAPIKey(file) + query
}

// WantAssert compares the answer of an assert: the scope and the verdict, each flow with its verdict, then each policy
// with its status. The explanation must have the same scope and verdict.
func (s *Service) WantAssert(file, query, want string) {
	s.T.Helper()
	body := s.Read(s.AssertPath(file, query))
	ClientReads(s.T, "assert", body)
	got := []string{fmt.Sprint(Lookup(s.T, body, "scope"), " ", Lookup(s.T, body, "compliant"))}
	for _, flow := range Lookup(s.T, body, "flows").([]any) {
		got = append(got, fmt.Sprint(Lookup(s.T, flow, "flow"), " ", Lookup(s.T, flow, "compliant")))
	}
	for _, policy := range Lookup(s.T, body, "policy_evaluations").([]any) {
		got = append(got, fmt.Sprint(Lookup(s.T, policy, "policy_name"), " ", Lookup(s.T, policy, "status")))
	}
	if got := strings.Join(got, ", "); got != want {
		s.T.Errorf("assert %s%s: %s\nwant %s", file, query, got, want)
	}
	explained := s.Read(s.AssertPath(file, "/explanation"+query))
	if Lookup(s.T, explained, "compliant") != Lookup(s.T, body, "compliant") || Lookup(s.T, explained, "scope") != Lookup(s.T, body, "scope") {
		s.T.Errorf("%s is explained by %s", query, AsJSON(explained))
	}
}

// DryRun evaluates a policy without storing it, and decodes the answer.
func (s *Service) DryRun(status int, payload string, rules ...string) any {
	s.T.Helper()
	content := "_schema: https://kosli.com/schemas/policy/environment/v1\nartifacts:\n"
	for _, rule := range rules {
		content += "  " + rule + "\n"
	}
	file := Part{Field: "policy_file", Filename: "policy.yml", ContentType: "application/octet-stream", Content: []byte(content)}
	got := s.Form(http.MethodPost, "/policies/"+s.Org+"/evaluate", ReaderKey, "payload", payload, file)
	if got.Status != status {
		s.T.Fatalf("dry run: %d %s", got.Status, got.Body)
	}
	var body any
	got.Decode(s.T, &body)
	return body
}

// TooManyTexts is the error for a list of 1001 times the text a where 1000 items are allowed.
var TooManyTexts = "List should have at most 1000 items after validation, not 1001 [input: [" + strings.Repeat("'a', ", 39) + "'a',...]"

// BetaOffMessage is the error of the beta features where they are off.
const BetaOffMessage = "Experimental features are not enabled for this organization"

// ControlsPath returns the path of the controls.
func (s *Service) ControlsPath() string { return "/controls/" + s.Org }

// CreateControl creates a control.
func (s *Service) CreateControl(identifier string) {
	s.T.Helper()
	s.Want(http.StatusCreated, http.MethodPost, s.ControlsPath(), fmt.Appendf(nil, `{"identifier":%q,"name":"name of %s"}`, identifier, identifier))
}

// TextsIn returns all strings in a JSON value.
func TextsIn(value any) (texts []string) {
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		for _, one := range value {
			texts = append(texts, TextsIn(one)...)
		}
	case map[string]any:
		for _, one := range value {
			texts = append(texts, TextsIn(one)...)
		}
	}
	return texts
}

// PolicyHead is a policy without rules. Tests append rules.
const PolicyHead = "_schema: https://kosli.com/schemas/policy/environment/v1\n"

// PoliciesPath returns the path of the policies.
func (s *Service) PoliciesPath() string { return "/policies/" + s.Org }

// PolicyFile returns the file of a form with a policy.
func PolicyFile(content string) Part {
	return Part{Field: "policy_file", Filename: "policy.yml", ContentType: "application/octet-stream", Content: []byte(content)}
}

// SendPolicy sends a policy with a key.
func (s *Service) SendPolicy(key, path, payload string, files ...Part) Answer {
	s.T.Helper()
	return s.Form(http.MethodPut, path, key, "payload", payload, files...)
}

// PutPolicy sends a policy as a member and checks the status of the answer.
func (s *Service) PutPolicy(status int, payload string, files ...Part) Answer {
	s.T.Helper()
	got := s.SendPolicy(MemberKey, s.PoliciesPath(), payload, files...)
	if got.Status != status {
		s.T.Fatalf("%s: status %d, want %d: %s", payload, got.Status, status, got.Body)
	}
	return got
}

// NewSigningKey generates a key and returns the setting with its file.
func NewSigningKey(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "signing-key.pem")
	content, err := signing.NewKey()
	if err == nil {
		err = os.WriteFile(file, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return "ATTESTRY_SIGNING_KEY_FILE=" + file
}
