package pdf

import (
	"fmt"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/approval"
	"attestry/evidence/audit"
	"attestry/evidence/compliance"
	"attestry/evidence/control"
	"attestry/evidence/evidencetest"
)

// manyDetails has what the other fixtures lack: rarer states, and lists that are cut off.
func manyDetails() *Document {
	f := newFixture().usual()
	signed := *f.Trail.Commit
	signed.AuthorUsername, signed.Verified, signed.Parents = new("ada"), new(false), []string{"a94a8fe5ccb19ba61c4c0873d391e987982fbbd3", "de9f2c7fd25e1b3afad3e85a0bd17d9b100db4b3"}
	signed.Timestamp = nil
	f.Trail.Commit = &signed
	f.artifact("payments-worker", 2)
	worker := &f.Artifacts[1]
	worker.Description, worker.CommitSHA, worker.Commit = "Runs the jobs.", signed.Parents[0], nil
	f.artifact("payments-worker", 3) // replaces the one before
	f.Compliance.Artifacts[2].Unexpected = true
	f.Compliance.Artifacts = append(f.Compliance.Artifacts[:1], f.Compliance.Artifacts[2])
	f.attestDetails()
	f.controlDetails()
	f.approvalDetails()
	f.runningDetails()
	f.Events = append(f.Events,
		evidence.TrailEvent{Time: f.now, Type: evidence.TrailUpdated, Data: &evidence.TrailBeginData{Changes: []string{"commit", "description"}}},
		evidence.TrailEvent{Time: f.now, Type: evidence.ArtifactStartedRunning, Data: &evidence.ArtifactRunData{Name: "payments-api", EnvironmentName: "test", Snapshot: 7, Fingerprint: digest(1)}},
		evidence.TrailEvent{Time: f.now, Type: evidence.ArtifactStoppedRunning, Data: &evidence.ArtifactRunData{Name: "payments-api", EnvironmentName: "test", Snapshot: 8, Fingerprint: digest(1)}},
		evidence.TrailEvent{Time: f.now, Type: evidence.ArtifactAttestation, Data: &evidence.AttestationReportData{Name: "scan", Type: "generic", Fingerprint: digest(2)}},
		evidence.TrailEvent{Time: f.now, Type: "something new"})
	f.Lost = []audit.LostEvidence{
		{Path: f.Attestations[2].Path, Attestation: f.Attestations[2].ID, SHA256: digest(1002), Reason: audit.EvidenceMissing},
		{Path: "evidence/other/a.json", Attestation: "other", SHA256: digest(1003), Reason: audit.EvidenceAltered},
	}
	f.Compliance.Status = evidence.NonCompliant
	return f.Document
}

func (f *fixture) attestDetails() {
	f.attest(evidence.Attestation{Name: "pull-request", Type: evidence.TypePullRequest, Compliant: true, Payload: payload("pull_requests",
		`[{"url":"https://git.example.com/acme/payments/pulls/731","title":"Again"},{"url":"https://git.example.com/acme/payments/pulls/732","state":"OPEN",
		"author":"ada","title":"Not merged"},{"url":"https://git.example.com/acme/payments/pulls/733","title":"Approved by names","approvers":["grace",{"username":"alan"},7]}]`)})
	shared := f.attest(evidence.Attestation{Name: "shared", Type: "custom:scan", TypeVersion: 4, Compliant: false, OriginURL: new("https://ci.example.com/scans/9")})
	shared.OmittedTargets, shared.Evidence.Size = 3, 5<<20
	f.attest(evidence.Attestation{Name: "shared", Type: "custom:scan", Compliant: true, Override: &evidence.Override{Original: "of another trail"}})
	f.attest(evidence.Attestation{Name: "missing", Type: evidence.TypeGeneric, Compliant: true, Override: &evidence.Override{Reason: "not needed"}})
	f.attest(evidence.Attestation{Name: "approved", Type: evidence.TypePullRequest, Compliant: true})
	last := &f.Compliance.Artifacts[len(f.Compliance.Artifacts)-1]
	last.Attestations[len(last.Attestations)-1].Lack = "Ada Lovelace has no approval of somebody else"
}

