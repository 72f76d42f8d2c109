package governance_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence"
	"attestry/scripts/fixturestest"
)

// policyBody is a policy as clients decode it: its times are integers.
type policyBody struct {
	Name           string
	Description    string
	Type           string
	CreatedBy      string `json:"created_by"`
	CreatedAt      int64  `json:"created_at"`
	LastModifiedAt int64  `json:"last_modified_at"`
	Archived       bool
	ConsumingEnvs  []string `json:"consuming_envs"`
	Versions       []struct {
		Version    int
		Comment    string
		Timestamp  int64
		CreatedBy  string `json:"created_by"`
		PolicyYAML string `json:"policy_yaml"`
	}
	Events []struct {
		Type      string
		Timestamp int64
		User      string
		Data      map[string]any
	}
}

// events lists the types of events, each with the number of a new version.
func (p policyBody) events() string {
	var events []string
	for _, event := range p.Events {
		line := event.Type
		if number, ok := event.Data["version"]; ok {
			line += fmt.Sprint(" ", number)
		}
		events = append(events, line)
	}
	return strings.Join(events, ", ")
}

// files lists the files of the versions in their order.
func (p policyBody) files() []string {
	var files []string
	for i, version := range p.Versions {
		if version.Version == i+1 {
			files = append(files, version.PolicyYAML)
		}
	}
	return files
}

func getPolicy(s *apitest.Service, name string) policyBody {
	s.T.Helper()
	var found policyBody
	got := s.Want(http.StatusOK, http.MethodGet, s.PoliciesPath()+"/"+name, nil)
	got.Decode(s.T, &found)
	return found
}

// wantNoPolicies checks that nothing was stored.
func wantNoPolicies(s *apitest.Service) {
	s.T.Helper()
	if got := s.Want(http.StatusOK, http.MethodGet, s.PoliciesPath(), nil); string(got.Body) != "[]" {
		s.T.Errorf("there are policies: %s", got.Body)
	}
}

func TestPolicyIsCreatedAndUpdated(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	wantNoPolicies(s)
	s.CreateControl("RCTL-1866")
	first, second := string(fixturestest.Read("policy-production.yml")), apitest.PolicyHead+"artifacts: {provenance: {required: true}}\n"
	for _, step := range []struct {
		name, payload string
		files         []apitest.Part
		status        int
		description   string
		events        string
		versions      []string
	}{
		{"create", `{"name":"prod","description":"d","comment":"first","type":"env"}`, []apitest.Part{apitest.PolicyFile(first)}, 201, "d", "policy_created 1", []string{first}},
		{"repeat", `{"name":"prod","description":"d","comment":"again"}`, []apitest.Part{apitest.PolicyFile(first)}, 200, "d", "policy_created 1", []string{first}},
		{"describe", `{"name":"prod","description":"e"}`, nil, 200, "e", "policy_created 1, metadata_update", []string{first}},
		{"change", `{"name":"prod","description":"e","comment":"second"}`, []apitest.Part{apitest.PolicyFile(second)}, 200, "e", "policy_created 1, metadata_update, new_version 2", []string{first, second}},
		{"back", `{"name":"prod"}`, []apitest.Part{apitest.PolicyFile(first)}, 200, "", "policy_created 1, metadata_update, new_version 2, new_version 3, metadata_update", []string{first, second, first}},
		{"nothing", `{"name":"prod","description":"","comment":"unused"}`, nil, 200, "", "policy_created 1, metadata_update, new_version 2, new_version 3, metadata_update", []string{first, second, first}},
	} {
		t.Run(step.name, func(t *testing.T) {
			s := s.In(t)
			var answered policyBody
			s.PutPolicy(step.status, step.payload, step.files...).Decode(t, &answered)
			for name, got := range map[string]policyBody{"answer": answered, "read": getPolicy(s, "prod")} {
				if got.Name != "prod" || got.Type != "env" || got.CreatedBy != "member" || got.Archived || got.Description != step.description ||
					len(got.ConsumingEnvs) != 0 || !slices.Equal(got.files(), step.versions) || got.events() != step.events {
					t.Errorf("%s: %+v with the events %s", name, got, got.events())
				}
			}
		})
	}
	found := getPolicy(s, "prod")
	if found.Versions[0].Comment != "first" || found.Versions[1].Comment != "second" || found.Versions[2].Comment != "" || found.Versions[0].CreatedBy != "member" ||
		found.Events[0].User != "member" || found.CreatedAt != found.Versions[0].Timestamp || found.CreatedAt > found.LastModifiedAt || found.CreatedAt < 1_700_000_000 {
		t.Errorf("the policy is %+v", found)
	}
}

