package pdf

import (
	"encoding/json"
	"fmt"
	"strings"

	"attestry/evidence"
	"attestry/evidence/approval"
	"attestry/evidence/audit"
	"attestry/evidence/compliance"
	"attestry/evidence/control"
)

// begun is the time at which the trails of the fixtures begin, in Unix seconds.
const begun = 1_790_000_000.25

// digest returns a fake SHA-256.
func digest(n int) string {
	return strings.Repeat(fmt.Sprintf("%016x", uint64(n+1)*0x9e3779b97f4a7c15), 4)
}

// fixture is a document that is built step by step.
type fixture struct {
	*Document
	now float64
}

func newFixture() *fixture {
	return &fixture{now: begun, Document: &Document{
		Trail: audit.TrailDocument{
			Organization: "acme", Flow: audit.FlowDocument{Name: "payments", Description: "Builds and releases the payment service."},
			Name: "release-2.14.0", Description: "Release of the second week of September.",
			HTMLURL:   "https://attestry.example.com/acme/flows/payments/trails/release-2.14.0",
			CreatedAt: begun, CreatedBy: "ci-robot",
			Commit: &evidence.GitCommit{
				SHA1: "4b825dc642cb6eb9a060e54bf8d69288fbee4904", Message: new("Charge the fee once\n\nThe retry charged it again."),
				Author: new("Ada Lovelace <ada@example.com>"), Branch: new("main"), Timestamp: new(begun - 600),
				URL: new("https://git.example.com/acme/payments/commit/4b825dc642cb6eb9a060e54bf8d69288fbee4904"), Verified: new(true), SignatureState: new("valid"),
			},
		},
		AsOf: begun, Generator: "Attestry 1.2", Checksum: digest(99),
		Compliance: compliance.Report{Status: evidence.Compliant},
	}}
}

func (f *fixture) tick() float64 {
	f.now += 61
	f.AsOf = f.now
	return f.now
}

// artifact adds an artifact that the template requires.
func (f *fixture) artifact(name string, n int) {
	record := evidence.ArtifactRecord{
		ID: fmt.Sprint("record", n), Name: name, Fingerprint: digest(n), Filename: "registry.example.com/acme/" + name + ":2.14.0",
		CommitSHA: f.Trail.Commit.SHA1, Commit: f.Trail.Commit, BuildURL: fmt.Sprint("https://ci.example.com/builds/", n),
		CommitURL: *f.Trail.Commit.URL, CreatedAt: f.tick(), ReportedBy: "ci-robot",
	}
	f.Artifacts = append(f.Artifacts, record)
	slot := record.SlotArtifact()
	f.Compliance.Artifacts = append(f.Compliance.Artifacts, compliance.ArtifactStatus{Name: name, Artifact: &slot, Status: evidence.Compliant})
	f.Events = append(f.Events, evidence.TrailEvent{Time: f.now, Type: evidence.ArtifactCreation, Data: &evidence.ArtifactReportData{
		Name: name, Filename: record.Filename, Fingerprint: record.Fingerprint,
	}})
}

