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

// FoundPullRequests are pull requests of either version, as they were sent.
type FoundPullRequests []json.RawMessage

// Schema describes the versions by an extension, which the validator ignores: clients mix the members of both.
func (FoundPullRequests) Schema(registry huma.Registry) *huma.Schema {
	versions := []*huma.Schema{
		registry.Schema(reflect.TypeFor[attestation.FoundPullRequestV1](), true, ""),
		registry.Schema(reflect.TypeFor[attestation.FoundPullRequestV2](), true, ""),
	}
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{
		Type: huma.TypeObject, Extensions: map[string]any{"anyOf": versions},
	}}
}

// sentPullRequestV1 has the members of the other version, too, that older clients are known to send.
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
	// onlyV2 are the members that FoundPullRequestV1 does not have. V1 may come with them if they say nothing.
	onlyV2 = []string{"title", "created_at", "merged_at", "head_ref", "base_ref"}
)

// check finds what is wrong. A pull request with a title, a time of creation or a head is V2, any other V1 (docs/semantics.md
// 6.3). One with numbers or booleans that were sent as texts is replaced by one with the values that they mean.
func (p FoundPullRequests) check() validation.Findings {
	found := validation.Findings{}
	for i, raw := range p {
		var sent any
		exact := json.NewDecoder(bytes.NewReader(raw))
		exact.UseNumber()
		_ = exact.Decode(&sent) // what is no object was refused with the body
		members, _ := sent.(map[string]any)
		version, schema, typed := "FoundPullRequestV2", sentV2, any(new(attestation.FoundPullRequestV2))
		if !saysSomething(members["title"]) && !saysSomething(members["created_at"]) && !saysSomething(members["head_ref"]) {
			version, schema, typed = "FoundPullRequestV1", sentV1, new(sentPullRequestV1)
			for _, name := range onlyV2 {
				if !saysSomething(members[name]) {
					delete(members, name)
				}
			}
		}
		if commits, sent := members["commits"]; sent && commits == nil {
			members["commits"] = []any{} // so does a client write none
		}
		meant := sentValidator.Check(schema, members, fmt.Sprintf("pull_requests[%d].%s", i, version), found)
		if json.Unmarshal(raw, typed) != nil {
			p[i], _ = json.Marshal(meant) // an error means that something is wrong with it
		}
	}
	return found
}

// saysSomething is false of values that a client sends for want of one.
func saysSomething(value any) bool {
	items, list := value.([]any)
	return value != nil && value != "" && value != json.Number("0") && (!list || len(items) > 0)
}