func TestClientsReadPolicies(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	for _, name := range []string{"b", "a", "c-_.~9"} {
		s.PutPolicy(http.StatusCreated, `{"name":"`+name+`"}`, apitest.PolicyFile(apitest.PolicyHead))
	}
	list := apitest.ClientReadsEach(t, "policy", s.Read(s.PoliciesPath()))
	apitest.Equal(t, apitest.Column(t, list, "name"), "a b c-_.~9", "the policies")
	for _, one := range append(list, s.Read(s.PoliciesPath()+"/c-_.~9")) {
		apitest.ClientReads(t, "policy", one)
		apitest.ClientReadsEach(t, "policy.version", apitest.Lookup(t, one, "versions"))
	}
}

func TestPolicyFilesAreReturnedByteForByte(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	apitest.Each(s, map[string]string{
		"line-ends-of-windows": strings.ReplaceAll(apitest.PolicyHead+"artifacts: {}\n", "\n", "\r\n"),
		"no-final-line-end":    strings.TrimSpace(apitest.PolicyHead),
		"many-final-line-ends": apitest.PolicyHead + "\n\n\n",
		"comments-and-blanks":  "# a comment \n\n" + apitest.PolicyHead + "   # <another> & more\t\nartifacts:   {}  \n",
		"utf-8":                apitest.PolicyHead + "# über 漢字 \U0001F512\n",
		"byte-order-mark":      "\uFEFF" + apitest.PolicyHead,
		"document-marks":       "---\n" + apitest.PolicyHead + "...\n",
		"json":                 `{"_schema":"https://docs.kosli.com/schemas/policy/v1","artifacts":{"attestations":[{"type":"snyk","if":{"text":"exists(flow)"}}]}}`,
	}, func(s *apitest.Service, name, content string) {
		s.PutPolicy(http.StatusCreated, `{"name":"`+name+`"}`, apitest.PolicyFile(content))
		apitest.EqualList(s.T, getPolicy(s, name).files(), []string{content})
		got := s.PutPolicy(http.StatusOK, `{"name":"`+name+`"}`, apitest.PolicyFile(content))
		if len(getPolicy(s, name).Versions) != 1 {
			s.T.Errorf("the same file made %s", got.Body)
		}
	})
}

func TestFaultyPoliciesAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateControl("archived")
	s.Want(http.StatusOK, http.MethodPost, s.ControlsPath()+"/archived/archive", nil)
	decision := func(control string) string {
		return apitest.PolicyHead + "artifacts: {attestations: [{type: decision, for_control: " + control + "}]}\n"
	}
	apitest.Each(s, map[string]struct{ content, text string }{
		"broken YAML":      {apitest.PolicyHead + "artifacts: {provenance: [\n", "1 validation errors for Policy\n(line 3"},
		"unknown control":  {decision("none"), "Control 'none' does not exist in organization '" + s.Org + "'"},
		"archived control": {decision("archived"), "Control 'archived' is archived in organization '" + s.Org + "'"},
		"no text":          {"\xff\xfe", "the file is not UTF-8 text"},
	}, func(s *apitest.Service, _ string, c struct{ content, text string }) {
		message, errors := s.PutPolicy(http.StatusBadRequest, `{"name":"p"}`, apitest.PolicyFile(c.content)).Problem(s.T)
		if message != "Input payload validation failed" || len(errors) != 1 ||
			!strings.Contains(errors["policy_file"], c.text) {
			s.T.Errorf("%q %q, want %q", message, errors, c.text)
		}
	})
	wantNoPolicies(s)
}

