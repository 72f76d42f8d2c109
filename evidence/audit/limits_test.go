package audit

import (
	"encoding/json"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/attestation"
	"attestry/evidence/attestation/attestationtest"
	"attestry/evidence/evidencetest"
)

func newLimitedVerifier(change func(*limits)) *Verifier {
	v := NewVerifier(attestationtest.Evaluate, DefaultMemory)
	change(&v.limits)
	return v
}

// newAttestationMember returns a compliant attestation with id a, changed by a test.
func newAttestationMember(t *testing.T, change func(*evidence.Attestation), lost string) string {
	t.Helper()
	attested := evidence.Attestation{ID: "a", Name: "check", Type: evidence.TypeGeneric, Compliant: true}
	change(&attested)
	content, err := Encode(NewAttestationDocument(attested, lost))
	evidencetest.Must(t, err)
	return string(content)
}

func TestVerifierAcceptsNoMoreMembersThanItsLimit(t *testing.T) {
	v := newLimitedVerifier(func(l *limits) { l.members = 2 })
	for _, path := range []string{"a", "b"} {
		if err := v.Add(path, 1, strings.NewReader("x")); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	if err := v.Add("c", 1, strings.NewReader("x")); err == nil {
		t.Error("a third member is taken")
	}
}

func TestMembersThatAreReadHaveAMaximumLength(t *testing.T) {
	for name, c := range map[string]struct {
		path    string
		length  int
		refused bool
	}{
		"as long as the limit":         {ReportPath, 100, false},
		"longer than the limit":        {ReportPath, 101, true},
		"longer, but nothing reads it": {EvidencePath("a"), 101, false},
	} {
		v := newLimitedVerifier(func(l *limits) { l.document = 100 })
		if err := v.Add(c.path, int64(c.length), strings.NewReader(strings.Repeat("x", c.length))); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if refused := len(v.findings) > 0; refused != c.refused || refused && v.findings[0].Reason != "it is longer than 100 bytes, and would take too much memory" {
			t.Errorf("%s: the findings are %v", name, v.findings)
		}
		if size := v.members[0].Size; size != int64(c.length) {
			t.Errorf("%s: its size is %d", name, size)
		}
	}
}

// TestVerifierKeepsNoMoreThanItsLimit adds a single member that exceeds the limit if it is kept.
func TestVerifierKeepsNoMoreThanItsLimit(t *testing.T) {
	const limit = 10_000
	long := strings.Repeat("x", limit)
	quoted := json.RawMessage(`"` + long + `"`)
	withEvidence := func(a *evidence.Attestation) {
		a.Evidence = &evidence.EvidenceFile{SHA256: long}
	}
	for name, c := range map[string]struct {
		path, content string
		refused       bool
	}{
		"a document":                  {path: ReportPath, content: long, refused: true},
		"an evidence file":            {path: EvidencePath("a"), content: long},
		"a path":                      {path: EvidencePath(long), refused: true},
		"a name":                      {content: newAttestationMember(t, func(a *evidence.Attestation) { a.Name = long }, ""), refused: true},
		"targets":                     {content: newAttestationMember(t, func(a *evidence.Attestation) { a.Targets = make([]string, limit/10) }, ""), refused: true},
		"an evidence file's checksum": {content: newAttestationMember(t, withEvidence, ""), refused: true},
		"lost evidence":               {content: newAttestationMember(t, withEvidence, EvidenceMissing), refused: true},
		"a verdict that waits for its type": {content: newAttestationMember(t, func(a *evidence.Attestation) {
			a.Type, a.Payload = "custom:scan", map[string]json.RawMessage{attestation.DataMember: quoted}
		}, ""), refused: true},
		"parts that no check reads": {content: newAttestationMember(t, func(a *evidence.Attestation) {
			a.Override = &evidence.Override{Reason: long}
			a.Description, a.OriginURL, a.UserData = &long, &long, quoted
			a.Annotations, a.ExternalURLs = map[string]string{"a": long}, map[string]evidence.ExternalURL{"a": {}}
			a.Payload = map[string]json.RawMessage{"a": quoted}
			a.ReportedBy, a.ArtifactName, a.Repo = long, long, long
		}, "")},
	} {
		v := newLimitedVerifier(func(l *limits) { l.documents = limit })
		path := c.path
		if path == "" {
			path = AttestationPath("a")
		}
		err := v.Add(path, int64(len(c.content)), strings.NewReader(c.content))
		if (err != nil) != c.refused || len(v.findings) > 0 {
			t.Errorf("%s: %v, the findings are %v", name, err, v.findings)
		}
	}
}

// TestVerifierCountsAllThatItKeeps adds members each of which is far below the limit.
func TestVerifierCountsAllThatItKeeps(t *testing.T) {
	v := newLimitedVerifier(func(l *limits) { l.documents = 10_000 })
	content := newAttestationMember(t, func(a *evidence.Attestation) { a.Name = strings.Repeat("x", 1_000) }, "")
	added := 0
	for ; added < 20; added++ {
		id := strings.Repeat("a", added+1)
		one := strings.Replace(content, `"id": "a"`, `"id": "`+id+`"`, 1)
		if err := v.Add(AttestationPath(id), int64(len(one)), strings.NewReader(one)); err != nil {
			break
		}
	}
	if added < 6 || added > 7 || len(v.findings) > 0 {
		t.Errorf("%d attestations are kept, the findings are %v", added, v.findings)
	}
}

// TestListsInAnotherFormAreNotKept has lists that are far larger when they are decoded.
func TestListsInAnotherFormAreNotKept(t *testing.T) {
	v := NewVerifier(attestationtest.Evaluate, DefaultMemory)
	for _, path := range []string{EventsPath, EnvironmentsPath} {
		evidencetest.Must(t, v.Add(path, 11, strings.NewReader("[{},{},{}]\n")))
	}
	if len(v.findings) != 2 || len(v.events)+len(v.environments) > 0 {
		t.Errorf("%d events and %d environments are kept, the findings are %v", len(v.events), len(v.environments), v.findings)
	}
}

func TestVerifierListsNoMoreFindingsThanItsLimit(t *testing.T) {
	v := newLimitedVerifier(func(l *limits) { l.findings = 2 })
	v.report("a", "%s", strings.Repeat("é", maxReason))
	for range 3 {
		v.report("b", "it is wrong")
	}
	result := v.Finish() // which finds that the manifest is missing
	if len(result.Findings) != 2 || result.OmittedFindings != 3 {
		t.Fatalf("it has %d findings and omits %d", len(result.Findings), result.OmittedFindings)
	}
	if reason := result.Findings[0].Reason; len(reason) > maxReason+10 || !strings.HasSuffix(reason, "é …") {
		t.Errorf("a long reason is kept as %d bytes: %s", len(reason), reason)
	}
}
