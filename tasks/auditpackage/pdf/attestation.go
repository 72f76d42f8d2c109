package pdf

import (
	"fmt"
	"strings"

	"attestry/evidence"
	"attestry/evidence/attestation"
)

const (
	// maxDescription and maxReason bound clients' texts, in bytes: there can be 10,000 attestations.
	maxDescription = 1_000
	maxReason      = 4_000
	// maxName bounds names in the same way. Names are shorter, but for file names.
	maxName = 1_000
	// maxTargets is how many artifact names of one attestation are kept.
	maxTargets = 20
)

// Attestation is what the report shows of an attestation: no payload, to need little memory.
type Attestation struct {
	ID          string
	Name        string
	Type        string
	TypeVersion int // of custom types, else 0
	Compliant   bool
	Time        float64
	Reporter    string
	// Fingerprint, ArtifactName and Targets are as in evidence.Attestation, empty if it is of the trail.
	Fingerprint  string
	ArtifactName string
	Targets      []string
	// OmittedTargets is how many it has beside Targets.
	OmittedTargets int
	Description    string
	OriginURL      string
	// Override is set when this overrides another attestation, or a missing one.
	Override *evidence.Override
	Evidence *File
	// Control is the control that it decides, "" if it is no decision.
	Control        string
	ControlVersion int // 0 if the control did not exist
	// Summary sums up the payload in short lines.
	Summary []string
	// PullRequests are the first of those that were found.
	PullRequests []PullRequest
}

// File is a file of evidence.
type File struct {
	Path     string // in the package
	Filename string // as it was sent
	Size     int64  // bytes
	SHA256   string
	// Lost tells that the object store no longer has the file as it was stored.
	Lost bool
}

// NewAttestation reduces an attestation to what the report shows of it. path is that of its
// evidence file in the package, and lost tells that the package does not have the file.
func NewAttestation(a *evidence.Attestation, path string, lost bool) Attestation {
	reduced := Attestation{
		ID: a.ID, Name: shorten(a.Name, maxName), Type: shorten(a.Type, maxName), TypeVersion: a.TypeVersion,
		Compliant: a.Compliant, Time: a.CreatedAt, Reporter: shorten(a.ReportedBy, maxName),
		Fingerprint: a.Fingerprint, ArtifactName: shorten(a.ArtifactName, maxName),
		Control: shorten(a.Control, maxName), ControlVersion: a.ControlVersion,
		Description: shorten(evidence.Text(a.Description), maxDescription), OriginURL: shorten(evidence.Text(a.OriginURL), maxName),
		Summary: summarize(a), PullRequests: pullRequests(a),
	}
	for _, target := range a.Targets[:min(len(a.Targets), maxTargets)] {
		reduced.Targets = append(reduced.Targets, shorten(target, maxName))
	}
	reduced.OmittedTargets = len(a.Targets) - len(reduced.Targets)
	if a.Override != nil {
		reduced.Override = &evidence.Override{Reason: shorten(a.Override.Reason, maxReason), Original: a.Override.Original}
	}
	if a.Evidence != nil {
		reduced.Evidence = &File{
			Path: shorten(path, maxName), Filename: shorten(a.Evidence.Filename, maxName),
			Size: a.Evidence.Size, SHA256: a.Evidence.SHA256, Lost: lost,
		}
	}
	return reduced
}

// ofTrail tells that the attestation is about the trail itself.
func (a *Attestation) ofTrail() bool { return a.Fingerprint == "" && len(a.Targets) == 0 }

func (a *Attestation) verdict() evidence.Status { return verdictOf(a.Compliant) }

func verdictOf(compliant bool) evidence.Status {
	if compliant {
		return evidence.Compliant
	}
	return evidence.NonCompliant
}

func shorten(text string, most int) string { return evidence.Shorten(text, most) }

const (
	// maxSummaryLines and maxSummaryLine bound the summary of a payload, the latter in bytes.
	maxSummaryLines = 8
	maxSummaryLine  = 300
)

// summarize sums up what only this type has, nil for payloads of earlier forms.
func summarize(a *evidence.Attestation) []string {
	return shortened(attestation.Summary(a.Type, a.Finding, a.Override != nil, a.Payload))
}

func shortened(lines []string) []string {
	if more := len(lines) - maxSummaryLines; more > 0 {
		lines = append(lines[:maxSummaryLines:maxSummaryLines], fmt.Sprintf("and %d more", more))
	}
	for i, line := range lines {
		lines[i] = strings.Clone(shorten(line, maxSummaryLine)) // without the payload, which may be large
	}
	return lines
}
