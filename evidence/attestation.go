package evidence

import (
	"cmp"
	"encoding/json"
)

// The built-in attestation types, and the prefixes of custom and system types (docs/semantics.md 6.3).
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

// Attestation is one piece of evidence. It is immutable. Another report of its name makes another attestation.
type Attestation struct {
	ID    string `json:"id"`
	Org   string `json:"org"`
	Flow  string `json:"flow"`  // id
	Trail string `json:"trail"` // name
	Name  string `json:"name"`
	// Type is a built-in type, custom:<name> or system:<name>. An override has the type of what it overrides.
	Type string `json:"type"`
	// Compliant is the verdict at the time of the report.
	Compliant bool `json:"compliant"`
	// Fingerprint and Targets name the subject: an artifact by fingerprint (Targets are then its reference names),
	// artifacts by reference name, or, with neither, the trail.
	Fingerprint string   `json:"fingerprint,omitempty"`
	Targets     []string `json:"targets,omitempty"`
	// ArtifactName is the file name of the artifact attested by fingerprint.
	ArtifactName string     `json:"artifact_name,omitempty"`
	Commit       *GitCommit `json:"commit,omitempty"`
	// CommitSHA is the attestation's own commit, else its artifact's, else its trail's; "" if unknown.
	CommitSHA    string                 `json:"commit_sha,omitempty"`
	Repo         string                 `json:"repo,omitempty"` // inner id
	OriginURL    *string                `json:"origin_url,omitempty"`
	Description  *string                `json:"description,omitempty"`
	ExternalURLs map[string]ExternalURL `json:"external_urls,omitempty"`
	Annotations  map[string]string      `json:"annotations,omitempty"`
	UserData     json.RawMessage        `json:"user_data,omitempty"`
	// Payload has the members that are specific to the type, as responses show them.
	Payload map[string]json.RawMessage `json:"payload,omitempty"`
	// TypeVersion is the version of the custom or system type by which it was evaluated.
	TypeVersion int `json:"type_version,omitempty"`
	// Control is the control of a decision, or of the override of a decision.
	Control string `json:"control,omitempty"`
	// ControlVersion is the control's version at the time of the report, 0 if the control did not exist.
	ControlVersion int `json:"control_version,omitempty"`
	// Override is set when this overrides another attestation.
	Override *Override `json:"override,omitempty"`
	// Finding explains the verdict in one line (attestation.Finding). Earlier versions stored none.
	Finding string `json:"finding,omitempty"`
	// People has the accounts that a pull request or a decision names, by the organization's file at that time.
	People Accounts `json:"people,omitempty"`
	// Approvers is the number of independent approvers of a pull request, and Unapproved why there are none
	// (attestation.Approved), by the trail's commit at that time. Earlier versions stored neither.
	Approvers  int    `json:"approvers,omitempty"`
	Unapproved string `json:"unapproved,omitempty"`
	// Involved has a line for each person who wrote or approved a pull request or made a decision, such as "wrote ada"
	// (docs/semantics.md 18.14). Earlier versions stored none.
	Involved     string        `json:"involved,omitempty"`
	Evidence     *EvidenceFile `json:"evidence,omitempty"`
	CreatedAt    float64       `json:"created_at"`
	ReportedBy   string        `json:"reported_by"`
	ReportedByID string        `json:"reported_by_id"`
	// ByAccount is true if no user reported it, but a service account or a token of an identity provider.
	ByAccount bool `json:"by_account,omitempty"`
}

// Override replaces the verdict of an attestation.
type Override struct {
	Reason string `json:"reason"`
	// Original is the id of the first attestation, even after several overrides; "" if it was missing.
	Original string `json:"original"`
}

// EvidenceFile is a file of an attestation, in the object store.
type EvidenceFile struct {
	Object      string `json:"object,omitempty"` // key
	SHA256      string `json:"sha256"`
	Size        int64  `json:"size"` // bytes
	ContentType string `json:"content_type"`
	Filename    string `json:"filename"`
}

