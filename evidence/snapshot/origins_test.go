package snapshot

import (
	"fmt"
	"strings"
	"testing"

	"attestry/evidence"
)

// toldBy are the origins of an artifact that many flows know, on trails of long names,
// where it has replaced another one.
func toldBy(flows, length int) []Origin {
	origins := make([]Origin, 0, flows)
	for i := range flows {
		told := evidence.Origin{Flow: fmt.Sprint("flow-", i), Trail: strings.Repeat("t", length), First: float64(i)}
		origins = append(origins, Origin{Origin: told, Previous: &Predecessor{Fingerprint: fingerprint("before"), Origin: told}})
	}
	return origins
}

// TestReportDoesNotFailForWhatFlowsTell judges an artifact of which flows tell more than
// a document can hold.
func TestReportDoesNotFailForWhatFlowsTell(t *testing.T) {
	for _, c := range []struct{ flows, length, least, most int }{
		{500, 100, 500, 500},
		{500, 1 << 20, 3, 3},
		{500, 20_000, 170, 183},
		{2, 1 << 24, 1, 1},
	} {
		report := Canonical(evidence.Server, []Instance{{Digests: map[string]string{"app": fingerprint("app")}, CreatedAt: 1}})
		told := toldBy(c.flows, c.length)
		judged := (&Input{
			Images: report.Fingerprints(), Known: map[string]Known{fingerprint("app"): {Origins: told}},
		}).evaluate(&Snapshot{Number: 1})[0]
		kept := len(judged.Origins)
		if kept < c.least || kept > c.most || judged.Origins[kept-1].Flow != fmt.Sprint("flow-", kept-1) {
			t.Errorf("of %d flows with names of %d bytes, %d are kept", c.flows, c.length, kept)
		}
		if size := len(encode(judged)); kept > 1 && size > MaxOriginsSize {
			t.Errorf("%d flows with names of %d bytes make %d bytes", c.flows, c.length, size)
		}
	}
}