// attest adds an attestation of the last artifact, or of the trail if there is none, as the one that counts.
func (f *fixture) attest(a evidence.Attestation) *Attestation {
	n := len(f.Attestations)
	a.ID, a.CreatedAt = fmt.Sprintf("0192f%03x-1f4e-7c3a-9a51-0c5b8e1f2a3d", n), f.tick()
	if a.ReportedBy == "" {
		a.ReportedBy = "ci-robot"
	}
	list, target := &f.Compliance.Attestations, ""
	if last := len(f.Compliance.Artifacts) - 1; last >= 0 {
		artifact := &f.Compliance.Artifacts[last]
		list, target = &artifact.Attestations, artifact.Name
		a.Targets = []string{artifact.Name}
		if artifact.Artifact != nil {
			a.Fingerprint, a.ArtifactName = artifact.Artifact.Fingerprint, artifact.Artifact.Filename
		}
	}
	if a.Type != evidence.TypePullRequest && a.Override == nil {
		a.Evidence = &evidence.EvidenceFile{SHA256: digest(1000 + n), Size: int64(2000 + 300*n), Filename: a.Name + ".json"}
	}
	f.Recorded++
	if !a.Compliant {
		f.NotCompliant++
	}
	if a.Evidence != nil {
		f.Files++
		f.FileBytes += a.Evidence.Size
	}
	f.Attestations = append(f.Attestations, NewAttestation(&a, "evidence/"+a.ID+"/"+a.Name+".json", false))
	entry := a.Entry()
	status := compliance.AttestationStatus{Name: a.Name, Type: a.Type, Entry: &entry}
	if last := len(*list) - 1; last >= 0 && (*list)[last].Name == a.Name {
		(*list)[last] = status
	} else {
		*list = append(*list, status)
	}
	f.Events = append(f.Events, evidence.TrailEvent{Time: f.now, Type: evidence.ArtifactAttestation, Data: &evidence.AttestationReportData{
		Name: a.Name, Type: a.Type, Compliant: a.Compliant, Target: target, Fingerprint: a.Fingerprint,
	}})
	return &f.Attestations[n]
}

func payload(name, value string) map[string]json.RawMessage {
	return map[string]json.RawMessage{name: json.RawMessage(value)}
}

// usual adds the artifacts and attestations of a usual release.
func (f *fixture) usual() *fixture {
	f.Events = append(f.Events, evidence.TrailEvent{Time: begun, Type: evidence.TrailReported, Data: &evidence.TrailBeginData{}})
	f.attest(evidence.Attestation{Name: "pull-request", Type: evidence.TypePullRequest, Compliant: true, Payload: payload("pull_requests",
		`[{"url":"https://git.example.com/acme/payments/pulls/731","state":"MERGED","author":"ada","title":"Charge the fee once","created_at":1,"head_ref":"fee",
		"merge_commit":"4b825dc642cb6eb9a060e54bf8d69288fbee4904","approvers":[{"username":"grace","state":"APPROVED"}],"commits":[]}]`)})
	f.attest(evidence.Attestation{Name: "ticket", Type: evidence.TypeJira, Compliant: true, Payload: payload("jira_results",
		`[{"issue_id":"PAY-1204","issue_url":"https://jira.example.com/PAY-1204","issue_exists":true}]`)})
	f.artifact("payments-api", 1)
	f.attest(evidence.Attestation{Name: "unit-tests", Type: evidence.TypeJUnit, Compliant: true, Description: new("Unit tests of the payment service"),
		Payload: payload("junit_results", `[{"name":"a","total":214,"skipped":3},{"name":"b","total":31}]`)})
	f.attest(evidence.Attestation{Name: "vulnerabilities", Type: evidence.TypeSnyk, Compliant: true,
		Payload: payload("processed_snyk_results", `{"results":[{"low_count":0}]}`)})
	f.attest(evidence.Attestation{Name: "coverage", Type: "custom:coverage", TypeVersion: 2, Compliant: true,
		Payload: payload("attestation_data", `{"percent":87.5,"tool":"go","files":["a","b"],"limits":{"a":1}}`)})
	f.attest(evidence.Attestation{Name: "released", Type: evidence.TypeDecision, Compliant: true, Control: "SDLC-07", ControlVersion: 3, ReportedBy: "grace"})
	f.Controls = []audit.ControlDocument{{Control: control.Control{Identifier: "SDLC-07", Name: "Releases are approved by a second person", Version: 3}}}
	f.runs("production-eu", new(true), "production", audit.Sentence{Text: "Flow 'payments' knows the artifact from trail 'release-2.14.0'."})
	return f
}

