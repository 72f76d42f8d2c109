package evidence

import "encoding/json"

// The built-in attestation types, and the prefixes of those that are not
// (docs/semantics.md 6.3).
const (
	TypeGeneric     = "generic"
	TypeJUnit       = "junit"
	TypeSnyk        = "snyk"
	TypePullRequest = "pull_request"
	TypeJira        = "jira"
	TypeSonar       = "sonar"
	TypeDecision    = "system:decision"
	CustomPrefix    = "custom:"
	SystemPrefix    = "system:"
)

// Attestation is one piece of evidence. It is never edited; reporting under the
// same name again makes another one.
type Attestation struct {
	ID    string `json:"id"`
	Org   string `json:"org"`
	Flow  string `json:"flow"`  // id
	Trail string `json:"trail"` // name
	Name  string `json:"name"`
	// Type is a built-in type, custom:<name> or system:<name>. An override has the
	// type of what it overrides.
	Type string `json:"type"`
	// Compliant is the verdict, as of the time it was reported.
	Compliant bool `json:"compliant"`
	// Fingerprint and Targets say what is attested: an artifact by fingerprint
	// (Targets are then its reference names), artifacts by reference name, or, with
	// neither, the trail.
	Fingerprint string   `json:"fingerprint,omitempty"`
	Targets     []string `json:"targets,omitempty"`
	// ArtifactName is the file name of the artifact attested by fingerprint.
	ArtifactName string     `json:"artifact_name,omitempty"`
	Commit       *GitCommit `json:"commit,omitempty"`
	// CommitSHA is the attestation's own commit, else its artifact's, else its
	// trail's; "" when none is known.
	CommitSHA    string                 `json:"commit_sha,omitempty"`
	Repo         string                 `json:"repo,omitempty"` // inner id
	OriginURL    *string                `json:"origin_url,omitempty"`
	Description  *string                `json:"description,omitempty"`
	ExternalURLs map[string]ExternalURL `json:"external_urls,omitempty"`
	Annotations  map[string]string      `json:"annotations,omitempty"`
	UserData     json.RawMessage        `json:"user_data,omitempty"`
	// Payload holds the members that only this type has, as answers show them.
	Payload map[string]json.RawMessage `json:"payload,omitempty"`
	// TypeVersion is the version of a custom or system type that judged.
	TypeVersion int `json:"type_version,omitempty"`
	// Control is the control that a decision decides, or the override of one.
	Control string `json:"control,omitempty"`
	// Override is set when this overrides another attestation.
	Override     *Override     `json:"override,omitempty"`
	Evidence     *EvidenceFile `json:"evidence,omitempty"`
	CreatedAt    float64       `json:"created_at"`
	ReportedBy   string        `json:"reported_by"`
	ReportedByID string        `json:"reported_by_id"`
}

// Override replaces the verdict of an attestation.
type Override struct {
	Reason string `json:"reason"`
	// Original is the id of the attestation that was made first, also when
	// overrides follow one another; "" when the attestation was missing.
	Original string `json:"original"`
}

// EvidenceFile is a file attached to an attestation, kept in the object store.
type EvidenceFile struct {
	Object      string `json:"object"` // key
	SHA256      string `json:"sha256"`
	Size        int64  `json:"size"` // bytes
	ContentType string `json:"content_type"`
	Filename    string `json:"filename"`
}

// OfTrail tells that the attestation is about the trail itself.
func (a *Attestation) OfTrail() bool { return a.Fingerprint == "" && len(a.Targets) == 0 }

// Entry is what the aggregates keep of the attestation.
func (a *Attestation) Entry() Entry {
	entry := Entry{Name: a.Name, Type: a.Type, ID: a.ID, Time: a.CreatedAt, Compliant: a.Compliant}
	if a.Override != nil {
		entry.Override, entry.Overridden = true, a.Override.Original
	}
	return entry
}

// SlotEntry is what a slot keeps of the attestation. Made by name, it is bound by
// its own commit only.
func (a *Attestation) SlotEntry() SlotEntry {
	if a.Fingerprint != "" {
		return SlotEntry{Entry: a.Entry(), Fingerprint: a.Fingerprint}
	}
	return SlotEntry{Entry: a.Entry(), Commit: CommitSHA(a.Commit)}
}
