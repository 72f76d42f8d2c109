package recordingtest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"attestry/app"
	"attestry/storage"
	"attestry/storage/storagetest"
)

// testRecorderAtOnce lets many write to the same documents.
func testRecorderAtOnce(t *testing.T, engine storagetest.DocumentsEngine) {
	docs := openEngine(t, engine)
	t.Run("TrailIsBegunOnce", func(t *testing.T) { testBegunOnce(t, docs) })
	t.Run("NothingIsLost", func(t *testing.T) { testNothingIsLost(t, docs) })
	t.Run("DroppedAttestationsCountAgain", func(t *testing.T) { testDropped(t, docs) })
}

// atOnce lets n writers of two processes do what operations gives them, again where they
// are asked to. It returns how often they were.
func (c *model) atOnce(t *testing.T, n int, operations func(writer int) []operation) int64 {
	t.Helper()
	stores := []*app.Store{newStore(t, c.engine), newStore(t, c.engine)}
	var again atomic.Int64
	var work sync.WaitGroup
	for writer := range n {
		work.Go(func() {
			for _, d := range operations(writer) {
				err := c.do(t.Context(), stores[writer%2], d)
				for ; err != nil && tryLater(err); err = c.do(t.Context(), stores[writer%2], d) {
					again.Add(1)
				}
				if err != nil {
					t.Errorf("%s: %v", d, err)
				}
			}
		})
	}
	work.Wait()
	return again.Load()
}

// settleAfter finishes what answers left behind that asked to try again. Where there
// were none, all must be finished already.
func (c *model) settleAfter(t *testing.T, again int64) {
	t.Helper()
	t.Logf("%d times a client had to try again", again)
	if again == 0 {
		return
	}
	if err := c.finish(t.Context(), newStore(t, c.engine)); err != nil {
		t.Error(err)
	}
}

func testBegunOnce(t *testing.T, docs storage.Documents) {
	c := newModel(t, docs, 1)
	again := c.atOnce(t, 1000, func(writer int) []operation {
		return []operation{{Kind: "begin", Trail: "trail", Description: fmt.Sprint(writer % 20 / 19), At: float64(1000 + writer)}}
	})
	c.settleAfter(t, again)
	c.check(t)
}

// testNothingIsLost has 64 writers attest one trail and its slots, while artifacts
// are reported and the template changes.
func testNothingIsLost(t *testing.T, docs storage.Documents) {
	c := prepared(t, docs)
	each := 50
	if testing.Short() {
		each = 10
	}
	again := c.atOnce(t, 64, func(writer int) []operation {
		var operations []operation
		for i := range each {
			at := float64(1000 + i)
			name := fmt.Sprint("n", i%7)
			switch {
			case writer == 0 && i%5 == 0:
				operations = append(operations, operation{Kind: "begin", Trail: "trail", Template: 1 + i/5%len(modelTemplates), At: at})
			case writer == 1 && i%5 == 0:
				operations = append(operations, operation{Kind: "report", Trail: "trail", Name: "api", Fingerprint: fmt.Sprintf("%064x", i+1), Commit: commitA, At: at})
			case i%3 == 0:
				operations = append(operations, operation{Kind: "attest", Trail: "trail", Attestation: name, Type: "generic", Compliant: writer%9 > 0, At: at})
			case i%3 == 1:
				operations = append(operations, operation{Kind: "attest", Trail: "trail", Targets: []string{"api"}, Commit: commitA, Attestation: name, Type: "generic", Compliant: true, At: at})
			default:
				operations = append(operations, operation{Kind: "attest", Trail: "trail", Fingerprint: printA, Attestation: name, Type: "junit", Compliant: true, At: at})
			}
		}
		return operations
	})
	c.settleAfter(t, again)
	c.check(t)
}

// testDropped attests more commits of a name than a slot can hold, while an artifact
// of another commit is there; then comes one of the commit that was attested first.
func testDropped(t *testing.T, docs storage.Documents) {
	const attested = 440
	commit := func(i int) string { return fmt.Sprintf("%040x", i+1) }
	c := newModel(t, docs, 1)
	store := newStore(t, docs)
	report := operation{Kind: "report", Trail: "trail", Name: "api", Fingerprint: printA, Commit: commit(attested), At: 1000}
	if err := c.do(t.Context(), store, report); err != nil {
		t.Fatal(err)
	}
	again := c.atOnce(t, storagetest.Writers, func(writer int) []operation {
		var operations []operation
		for i := writer; i < attested; i += storagetest.Writers {
			operations = append(operations, operation{Kind: "attest", Trail: "trail", Targets: []string{"api"}, Commit: commit(i),
				Attestation: "y", Type: "snyk", Compliant: true, At: float64(1001 + i)})
		}
		return operations
	})
	c.settleAfter(t, again)
	report.Fingerprint, report.Commit, report.At = printB, commit(0), 2000
	if err := c.do(t.Context(), store, report); err != nil {
		t.Fatal(err)
	}
	c.check(t)
}