func TestPolicyKeepsAControlThatIsArchived(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateControl("C-1")
	s.CreateControl("C-2")
	naming := func(controls ...string) apitest.Part {
		content := apitest.PolicyHead + "artifacts:\n  attestations:\n"
		for _, control := range controls {
			content += "    - {type: decision, for_control: " + control + "}\n"
		}
		return apitest.PolicyFile(content)
	}
	s.CreateEnvironment("prod", evidence.Server)
	s.PutPolicy(http.StatusCreated, `{"name":"p"}`, naming("C-1"))
	s.PutPolicy(http.StatusCreated, `{"name":"other"}`, naming("C-2"))
	s.Attach("prod", "p", "other")
	for _, control := range []string{"C-1", "C-2"} {
		changeControl(s, http.MethodPost, "/"+control+"/archive", "null")
	}
	for policy, want := range map[string]int{"p": http.StatusOK, "other": http.StatusBadRequest} {
		payload := `{"environment_name":"prod","policy_name":"` + policy + `"}`
		if got := s.Form(http.MethodPost, s.PoliciesPath()+"/evaluate", apitest.ReaderKey, "payload", payload, naming("C-1")); got.Status != want {
			t.Errorf("the evaluation in place of %s: %d %s", policy, got.Status, got.Body)
		}
	}
	for _, step := range []struct {
		name, payload string
		file          apitest.Part
		status        int
		events        string
	}{
		{"repeat", `{"name":"p"}`, naming("C-1"), 200, "policy_created 1"},
		{"describe", `{"name":"p","description":"d"}`, naming("C-1"), 200, "policy_created 1, metadata_update"},
		{"add another", `{"name":"p","description":"d"}`, naming("C-1", "C-2"), 400, "policy_created 1, metadata_update"},
		{"another policy", `{"name":"q"}`, naming("C-1"), 400, "policy_created 1, metadata_update"},
		{"change the rest", `{"name":"p","description":"d"}`, naming("C-1", "C-1"), 200, "policy_created 1, metadata_update, new_version 2"},
		{"leave out", `{"name":"p","description":"d"}`, apitest.PolicyFile(apitest.PolicyHead), 200, "policy_created 1, metadata_update, new_version 2, new_version 3"},
		{"name again", `{"name":"p","description":"d"}`, naming("C-1"), 400, "policy_created 1, metadata_update, new_version 2, new_version 3"},
	} {
		t.Run(step.name, func(t *testing.T) {
			s := s.In(t)
			s.PutPolicy(step.status, step.payload, step.file)
			apitest.Equal(t, getPolicy(s, "p").events(), step.events, "the events")
		})
	}
}

func TestPatternsWithNestedRepetitionsAreAccepted(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	// RE2 matches in linear time.
	content := apitest.PolicyHead + "artifacts: {provenance: {required: true, exceptions: [{if: '${{ matches(artifact.name, \"^(a+)+$\") }}'}]}}\n"
	s.PutPolicy(http.StatusCreated, `{"name":"p"}`, apitest.PolicyFile(content))
}

func TestFaultyInputsOfPoliciesAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	good := []apitest.Part{apitest.PolicyFile(apitest.PolicyHead)}
	type testCase struct {
		path, payload string
		files         []apitest.Part
		field, text   string
	}
	apitest.Each(s, map[string]testCase{
		"no file":             {"", `{"name":"p"}`, nil, "policy_file", "Field required [input: None]"},
		"another name":        {"/p", `{"name":"q"}`, good, "name", "Value error, the name must be that of the path, 'p' [input: q]"},
		"path without a file": {"/p", `{}`, nil, "policy_file", "Field required [input: None]"},
	}, func(s *apitest.Service, _ string, c testCase) {
		got := s.SendPolicy(apitest.MemberKey, s.PoliciesPath()+c.path, c.payload, c.files...)
		message, errors := got.Problem(s.T)
		if got.Status != http.StatusBadRequest || message != "Input payload validation failed" || len(errors) != 1 ||
			errors[c.field] != c.text {
			s.T.Errorf("%d %q\nwant %s: %q", got.Status, errors, c.field, c.text)
		}
	})
	wantNoPolicies(s)
}

