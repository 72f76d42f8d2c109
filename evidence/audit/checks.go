package audit

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"attestry/evidence"
	"attestry/evidence/policy"
	"attestry/evidence/template"
)

// Result is the result of the verification.
type Result struct {
	// Manifest is nil if the package has none that can be read.
	Manifest *Manifest
	Findings []Finding
	// OmittedFindings is the number of findings beyond those in Findings.
	OmittedFindings int
	// Members, Attestations and Artifacts are their numbers.
	Members, Attestations, Artifacts int
	// NotEvaluated is the number of verdicts whose payloads could not be evaluated again.
	NotEvaluated int
	Log          *Log
}

// Finish returns the result. Verdicts are evaluated only if no member was altered.
func (v *Verifier) Finish() Result {
	for i := range v.pending {
		if err := v.checkCustom(&v.pending[i]); err != nil {
			v.report(v.pending[i].path, "%v", err)
		}
	}
	v.checkManifest()
	v.checkLog()
	for _, check := range []func(){v.checkLayout, v.checkSubject, v.checkEvents, v.checkEvidence, v.checkControls, v.checkVerdicts} {
		if len(v.findings) == 0 {
			check()
		}
	}
	// A manifest that cannot be read lists no member. If it is of a later version, other members may have another form too.
	if v.manifest != nil && v.manifest.SchemaVersion != SchemaVersion {
		v.findings, v.omitted = slices.DeleteFunc(v.findings, func(f Finding) bool { return f.Member != ManifestPath }), 0
	}
	slices.SortFunc(v.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Member, b.Member), cmp.Compare(a.Reason, b.Reason))
	})
	return Result{
		Manifest: v.manifest, Findings: v.findings, OmittedFindings: v.omitted,
		Members: len(v.members), Attestations: len(v.attestations), Artifacts: len(v.artifacts),
		NotEvaluated: v.notEvaluated, Log: &v.log,
	}
}

// checkManifest compares the members with the manifest and with SHA256SUMS.
func (v *Verifier) checkManifest() {
	if v.manifest == nil {
		v.report(ManifestPath, "it is missing")
		return
	}
	listed := map[string]Member{}
	for _, member := range v.manifest.Members {
		if _, twice := listed[member.Path]; twice || member.Path == ManifestPath {
			v.report(ManifestPath, "it lists a member twice, or itself")
		}
		listed[member.Path] = member
		if !v.known[member.Path] {
			v.report(member.Path, "it is missing")
		}
	}
	for _, member := range v.members {
		if member.Path == ManifestPath {
			continue
		}
		want, ok := listed[member.Path]
		switch {
		case !ok:
			v.report(member.Path, "the manifest does not list it")
		case member != want:
			v.report(member.Path, "it was altered: its SHA-256 is %s, not %s", member.SHA256, want.SHA256)
		}
	}
	if len(v.findings) > 0 {
		return
	}
	sum := evidence.SHA256(Checksums(SummedMembers(v.manifest.Members)))
	if listed[ChecksumsPath].SHA256 != sum {
		v.report(ChecksumsPath, "it does not match the manifest")
	}
	if v.page != nil && !bytes.Contains(v.page, []byte(sum)) {
		v.report(ReportPath, "it does not show the SHA-256 of %s", ChecksumsPath)
	}
}

// checkEvidence compares the evidence files with the sizes and digests in the attestations.
func (v *Verifier) checkEvidence() {
	for _, member := range v.members {
		if !isEvidence(member.Path) {
			continue
		}
		ref, ok := v.evidence[member.Path]
		delete(v.evidence, member.Path)
		switch {
		case !ok:
			v.report(member.Path, "no attestation names it")
		case ref.sha256 != member.SHA256 || ref.size != member.Size:
			v.report(member.Path, "it is not the file that attestation %s names", ref.attestation)
		}
	}
	for path, ref := range v.evidence {
		v.report(path, "it is missing, though attestation %s names it", ref.attestation)
	}
	byID := func(a, b LostEvidence) int { return cmp.Compare(a.Attestation, b.Attestation) }
	listed := slices.SortedFunc(slices.Values(v.manifest.LostEvidence), byID)
	slices.SortFunc(v.lost, byID)
	if !slices.Equal(listed, v.lost) {
		v.report(ManifestPath, "the evidence that it lists as lost is not that of the attestations")
	}
}

// checkControls reports controls that decisions were made on and that the package does not have.
func (v *Verifier) checkControls() {
	for i := range v.attestations {
		if one := &v.attestations[i]; one.controlVersion > 0 && !v.known[ControlPath(one.control)] {
			v.report(ControlPath(one.control), "it is missing, though attestation %s decides on it", one.entry.ID)
		}
	}
}

func (v *Verifier) checkVerdicts() {
	evaluations := map[string]*Evaluation{} // by the trail's id
	for _, id := range v.trailIDs() {
		document := v.trails[id]
		parsed, ok := v.templates[document.Template]
		if !ok {
			v.report(TemplatePath(document.Template), "it is missing")
			return
		}
		evaluations[id] = v.evaluate(document, parsed)
		v.checkTrail(document, evaluations[id])
	}
	for i := range v.artifacts {
		v.checkArtifact(&v.artifacts[i], evaluations)
	}
	for i := range v.environments {
		v.checkEnvironment(&v.environments[i], evaluations)
	}
}

