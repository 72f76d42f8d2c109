package server

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// understood decodes the parts that all attestations share, as an operation would.
func understood(t *testing.T, body string) (*AttestationBase, findings) {
	t.Helper()
	configureHuma()
	registry := huma.NewMapRegistry("#/", huma.DefaultSchemaNamer)
	found := findings{}
	schema := registry.Schema(reflect.TypeFor[AttestationBase](), true, "")
	return mustDecode[AttestationBase](newValidator(registry), schema, []byte(body), found), found
}

func TestWhatIsNotSentAndNullAreTheSame(t *testing.T) {
	const absent = `{"attestation_name":"x"}`
	const null = `{"attestation_name":"x","origin_url":null,"description":null,"artifact_fingerprint":null,"target_artifacts":null,
		"git_commit_info":null,"repo_info":null,"external_urls":null,"annotations":null,"user_data":null}`
	for _, body := range []string{absent, null} {
		got, found := understood(t, body)
		if len(found) > 0 {
			t.Fatalf("%s: %q", body, found)
		}
		if got.OriginURL != nil || got.TargetArtifacts != nil || commitOf(got.GitCommitInfo) != nil || got.RepoInfo.Value != nil ||
			got.ExternalURLs.Evidence() != nil || got.Annotations != nil || got.UserData.Sent() != nil {
			t.Errorf("%s: understood %+v", body, got)
		}
	}
}

func TestSharedPartsAreKeptAsTheyWereSent(t *testing.T) {
	got, found := understood(t, `{"attestation_name":"a,b","user_data":{"n":1.50,"deep":[{"x":null}]},"annotations":{"k_1":"v"},
		"external_urls":{"a b":{"href":"","fingerprint":null}},"git_commit_info":{"sha1":"AB","author":"","timestamp":"1.5","extra":{}},
		"repo_info":{"name":"n","url":"u","provider":"github","namespace_path":["a"],"additional_info":{"k":[1]},"extra":1}}`)
	if len(found) > 0 {
		t.Fatalf("%q", found)
	}
	commit, repo := commitOf(got.GitCommitInfo), got.RepoInfo.Value.Evidence()
	if commit.SHA1 != "AB" || commit.Author != nil || *commit.Timestamp != 1.5 {
		t.Errorf("the commit is %+v", commit)
	}
	if repo.Name != "n" || *repo.Provider != "github" || string(repo.AdditionalInfo) != `{"k":[1]}` || !slices.Equal(repo.NamespacePath, []string{"a"}) {
		t.Errorf("the repository is %+v", repo)
	}
	if string(got.UserData.Sent()) != `{"deep":[{"x":null}],"n":1.50}` || got.Annotations["k_1"] != "v" {
		t.Errorf("understood %s %v", got.UserData.Sent(), got.Annotations)
	}
	if url, ok := got.ExternalURLs.Evidence()["a b"]; !ok || url.Fingerprint != nil {
		t.Errorf("the addresses are %v", got.ExternalURLs)
	}
}

func TestKeysOfMapsMustMatchTheirPattern(t *testing.T) {
	for body, at := range map[string]string{
		`"annotations":{"":"x"}`:                                      "annotations..[key]",
		`"annotations":{"a.b":"x"}`:                                   "annotations.a.b.[key]",
		`"annotations":{"a":null}`:                                    "annotations.a",
		`"annotations":[]`:                                            "annotations",
		`"external_urls":{"a=b":{"href":"x"}}`:                        "external_urls.a=b.[key]",
		`"external_urls":{"a":{"href":"x","more":1}}`:                 "external_urls.a.more",
		`"external_urls":{"a":{}}`:                                    "external_urls.a.href",
		`"external_urls":{"a\u0000":{"href":"x"}}`:                    "external_urls.a\x00.[key]",
		`"user_data":"{}"`:                                            "user_data.list[any]",
		`"git_commit_info":[]`:                                        "git_commit_info",
		`"git_commit_info":{"sha1":1}`:                                "git_commit_info.sha1",
		`"repo_info":{"name":"n","url":"u","provider":"sourceforge"}`: "repo_info.provider",
		`"repo_info":{"name":"n","url":"u","additional_info":[]}`:     "repo_info.additional_info",
		`"target_artifacts":[null]`:                                   "target_artifacts[0]",
	} {
		if _, found := understood(t, `{"attestation_name":"x",`+body+`}`); found[at] == "" {
			t.Errorf("%s: %q, want a finding at %s", body, slices.Sorted(maps.Keys(found)), at)
		}
	}
}

func TestComponentsOfAttestationsAreNamedAsInTheContract(t *testing.T) {
	s := start(t, productRoutes())
	var document struct {
		Components struct{ Schemas map[string]map[string]any }
	}
	if err := json.Unmarshal([]byte(s.send(t, "GET", prefix+"/openapi.json", "", "").body), &document); err != nil {
		t.Fatal(err)
	}
	schemas := document.Components.Schemas
	for name, closed := range map[string]bool{
		"CustomAttestationPostInput": true, "GenericAttestationPostInput": true, "JiraAttestationPostInput": true, "JiraItem": true,
		"JUnitAttestationPostInput": true, "JUnitResult": true, "OverrideAttestationPostInput": true,
		"PullRequestAttestationPostInput": true, "FoundPullRequestV1": true, "FoundPullRequestV2": true, "PullRequestApprover": true,
		"SnykAttestationPostInput": true, "SnykResultsSummary": true, "SnykTool": true, "ProjectScanResult": true, "FoundIssue": false,
		"IssueLocation": false, "SonarAttestationPostInput": true, "SonarResults": false, "SonarProject": false, "QualityGate": false,
		"QualityGateCondition": false, "SystemAttestationPostInput": false, "GitCommit": false, "RepoInfoPostInput": false,
		"ExternalAttachmentUrl": true,
	} {
		schema, ok := schemas[name]
		if !ok || (schema["additionalProperties"] == false) != closed {
			t.Errorf("%s: there %t, additionalProperties %v", name, ok, schema["additionalProperties"])
		}
	}
	for _, name := range []string{"CustomAttestationPostInput", "OverrideAttestationPostInput"} {
		annotations, _ := schemas[name]["properties"].(map[string]any)["annotations"].(map[string]any)
		if _, ok := annotations["patternProperties"].(map[string]any)["^[A-Za-z0-9_-]+$"]; !ok {
			t.Errorf("%s has the annotations %v", name, annotations)
		}
	}
	items, err := json.Marshal(schemas["PullRequestAttestationPostInput"]["properties"].(map[string]any)["pull_requests"])
	if err != nil || !strings.Contains(string(items), `"anyOf":[{"$ref":"#/components/schemas/FoundPullRequestV1"},{"$ref":"#/components/schemas/FoundPullRequestV2"}]`) {
		t.Errorf("pull requests are %s", items)
	}
}
