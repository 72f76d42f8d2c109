// Package pdf renders reports as PDF, without I/O and clock.
package pdf

import (
	"attestry/evidence"
	"attestry/evidence/approval"
	"attestry/evidence/audit"
	"attestry/evidence/compliance"
)

// Document is the input of a report. Times are Unix seconds, 0 for unknown.
type Document struct {
	Trail audit.TrailDocument
	// AsOf is the time of the latest fact that the package has.
	AsOf float64
	// Generator is the program and its version, such as "Attestry 1.2".
	Generator string
	// Checksum is the SHA-256, in hex digits, of the member SHA256SUMS of the package.
	Checksum string

	// Compliance is what the template requires and what was reported.
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
	// Controls are the existing controls of decisions and of the policies in Running.
	Controls  []audit.ControlDocument
	Approvals []approval.Approval
	// EnvironmentNames has the names of the environments in Approvals, by id.
	EnvironmentNames map[string]string
	// Running is where artifacts of the trail run, ordered by environment.
	Running []audit.EnvironmentDocument
	// Events are the timeline of the trail, in order of time.
	Events []evidence.TrailEvent
	// Lost are the files of evidence that the package lacks.
	Lost []audit.LostEvidence
}
