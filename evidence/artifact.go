package evidence

import "encoding/json"

// ArtifactRecord is one report of an artifact. A fingerprint may be reported several times, in several flows and
// trails; each report makes a record (docs/semantics.md 5.2).
type ArtifactRecord struct {
	ID    string `json:"id"`
	Org   string `json:"org"`
	Flow  string `json:"flow"`  // id
	Trail string `json:"trail"` // name
	// TrailUnnamed tells that the report named no trail. Records of earlier versions lack it.
	TrailUnnamed bool   `json:"trail_unnamed,omitempty"`
	Name         string `json:"name"` // the reference name in the template
	Fingerprint  string `json:"fingerprint"`
	// ChildFingerprints are other digests that the artifact runs under (docs/semantics.md 5.5).
	ChildFingerprints []string `json:"child_fingerprints,omitempty"`
	Filename          string   `json:"filename"`
	Description       string   `json:"description,omitempty"`
	// CommitSHA is the commit that the artifact was built from, "" when unknown.
	CommitSHA    string                 `json:"commit_sha,omitempty"`
	Commit       *GitCommit             `json:"commit,omitempty"`
	Commits      []GitCommit            `json:"commits,omitempty"`
	Repo         string                 `json:"repo,omitempty"` // inner id
	BuildURL     string                 `json:"build_url"`
	CommitURL    string                 `json:"commit_url"`
	RepoURL      *string                `json:"repo_url,omitempty"`
	ExternalURLs map[string]ExternalURL `json:"external_urls,omitempty"`
	Annotations  json.RawMessage        `json:"annotations,omitempty"`
	UserData     json.RawMessage        `json:"user_data,omitempty"`
	// Template is the id of the template in force in the trail at the time.
	Template     string  `json:"template"`
	CreatedAt    float64 `json:"created_at"`
	ReportedBy   string  `json:"reported_by"`
	ReportedByID string  `json:"reported_by_id"`
}

// Branch is the branch that the artifact was built from, "" when unknown.
func (a *ArtifactRecord) Branch() string {
	if a.Commit == nil || a.Commit.Branch == nil {
		return ""
	}
	return *a.Commit.Branch
}

// Subjects returns the subjects of attestations that are bound to the record (docs/semantics.md 6.2).
func (a *ArtifactRecord) Subjects() []Subject {
	trail := TrailKey(a.Flow, a.Trail)
	subjects := []Subject{{Trail: trail, Fingerprint: a.Fingerprint}, {Trail: trail, Name: a.Name}}
	if a.CommitSHA != "" {
		subjects = append(subjects, Subject{Trail: trail, Name: a.Name, Commit: a.CommitSHA})
	}
	return subjects
}

// SubjectsOfArtifact returns the subjects of attestations that are bound to the artifact of these records. Of several
// records under one name of a trail, the newest counts.
func SubjectsOfArtifact(records []ArtifactRecord) map[Subject]bool {
	newest := map[Subject]*ArtifactRecord{}
	for i := range records {
		record := &records[i]
		name := Subject{Trail: TrailKey(record.Flow, record.Trail), Name: record.Name}
		if known := newest[name]; known == nil || record.SlotArtifact().later(known.SlotArtifact()) {
			newest[name] = record
		}
	}
	subjects := map[Subject]bool{}
	for _, record := range newest {
		for _, subject := range record.Subjects() {
			subjects[subject] = true
		}
	}
	return subjects
}

// SlotArtifact is the part of the record that its slot stores.
func (a *ArtifactRecord) SlotArtifact() SlotArtifact {
	return SlotArtifact{
		Fingerprint: a.Fingerprint, Record: a.ID, Commit: a.CommitSHA, Filename: a.Filename, Time: a.CreatedAt,
	}
}
