package attestations

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/validation"
	"attestry/evidence/attestation"
)

// FoundPullRequests are pull requests of both versions, as they were sent.
type FoundPullRequests []json.RawMessage

// Schema describes the versions by an extension, which the validator ignores, because clients mix members of both.
func (FoundPullRequests) Schema(registry huma.Registry) *huma.Schema {
	versions := []*huma.Schema{
		registry.Schema(reflect.TypeFor[attestation.FoundPullRequestV1](), true, ""),
		registry.Schema(reflect.TypeFor[attestation.FoundPullRequestV2](), true, ""),
	}
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{
		Type: huma.TypeObject, Extensions: map[string]any{"anyOf": versions},
	}}
}

// sentPullRequestV1 also has the members of V2 that older clients send.
type sentPullRequestV1 struct {
	attestation.FoundPullRequestV1
	Author  *string                 `json:"author,omitempty" nullable:"true"`
	Commits []attestation.GitCommit `json:"commits,omitempty" nullable:"true"`
}

var (
	sentVersions  = huma.NewMapRegistry("#/", huma.DefaultSchemaNamer)
	sentValidator = validation.NewValidator(sentVersions)
	sentV1        = sentVersions.Schema(reflect.TypeFor[sentPullRequestV1](), true, "")
	sentV2        = sentVersions.Schema(reflect.TypeFor[attestation.FoundPullRequestV2](), true, "")
	// onlyV2 are the members that FoundPullRequestV1 does not have. They are allowed in V1 if they are unset.
	onlyV2 = []string{"title", "created_at", "merged_at", "head_ref", "base_ref"}
)

// check validates the pull requests. One with a title, a creation time or a head is V2, any other V1 (docs/semantics.md
// 6.3). Numbers and booleans that were sent as texts are converted in place.
func (p FoundPullRequests) check() validation.Findings {
	found := validation.Findings{}
	for i, raw := range p {
		var sent any
		exact := json.NewDecoder(bytes.NewReader(raw))
		exact.UseNumber()
		_ = exact.Decode(&sent) // the body's schema accepts only objects
		members, _ := sent.(map[string]any)
		version, schema, typed := "FoundPullRequestV2", sentV2, any(new(attestation.FoundPullRequestV2))
		if !isSet(members["title"]) && !isSet(members["created_at"]) && !isSet(members["head_ref"]) {
			version, schema, typed = "FoundPullRequestV1", sentV1, new(sentPullRequestV1)
			for _, name := range onlyV2 {
				if !isSet(members[name]) {
					delete(members, name)
				}
			}
		}
		if commits, sent := members["commits"]; sent && commits == nil {
			members["commits"] = []any{} // a client sends null for an empty list
		}
		converted := sentValidator.Check(schema, members, fmt.Sprintf("pull_requests[%d].%s", i, version), found)
		if json.Unmarshal(raw, typed) != nil {
			p[i], _ = json.Marshal(converted) // it fails only if found has a finding about it
		}
	}
	return found
}

// isSet returns false for null and for the zero values that clients send instead.
func isSet(value any) bool {
	items, list := value.([]any)
	return value != nil && value != "" && value != json.Number("0") && (!list || len(items) > 0)
}
