package recordingtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"attestry/app"
	"attestry/storage"
	"attestry/storage/storagetest"
)

// times are the clocks of operations: the time of the i-th one, in Unix seconds.
var times = map[string]func(random *rand.Rand, i int) float64{
	"rising": func(_ *rand.Rand, i int) float64 { return 1000 + float64(i) },
	"equal":  func(*rand.Rand, int) float64 { return 1000 },
	"mixed":  func(random *rand.Rand, _ int) float64 { return 1000 + float64(random.IntN(20)) },
	// The clock is set back by ten minutes after each twenty operations.
	"set back": func(_ *rand.Rand, i int) float64 { return 10_000 + float64(i) - float64(600*(i/20)) },
	// The clocks of the two processes differ by an hour.
	"apart": func(_ *rand.Rand, i int) float64 { return 10_000 + float64(i) + float64(3600*(i%2)) },
}

// randomRuns is how many random models of each kind are tested.
func randomRuns() int {
	if testing.Short() {
		return 2
	}
	return 5
}

// scale is the size of a random model.
type scale struct {
	trails, prints, operations, commits int
	names, attestations                 []string
}

// testRecorderOrder lets one and several writers do random operations, and compares the aggregates with the facts.
func testRecorderOrder(t *testing.T, engine storagetest.DocumentsEngine, runs int) {
	usual := scale{trails: 2, prints: 4, operations: 60, commits: 3,
		names: []string{"api", "api", "web", "job"}, attestations: []string{"x", "y", "z"}}
	for clock := range times {
		t.Run(clock, func(t *testing.T) {
			docs := openEngine(t, engine)
			for _, writers := range []int{1, 8} {
				for run := range runs {
					t.Run(fmt.Sprintf("%d writers, run %d", writers, run), func(t *testing.T) {
						testRandom(t, docs, usual, clock, writers)
					})
				}
			}
		})
	}
}

// testRecorderCrowded has more fingerprints and attestations than a slot holds.
func testRecorderCrowded(t *testing.T, engine storagetest.DocumentsEngine) {
	docs := openEngine(t, engine)
	crowded := scale{trails: 1, prints: 70, operations: 1200, commits: 100,
		names: []string{"api"}, attestations: []string{"x", "y", "z", "u", "v", "w"}}
	testRandom(t, docs, crowded, "mixed", 8)
}

func testRandom(t *testing.T, docs storage.Documents, size scale, clock string, writers int) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	c := newModel(t, docs, random.IntN(len(modelTemplates)))
	operations := randomOperations(random, size, clock)
	c.doAll(t, operations, writers)
	c.check(t)
	if t.Failed() {
		t.Logf("seed %d", seed)
	}
	if t.Failed() && len(operations) < 200 {
		t.Log(script(operations))
	}
}

func script(operations []operation) string {
	var text strings.Builder
	for _, d := range operations {
		fmt.Fprintln(&text, d)
	}
	return text.String()
}

// doAll lets writers of two processes do the operations, each its share of them in order.
func (c *model) doAll(t *testing.T, operations []operation, writers int) {
	t.Helper()
	stores := []*app.Store{newStore(t, c.engine), newStore(t, c.engine)}
	var work sync.WaitGroup
	for writer := range writers {
		work.Go(func() {
			for i := writer; i < len(operations); i += writers {
				for {
					err := c.do(t.Context(), stores[i%2], operations[i])
					if err == nil || refused(err) {
						break
					}
					if writers == 1 || !tryLater(err) {
						t.Errorf("%s: %v", operations[i], err)
						break
					}
				}
			}
		})
	}
	work.Wait()
	if writers > 1 {
		// An operation that was retried may have left something behind.
		if err := c.finish(t.Context(), stores[0]); err != nil {
			t.Error(err)
		}
	}
}

// randomOperations makes random operations.
func randomOperations(random *rand.Rand, size scale, clock string) []operation {
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	commit := func() string {
		n := random.IntN(size.commits + 1)
		if n == 0 {
			return ""
		}
		return fmt.Sprintf("%040x", n)
	}
	print := func() string { return fmt.Sprintf("%064x", random.IntN(size.prints)+1) }
	name := func() string { return pick(size.names...) }
	operations := make([]operation, 0, size.operations)
	for i := range size.operations {
		d := operation{Trail: fmt.Sprint("trail-", random.IntN(size.trails)), At: times[clock](random, i)}
		switch n := random.IntN(20); {
		case n < 2:
			d.Kind, d.Template, d.Description = "begin", random.IntN(len(modelTemplates)+1), pick("", "one", "two")
		case n < 7:
			d.Kind, d.Name, d.Fingerprint, d.Commit = "report", name(), print(), commit()
		default:
			d.Kind, d.Attestation, d.Compliant = "attest", pick(size.attestations...), random.IntN(3) > 0
			d.Type = pick("generic", "junit", "system:decision")
			if d.Type == "system:decision" {
				d.Control = pick("", "ctl")
			}
			if random.IntN(5) == 0 {
				d.Kind, d.Control = "override", ""
			}
			switch random.IntN(5) {
			case 0, 1:
				d.Fingerprint = print()
			case 2:
				d.Targets, d.Commit = []string{name()}, commit()
			case 3:
				d.Targets, d.Commit = []string{"api", "web"}, commit()
			}
		}
		operations = append(operations, d)
	}
	return operations
}
