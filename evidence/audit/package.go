// Package audit is the format of audit packages: what is in them, under which names, and how a
// stranger verifies one without asking anybody (docs/semantics.md 21). An archive of a package is
// written by tasks/auditpackage and verified by scripts/verify-package.
package audit

import (
	_ "embed"
	"fmt"
	"net/url"
)

// SchemaVersion is that of the format. It grows when verifiers have to know of a change.
const SchemaVersion = 1

// MaxTrails is how many trails the package of an artifact covers: the newest that it was reported to.
const MaxTrails = 100

// Kind says what a package is of.
type Kind string

// The kinds of packages.
const (
	OfTrail       Kind = "trail"
	OfArtifact    Kind = "artifact"
	OfAttestation Kind = "attestation"
)

// Subject is what a package is of. Names are those of the time when it was assembled.
type Subject struct {
	Kind         Kind   `json:"kind"`
	Organization string `json:"organization"`
	Flow         string `json:"flow"`
	// Trail is set unless the package is of an artifact, which may have been reported to several.
	Trail string `json:"trail,omitempty"`
	// Fingerprint is set if the package is of an artifact, Attestation, an id, if it is of one.
	Fingerprint string `json:"fingerprint,omitempty"`
	Attestation string `json:"attestation_id,omitempty"`
}

// The members that there are once.
const (
	ManifestPath     = "manifest.json"
	ChecksumsPath    = "SHA256SUMS"
	InstructionsPath = "VERIFY.md"
	TrailPath        = "trail.json"     // of a trail's package alone
	ReportPath       = "trail-page.pdf" // of a trail's package alone
	EventsPath       = "events.json"
	EnvironmentsPath = "environments.json"
	// ApprovalsPath is there if artifacts were approved.
	ApprovalsPath = "approvals.json"
)

// The members of packages of organizations that have a transparency log.
const (
	SignaturePath       = "SHA256SUMS.note"
	CheckpointPath      = LogFolder + "checkpoint"
	LogInstructionsPath = LogFolder + "README.md"
	VerifierKeysPath    = LogFolder + "verifier-keys"
	// UnloggedPath is there if some facts of the package are not in the log.
	UnloggedPath = LogFolder + "not-logged"
	// LogFolder is where all but the first of these are.
	LogFolder = "log/"
)

// The files of a fact that is in the log, and of a group of entries.
const (
	EntryFile = "entry.json"
	FactFile  = "fact.json"
	ProofFile = "proof.tlog-proof"
	SaltFile  = "salt"
	GroupFile = "group"
)

// FactFolder is where the files of a fact are whose entry has a kind and an id.
func FactFolder(kind, id string) string {
	return LogFolder + "facts/" + kind + "/" + url.PathEscape(id) + "/"
}

// GroupFolder is where the files of a group are, by the commitment that entries have.
func GroupFolder(commitment string) string { return groupsFolder + commitment + "/" }

const groupsFolder = LogFolder + "groups/"

// ArtifactPath is the member that describes the artifact of a fingerprint.
func ArtifactPath(fingerprint string) string { return "artifacts/" + fingerprint + "/artifact.json" }

// AttestationPath is the member that has the attestation of an id.
func AttestationPath(id string) string { return "attestations/" + id + "/attestation.json" }

// TrailOf is the member that describes the trail of an id where the package is not of one trail.
func TrailOf(id string) string { return "trails/" + id + ".json" }

// TemplatePath is the flow template of an id.
func TemplatePath(id string) string { return "templates/" + id + ".yml" }

// PolicyPath is a version of the file of a policy.
func PolicyPath(name string, version int) string {
	return fmt.Sprintf("policies/%s/%d.yml", url.PathEscape(name), version)
}

// TypePath is a version of a custom attestation type.
func TypePath(name string, version int) string {
	return fmt.Sprintf("attestation-types/%s/%d.json", url.PathEscape(name), version)
}

// ControlPath is a control.
func ControlPath(identifier string) string { return "controls/" + url.PathEscape(identifier) + ".json" }

// EvidencePath is the member that has the evidence file of an attestation. It has the name under
// which clients know every such file, whatever it is; the attestation says what it was called.
func EvidencePath(attestation string) string { return "attestations/" + attestation + "/evidence.tgz" }

// Instructions is the content of the member at InstructionsPath.
//
//go:embed VERIFY.md
var Instructions []byte

// LogInstructions is the content of the member at LogInstructionsPath.
//
//go:embed LOG.md
var LogInstructions []byte