// runs adds the first artifact as running, evaluated by version 4 of a policy.
func (f *fixture) runs(environment string, verdict *bool, policy string, findings ...audit.Sentence) {
	running := audit.EnvironmentDocument{
		Environment: environment, Fingerprint: f.Artifacts[0].Fingerprint, StartedAt: f.tick(), Since: 118, Compliant: verdict,
		Policies: []audit.PolicyEvaluation{{Policy: policy, Version: 4, Findings: findings}},
	}
	running.Facts.Name = f.Artifacts[0].Filename
	f.Running = append(f.Running, running)
}

func compliantTrail() *Document { return newFixture().usual().Document }

func manyAttestations(n int) *Document {
	f := newFixture().usual()
	for i := range n {
		f.attest(evidence.Attestation{Name: fmt.Sprintf("check-%03d", i), Type: evidence.TypeJUnit, Compliant: true,
			Payload: payload("junit_results", fmt.Sprintf(`[{"name":"a","total":%d}]`, i))})
	}
	return f.Document
}

func longNames() *Document {
	name := strings.Repeat("long-name_without.spaces", 12) + strings.Repeat("X", 12)
	f := newFixture()
	f.Trail.Organization, f.Trail.Flow.Name, f.Trail.Name, f.Trail.HTMLURL = name, name, name, "https://attestry.example.com/"+name
	f.Trail.Commit.Author, f.Trail.Commit.Branch = &name, &name
	f.attest(evidence.Attestation{Name: name, Type: "custom:" + name, Compliant: false, ReportedBy: name, Description: &name})
	f.artifact(strings.Repeat("W", 300), 1)
	f.attest(evidence.Attestation{Name: strings.Repeat("m", 300), Type: evidence.TypeDecision, Control: name, Compliant: true, ReportedBy: name,
		Override: &evidence.Override{Reason: strings.Repeat(name, 20)}})
	f.Controls = []audit.ControlDocument{{Control: control.Control{Identifier: name, Name: name, Description: &name, Version: 1}}}
	f.runs(name, nil, name, audit.Sentence{Text: "The artifact " + name, Remedy: name, Failing: true})
	f.Compliance.Status = evidence.NonCompliant
	return f.Document
}

func unicodeTexts() *Document {
	f := newFixture()
	f.Trail.Organization, f.Trail.Flow.Name, f.Trail.Name = "Ünïcödé Gesellschaft", "Платежи", "发布-2.14.0 リリース 릴리스"
	f.Trail.Description = "שלום עולם (גרסה 2.14.0) and العربية من اليمين إلى اليسار, 😀 \x00\x1b\u202e\xff\xfe end"
	f.Trail.CreatedBy = "דוד בן־גוריון"
	f.attest(evidence.Attestation{Name: "检查", Type: "custom:中文类型", Compliant: true, ReportedBy: "محمد بن موسى",
		Description: new("这是一个很长的描述，没有任何空格，应该在单元格的宽度内自动换行，而不会超出页面的边缘。这是一个很长的描述，没有任何空格。")})
	f.attest(evidence.Attestation{Name: "проверка", Type: evidence.TypeGeneric, Compliant: true, ReportedBy: "😀🎉", Description: new("naïve café, e\u0301, ⇒ ≤ € ™ हिन्दी ไทย")})
	f.artifact("תוכנית-42", 1)
	f.attest(evidence.Attestation{Name: "בדיקה [12] של התוכנית", Type: evidence.TypeGeneric, Compliant: false, ReportedBy: "a\tb\r\nc",
		Override: &evidence.Override{Reason: "הסיבה: 3.5% (בלבד)."}})
	f.Compliance.Status = evidence.NonCompliant
	return f.Document
}

