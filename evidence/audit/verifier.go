package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"attestry/evidence"
	"attestry/evidence/attestation"
	"attestry/evidence/policy"
	"attestry/evidence/template"
)

// Finding is a fault of a package.
type Finding struct {
	Member string // path
	Reason string
}

func (f Finding) String() string { return f.Member + ": " + f.Reason }

// Verifier verifies a package, member by member: that the members are those of the manifest, with the same content, and
// that the verdicts follow from the facts.
type Verifier struct {
	evaluator Evaluator
	limits    limits

	members  []Member
	used     int64 // bytes of memory
	known    map[string]bool
	findings []Finding
	omitted  int // findings

	manifest *Manifest
	page     []byte // nil if there is none

	trails       map[string]*TrailDocument // by id
	templates    map[string]template.Template
	artifacts    []ArtifactDocument
	attestations []attestationFacts
	lost         []LostEvidence
	evidence     map[string]evidenceRef // by path
	types        map[string]*customType // by path
	pending      []pendingVerdict       // their types come after them in the package
	failed       int                    // evaluations of custom types
	notEvaluated int
	policies     map[string]*policy.Policy
	environments []EnvironmentDocument
	events       []EventDocument
	approvals    map[string]evidence.ApprovalData // as events have them, by key
	log          Log
}

type evidenceRef struct {
	attestation string
	size        int64 // bytes
	sha256      string
}

// NewVerifier begins the verification of a package, with a limit of memory in bytes. Rules may be hostile.
func NewVerifier(evaluator Evaluator, memory int64) *Verifier {
	return &Verifier{
		evaluator: evaluator,
		// A document is in memory with its decoded form, and encoded again.
		limits: limits{document: memory / 8, decoded: memory / 4, documents: memory / 2, members: 1_000_000, findings: 1_000},
		known:  map[string]bool{}, trails: map[string]*TrailDocument{}, templates: map[string]template.Template{},
		evidence: map[string]evidenceRef{}, types: map[string]*customType{}, policies: map[string]*policy.Policy{},
		approvals: map[string]evidence.ApprovalData{},
		log:       Log{Entries: map[string]LoggedFact{}, files: map[string]map[string][]byte{}, groups: map[string]string{}, shown: map[string]shownFact{}},
	}
}

// Add reads a member of size bytes to its end. It returns errors of content and of exceeded limits. Faults of the
// member are findings.
func (v *Verifier) Add(path string, size int64, content io.Reader) error {
	if len(v.members) == v.limits.members {
		return errors.New("the package has too many members")
	}
	if err := v.reserve(len(path) + memberSize); err != nil {
		return err
	}
	hash := sha256.New()
	body := io.TeeReader(content, hash)
	read := readerOf(path)
	var document []byte
	if read != nil && size <= v.limits.document {
		document = make([]byte, size)
		if _, err := io.ReadFull(body, document); err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, body); err != nil {
		return err
	}
	if v.known[path] {
		v.report(path, "it is there twice")
		return nil
	}
	v.known[path] = true
	if path == ManifestPath {
		v.manifest = &Manifest{} // not nil, even if it cannot be read
	}
	v.members = append(v.members, Member{Path: path, Size: size, SHA256: hex.EncodeToString(hash.Sum(nil))})
	switch {
	case read == nil:
		return nil
	case size > v.limits.document:
		v.report(path, "it is longer than %d bytes, and would take too much memory", v.limits.document)
		return nil
	}
	if err := read(v, path, document); err != nil {
		v.report(path, "%v", err)
	}
	if strings.HasPrefix(path, attestationsFolder) || strings.HasPrefix(path, LogFolder) {
		return v.reserve(0) // their readers counted the memory
	}
	return v.reserve(len(document))
}

const attestationsFolder = "attestations/"

func isEvidence(path string) bool {
	return strings.HasPrefix(path, attestationsFolder) && !strings.HasSuffix(path, "/attestation.json")
}

func (v *Verifier) readManifest(_ string, content []byte) error {
	if err := checkSize(content, &Manifest{}, v.limits.decoded); err != nil {
		return err
	}
	manifest, err := ParseManifest(content)
	v.manifest = &manifest
	return err
}

func (v *Verifier) readPolicy(path string, content []byte) error {
	parsed, err := policy.ParseStored(content)
	v.policies[path] = &parsed
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(strings.TrimPrefix(path, "policies/"), ".yml")
	return v.addShown("policy", strings.ReplaceAll(name, "/", ":"), path, nil)
}

func (v *Verifier) readType(path string, document *TypeDocument) error {
	if path != TypePath(document.Name, document.Version) {
		return fmt.Errorf("it is version %d of the type '%s'", document.Version, document.Name)
	}
	v.types[path] = &customType{
		version: document.Version, definition: attestation.Definition{Schema: document.Schema, Rules: document.Rules},
		nondeterministic: slices.ContainsFunc(document.Rules, isNondeterministic),
	}
	return v.addShown("attestation_type", document.Name+":"+strconv.Itoa(document.Version), path, nil)
}

func (v *Verifier) readControl(path string, document *ControlDocument) error {
	if path != ControlPath(document.Identifier) {
		return fmt.Errorf("it is the control '%s'", document.Identifier)
	}
	return nil
}

