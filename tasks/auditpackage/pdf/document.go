// Package pdf renders the report of a trail as PDF, without I/O and clock.
package pdf

import (
	"attestry/evidence"
	"attestry/evidence/approval"
	"attestry/evidence/audit"
	"attestry/evidence/compliance"
)

// Document is what a report is made of. Times are Unix seconds, 0 for unknown.
type Document struct {
	Trail audit.TrailDocument
	// AsOf is the time of the latest fact that the package has.
	AsOf float64
	// Generator is the program and its version, such as "Attestry 1.2".
	Generator string
	// Checksum is the SHA-256, in hex digits, of the member SHA256SUMS of the package.
	Checksum string

	// Compliance is what was expected and what was found.
	Compliance compliance.Report
	// Artifacts are all reports of artifacts, older ones too, in order of time.
	Artifacts []evidence.ArtifactRecord
	// Attestations are those of the trail and its artifacts, older ones too, in order of time: at most MaxAttestations.
	Attestations []Attestation
	// Recorded is how many attestations the package has. NotCompliant is how many of them are not compliant.
	Recorded, NotCompliant int
	// Files is how many files of evidence the attestations have, of FileBytes bytes.
	Files     int
	FileBytes int64
	// Controls are those that exist of the controls that Attestations decide.
	Controls  []audit.ControlDocument
	Approvals []approval.Approval
	// EnvironmentNames has the names of environments by id, as far as Approvals name them.
	EnvironmentNames map[string]string
	// Running is where artifacts of the trail run, ordered by environment.
	Running []audit.EnvironmentDocument
	// Events are the timeline of the trail, in order of time.
	Events []evidence.TrailEvent
	// Lost are the files of evidence that the package should have and does not.
	Lost []audit.LostEvidence
}