func overridden() *Document {
	f := newFixture().usual()
	f.attest(evidence.Attestation{Name: "licences", Type: evidence.TypeGeneric, Compliant: false})
	f.attest(evidence.Attestation{Name: "licences", Type: evidence.TypeGeneric, Compliant: true, ReportedBy: "grace", Override: &evidence.Override{
		Original: f.Attestations[len(f.Attestations)-1].ID,
		Reason:   "The scanner reports a copy of zlib as GPL. The legal department has checked it on 3 September, see PAY-1210.",
	}})
	f.Approvals = []approval.Approval{{Number: 7, Target: digest(1), ArtifactName: "payments-api", State: approval.Approved, CreatedAt: f.tick(),
		ReportedBy: "ci-robot", Environment: "e1", Reviews: []approval.Review{{State: approval.Approved, ApprovedBy: "grace", Comment: "Good to go"}}}}
	f.EnvironmentNames = map[string]string{"e1": "production-eu"}
	f.Events = append(f.Events, evidence.TrailEvent{Time: f.now, Type: evidence.ArtifactApproval, Data: &evidence.ApprovalData{
		Fingerprint: digest(1), Number: 7, State: "APPROVED", Reviewer: "grace"}})
	return f.Document
}

func lostEvidence() *Document {
	d := compliantTrail()
	a := &d.Attestations[2]
	a.Lost = true
	d.Lost = []audit.LostEvidence{{Path: a.Path, Attestation: a.ID, SHA256: a.Evidence.SHA256, Reason: audit.EvidenceAltered}}
	return d
}

func nonCompliantWhereItRuns() *Document {
	f := newFixture().usual()
	f.attest(evidence.Attestation{Name: "integration-tests", Type: evidence.TypeJUnit, Compliant: false,
		Payload: payload("junit_results", `[{"name":"a","total":20,"failures":2,"errors":1}]`)})
	artifact := &f.Compliance.Artifacts[0]
	artifact.Status = evidence.NonCompliant
	artifact.Attestations[len(artifact.Attestations)-1].Unexpected = true
	artifact.Attestations = append(artifact.Attestations, compliance.AttestationStatus{Name: "penetration-test", Type: "*"})
	f.Compliance.Status = evidence.NonCompliant
	f.runs("production-us", new(false), "production",
		audit.Sentence{Text: "Flow 'payments' knows the artifact from trail 'release-2.14.0'."},
		audit.Sentence{Failing: true, Text: "In trail 'release-2.14.0' of flow 'payments' the artifact is NON-COMPLIANT (non-compliant: 'integration-tests'; missing: 'penetration-test').",
			Remedy: "Record the missing attestations in the trail, and attest again what is non-compliant once it has been put right, or override it with a reason."})
	f.runs("test", nil, "")
	f.runs("staging", new(true), "")
	f.Running[3].Allowed = &audit.Allowance{Reason: "Needed for the load test", By: "grace", At: f.now}
	return f.Document
}

func emptyTrail() *Document {
	return &Document{
		Trail: audit.TrailDocument{Organization: "acme", Flow: audit.FlowDocument{Name: "payments"}, Name: "t", CreatedAt: begun},
		AsOf:  begun, Compliance: compliance.Report{Status: evidence.Compliant},
	}
}

func manyArtifacts() *Document {
	f := newFixture()
	for i := range 100 {
		if i%7 == 3 {
			f.Compliance.Artifacts = append(f.Compliance.Artifacts, compliance.ArtifactStatus{
				Name: fmt.Sprint("service-", i), Status: evidence.Missing, Attestations: []compliance.AttestationStatus{{Name: "tests", Type: "junit"}},
			})
			continue
		}
		f.artifact(fmt.Sprint("service-", i), i)
		f.attest(evidence.Attestation{Name: "tests", Type: evidence.TypeJUnit, Compliant: true})
	}
	f.Compliance.Status = evidence.Incomplete
	return f.Document
}

// documents are the fixtures by name.
var documents = map[string]func() *Document{
	"compliant":     compliantTrail,
	"many":          func() *Document { return manyAttestations(200) },
	"long names":    longNames,
	"unicode":       unicodeTexts,
	"overridden":    overridden,
	"lost evidence": lostEvidence,
	"non-compliant": nonCompliantWhereItRuns,
	"empty":         emptyTrail,
	"zero":          func() *Document { return &Document{} },
	"100 artifacts": manyArtifacts,
	"many details":  manyDetails,
}
