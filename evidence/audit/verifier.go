package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"

	"attestry/evidence"
	"attestry/evidence/policy"
	"attestry/evidence/template"
)

// maxDocument bounds what is held in memory of a member, in bytes. Evidence files, which are only
// hashed, may be longer.
const maxDocument = 64 << 20

// Finding is something that is wrong with a package.
type Finding struct {
	// Member is the path of the member that is wrong.
	Member string
	Reason string
}

func (f Finding) String() string { return f.Member + ": " + f.Reason }

// Verifier verifies a package, member by member: that the manifest lists what is there, with the
// same content, and that the verdicts in the package follow from the facts in it.
type Verifier struct {
	evaluator Evaluator

	members  []Member
	known    map[string]bool
	findings []Finding

	manifest  *Manifest
	checksums []byte
	page      []byte // nil if there is none

	trails       map[string]*TrailDocument // by id
	templates    map[string]template.Template
	artifacts    []ArtifactDocument
	attestations []evidence.Attestation // without payloads
	lost         map[string]string      // paths of lost evidence by attestation
	evidence     map[string]evidenceRef // by path
	types        map[string]*customType // by path
	pending      []pendingVerdict       // of types that come behind them
	failed       int                    // evaluations of custom types
	notEvaluated int
	policies     map[string]*policy.Policy
	environments []EnvironmentDocument
}

// evidenceRef is the evidence file that an attestation names.
type evidenceRef struct {
	attestation string
	file        evidence.EvidenceFile
}

// NewVerifier begins to verify a package. Rules of custom types, which may be hostile, are evaluated by
// evaluator.
func NewVerifier(evaluator Evaluator) *Verifier {
	return &Verifier{
		evaluator: evaluator, known: map[string]bool{}, trails: map[string]*TrailDocument{}, templates: map[string]template.Template{},
		lost: map[string]string{}, evidence: map[string]evidenceRef{}, types: map[string]*customType{}, policies: map[string]*policy.Policy{},
	}
}

func (v *Verifier) report(member, format string, args ...any) {
	v.findings = append(v.findings, Finding{Member: member, Reason: fmt.Sprintf(format, args...)})
}

// Add reads a member to its end. The error is that of content; what is wrong with the member shows
// in the findings.
func (v *Verifier) Add(path string, content io.Reader) error {
	hash := sha256.New()
	body := io.TeeReader(content, hash)
	var held bytes.Buffer
	if !isEvidence(path) {
		if _, err := io.Copy(&held, io.LimitReader(body, maxDocument+1)); err != nil {
			return err
		}
	}
	rest, err := io.Copy(io.Discard, body)
	if err != nil {
		return err
	}
	if v.known[path] {
		v.report(path, "it is there twice")
		return nil
	}
	v.known[path] = true
	size := int64(held.Len()) + rest
	v.members = append(v.members, Member{Path: path, Size: size, SHA256: hex.EncodeToString(hash.Sum(nil))})
	if held.Len() > maxDocument {
		v.report(path, "it is longer than any member that is no evidence")
		return nil
	}
	if err := v.read(path, held.Bytes()); err != nil {
		v.report(path, "%v", err)
	}
	return nil
}

func isEvidence(path string) bool {
	return strings.HasPrefix(path, "attestations/") && !strings.HasSuffix(path, "/attestation.json")
}

// read takes in what the verdicts are evaluated from.
func (v *Verifier) read(path string, content []byte) error {
	folder, _, _ := strings.Cut(path, "/")
	switch {
	case path == ManifestPath:
		manifest, err := ParseManifest(content)
		v.manifest = &manifest
		return err
	case path == ChecksumsPath:
		v.checksums = content
	case path == ReportPath:
		v.page = content
	case path == EnvironmentsPath:
		return Decode(content, &v.environments)
	case path == TrailPath, folder == "trails":
		return v.readTrail(path, content)
	case folder == "artifacts":
		return v.readArtifact(path, content)
	case folder == "attestations" && !isEvidence(path):
		return v.readAttestation(path, content)
	case folder == "templates":
		return v.readTemplate(path, content)
	case folder == "policies":
		parsed, err := policy.Parse(content)
		v.policies[path] = &parsed
		return err
	case folder == "attestation-types":
		var document TypeDocument
		err := Decode(content, &document)
		v.types[path] = newCustomType(&document)
		return err
	}
	return nil
}

func (v *Verifier) readTrail(path string, content []byte) error {
	var document TrailDocument
	if err := Decode(content, &document); err != nil {
		return err
	}
	if path != TrailPath && path != TrailOf(document.ID) {
		return fmt.Errorf("it is about the trail with id %s", document.ID)
	}
	v.trails[document.ID] = &document
	return nil
}

func (v *Verifier) readArtifact(path string, content []byte) error {
	var document ArtifactDocument
	if err := Decode(content, &document); err != nil {
		return err
	}
	if path != ArtifactPath(document.Fingerprint) {
		return fmt.Errorf("it is about the artifact %s", document.Fingerprint)
	}
	for i := range document.Reports {
		record := &document.Reports[i]
		if record.Fingerprint != document.Fingerprint {
			return fmt.Errorf("report %s is about the artifact %s", record.ID, record.Fingerprint)
		}
	}
	v.artifacts = append(v.artifacts, document)
	return nil
}

func (v *Verifier) readTemplate(path string, content []byte) error {
	id := template.ID(content)
	if path != TemplatePath(id) {
		return fmt.Errorf("it is the template with id %s", id)
	}
	parsed, err := template.ParseStored(content)
	v.templates[id] = parsed
	return err
}

// readAttestation evaluates the payload, which then is not held any more.
func (v *Verifier) readAttestation(path string, content []byte) error {
	var document AttestationDocument
	if err := Decode(content, &document); err != nil {
		return err
	}
	read := document.Attestation
	if path != AttestationPath(read.ID) {
		return fmt.Errorf("it is about the attestation %s", read.ID)
	}
	if read.Evidence != nil {
		at := EvidencePath(read.ID)
		if document.EvidenceLost != "" {
			v.lost[read.ID] = at
		} else {
			v.evidence[at] = evidenceRef{attestation: read.ID, file: *read.Evidence}
		}
	}
	if err := v.checkVerdict(path, &read); err != nil {
		return err
	}
	read.Payload, read.UserData = nil, nil
	v.attestations = append(v.attestations, read)
	return nil
}

// checkVerdict compares the verdict of an attestation with what its payload comes to.
func (v *Verifier) checkVerdict(path string, a *evidence.Attestation) error {
	if !followsFromPayload(a) {
		return nil
	}
	if data, sent := a.Payload[dataMember]; sent && isCustom(a) {
		verdict := pendingVerdict{path: path, typePath: typePathOf(a), compliant: a.Compliant, data: data}
		if v.types[verdict.typePath] == nil { // members of a package that was packed again have any order
			v.pending = append(v.pending, verdict)
			return nil
		}
		return v.checkCustom(&verdict)
	}
	came, ok, err := evaluateBuiltIn(a)
	switch {
	case err != nil:
		return err
	case !ok:
		v.notEvaluated++
		return nil
	}
	return compareVerdicts(a.Compliant, came)
}

func compareVerdicts(said, came bool) error {
	if said != came {
		return fmt.Errorf("it says is_compliant %s, but its payload comes to %s", strconv.FormatBool(said), strconv.FormatBool(came))
	}
	return nil
}