func (v *Verifier) readTrail(path string, document *TrailDocument) error {
	if path != TrailPath && path != TrailOf(document.ID) {
		return fmt.Errorf("it is about the trail with id %s", document.ID)
	}
	v.trails[document.ID] = document
	return nil
}

func (v *Verifier) readArtifact(path string, document *ArtifactDocument) error {
	if path != ArtifactPath(document.Fingerprint) {
		return fmt.Errorf("it is about the artifact %s", document.Fingerprint)
	}
	for i := range document.Reports {
		record := &document.Reports[i]
		if record.Fingerprint != document.Fingerprint {
			return fmt.Errorf("report %s is about the artifact %s", record.ID, record.Fingerprint)
		}
		if err := v.addShown("artifact", record.ID, path, record); err != nil {
			return err
		}
	}
	v.artifacts = append(v.artifacts, *document)
	return nil
}

func (v *Verifier) readTemplate(path string, content []byte) error {
	id := template.ID(content)
	if path != TemplatePath(id) {
		return fmt.Errorf("it is the template with id %s", id)
	}
	parsed, err := template.Parse(content)
	v.templates[id] = parsed
	if err != nil || string(content) == template.Empty { // the empty template is built in, and no fact
		return err
	}
	return v.addShown("template", id, path, nil)
}

// readAttestation checks the verdict, and keeps the members that later checks read.
func (v *Verifier) readAttestation(path string, document *AttestationDocument) error {
	read := document.Attestation
	if path != AttestationPath(read.ID) {
		return fmt.Errorf("it is about the attestation %s", read.ID)
	}
	if err := v.readEvidence(document); err != nil {
		return err
	}
	if err := v.checkVerdict(path, &read); err != nil {
		return err
	}
	facts := attestationFacts{flow: read.Flow, trail: read.Trail, control: read.Control, controlVersion: read.ControlVersion, targets: read.Targets, entry: read.SlotEntry()}
	v.used += facts.size()
	v.attestations = append(v.attestations, facts)
	return v.addShown("attestation", read.ID, path, &read)
}

func (v *Verifier) readEvidence(document *AttestationDocument) error {
	file, want := document.Evidence, ""
	switch {
	case document.EvidenceLost != "" && (file == nil || !isLossReason(document.EvidenceLost)):
		return errors.New("it says that evidence is lost, but not which file or why")
	case document.EvidenceLost != "":
		lost := LostEvidence{
			Attestation: document.ID, Path: EvidencePath(document.ID), Size: file.Size, SHA256: file.SHA256, Reason: document.EvidenceLost,
		}
		v.used += lengthOf(lost.Attestation, lost.Path, lost.SHA256, lost.Reason)
		v.lost = append(v.lost, lost)
	case file != nil:
		want = EvidencePath(document.ID)
		v.used += lengthOf(want, document.ID, file.SHA256)
		v.evidence[want] = evidenceRef{attestation: document.ID, size: file.Size, sha256: file.SHA256}
	}
	if document.EvidencePath != want {
		return errors.New("it names another member than that of its evidence")
	}
	return nil
}

func isLossReason(reason string) bool { return reason == EvidenceMissing || reason == EvidenceAltered }

// checkVerdict compares the verdict of an attestation with the evaluation of its payload.
func (v *Verifier) checkVerdict(path string, a *evidence.Attestation) error {
	if a.Override != nil || a.Type == evidence.TypeGeneric {
		return nil // the verdict was reported
	}
	name, isCustom := strings.CutPrefix(a.Type, evidence.CustomPrefix)
	if data, sent := a.Payload[attestation.DataMember]; sent && isCustom {
		verdict := pendingVerdict{path: path, typePath: TypePath(name, a.TypeVersion), compliant: a.Compliant, data: data}
		if v.types[verdict.typePath] == nil { // a repacked package may have another order of members
			v.pending = append(v.pending, verdict)
			v.used += lengthOf(verdict.path, verdict.typePath) + int64(len(data))
			return nil
		}
		return v.checkCustom(&verdict)
	}
	computed, ok, err := evaluateBuiltIn(a, v.limits.decoded)
	switch {
	case err != nil:
		return err
	case !ok:
		v.notEvaluated++
		return nil
	}
	if err := compareVerdicts(a.Compliant, computed); err != nil || !attestation.NamesPeople(a) {
		return err
	}
	return checkPeople(a)
}

// checkPeople compares the approvals and the involved people of an attestation with its payload. They depend on the
// commit of the trail, so all merge commits and an unknown commit are tried. Earlier versions stored neither.
func checkPeople(a *evidence.Attestation) error {
	fault := fmt.Errorf("it says that %d approved, but its pull requests do not", a.Approvers)
	for _, commit := range append(attestation.MergeCommits(a), "") {
		computed, _ := attestation.Approved(a, commit)
		switch {
		case a.Approvers != 0 && computed != a.Approvers:
		case a.Involved == "" || a.Involved == attestation.Involved(a, commit):
			return nil
		default:
			fault = errors.New("who it says wrote, approved or decided does not follow from the rest of it")
		}
	}
	return fault
}

func compareVerdicts(said, computed bool) error {
	if said != computed {
		return fmt.Errorf("it says is_compliant %s, but its payload comes to %s", strconv.FormatBool(said), strconv.FormatBool(computed))
	}
	return nil
}
