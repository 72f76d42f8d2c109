package auditpackage

import (
	"fmt"
	"testing"

	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/evidence/compliance"
	"attestry/storage/pipelines"
	"attestry/tasks/auditpackage/pdf"
)

// TestReportShowsTheAttestationsThatCount has more attestations than a report shows, and the ones that count are the
// oldest.
func TestReportShowsTheAttestationsThatCount(t *testing.T) {
	d := &draft{facts: &facts{trails: []evidence.Trail{{ID: "trail"}}}}
	evaluation := &audit.Evaluation{}
	const all, counting = pdf.MaxAttestations + 500, 100
	for i := range all {
		entry := evidence.Entry{ID: fmt.Sprintf("%05d", i), Time: float64(i)}
		d.attested = append(d.attested, pipelines.TrailAttestation{SlotEntry: evidence.SlotEntry{Entry: entry}})
		if i < counting {
			evaluation.Report.Attestations = append(evaluation.Report.Attestations, compliance.AttestationStatus{Entry: &entry})
		}
	}
	d.evaluations = map[string]*audit.Evaluation{"trail": evaluation}
	d.selectShown()
	for i := range all {
		id, want := fmt.Sprintf("%05d", i), i < counting || i >= all-pdf.MaxAttestations+counting
		if d.selected[id] != want {
			t.Fatalf("attestation %s is shown: %v", id, d.selected[id])
		}
	}
	if len(d.selected) != pdf.MaxAttestations {
		t.Errorf("%d attestations are shown", len(d.selected))
	}
}
