// Package pdf renders the report of a trail as PDF, without I/O and clock.
package pdf

import (
	"attestry/evidence"
	"attestry/evidence/approval"
	"attestry/evidence/compliance"
)

// Document is what a report is made of. Times are Unix seconds, 0 for unknown.
type Document struct {
	Organization     string // name
	Flow             string // name
	FlowDescription  string
	Trail            string // name
	TrailDescription string
	// Link is the trail's page in the web, "" for none.
	Link    string
	BegunAt float64
	BegunBy string // name
	// AsOf is the time of the latest fact that the package has.
	AsOf float64
	// Generator is the program and its version, such as "Attestry 1.2".
	Generator string
	// Checksum is the SHA-256, in hex digits, of the member SHA256SUMS of the package.
	Checksum string

	Commit *evidence.GitCommit // nil if unknown
	// Compliance is what was expected and what was found.
	Compliance compliance.Report
	// Artifacts are all reports of artifacts, older ones too, in order of time.
	Artifacts []evidence.ArtifactRecord
	// Attestations are all of the trail and its artifacts, older ones too, in order of time.
	Attestations []Attestation
	// OmittedAttestations is how many the package has beside those in Attestations.
	OmittedAttestations int
	// Controls are those that exist of the controls that Attestations decide.
	Controls  []Control
	Approvals []approval.Approval
	// EnvironmentNames has the names of environments by id, as far as Approvals name them.
	EnvironmentNames map[string]string
	// Running is where artifacts of the trail run, ordered by environment.
	Running []Running
	// Events are the timeline of the trail, in order of time.
	Events []Event
	// OmittedEvents is how many the package has beside those in Events.
	OmittedEvents int
	// Lost are the files of evidence that the package should have and does not.
	Lost []LostFile
}

// Control is a requirement that decisions are about, as it is now.
type Control struct {
	Identifier  string
	Name        string
	Description string
	Version     int
	Archived    bool
}

// Running is an artifact of the trail that runs in an environment.
type Running struct {
	Environment string // name
	Fingerprint string
	Artifact    string // name that it runs under
	Since       float64
	Snapshot    int64 // number of the snapshot that says so
	Instances   int   // 0 if unknown
	// Compliant is the verdict of the snapshot, nil where no policy is applied.
	Compliant *bool
	// Sentences explain the verdict.
	Sentences []Sentence
	// Allowed is set if the environment's allow list has the artifact.
	Allowed *evidence.Allowance
}

// Sentence says how a rule of a policy was evaluated.
type Sentence struct {
	Policy  string // name
	Version int
	Text    string
	Remedy  string // "" if the rule does not fail
	Failing bool
}

// LostFile is a file of evidence that the object store no longer has as it was stored.
type LostFile struct {
	Path        string // in the package
	Attestation string // id
	SHA256      string
	// Altered tells that the object store has other content; else it has none.
	Altered bool
}

// Event is something that happened to the trail.
type Event struct {
	Time float64
	Text string // a sentence
}
