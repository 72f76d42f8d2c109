package audit

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/approval"
	"attestry/evidence/attestation"
	"attestry/evidence/attestation/attestationtest"
	"attestry/evidence/evidencetest"
	"attestry/evidence/policy"
	"attestry/evidence/template"
)

// ofArtifact returns the verifier of a package of artifact f, which was reported to trail one and attested there.
func ofArtifact() *Verifier {
	v := NewVerifier(attestationtest.Evaluate, DefaultMemory)
	v.manifest = &Manifest{Subject: Subject{Kind: OfArtifact, Organization: "acme", Flow: "build", Fingerprint: "f"}}
	v.trails["t1"] = &TrailDocument{ID: "t1", Organization: "acme", Flow: FlowDocument{ID: "b", Name: "build"}, Name: "one"}
	v.artifacts = []ArtifactDocument{{Fingerprint: "f", Reports: []evidence.ArtifactRecord{{ID: "r", Flow: "b", Trail: "one", Fingerprint: "f"}}}}
	v.attestations = []attestationFacts{{flow: "b", trail: "one", entry: evidence.SlotEntry{Entry: evidence.Entry{ID: "a"}}}}
	v.known[ArtifactPath("f")], v.known[AttestationPath("a")], v.log.shown["artifact/r"] = true, true, shownFact{}
	return v
}

// addTrails adds trails to the package until it has n.
func addTrails(v *Verifier, n int) {
	for i := len(v.trails); i < n; i++ {
		added := *v.trails["t1"]
		added.Name = fmt.Sprint("trail ", i)
		v.trails[fmt.Sprint("added ", i)] = &added
	}
}

