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

// testRecorderAtOnce lets many writers change the same documents.
func testRecorderAtOnce(t *testing.T, engine storagetest.DocumentsEngine) {
	docs := openEngine(t, engine)
	t.Run("TrailIsBegunOnce", func(t *testing.T) { testBegunOnce(t, docs) })
	t.Run("NothingIsLost", func(t *testing.T) { testNothingIsLost(t, docs) })
	t.Run("DroppedAttestationsCountAgain", func(t *testing.T) { testDropped(t, docs) })
}

// atOnce lets n writers of two processes do the operations that operations returns for each. They retry where the
// recorder asks for it. It returns the number of retries.
func (c *model) atOnce(t *testing.T, n int, operations func(writer int) []operation) int64 {
	t.Helper()
	stores := []*app.Store{newStore(t, c.engine), newStore(t, c.engine)}
	var retries atomic.Int64
	var work sync.WaitGroup
	for writer := range n {
		work.Go(func() {
			for _, d := range operations(writer) {
				err := c.do(t.Context(), stores[writer%2], d)
				for ; err != nil && tryLater(err); err = c.do(t.Context(), stores[writer%2], d) {
					retries.Add(1)
				}
				if err != nil {
					t.Errorf("%s: %v", d, err)
				}
			}
		})
	}
	work.Wait()
	return retries.Load()
}

// finishAfter finishes what operations that were retried may have left behind. If there were none, all must be finished
// already.
func (c *model) finishAfter(t *testing.T, retries int64) {
	t.Helper()
	t.Logf("clients retried %d times", retries)
	if retries == 0 {
		return
	}
	if err := c.finish(t.Context(), newStore(t, c.engine)); err != nil {
		t.Error(err)
	}
}

func testBegunOnce(t *testing.T, docs storage.Documents) {
	c := newModel(t, docs, 1)
	retries := c.atOnce(t, 1000, func(writer int) []operation {
		return []operation{{Kind: "begin", Trail: "trail", Description: fmt.Sprint(writer % 20 / 19), At: float64(1000 + writer)}}
	})
	c.finishAfter(t, retries)
	c.check(t)
}

// testNothingIsLost lets 64 writers attest one trail and its artifacts, while artifacts are reported and the template
// changes.
func testNothingIsLost(t *testing.T, docs storage.Documents) {
	c := prepared(t, docs)
	each := 50
	if testing.Short() {
		each = 10
	}
	retries := c.atOnce(t, 64, func(writer int) []operation {
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
	c.finishAfter(t, retries)
	c.check(t)
}

// testDropped attests more commits of a name than a slot holds, while it has an artifact of another commit. Then it
// reports an artifact of the commit that was attested first.
func testDropped(t *testing.T, docs storage.Documents) {
	const attested = 440
	commit := func(i int) string { return fmt.Sprintf("%040x", i+1) }
	c := newModel(t, docs, 1)
	store := newStore(t, docs)
	report := operation{Kind: "report", Trail: "trail", Name: "api", Fingerprint: printA, Commit: commit(attested), At: 1000}
	if err := c.do(t.Context(), store, report); err != nil {
		t.Fatal(err)
	}
	retries := c.atOnce(t, storagetest.Writers, func(writer int) []operation {
		var operations []operation
		for i := writer; i < attested; i += storagetest.Writers {
			operations = append(operations, operation{Kind: "attest", Trail: "trail", Targets: []string{"api"}, Commit: commit(i),
				Attestation: "y", Type: "snyk", Compliant: true, At: float64(1001 + i)})
		}
		return operations
	})
	c.finishAfter(t, retries)
	report.Fingerprint, report.Commit, report.At = printB, commit(0), 2000
	if err := c.do(t.Context(), store, report); err != nil {
		t.Fatal(err)
	}
	c.check(t)
}
