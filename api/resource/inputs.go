package resource

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/validation"
	"attestry/evidence"
	"attestry/evidence/attestation"
)

// The patterns of names (docs/semantics.md 1.5) and of keys (docs/semantics.md 6.1).
const (
	trailNamePattern      = `^[a-zA-Z0-9][a-zA-Z0-9\-_.~]*$`
	annotationKeyPattern  = `^[A-Za-z0-9_-]+$`
	externalURLKeyPattern = `^[^=.]+$`
)

// GitCommit is a commit in a request (docs/semantics.md 6.1).
type GitCommit = attestation.GitCommit

// OrNull is an optional, nullable T; Value is nil if it was left out or null. huma has no tag for a nullable $ref.
type OrNull[T any] struct{ Value *T }

// Schema is the schema of T, or null.
func (OrNull[T]) Schema(registry huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{registry.Schema(reflect.TypeFor[T](), true, ""), {Type: validation.TypeNull}}}
}

// UnmarshalJSON decodes a T or null.
func (o *OrNull[T]) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &o.Value) }

// MarshalJSON encodes the value, or null.
func (o OrNull[T]) MarshalJSON() ([]byte, error) { return json.Marshal(o.Value) }

// SentOrRemoved is a text in a request that updates something: left out, it keeps the stored text; null removes it.
type SentOrRemoved struct {
	Sent  bool
	Value *string
}

// Schema is the schema of a text, or null.
func (SentOrRemoved) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Nullable: true, Format: validation.PlainTextFormat}
}

// UnmarshalJSON decodes a text or null.
func (s *SentOrRemoved) UnmarshalJSON(data []byte) error {
	s.Sent = true
	return json.Unmarshal(data, &s.Value)
}

// CommitOf returns the commit of a request as it is stored, nil if none was sent.
func CommitOf(sent OrNull[GitCommit]) *evidence.GitCommit {
	if sent.Value == nil {
		return nil
	}
	commit := sent.Value.Evidence().Redacted()
	return &commit
}

// RepoInfoPostInput is a repository in a request (docs/semantics.md 15.1).
type RepoInfoPostInput struct {
	_              struct{}        `json:"-" additionalProperties:"true"`
	Name           string          `json:"name" format:"plain-text"`
	ID             *string         `json:"id,omitempty" nullable:"true" doc:"At the provider."`
	URL            string          `json:"url" format:"repository-url"`
	Description    *string         `json:"description,omitempty" nullable:"true"`
	Provider       *string         `json:"provider,omitempty" nullable:"true" enum:"github,gitlab,bitbucket,bitbucket_cloud,bitbucket_dc,azure-devops,azure_devops_services,azure_devops_server,circleci,git,subversion"`
	NamespacePath  []string        `json:"namespace_path,omitempty" nullable:"true"`
	AdditionalInfo OptionalMembers `json:"additional_info,omitempty"`
}

// Evidence returns the repository as it is stored.
func (r *RepoInfoPostInput) Evidence() evidence.RepoInfo {
	return evidence.RepoInfo{
		Name: r.Name, ID: r.ID, URL: r.URL, Description: r.Description, Provider: r.Provider,
		NamespacePath: r.NamespacePath, AdditionalInfo: Present(r.AdditionalInfo.RawMessage),
	}
}

// ExternalAttachmentUrl is a link to another system. The API's schema has this spelling.
type ExternalAttachmentUrl struct {
	Href        string  `json:"href" format:"uri-reference"`
	Fingerprint *string `json:"fingerprint,omitempty" nullable:"true" pattern:"^[a-f0-9]{64}$"`
}

// ExternalURLs maps labels to external URLs. It may be absent or null.
type ExternalURLs map[string]ExternalAttachmentUrl

// Schema describes labels and values.
func (ExternalURLs) Schema(registry huma.Registry) *huma.Schema {
	return KeyedBy(externalURLKeyPattern, registry.Schema(reflect.TypeFor[ExternalAttachmentUrl](), true, ""))
}

// Evidence returns the map as it is stored, nil if none was sent.
func (u ExternalURLs) Evidence() map[string]evidence.ExternalURL {
	return MapValues(u, func(sent ExternalAttachmentUrl) evidence.ExternalURL { return evidence.ExternalURL(sent) })
}

// Annotations are free texts by key. They may be absent or null.
type Annotations map[string]string

// Schema describes keys and values.
func (Annotations) Schema(huma.Registry) *huma.Schema {
	return KeyedBy(annotationKeyPattern, &huma.Schema{Type: huma.TypeString})
}

// KeyedBy is the schema of a map, or null, whose keys must all match a pattern.
func KeyedBy(pattern string, values *huma.Schema) *huma.Schema {
	return &huma.Schema{
		Type:                 huma.TypeObject,
		Nullable:             true,
		AdditionalProperties: false,
		Extensions:           map[string]any{validation.PatternProperties: map[string]*huma.Schema{pattern: values}},
	}
}

// UserData is any JSON object or list; nil if none was sent.
type UserData struct{ json.RawMessage }

// Schema is a union because validation errors name its branches (docs/semantics.md 1.8).
func (UserData) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{
		{Type: huma.TypeObject, AdditionalProperties: true},
		{Type: huma.TypeArray, Items: &huma.Schema{}},
		{Type: validation.TypeNull},
	}}
}

// Sent returns the data as it is stored, nil if none was sent.
func (u UserData) Sent() json.RawMessage { return Present(u.RawMessage) }

// OptionalMembers is any JSON object, or null.
type OptionalMembers struct{ json.RawMessage }

// Schema is the schema of any object, or null.
func (OptionalMembers) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, Nullable: true, AdditionalProperties: true}
}

// Present returns nil for null, and other values unchanged.
func Present(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// AttestationBase has the members that every attestation has (docs/semantics.md 6.1). It is exported because huma
// ignores unexported embedded types. The number of targets is limited, as each one costs commands and space in the
// trail; the API states no limit, and clients send one target.
type AttestationBase struct {
	AttestationName     string                    `json:"attestation_name" maxLength:"255" pattern:"^[a-zA-Z0-9\\-_,]+$"`
	OriginURL           *string                   `json:"origin_url,omitempty" nullable:"true" format:"uri"`
	Description         *string                   `json:"description,omitempty" nullable:"true" format:"plain-text"`
	ArtifactFingerprint *string                   `json:"artifact_fingerprint,omitempty" nullable:"true" pattern:"^[a-f0-9]{64}$"`
	TargetArtifacts     []string                  `json:"target_artifacts,omitempty" nullable:"true" maxItems:"100" maxLength:"255" pattern:"^[a-zA-Z0-9\\-_,]+$"`
	GitCommitInfo       OrNull[GitCommit]         `json:"git_commit_info,omitempty"`
	RepoInfo            OrNull[RepoInfoPostInput] `json:"repo_info,omitempty"`
	ExternalURLs        ExternalURLs              `json:"external_urls,omitempty"`
	Annotations         Annotations               `json:"annotations,omitempty"`
	UserData            UserData                  `json:"user_data,omitempty"`
}