func TestSubjectEventsAndDecisionsMustFitTheDocuments(t *testing.T) {
	event := func(kind string, data any) func(*Verifier) {
		return func(v *Verifier) {
			v.events = []EventDocument{{TrailID: "t1", TrailEvent: evidence.TrailEvent{ID: "e", Type: kind, Data: data}}}
		}
	}
	approved := func(state approval.State, told evidence.ApprovalData) func(*Verifier) {
		content, err := Encode([]approval.Approval{{Flow: "b", Number: 1, Target: "f", State: state}})
		evidencetest.Must(t, err)
		return func(v *Verifier) {
			evidencetest.Check(t, v.readApprovals(ApprovalsPath, content))
			event(evidence.ArtifactApproval, &told)(v)
		}
	}
	decided := func(control, name string) func(*Verifier) {
		return func(v *Verifier) {
			v.attestations[0].control, v.attestations[0].entry.Name = "C", "go"
			decisions := map[string]policy.Decision{control: {Entry: evidence.Entry{ID: "a", Name: name}}, "D": {Entry: evidence.Entry{ID: "b"}}}
			v.environments = []EnvironmentDocument{{Fingerprint: "f", Environment: "e", Facts: policy.Facts{Decisions: decisions}}}
		}
	}
	of := func(subject Subject) func(*Verifier) {
		subject.Organization, subject.Flow = "acme", "build"
		return func(v *Verifier) { v.manifest.Subject = subject }
	}
	for name, c := range map[string]struct {
		change func(*Verifier)
		want   string // the reasons of the findings
	}{
		"nothing":                        {func(*Verifier) {}, ""},
		"a status":                       {func(v *Verifier) { v.manifest.Status = evidence.Compliant }, "only the package of a trail has a status, and it must have one"},
		"no reason of a loss":            {func(v *Verifier) { v.manifest.LostEvidence = make([]LostEvidence, 1) }, "the reason why evidence is lost is not known"},
		"another artifact":               {func(v *Verifier) { v.artifacts = append(v.artifacts, ArtifactDocument{Fingerprint: "g"}) }, "the package is of another artifact"},
		"no artifact":                    {func(v *Verifier) { delete(v.known, ArtifactPath("f")) }, "it is missing, though the package is of it"},
		"a trail as well":                {func(v *Verifier) { v.manifest.Subject.Trail = "one" }, "its subject is of several kinds"},
		"an attestation":                 {of(Subject{Kind: OfAttestation, Trail: "one", Attestation: "a"}), ""},
		"an attestation that it has not": {of(Subject{Kind: OfAttestation, Trail: "one", Attestation: "b"}), "it is missing, though the package is of it"},
		"an attestation's other trail":   {of(Subject{Kind: OfAttestation, Trail: "two", Attestation: "a"}), "it is not the trail that the manifest names"},
		"as many trails as allowed":      {func(v *Verifier) { addTrails(v, MaxTrails) }, ""},
		"too many trails":                {func(v *Verifier) { addTrails(v, MaxTrails+1) }, "the package has 101 trails"},
		"two trails of an attestation":   {func(v *Verifier) { of(Subject{Kind: OfAttestation, Attestation: "a"})(v); addTrails(v, 2) }, "the package has 2 trails"},
		"no trail":                       {func(v *Verifier) { clear(v.trails); v.attestations, v.artifacts = nil, nil }, "the package has 0 trails"},
		"two trails of one name":         {func(v *Verifier) { v.trails["t2"] = v.trails["t1"] }, "there is another trail of this name"},
		"a verdict on the trail":         {func(v *Verifier) { v.trails["t1"].Compliance = &ComplianceDocument{} }, "only the package of a trail has the trail's verdict, and it must have it"},
		"another organization":           {func(v *Verifier) { v.trails["t1"].Organization = "other" }, "it is not the trail that the manifest names"},
		"an attestation elsewhere":       {func(v *Verifier) { v.attestations[0].trail = "two" }, "the package does not have its trail"},
		"a report elsewhere":             {func(v *Verifier) { v.artifacts[0].Reports[0].Flow = "c" }, "the package does not have the trail of report r"},
		"an event elsewhere": {func(v *Verifier) {
			v.events = []EventDocument{{TrailID: "t2", TrailEvent: evidence.TrailEvent{ID: "e"}}}
		}, "event e is of a trail that the package does not have"},
		"an event of its report":                       {event(evidence.ArtifactCreation, &evidence.ArtifactReportData{Fingerprint: "f", Record: "r"}), ""},
		"an event of another report":                   {event(evidence.ArtifactCreation, &evidence.ArtifactReportData{Fingerprint: "f", Record: "s"}), "it lacks report s, which event e tells of"},
		"an event of another artifact":                 {event(evidence.ArtifactCreation, &evidence.ArtifactReportData{Fingerprint: "g", Record: "s"}), ""},
		"an attestation of the trail that it lacks":    {event(evidence.TrailAttestation, &evidence.AttestationReportData{Attestation: "b"}), "it is missing, though event e tells of it"},
		"an attestation of the artifact that it lacks": {event(evidence.TrailAttestationForArtifact, &evidence.AttestationReportData{Attestation: "b", Fingerprint: "f"}), "it is missing, though event e tells of it"},
		"an attestation of another artifact":           {event(evidence.TrailAttestationForArtifact, &evidence.AttestationReportData{Attestation: "b", Fingerprint: "g"}), ""},
		"an approval":                                  {approved(approval.Approved, evidence.ApprovalData{Fingerprint: "f", Number: 1, State: "APPROVED"}), ""},
		"an approval that it lacks":                    {approved(approval.Approved, evidence.ApprovalData{Fingerprint: "f", Number: 2, State: "APPROVED"}), "it lacks release 2 as event e tells of it"},
		"a refusal as an approval":                     {approved(approval.Approved, evidence.ApprovalData{Fingerprint: "f", Number: 1, State: "UNAPPROVED"}), "it lacks release 1 as event e tells of it"},
		"an approval of another artifact":              {approved(approval.Approved, evidence.ApprovalData{Fingerprint: "g", Number: 2, State: "APPROVED"}), ""},
		"its decision":                                 {decided("C", "go"), ""},
		"an altered decision":                          {decided("C", "no"), "the decision on control 'C' for it is not that of attestation a"},
		"a decision on another control":                {decided("B", "go"), "the decision on control 'B' for it is not that of attestation a"},
	} {
		t.Run(name, func(t *testing.T) {
			v := ofArtifact()
			c.change(v)
			v.checkSubject()
			v.checkEvents()
			for i := range v.environments {
				v.checkDecisions(&v.environments[i], "it")
			}
			reasons := evidence.Map(v.findings, func(finding Finding) string { return finding.Reason })
			if got := strings.Join(reasons, "; "); got != c.want {
				t.Errorf("the findings are %q", got)
			}
		})
	}
}