func (v *Verifier) trailIDs() []string { return slices.Sorted(maps.Keys(v.trails)) }

func (v *Verifier) evaluate(document *TrailDocument, parsed template.Template) *Evaluation {
	trail := NewTrail(document.Flow, document.Name, document.Commit, document.Template, parsed)
	for i := range v.artifacts {
		for j := range v.artifacts[i].Reports {
			if record := &v.artifacts[i].Reports[j]; record.Flow == document.Flow.ID && record.Trail == document.Name {
				trail.Report(record)
			}
		}
	}
	for i := range v.attestations {
		if one := &v.attestations[i]; one.flow == document.Flow.ID && one.trail == document.Name {
			trail.AttestEntry(one.entry, one.targets)
		}
	}
	return trail.Evaluate()
}

func (v *Verifier) checkTrail(document *TrailDocument, evaluation *Evaluation) {
	if document.Compliance == nil {
		return
	}
	computed := NewComplianceDocument(&evaluation.Report)
	if !same(computed, document.Compliance) {
		v.report(TrailPath, "it says %s, but its facts come to %s", document.Compliance.Status, computed.Status)
	}
	if v.manifest.Status != computed.Status {
		v.report(ManifestPath, "it says %s, but the facts come to %s", v.manifest.Status, computed.Status)
	}
}

func (v *Verifier) checkArtifact(document *ArtifactDocument, evaluations map[string]*Evaluation) {
	path := ArtifactPath(document.Fingerprint)
	for _, state := range document.States {
		if trail := v.trails[state.TrailID]; trail == nil || trail.Name != state.Trail {
			v.report(path, "it has a state in a trail that the package does not have")
		}
	}
	for id, evaluation := range evaluations {
		var said []ArtifactStatus
		for _, state := range document.States {
			if state.TrailID == id {
				said = append(said, state.ArtifactStatus)
			}
		}
		if !same(evaluation.Artifact(document.Fingerprint), said) {
			v.report(path, "its state in trail '%s' does not follow from the facts", v.trails[id].Name)
		}
	}
}

func (v *Verifier) checkEnvironment(document *EnvironmentDocument, evaluations map[string]*Evaluation) {
	subject := fmt.Sprintf("artifact %s in environment '%s'", document.Fingerprint, document.Environment)
	if !slices.ContainsFunc(v.artifacts, func(a ArtifactDocument) bool { return a.runsAs(document) }) {
		v.report(EnvironmentsPath, "the package does not have %s", subject)
	}
	if document.Facts.Fingerprint != document.Fingerprint {
		v.report(EnvironmentsPath, "the facts of %s are those of another artifact", subject)
	}
	// The package of an artifact lacks other artifacts of its trails, of which the running one may be a child too.
	subjectOf := &v.manifest.Subject
	ofOthers := subjectOf.Kind == OfArtifact && slices.ContainsFunc(document.ChildOf, func(one string) bool { return one != subjectOf.Fingerprint })
	for _, trail := range v.trails {
		stated := func(f policy.Flow) bool { return f.Name == trail.Flow.Name && f.Trail == trail.Name }
		if !ofOthers && slices.ContainsFunc(document.Facts.Flows, stated) {
			v.report(EnvironmentsPath, "the facts of %s repeat trail '%s', which the package has", subject, trail.Name)
		}
	}
	v.checkDecisions(document, subject)
	var applied []policy.Applied
	for _, one := range document.Policies {
		parsed := v.policies[PolicyPath(one.Policy, one.Version)]
		if parsed == nil {
			v.report(PolicyPath(one.Policy, one.Version), "it is missing")
			return
		}
		applied = append(applied, policy.Applied{Reference: policy.Reference{Name: one.Policy, Version: one.Version}, Policy: parsed})
	}
	computed := *document
	err := computed.Judge(applied, evaluations)
	switch {
	case err != nil:
		v.report(EnvironmentsPath, "the verdict on %s cannot be evaluated: %v", subject, err)
	case !same(computed, *document):
		v.report(EnvironmentsPath, "the verdict on %s does not follow from the facts", subject)
	}
}

// checkDecisions compares the decisions in the facts of policies with the attestations of the package. The package may
// lack decisions: those of other trails, and one that was made while it was assembled.
func (v *Verifier) checkDecisions(document *EnvironmentDocument, subject string) {
	for control, decision := range document.Facts.Decisions {
		for i := range v.attestations {
			one := &v.attestations[i]
			if one.entry.ID == decision.Entry.ID && (one.control != control || !same(one.entry.Entry, decision.Entry)) {
				v.report(EnvironmentsPath, "the decision on control '%s' for %s is not that of attestation %s", control, subject, one.entry.ID)
			}
		}
	}
}

// same compares the encodings of two documents.
func same(a, b any) bool {
	first, errA := Encode(a)
	second, errB := Encode(b)
	return errA == nil && errB == nil && bytes.Equal(first, second)
}