func (f *fixture) controlDetails() {
	f.Controls = append(f.Controls, audit.ControlDocument{Control: control.Control{
		Identifier: "SDLC-08", Version: 2, Description: new("Nobody releases on a Friday."), Archived: true,
	}})
	for i := range 52 {
		f.attest(evidence.Attestation{Name: fmt.Sprint("go-", i), Type: evidence.TypeDecision, Compliant: i%2 == 0, Control: "SDLC-08", ControlVersion: i % 3})
	}
	f.attest(evidence.Attestation{Name: "no-control", Type: evidence.TypeDecision, Compliant: true, Control: "SDLC-99"})
}

func (f *fixture) approvalDetails() {
	long := approval.Approval{Number: 8, Target: digest(2), Description: "Twice", State: approval.Unapproved, CreatedAt: f.tick(), Environment: "e9"}
	for i := range maxApprovers + 2 {
		long.Reviews = append(long.Reviews, approval.Review{State: approval.Unapproved, ApprovedBy: fmt.Sprint("reviewer ", i), URL: "https://git.example.com/reviews"})
	}
	f.Approvals = []approval.Approval{{Number: 9, Target: digest(3), State: approval.Pending, CreatedAt: f.now}, long}
}

func (f *fixture) runningDetails() {
	var findings []audit.Sentence
	for i := range maxSentences + 2 {
		findings = append(findings, audit.Sentence{Text: fmt.Sprint("Finding ", i), Failing: i%5 == 0})
	}
	f.runs("production-eu", new(false), "production", findings...)
	last := &f.Running[len(f.Running)-1]
	last.Policies = append(last.Policies, audit.PolicyEvaluation{Policy: "second", Version: 1, Findings: findings[:3]})
	f.runs("staging", new(true), "")
	f.Running[len(f.Running)-1].Allowed = &audit.Allowance{At: f.now, Until: f.now + 3600}
}

// allExpected expects n attestations that are compliant and some that are not, or not simply.
func allExpected(n int) *Document {
	f := newFixture()
	entry := func(compliant, override bool) *evidence.Entry {
		return &evidence.Entry{Time: begun, Compliant: compliant, Override: override}
	}
	f.Compliance.Attestations = []compliance.AttestationStatus{
		{Name: "overridden", Entry: entry(true, true)}, {Name: "unexpected", Entry: entry(true, false), Unexpected: true},
		{Name: "failing", Entry: entry(false, false)}, {Name: "missing"},
	}
	for i := range n {
		f.Compliance.Attestations = append(f.Compliance.Attestations, compliance.AttestationStatus{Name: fmt.Sprint("check-", i), Entry: entry(true, false)})
	}
	return f.Document
}

func TestRequiredAttestationsThatAreCompliantAreOmittedFromLongReports(t *testing.T) {
	// The trail itself is a row, and so are the four that are not simply compliant.
	for name, row := range map[string]struct{ compliant, omitted int }{
		"fits": {maxExpected - 5, 0}, "too long": {maxExpected - 4, maxExpected - 4},
	} {
		t.Run(name, func(t *testing.T) {
			text := textOf(layOut(allExpected(row.compliant)))
			evidencetest.Contains(t, text, "overridden", "unexpected", "failing", "missing")
			if shown := strings.Count(text, "check-"); shown != row.compliant-row.omitted {
				t.Errorf("%d of %d are shown", shown, row.compliant)
			}
			says := strings.Contains(text, fmt.Sprintf("This report leaves out %d rows. ", row.omitted))
			if says != (row.omitted > 0) {
				t.Errorf("the report says so: %v", says)
			}
		})
	}
}

func TestNoMoreRowsThanFitAreExpected(t *testing.T) {
	d := allExpected(0)
	for i := range maxExpected {
		d.Compliance.Attestations = append(d.Compliance.Attestations, compliance.AttestationStatus{Name: fmt.Sprint("check-", i)})
	}
	evidencetest.Contains(t, textOf(layOut(d)), "This report leaves out 5 rows. ")
}