func TestMemberThatContradictsItselfOrIsTooLargeIsAFinding(t *testing.T) {
	encoded := func(value any) string {
		content, err := Encode(value)
		evidencetest.Must(t, err)
		return string(content)
	}
	reviewed := func(change func(*evidence.Attestation)) string {
		return newAttestationMember(t, func(a *evidence.Attestation) {
			a.Type, a.Payload = evidence.TypePullRequest, map[string]json.RawMessage{"pull_requests": json.RawMessage(
				`[{"author":"ada","merge_commit":"m1","commits":[{"sha1":"c1","author_username":"ada","timestamp":1}],"approvers":[{"username":"bob","state":"APPROVED","timestamp":2}]}]`)}
			attestation.Review(a, nil, "m1")
			change(a)
		}, "")
	}
	many := func(before, entry, behind string) string {
		return before + strings.TrimSuffix(strings.Repeat(entry+",", 500), ",") + behind + "\n"
	}
	junit := func(a *evidence.Attestation) {
		a.Type, a.Payload = evidence.TypeJUnit, map[string]json.RawMessage{"junit_results": json.RawMessage(many("[", `{"failures":0}`, "]"))}
	}
	const broken, tooLarge = "version: 1\nx: 1\n", "more than 15000 bytes"
	for name, c := range map[string]struct{ path, content, want string }{
		"a broken manifest":               {ManifestPath, "{", "unexpected end of JSON input"},
		"a manifest of a later schema":    {ManifestPath, strings.Replace(encoded(Manifest{}), `_version": 0`, `_version": 2`, 1), "its schema version 2 is not known"},
		"a broken template":               {TemplatePath(template.ID([]byte(broken))), broken, "Extra inputs are not permitted"},
		"a broken policy":                 {PolicyPath("p", 1), "x: 1\n", "_schema"},
		"another trail":                   {TrailOf("x"), encoded(TrailDocument{ID: "t"}), "it is about the trail with id t"},
		"another artifact":                {ArtifactPath("x"), encoded(ArtifactDocument{Fingerprint: "f"}), "it is about the artifact f"},
		"a report of another artifact":    {ArtifactPath("f"), encoded(ArtifactDocument{Fingerprint: "f", Reports: []evidence.ArtifactRecord{{ID: "r", Fingerprint: "g"}}}), "report r is about the artifact g"},
		"another attestation":             {AttestationPath("x"), reviewed(func(*evidence.Attestation) {}), "it is about the attestation a"},
		"a loss without a file":           {AttestationPath("a"), newAttestationMember(t, func(*evidence.Attestation) {}, EvidenceMissing), "it says that evidence is lost, but not which file"},
		"a loss without a reason":         {AttestationPath("a"), newAttestationMember(t, func(a *evidence.Attestation) { a.Evidence = &evidence.EvidenceFile{} }, "eaten"), "or why"},
		"its approvals":                   {AttestationPath("a"), reviewed(func(*evidence.Attestation) {}), ""},
		"its approvals, as stored before": {AttestationPath("a"), reviewed(func(a *evidence.Attestation) { a.Approvers, a.Involved = 0, "" }), ""},
		"more approvals":                  {AttestationPath("a"), reviewed(func(a *evidence.Attestation) { a.Approvers = 2 }), "it says that 2 approved"},
		"another approver":                {AttestationPath("a"), reviewed(func(a *evidence.Attestation) { a.Involved = strings.Replace(a.Involved, "bob", "eve", 1) }), "who it says wrote, approved or decided does not follow"},
		"a large manifest":                {ManifestPath, many(`{"members":[`, "{}", "]}"), tooLarge},
		"a large trail":                   {TrailPath, many(`{"compliance_status":{"attestations":[`, "{}", "]}}"), tooLarge},
		"a large artifact":                {ArtifactPath("x"), many(`{"reports":[`, "{}", "]}"), tooLarge},
		"a large attestation":             {AttestationPath("a"), many(`{"targets":[`, `""`, "]}"), tooLarge},
		"a large payload":                 {AttestationPath("a"), newAttestationMember(t, junit, ""), tooLarge},
		"a large type":                    {TypePath("x", 1), many(`{"rules":[`, `""`, "]}"), tooLarge},
		"many events":                     {EventsPath, many("[", "{}", "]"), tooLarge},
		"a large entry":                   {EnvironmentsPath, `[{"environment":"` + strings.Repeat("x", maxIndented) + `"}]` + "\n", tooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			v := newLimitedVerifier(func(l *limits) { l.decoded = 15_000 })
			evidencetest.Must(t, v.Add(c.path, int64(len(c.content)), strings.NewReader(c.content)))
			if found := len(v.findings) > 0; found != (c.want != "") || found && !strings.Contains(v.findings[0].Reason, c.want) {
				t.Errorf("the findings are %v", v.findings)
			}
		})
	}
}
