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

// Attestation is the part of an attestation that the report shows, shortened and without payload to save memory.
type Attestation struct {
	evidence.Attestation
	// OmittedTargets is how many targets it has besides Targets.
	OmittedTargets int
	// Path is that of its file of evidence in the package.
	Path string
	// Lost means that the object store no longer has the file as it was stored.
	Lost bool
	// Summary summarizes the payload in short lines.
	Summary []string
	// PullRequests are the first pull requests that were found.
	PullRequests []PullRequest
}

// NewAttestation reduces an attestation to its part in the report. path is that of its evidence file in the package,
// and lost means that the package does not have the file.
func NewAttestation(a *evidence.Attestation, path string, lost bool) Attestation {
	reduced := Attestation{
		Attestation: evidence.Attestation{
			ID: a.ID, Name: a.Name, Type: a.Type, TypeVersion: a.TypeVersion, Compliant: a.Compliant, CreatedAt: a.CreatedAt,
			ReportedBy: a.ReportedBy, Fingerprint: a.Fingerprint, ArtifactName: a.ArtifactName,
			Control: a.Control, ControlVersion: a.ControlVersion,
		},
		Path: shorten(path, maxName), Lost: lost, PullRequests: pullRequests(a),
		Summary: shortened(attestation.Summary(a.Type, a.Finding, a.Override != nil, a.Payload)),
	}
	for _, name := range []*string{&reduced.Name, &reduced.Type, &reduced.ReportedBy, &reduced.ArtifactName, &reduced.Control} {
		*name = shorten(*name, maxName)
	}
	reduced.Description = new(shorten(evidence.ZeroIfNil(a.Description), maxDescription))
	reduced.OriginURL = new(shorten(evidence.ZeroIfNil(a.OriginURL), maxName))
	for _, target := range a.Targets[:min(len(a.Targets), maxTargets)] {
		reduced.Targets = append(reduced.Targets, shorten(target, maxName))
	}
	reduced.OmittedTargets = len(a.Targets) - len(reduced.Targets)
	if a.Override != nil {
		reduced.Override = &evidence.Override{Reason: shorten(a.Override.Reason, maxReason), Original: a.Override.Original}
	}
	if a.Evidence != nil {
		reduced.Evidence = &evidence.EvidenceFile{Filename: shorten(a.Evidence.Filename, maxName), Size: a.Evidence.Size, SHA256: a.Evidence.SHA256}
	}
	return reduced
}

func shorten(text string, most int) string { return evidence.Shorten(text, most) }

const (
	// maxSummaryLines and maxSummaryLine bound the summary of a payload, the latter in bytes.
	maxSummaryLines = 8
	maxSummaryLine  = 300
)

func shortened(lines []string) []string {
	if more := len(lines) - maxSummaryLines; more > 0 {
		lines = append(lines[:maxSummaryLines:maxSummaryLines], fmt.Sprintf("and %d more", more))
	}
	for i, line := range lines {
		lines[i] = strings.Clone(shorten(line, maxSummaryLine)) // without the payload, which may be large
	}
	return lines
}
