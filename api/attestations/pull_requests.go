package attestations

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
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
// 6.3). What the validator changes is changed in place: it converts numbers and booleans that were sent as texts, and drops
// members whose names differ from known ones only by case, which would be decoded in place of those.
func (p FoundPullRequests) check() validation.Findings {
	found := validation.Findings{}
	for i, raw := range p {
		var members map[string]any
		exact := json.NewDecoder(bytes.NewReader(raw))
		exact.UseNumber()
		_ = exact.Decode(&members) // the body's schema accepts only objects
		before, _ := json.Marshal(members)
		version, schema, unset := "FoundPullRequestV2", sentV2, map[string]any{}
		if !isSet(members["title"]) && !isSet(members["created_at"]) && !isSet(members["head_ref"]) {
			version, schema = "FoundPullRequestV1", sentV1
			for _, name := range onlyV2 {
				if value, sent := members[name]; sent && !isSet(value) {
					unset[name] = value
					delete(members, name)
				}
			}
		}
		if commits, sent := members["commits"]; sent && commits == nil {
			unset["commits"], members["commits"] = nil, []any{} // a client sends null for an empty list
		}
		sentValidator.Check(schema, members, fmt.Sprintf("pull_requests[%d].%s", i, version), found)
		maps.Copy(members, unset)
		if checked, _ := json.Marshal(members); !bytes.Equal(checked, before) { // it was decoded from JSON
			p[i] = checked
		}
	}
	return found
}

// isSet returns false for null and for the zero values that clients send instead.
func isSet(value any) bool {
	items, list := value.([]any)
	return value != nil && value != "" && value != json.Number("0") && (!list || len(items) > 0)
}
