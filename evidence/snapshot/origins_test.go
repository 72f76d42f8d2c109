package snapshot

import (
	"fmt"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/policy"
)

// manyOrigins are origins of an artifact from many flows, on trails with long names. It replaced another artifact.
func manyOrigins(flows, length int) []Origin {
	origins := make([]Origin, 0, flows)
	for i := range flows {
		origin := evidence.Origin{Flow: fmt.Sprint("flow-", i), Trail: strings.Repeat("t", length), First: float64(i)}
		origins = append(origins, Origin{Origin: origin, Previous: &Predecessor{Fingerprint: fingerprint("before"), Origin: origin}})
	}
	return origins
}

// TestOriginsAreLimitedToTheSizeOfADocument evaluates an artifact with more origins than a document can hold.
func TestOriginsAreLimitedToTheSizeOfADocument(t *testing.T) {
	for _, c := range []struct{ flows, length, least, most int }{
		{500, 100, 500, 500},
		{500, 1 << 20, 3, 3},
		{500, 20_000, 170, 183},
		{2, 1 << 24, 1, 1},
	} {
		report := Canonical(evidence.Server, []Instance{{Digests: map[string]string{"app": fingerprint("app")}, CreatedAt: 1}})
		origins := manyOrigins(c.flows, c.length)
		artifact := (&Input{
			Images: report.Fingerprints(), Known: map[string]Known{fingerprint("app"): {Origins: origins}},
		}).evaluate(&Snapshot{Number: 1})[0]
		kept := len(artifact.Origins)
		if kept < c.least || kept > c.most || artifact.Origins[kept-1].Flow != fmt.Sprint("flow-", kept-1) {
			t.Errorf("of %d flows with names of %d bytes, %d are kept", c.flows, c.length, kept)
		}
		if size := len(encode(artifact)); kept > 1 && size > MaxOriginsSize {
			t.Errorf("%d flows with names of %d bytes make %d bytes", c.flows, c.length, size)
		}
	}
}

// TestSizesCoverTheEncodingsOfFailures compares the sizes of failures, at their longest, with their encodings.
func TestSizesCoverTheEncodingsOfFailures(t *testing.T) {
	long := strings.Repeat("<", 200)
	var failing []evidence.Entry
	for i := range 10 {
		failing = append(failing, evidence.Entry{Name: fmt.Sprint(long, i), Finding: long})
	}
	shortfall := policy.NewShortfall(failing, []string{long})
	origin := Origin{Shortfall: &shortfall}
	if got, most := len(encode(origin)), origin.size(); got > most {
		t.Errorf("an origin takes up %d bytes, of at most %d", got, most)
	}
	reason := Reason{Attestation: &policy.Attestation{ID: long, Name: long, Type: long, Flow: long, Trail: long, Finding: long}}
	if got, most := len(encode(reason)), reason.size(); got > most {
		t.Errorf("a reason takes up %d bytes, of at most %d", got, most)
	}
}
