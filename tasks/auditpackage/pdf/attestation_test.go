package pdf

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"attestry/evidence"
)

func TestPayloadsAreSummedUp(t *testing.T) {
	for name, c := range map[string]struct {
		kind    string
		payload map[string]json.RawMessage
		want    []string
	}{
		"junit":   {evidence.TypeJUnit, payload("junit_results", `[{"name":"a","total":5,"failures":2}]`), []string{"2 of 5 tests failed: a"}},
		"generic": {evidence.TypeGeneric, nil, nil},
	} {
		got := NewAttestation(&evidence.Attestation{Type: c.kind, Payload: c.payload}, "", false)
		if !reflect.DeepEqual(got.Summary, c.want) {
			t.Errorf("%s: got %q, want %q", name, got.Summary, c.want)
		}
	}
}

func TestPullRequestsOfBothVersionsAreRead(t *testing.T) {
	const found = `[{"url":"u1","state":"MERGED","merge_commit":"c1","approvers":["ada","grace"]},
		{"url":"u2","state":"OPEN","author":"ada","title":"t","merge_commit":null,"approvers":[{"username":"grace","state":"APPROVED"},{"username":"x","state":null},3]}]`
	got := NewAttestation(&evidence.Attestation{Type: evidence.TypePullRequest, Payload: payload("pull_requests", found)}, "", false)
	want := []PullRequest{
		{URL: "u1", State: "MERGED", MergeCommit: "c1", Approvers: []string{"ada", "grace"}},
		{URL: "u2", State: "OPEN", Author: "ada", Title: "t", Approvers: []string{"grace (APPROVED)", "x", ""}},
	}
	if !reflect.DeepEqual(got.PullRequests, want) {
		t.Errorf("got %+v", got.PullRequests)
	}
}

// TestAttestationsAreBounded has an attestation whose fields are all very long.
func TestAttestationsAreBounded(t *testing.T) {
	long := strings.Repeat("€", 100_000)
	members := map[string]string{}
	for i := range 1000 {
		members[fmt.Sprint(i, long[:300])] = long[:900]
	}
	data, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	a := evidence.Attestation{
		Name: long, Type: "custom:" + long, ArtifactName: long, CommitSHA: long, OriginURL: &long, Description: &long, Control: long, ReportedBy: long,
		Override: &evidence.Override{Reason: long}, Evidence: &evidence.EvidenceFile{Filename: long}, Payload: payload("attestation_data", string(data)),
	}
	for range 10_000 {
		a.Targets = append(a.Targets, long)
	}
	got := NewAttestation(&a, long, false)
	encoded, err := json.Marshal(got)
	if err != nil || len(encoded) > 45_000 || got.OmittedTargets != 9_980 || len(got.Summary) != maxSummaryLines+1 {
		t.Errorf("%d bytes, %d targets left out, %d lines: %v", len(encoded), got.OmittedTargets, len(got.Summary), err)
	}
	if !utf8.ValidString(got.Name) || !strings.HasSuffix(got.Name, "€…") {
		t.Errorf("the name ends with %q", got.Name[len(got.Name)-9:])
	}
}

func TestEventsAreWorded(t *testing.T) {
	for want, event := range map[string]evidence.TrailEvent{
		"The trail was begun.":                        {Type: evidence.TrailReported, Data: &evidence.TrailBeginData{}},
		"The trail was changed: description, commit.": {Type: evidence.TrailUpdated, Data: &evidence.TrailBeginData{Changes: []string{"description", "commit"}}},
		"The trail was changed.":                      {Type: evidence.TrailUpdated, Data: &evidence.TrailBeginData{}},
		"Artifact 'a' was reported: f, fingerprint p.": {Type: evidence.ArtifactCreation, Data: &evidence.ArtifactReportData{
			Name: "a", Filename: "f", Fingerprint: "p"}},
		"Attestation 'n' of type t was reported for the trail: COMPLIANT.": {Type: evidence.TrailAttestation, Data: &evidence.AttestationReportData{
			Name: "n", Type: "t", Compliant: true}},
		"Attestation 'n' of type t was reported for artifact 'a': NON-COMPLIANT.": {Type: evidence.ArtifactAttestation, Data: &evidence.AttestationReportData{
			Name: "n", Type: "t", Target: "a"}},
		"Attestation 'n' of type t was reported for artifact p: NON-COMPLIANT.": {Type: evidence.ArtifactAttestation, Data: &evidence.AttestationReportData{
			Name: "n", Type: "t", Fingerprint: "p"}},
		"Artifact 'a' started running in environment 'e', snapshot 3: fingerprint p.": {Type: evidence.ArtifactStartedRunning, Data: &evidence.ArtifactRunData{
			Name: "a", EnvironmentName: "e", Snapshot: 3, Fingerprint: "p"}},
		"Artifact 'a' stopped running in environment 'e', snapshot 3: fingerprint p.": {Type: evidence.ArtifactStoppedRunning, Data: &evidence.ArtifactRunData{
			Name: "a", EnvironmentName: "e", Snapshot: 3, Fingerprint: "p"}},
		"Approval 7 of artifact p was recorded: APPROVED by grace.": {Type: evidence.ArtifactApproval, Data: &evidence.ApprovalData{
			Number: 7, Fingerprint: "p", State: "APPROVED", Reviewer: "grace"}},
		"something_new": {Type: "something_new"},
	} {
		if got := EventText(&event); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestTimesOutsideTheCalendarAreUnknown(t *testing.T) {
	for seconds, want := range map[float64]string{
		0: "unknown", begun: "2026-09-21 14:13:20 UTC", 1e300: "unknown", -1: "1969-12-31 23:59:59 UTC",
	} {
		if got := moment(seconds); got != want {
			t.Errorf("%v is shown as %s", seconds, got)
		}
	}
}

func TestSizesAreShownInTheUnitThatFits(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0 bytes", 1: "1 byte", 999: "999 bytes", 1_000: "1.0 kB", 999_900: "999.9 kB", 1_000_000: "1.0 MB", 5_250_000_000: "5250.0 MB",
	} {
		if got := size(bytes); got != strings.ReplaceAll(want, " ", "\u00a0") {
			t.Errorf("%d is shown as %q", bytes, got)
		}
	}
}

func TestPropertiesHaveNoCharactersThatFPDFCannotWrite(t *testing.T) {
	if got := plain("a\uFFFF\U00010000\n"); got != "a\uFFFF\uFFFD\uFFFD" {
		t.Errorf("got %+q", got)
	}
}
