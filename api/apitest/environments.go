package apitest

import (
	"fmt"
	"net/http"
	"strings"

	"attestry/evidence"
	"attestry/evidence/snapshot"
)

// EnvironmentBody has the members of an environment.
type EnvironmentBody struct {
	Name           string            `json:"name"`
	Type           string            `json:"type"`
	Description    string            `json:"description"`
	IncludeScaling bool              `json:"include_scaling"`
	State          *bool             `json:"state"`
	LastReportedAt *float64          `json:"last_reported_at"`
	LastModifiedAt float64           `json:"last_modified_at"`
	LastChangedAt  *float64          `json:"last_changed_at"`
	Tags           map[string]string `json:"tags"`
	Policies       []string          `json:"policies"`
	Included       []string          `json:"included_environments"`
}

// GetEnvironment reads an environment.
func (s *Service) GetEnvironment(name string) EnvironmentBody {
	s.T.Helper()
	var body EnvironmentBody
	s.Want(http.StatusOK, http.MethodGet, s.EnvironmentsPath()+"/"+name, nil).Decode(s.T, &body)
	return body
}

// CreateEnvironmentIn creates a server environment in an organization.
func (s *Service) CreateEnvironmentIn(organization, name string) {
	s.T.Helper()
	s.Want(http.StatusCreated, http.MethodPut, "/environments/"+organization, []byte(`{"name":"`+name+`","type":"server","description":""}`))
}

// AllowlistsPath returns the path of the permissions of artifacts.
func (s *Service) AllowlistsPath() string { return "/allowlists/" + s.Org }

// AllowanceBody returns the body of a permission for the artifact that ServerReport reports under a name.
func AllowanceBody(name, why string) string {
	return fmt.Sprintf(`{"artifact_name":%q,"artifact_fingerprint":%q,"description":%q}`, name, evidence.HashAPIKey(name), why)
}

// AllowArtifact permits the artifact that serverReport reports under a name.
func (s *Service) AllowArtifact(environment, name, why string) {
	s.T.Helper()
	body := AllowanceBody(name, why)
	if got := s.Want(http.StatusCreated, http.MethodPut, s.AllowlistsPath()+"/"+environment, []byte(body)); string(got.Body) != body {
		s.T.Errorf("answered %s", got.Body)
	}
}

// StorePolicy stores a policy. Each rule is a line of its YAML file.
func (s *Service) StorePolicy(name string, rules ...string) {
	s.T.Helper()
	content := "_schema: https://kosli.com/schemas/policy/environment/v1\nartifacts:\n"
	for _, rule := range rules {
		content += "  " + rule + "\n"
	}
	file := Part{Field: "policy_file", Filename: "policy.yml", ContentType: "application/octet-stream", Content: []byte(content)}
	if got := s.Form(http.MethodPut, "/policies/"+s.Org, AdminKey, "payload", fmt.Sprintf(`{"name":%q}`, name), file); got.Status >= http.StatusBadRequest {
		s.T.Fatalf("policy %s: %d %s", name, got.Status, got.Body)
	}
}

// Attach attaches policies to an environment.
func (s *Service) Attach(environment string, policies ...string) {
	s.T.Helper()
	s.Want(http.StatusOK, http.MethodPost, s.EnvironmentsPath()+"/"+environment+"/policies", PolicyNames(policies...))
}

// PolicyNames returns the body that attaches or detaches policies.
func PolicyNames(names ...string) []byte {
	return []byte(`{"policy_names":["` + strings.Join(names, `","`) + `"]}`)
}

// EnvironmentsPath returns the path of the environments.
func (s *Service) EnvironmentsPath() string { return "/environments/" + s.Org }

// CreateLogical creates a logical environment with the given members.
func (s *Service) CreateLogical(name string, members ...string) {
	s.T.Helper()
	s.Want(http.StatusCreated, http.MethodPut, s.EnvironmentsPath(),
		fmt.Appendf(nil, `{"name":%q,"type":"logical","description":"","included_environments":%s}`, name, JSONList(members)))
}

// JSONList encodes texts as a JSON list.
func JSONList(texts []string) string {
	quoted := make([]string, 0, len(texts))
	for _, text := range texts {
		quoted = append(quoted, fmt.Sprintf("%q", text))
	}
	return "[" + strings.Join(quoted, ",") + "]"
}

// ChangeEnvironment sends a change of an environment and checks that it succeeds.
func (s *Service) ChangeEnvironment(method, path, body string) {
	s.T.Helper()
	if got := s.Want(http.StatusOK, method, s.EnvironmentsPath()+path, []byte(body)).Text(s.T); got != "OK" {
		s.T.Errorf("%s %s: answered %q", method, path, got)
	}
}

// RenameEnvironment gives an environment another name.
func (s *Service) RenameEnvironment(from, to string) {
	s.T.Helper()
	s.ChangeEnvironment(http.MethodPut, "/"+from+"/rename", fmt.Sprintf(`{"new_name":%q}`, to))
}

// ArchiveEnvironment archives an environment.
func (s *Service) ArchiveEnvironment(name string) {
	s.T.Helper()
	s.ChangeEnvironment(http.MethodPut, "/"+name+"/archive", "null")
}

// SetState stores the compliance state of an environment, as an evaluation of its policies would.
func (s *Service) SetState(environment string, state *bool) {
	s.T.Helper()
	_, err := s.Process.Store.Heads.Update(s.T.Context(), s.EnvironmentID(environment), func(head *snapshot.Head) error {
		head.State = state
		return nil
	})
	s.Must(err)
}

// AssertNothingStored fails the test if an environment has a report or a snapshot.
func (s *Service) AssertNothingStored(environment string) {
	s.T.Helper()
	id := s.EnvironmentID(environment)
	head, err := s.Process.Store.Heads.Get(s.T.Context(), id)
	if err != nil || head.Processed != 0 || head.Last != 0 || head.LastReportedAt != 0 {
		s.T.Errorf("something was processed: %+v, %v", head, err)
	}
	if waits, err := s.Process.Store.Reports.Exists(s.T.Context(), id, 1); err != nil || waits {
		s.T.Errorf("a report was stored, %v", err)
	}
}

// Report sends a report of the given type and checks the status of the answer.
func (s *Service) Report(status int, environment, kind, body string) Answer {
	s.T.Helper()
	return s.Want(status, http.MethodPut, s.EnvironmentsPath()+"/"+environment+"/report/"+kind, []byte(body))
}

// RunningNamed returns the running artifacts with a name.
func (b SnapshotBody) RunningNamed(name string) []map[string]any {
	var found []map[string]any
	for _, artifact := range b.Artifacts {
		if artifact["name"] == name && Annotation(artifact) != "exited" {
			found = append(found, artifact)
		}
	}
	return found
}

// Fingerprints returns the fingerprints of the running artifacts, by name.
func (b SnapshotBody) Fingerprints() map[string]string {
	running := map[string]string{}
	for _, artifact := range b.Artifacts {
		if Annotation(artifact) != "exited" {
			running[artifact["name"].(string)] += artifact["fingerprint"].(string)
		}
	}
	return running
}
