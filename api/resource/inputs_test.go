package resource

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/memory"
	"attestry/api/validation"
)

// decodeBase decodes the members that all attestations share, like an operation.
func decodeBase(t *testing.T, body string) (*AttestationBase, validation.Findings) {
	t.Helper()
	registry := huma.NewMapRegistry("#/", huma.DefaultSchemaNamer)
	found := validation.Findings{}
	schema := registry.Schema(reflect.TypeFor[AttestationBase](), true, "")
	return decodeInput[AttestationBase](validation.NewValidator(registry), schema, []byte(body), found), found
}

func TestMissingMembersAndNullAreTheSame(t *testing.T) {
	const absent = `{"attestation_name":"x"}`
	const null = `{"attestation_name":"x","origin_url":null,"description":null,"artifact_fingerprint":null,"target_artifacts":null,
		"git_commit_info":null,"repo_info":null,"external_urls":null,"annotations":null,"user_data":null}`
	for _, body := range []string{absent, null} {
		got, found := decodeBase(t, body)
		if len(found) > 0 {
			t.Fatalf("%s: %q", body, found)
		}
		if got.OriginURL != nil || got.TargetArtifacts != nil || CommitOf(got.GitCommitInfo) != nil || got.RepoInfo.Value != nil ||
			got.ExternalURLs.Evidence() != nil || got.Annotations != nil || got.UserData.Sent() != nil {
			t.Errorf("%s: understood %+v", body, got)
		}
	}
}

func TestSharedPartsAreKeptAsTheyWereSent(t *testing.T) {
	got, found := decodeBase(t, `{"attestation_name":"a,b","user_data":{"n":1.50,"deep":[{"x":null}]},"annotations":{"k_1":"v"},
		"external_urls":{"a b":{"href":"","fingerprint":null}},"git_commit_info":{"sha1":"AB","author":"","timestamp":"1.5","extra":{}},
		"repo_info":{"name":"n","url":"u","provider":"github","namespace_path":["a"],"additional_info":{"k":[1]},"extra":1}}`)
	if len(found) > 0 {
		t.Fatalf("%q", found)
	}
	commit, repo := CommitOf(got.GitCommitInfo), got.RepoInfo.Value.Evidence()
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
		if _, found := decodeBase(t, `{"attestation_name":"x",`+body+`}`); found[at] == "" {
			t.Errorf("%s: %q, want a finding at %s", body, slices.Sorted(maps.Keys(found)), at)
		}
	}
}

// decodeInput decodes a body without a limit of memory.
func decodeInput[T any](v *validation.Validator, s *huma.Schema, body []byte, found validation.Findings) *T {
	value, err := validation.DecodeStrict[T](memory.Unlimited(), v, s, body, found)
	if err != nil {
		panic(err)
	}
	return value
}
