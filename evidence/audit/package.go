// Package audit is the format of audit packages: their members, and how they are verified offline (docs/semantics.md
// 21). tasks/auditpackage writes the archive of a package, scripts/verify-package verifies it.
package audit

import (
	_ "embed"
	"fmt"
	"net/url"
)

// SchemaVersion is that of the format. It is incremented by changes that verifiers depend on.
const SchemaVersion = 1

// MaxTrails bounds the trails in the package of an artifact: it has the newest ones that the artifact was reported to.
const MaxTrails = 100

// Kind is the kind of a package's subject.
type Kind string

// The kinds of packages.
const (
	OfTrail       Kind = "trail"
	OfArtifact    Kind = "artifact"
	OfAttestation Kind = "attestation"
)

// Subject is what a package is about. Names are those at the time of its assembly.
type Subject struct {
	Kind         Kind   `json:"kind"`
	Organization string `json:"organization"`
	Flow         string `json:"flow"`
	// Trail is not set for a package of an artifact, which may have been reported to several trails.
	Trail string `json:"trail,omitempty"`
	// Fingerprint is set for a package of an artifact, Attestation, an id, for one of an attestation.
	Fingerprint string `json:"fingerprint,omitempty"`
	Attestation string `json:"attestation_id,omitempty"`
}

// The members outside of folders.
const (
	ManifestPath     = "manifest.json"
	ChecksumsPath    = "SHA256SUMS"
	InstructionsPath = "VERIFY.md"
	TrailPath        = "trail.json"     // only in the package of a trail
	ReportPath       = "trail-page.pdf" // only in the package of a trail
	EventsPath       = "events.json"
	EnvironmentsPath = "environments.json"
	// ApprovalsPath exists if artifacts were approved.
	ApprovalsPath = "approvals.json"
)

// The members of packages of organizations that have a transparency log.
const (
	SignaturePath       = "SHA256SUMS.note"
	CheckpointPath      = LogFolder + "checkpoint"
	LogInstructionsPath = LogFolder + "README.md"
	VerifierKeysPath    = LogFolder + "verifier-keys"
	// UnloggedPath exists if some facts of the package are not in the log.
	UnloggedPath = LogFolder + "not-logged"
	LogFolder    = "log/"
)

// The files of a fact that is in the log, and of a group of entries.
const (
	EntryFile = "entry.json"
	FactFile  = "fact.json"
	ProofFile = "proof.tlog-proof"
	SaltFile  = "salt"
	GroupFile = "group"
)

// FactFolder is the folder with the files of a fact, by the kind and the id of its entry.
func FactFolder(kind, id string) string {
	return LogFolder + "facts/" + kind + "/" + url.PathEscape(id) + "/"
}

// GroupFolder is the folder with the files of a group, by its commitment.
func GroupFolder(commitment string) string { return groupsFolder + commitment + "/" }

const groupsFolder = LogFolder + "groups/"

// ArtifactPath is the member with the artifact of a fingerprint.
func ArtifactPath(fingerprint string) string { return "artifacts/" + fingerprint + "/artifact.json" }

// AttestationPath is the member with the attestation of an id.
func AttestationPath(id string) string { return "attestations/" + id + "/attestation.json" }

// TrailOf is the member with the trail of an id, in packages of artifacts and attestations.
func TrailOf(id string) string { return "trails/" + id + ".json" }

// TemplatePath is the member with the flow template of an id.
func TemplatePath(id string) string { return "templates/" + id + ".yml" }

// PolicyPath is the member with a version of a policy.
func PolicyPath(name string, version int) string {
	return fmt.Sprintf("policies/%s/%d.yml", url.PathEscape(name), version)
}

// TypePath is the member with a version of a custom attestation type.
func TypePath(name string, version int) string {
	return fmt.Sprintf("attestation-types/%s/%d.json", url.PathEscape(name), version)
}

// ControlPath is the member with a control.
func ControlPath(identifier string) string { return "controls/" + url.PathEscape(identifier) + ".json" }

// EvidencePath is the member with the evidence file of an attestation. Clients use this name for all such files; the
// attestation has the original name.
func EvidencePath(attestation string) string { return "attestations/" + attestation + "/evidence.tgz" }

// Instructions is the content of the member at InstructionsPath.
//
//go:embed VERIFY.md
var Instructions []byte

// LogInstructions is the content of the member at LogInstructionsPath.
//
//go:embed LOG.md
var LogInstructions []byte