func TestPolicyIsPutUnderItsAddress(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	for i, payload := range []string{`{"description":"d"}`, `{"name":"p","description":"d"}`, `{"name":null,"description":"d","type":"env"}`} {
		got := s.SendPolicy(apitest.MemberKey, s.PoliciesPath()+"/p", payload, apitest.PolicyFile(apitest.PolicyHead))
		if want := []int{201, 200, 200}[i]; got.Status != want {
			t.Errorf("%s: %d %s", payload, got.Status, got.Body)
		}
	}
	if found := getPolicy(s, "p"); found.Description != "d" || len(found.Versions) != 1 || found.events() != "policy_created 1" {
		t.Errorf("the policy is %+v", found)
	}
}

func TestPolicyFilesAreLimited(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	sized := func(size int) apitest.Part {
		line := strings.Repeat("x", 99) + "\n"
		content := apitest.PolicyHead + "#" + strings.Repeat("#"+line, size/100+1)
		return apitest.PolicyFile(content[:size])
	}
	type testCase struct {
		size, status int
		message      string
	}
	apitest.Each(s, map[string]testCase{
		"one mebibyte":           {1 << 20, http.StatusCreated, ""},
		"a byte more":            {1<<20 + 1, http.StatusRequestEntityTooLarge, "policy_file exceeds the limit of 1 MiB"},
		"the limit of all files": {10 << 20, http.StatusRequestEntityTooLarge, "policy_file exceeds the limit of 1 MiB"},
		"a byte more than that":  {10<<20 + 1, http.StatusRequestEntityTooLarge, "File size exceeds 10MB limit"},
	}, func(s *apitest.Service, _ string, c testCase) {
		file := sized(c.size)
		got := s.SendPolicy(apitest.MemberKey, s.PoliciesPath(), `{"name":"p"}`, file)
		if got.Status != c.status {
			s.T.Fatalf("%d %.500s", got.Status, got.Body)
		}
		if c.status == http.StatusCreated {
			if found := getPolicy(s, "p"); found.Versions[0].PolicyYAML != string(file.Content) {
				s.T.Errorf("given back %d bytes", len(found.Versions[0].PolicyYAML))
			}
			return
		}
		apitest.WantMessage(s.T, got, c.message)
	})
	apitest.Equal(t, len(getPolicy(s, "p").Versions), 1, "versions")
}

func TestPoliciesBelongToTheirOrganization(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateControl("C-1")
	content := apitest.PolicyHead + "artifacts: {attestations: [{type: decision, for_control: C-1}]}\n"
	s.PutPolicy(http.StatusCreated, `{"name":"p"}`, apitest.PolicyFile(content))
	for _, path := range []string{"/p", "/P", "/none", "/a%2Fb", "/a%20b", "/p%2F1", "/" + strings.Repeat("p", 1000)} {
		t.Run(s.CaseName(path), func(t *testing.T) {
			s := s.In(t)
			name := strings.NewReplacer("/", "", "%2F", "/", "%20", " ").Replace(path)
			s.WantError(http.StatusNotFound, "Policy '"+name+"' does not exist in organization '"+s.Public+"'", http.MethodGet, "/policies/"+s.Public+path, "")
		})
	}
	got := s.SendPolicy(apitest.AdminKey, "/policies/"+s.Public, `{"name":"p"}`, apitest.PolicyFile(content))
	if _, errors := got.Problem(t); got.Status != http.StatusBadRequest || errors["policy_file"] != "Control 'C-1' does not exist in organization '"+s.Public+"'" {
		t.Errorf("the control of another organization: %d %s", got.Status, got.Body)
	}
	if got := s.SendPolicy(apitest.AdminKey, "/policies/"+s.Public, `{"name":"p"}`, apitest.PolicyFile(apitest.PolicyHead)); got.Status != http.StatusCreated {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	apitest.EqualList(t, getPolicy(s, "p").files(), []string{content})
}

func TestNewPoliciesChangeTheGenerationAndDescriptionsDoNot(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	generation := func() string {
		value, err := s.Process.Store.Generations.Get(t.Context(), s.OrgID(), "any")
		s.Must(err)
		return value
	}
	before := generation()
	s.PutPolicy(http.StatusCreated, `{"name":"p"}`, apitest.PolicyFile(apitest.PolicyHead))
	created := generation()
	s.PutPolicy(http.StatusOK, `{"name":"p","description":"d"}`)
	if before == created || generation() != created {
		t.Errorf("the generations are %q, %q, %q", before, created, generation())
	}
}
