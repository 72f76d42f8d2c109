package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence"
)

const controlsText = "String should not have control characters other than tab and newline [input: "

// plainTexts returns operations with a text, %s in the body, and the location of the text in errors.
func plainTexts(s *apitest.Service) map[string]struct{ method, path, key, body, at string } {
	fingerprint := evidence.HashAPIKey("web")
	return map[string]struct{ method, path, key, body, at string }{
		"flow":             {http.MethodPut, "/flows/" + s.Org, apitest.AdminKey, `{"name":"build","description":%s}`, "description"},
		"environment":      {http.MethodPut, "/environments/" + s.Org, apitest.AdminKey, `{"name":"prod","type":"server","description":%s}`, "description"},
		"environment text": {http.MethodPatch, "/environments/" + s.Org + "/prod", apitest.AdminKey, `{"description":%s}`, "description"},
		"control":          {http.MethodPost, "/controls/" + s.Org, apitest.AdminKey, `{"identifier":"R-1","name":%s}`, "name"},
		"control text":     {http.MethodPut, "/controls/" + s.Org + "/R-1", apitest.AdminKey, `{"description":%s}`, "description"},
		"control label":    {http.MethodPut, "/controls/" + s.Org + "/R-1", apitest.AdminKey, `{"links":{%s:"https://example.com"}}`, ""},
		"tag":              {http.MethodPatch, "/tags/" + s.Org + "/flow/build", apitest.AdminKey, `{"set_tags":{"team":%s}}`, "set_tags.team"},
		"permission":       {http.MethodPut, "/allowlists/" + s.Org + "/prod", apitest.AdminKey, `{"artifact_name":"a","artifact_fingerprint":"` + fingerprint + `","description":%s}`, "description"},
		"service account":  {http.MethodPost, "/service-accounts/" + s.Org, apitest.AdminKey, `{"name":"robot","description":%s}`, "description"},
		"account text":     {http.MethodPatch, "/service-accounts/" + s.Org + "/robot", apitest.AdminKey, `{"description":%s}`, "description"},
		"key":              {http.MethodPost, "/service-accounts/" + s.Org + "/robot/api-keys", apitest.AdminKey, `{"description":%s}`, "description"},
		"artifact": {http.MethodPost, "/artifacts/" + s.Org + "/build", apitest.AdminKey, `{"fingerprint":"` + fingerprint +
			`","filename":%s,"trail_name":"release-1","template_reference_name":"web","build_url":"https://a.b","commit_url":"https://a.b"}`, "filename"},
		"approval": {http.MethodPost, "/approvals/" + s.Org + "/build", apitest.AdminKey, `{"artifact_fingerprint":"` + fingerprint +
			`","description":%s,"src_commit_list":[]}`, "description"},
		"comment": {http.MethodPost, "/approvals/" + s.Org + "/build", apitest.AdminKey, `{"artifact_fingerprint":"` + fingerprint +
			`","description":"d","src_commit_list":[],"approvals":[{"state":"APPROVED","comment":%s}]}`, "approvals[0].comment"},
	}
}

func TestControlCharactersAreRefusedInPlainTexts(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	for name, row := range plainTexts(s) {
		t.Run(name, func(t *testing.T) {
			s := s.In(t)
			for _, bad := range []string{"a\x1b[31mb", "a\u0085b", "a\x7fb", "a\rb", "\x07"} {
				got := s.Do(row.method, "/api/v2"+row.path, row.key, fmt.Appendf(nil, row.body, apitest.AsJSON(bad)))
				_, errors := got.Problem(t)
				text := errors[row.at]
				if row.at == "" { // the location contains the label
					text = strings.Join(slices.Collect(maps.Values(errors)), "")
				}
				if got.Status != http.StatusBadRequest || !strings.HasPrefix(text, controlsText) {
					t.Errorf("%q is answered %d, %v", bad, got.Status, errors)
				}
			}
		})
	}
}

func TestTextsOfToolsAreKeptUnchanged(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.ReportFile("build", "web")
	s.PostAttestation(http.StatusCreated, "release-1", "generic",
		`{"attestation_name":"tested","is_compliant":true,"description":"first\tline\nsecond\r\nthird","user_data":{"log":"\u001b[31mred"},`+
			`"git_commit_info":{"sha1":"`+strings.Repeat("a", 40)+`","message":"beep \u0007","author":"a","branch":"b","timestamp":1}}`)
	stored := s.Read("/attestations/" + s.Org + "/build/trail/release-1/tested").([]any)[0]
	for at, want := range map[string]any{
		"description": "first\tline\nsecond\r\nthird",
		"user_data":   map[string]any{"log": "\x1b[31mred"},
	} {
		apitest.Equal(t, apitest.AsJSON(apitest.Lookup(t, stored, at)), apitest.AsJSON(want), at)
	}
	if got := apitest.Lookup(t, stored, "git_commit_info", "message"); got != "beep \a" {
		t.Errorf("the message is %q", got)
	}
}

// TestTextsOfPeopleAreKnown checks that the texts in all request bodies are plain texts or exempt here.
func TestTextsOfPeopleAreKnown(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct {
					Type    any
					Format  string
					Pattern string
					Enum    []any
				}
			}
		}
	}
	if err := json.Unmarshal(s.Want(http.StatusOK, http.MethodGet, "/openapi.json", nil).Body, &document); err != nil {
		t.Fatal(err)
	}
	exempt := map[string]bool{
		// Tools write these texts.
		"RepoInfoPostInput.description": true, "LaunchDarklyWebhookInput.name": true, "LaunchDarklyWebhookInput.description": true,
		// The operation checks this name.
		"OrganizationPostInput.name": true,
		// Reports bring this name.
		"AllowlistPutInput.artifact_name": true,
		// These are names of existing resources.
		"JoinPhysicalToLogicalPutInput.physical_env_name": true, "CustomAttestationPostInput.type_name": true,
		"EvaluatePolicyInput.environment_name": true, "EvaluatePolicyInput.policy_name": true, "NamedPolicyPutInput.name": true,
	}
	checked := 0
	for component, schema := range document.Components.Schemas {
		if !strings.HasSuffix(component, "Input") {
			continue
		}
		for name, property := range schema.Properties {
			text := name == "name" || name == "description" || name == "reason" || name == "comment" || name == "filename" || strings.HasSuffix(name, "_name")
			if !text || property.Pattern != "" || len(property.Enum) > 0 || exempt[component+"."+name] {
				continue
			}
			checked++
			apitest.Equal(t, property.Format, "plain-text", component, name)
		}
	}
	if checked < 15 {
		t.Errorf("only %d texts were checked", checked)
	}
}