// ObjectKeys returns the keys of the objects that the attestation names.
func (a *Attestation) ObjectKeys() []string {
	if a.Evidence == nil {
		return nil
	}
	return []string{a.Evidence.Object}
}

// OfTrail reports whether the attestation is about the trail itself.
func (a *Attestation) OfTrail() bool { return a.Fingerprint == "" && len(a.Targets) == 0 }

// Subject is the subject of an attestation (docs/semantics.md 6.2): the artifact of a fingerprint in a trail, the
// artifacts of a name that were built from a commit, those of a name and any commit, or the trail itself.
type Subject struct {
	Trail       string // key
	Fingerprint string
	Name        string // reference name in the template
	Commit      string // SHA; "" for any commit
}

// SubjectsOf returns the subjects of an attestation: one per target if made by name, else one. commit is its own.
func SubjectsOf(trail, fingerprint string, targets []string, commit string) []Subject {
	if fingerprint != "" || len(targets) == 0 {
		return []Subject{{Trail: trail, Fingerprint: fingerprint}}
	}
	return Map(targets, func(target string) Subject { return Subject{Trail: trail, Name: target, Commit: commit} })
}

// Subjects returns the subjects of the attestation.
func (a *Attestation) Subjects() []Subject {
	return SubjectsOf(TrailKey(a.Flow, a.Trail), a.Fingerprint, a.Targets, CommitSHA(a.Commit))
}

// NeedsReport reports whether the artifact of the attestation's fingerprint must have been reported to the trail. For a
// decision, a report to any trail of the organization is enough (docs/semantics.md 6.2).
func (a *Attestation) NeedsReport() bool {
	decision := a.Type == TypeDecision && a.Override == nil
	return a.Fingerprint != "" && !decision
}

// FillFrom sets the members that depend on the attestation's trail: its flow, its artifact's file name and names, and
// the commit by which it is found (docs/semantics.md 6.1 and 6.2). names are the artifact names of the trail that it is
// about. older is the record of its fingerprint if that is not the newest artifact of any name, else nil.
func (a *Attestation) FillFrom(trail *Trail, names []string, older *ArtifactRecord) {
	a.Flow, a.CommitSHA = trail.Flow, CommitSHA(a.Commit)
	if older != nil {
		a.ArtifactName, a.CommitSHA = older.Filename, cmp.Or(a.CommitSHA, older.CommitSHA)
	}
	for _, name := range names {
		summary := trail.Slots[name]
		if a.Fingerprint != "" && summary.Fingerprint != a.Fingerprint {
			continue
		}
		a.CommitSHA = cmp.Or(a.CommitSHA, summary.Commit)
		if a.Fingerprint != "" {
			a.ArtifactName = summary.Filename
		}
	}
	if a.Fingerprint != "" && len(a.Targets) == 0 {
		a.Targets = names
	}
	a.CommitSHA = cmp.Or(a.CommitSHA, CommitSHA(trail.Commit))
}

// Entry is the part of the attestation that aggregates store.
func (a *Attestation) Entry() Entry {
	entry := Entry{Name: a.Name, Type: a.Type, ID: a.ID, Time: a.CreatedAt, Compliant: a.Compliant, Finding: a.Finding, Approvers: a.Approvers, Unapproved: a.Unapproved, Involved: a.Involved}
	if a.Override != nil {
		entry.Override, entry.Overridden = true, a.Override.Original
	}
	return entry
}

// SlotEntry is the part of the attestation that a slot stores. If made by name, it is bound only by its own commit.
func (a *Attestation) SlotEntry() SlotEntry {
	if a.Fingerprint != "" {
		return SlotEntry{Entry: a.Entry(), Fingerprint: a.Fingerprint}
	}
	return SlotEntry{Entry: a.Entry(), Commit: CommitSHA(a.Commit)}
}
