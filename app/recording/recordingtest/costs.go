package recordingtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/compliance"
	"attestry/storage"
	"attestry/storage/storagetest"
)

// The most commands that a report may cost in an existing trail, and the next one like it by the same process. Only the
// first one reads the organization's actions, which are cached for half a second, and the children of artifacts.
var (
	attestCommands = commands{9, 2}
	decideCommands = commands{12, 6} // they also read the accounts of people
	reportCommands = commands{11, 5}
	beginCommands  = commands{8, 2}
	// retemplateCommands also read where the children of artifacts run.
	retemplateCommands = commands{9, 2}
)

type commands struct{ first, next int }

// maxReadCommands is the most that reading a trail may cost.
const maxReadCommands = 4

// testRecorderCosts checks that reports cost a bounded number of commands, which is the same in a trail with one
// artifact and in one with hundreds.
func testRecorderCosts(t *testing.T, engine storagetest.DocumentsEngine) {
	docs := openEngine(t, engine)
	operations := map[string]struct {
		operation operation
		most      commands
	}{
		"of the trail":       {operation{Kind: "attest", Attestation: "x", Type: "generic"}, attestCommands},
		"by name":            {operation{Kind: "attest", Targets: []string{"slot-0"}, Attestation: "x", Type: "generic"}, attestCommands},
		"by fingerprint":     {operation{Kind: "attest", Fingerprint: fmt.Sprintf("%064x", 1), Attestation: "x", Type: "generic"}, attestCommands},
		"decision":           {operation{Kind: "attest", Attestation: "x", Type: "system:decision", Control: "ctl"}, decideCommands},
		"artifact again":     {operation{Kind: "report", Name: "slot-0", Fingerprint: fmt.Sprintf("%064x", 1)}, reportCommands},
		"another artifact":   {operation{Kind: "report", Name: "slot-0", Fingerprint: printB}, reportCommands},
		"artifact of a name": {operation{Kind: "report", Name: "fresh", Fingerprint: printB}, reportCommands},
		"begin":              {operation{Kind: "begin", Trail: "fresh"}, beginCommands},
		"begin again":        {operation{Kind: "begin", Description: "other"}, beginCommands},
		"another template":   {operation{Kind: "begin", Template: 3}, retemplateCommands},
		"nothing new":        {operation{Kind: "begin", Description: ""}, beginCommands},
	}
	many := 500
	if testing.Short() {
		many = 200
	}
	for name, one := range operations {
		t.Run(name, func(t *testing.T) {
			few := testCost(t, docs, one.operation, 1, one.most)
			if got := testCost(t, docs, one.operation, many, one.most); got != few {
				t.Errorf("%d commands in a trail of one artifact, %d in one of %d", few, got, many)
			}
		})
	}
}

// testCost does an operation twice in a trail with artifacts, then reads the trail. It returns how many commands the
// operation took each time.
func testCost(t *testing.T, docs storage.Documents, d operation, artifacts int, most commands) commands {
	t.Helper()
	c := newModel(t, docs, 1)
	c.fill(t, newStore(t, docs), artifacts)
	counting := storagetest.NewCountingDocuments(docs)
	store := newStore(t, counting)
	c.warmUp(t, store)
	d.At = 5000
	if d.Trail == "" {
		d.Trail = "trail"
	}
	measure := func(most int) int {
		counting.Reset()
		if err := c.do(t.Context(), store, d); err != nil {
			t.Fatal(err)
		}
		costs := counting.Snapshot()
		if costs.Commands() > most {
			t.Errorf("%d artifacts: %+v", artifacts, costs)
		}
		return costs.Commands()
	}
	cost := commands{first: measure(most.first), next: measure(most.next)}
	t.Logf("%d artifacts: %+v commands", artifacts, cost)
	counting.Reset()
	c.read(t, store)
	if costs := counting.Snapshot(); costs.Commands() > maxReadCommands {
		t.Errorf("reading a trail of %d artifacts: %+v", artifacts, costs)
	}
	return cost
}

// fill makes a trail with artifacts, each with twenty attestations. It writes the slots and the trail directly, as that
// many reports take long.
func (c *model) fill(t *testing.T, store *app.Store, artifacts int) {
	t.Helper()
	if err := c.do(t.Context(), store, operation{Kind: "begin", Trail: "trail", At: 1000}); err != nil {
		t.Fatal(err)
	}
	trail, err := store.Trails.Get(t.Context(), c.flow.ID, "trail")
	if err != nil {
		t.Fatal(err)
	}
	stored, err := store.Templates.Get(t.Context(), c.org, trail.Template)
	if err != nil {
		t.Fatal(err)
	}
	var slots []storage.Record
	for i := range artifacts {
		slot := evidence.Slot{Org: c.org, Trail: trail.Key(), Name: fmt.Sprint("slot-", i), Version: 1}
		slot.Report(evidence.SlotArtifact{Fingerprint: fmt.Sprintf("%064x", i+1), Record: fmt.Sprint("r", i), Time: 1001})
		for n := range 20 {
			slot.Attest(evidence.SlotEntry{Entry: evidence.Entry{
				Name: fmt.Sprint("n", n), Type: "generic", ID: fmt.Sprint("e", n), Time: 1002, Compliant: true,
			}})
		}
		slots = append(slots, record(t, slot.ID(), slot, nil))
		trail.Summarize(slot.Name, compliance.Summarize(stored.ID, &stored.Template, trail.Author(), &slot))
	}
	compliance.Update(&stored.Template, &trail)
	put(t, c.engine, "slots", slots...)
	put(t, c.engine, "trails", record(t, trail.Key(), trail, map[string]any{"org": trail.Org, "flow": trail.Flow, "created": trail.CreatedAt}))
}

// warmUp reads all templates, so that they are cached.
func (c *model) warmUp(t *testing.T, store *app.Store) {
	t.Helper()
	for _, id := range c.templates {
		if _, err := store.Templates.Get(t.Context(), c.org, id); err != nil {
			t.Fatal(err)
		}
	}
}

// record returns the document of a value.
func record(t *testing.T, id string, value any, fields map[string]any) storage.Record {
	t.Helper()
	body, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return storage.Record{ID: id, Revision: 7, Fields: fields, Body: body}
}

// put stores documents, and replaces those of the same ids.
func put(t *testing.T, docs storage.Documents, collection string, records ...storage.Record) {
	t.Helper()
	schemas := app.Schemas()
	at := slices.IndexFunc(schemas, func(s *storage.Schema) bool { return s.Name == collection })
	if err := storagetest.Put(t.Context(), docs, schemas[at], records...); err != nil {
		t.Fatal(err)
	}
}

// read reads a trail with all of its parts, as an answer shows it.
func (c *model) read(t *testing.T, store *app.Store) {
	t.Helper()
	trail, err := store.Trails.Get(t.Context(), c.flow.ID, "trail")
	if err != nil {
		t.Fatal(err)
	}
	slots, err := store.Slots.GetMany(t.Context(), trail.SlotIDs())
	if err != nil || len(slots) != len(trail.Slots) {
		t.Fatalf("%d slots of %d: %v", len(slots), len(trail.Slots), err)
	}
	if _, err := store.Templates.Get(t.Context(), c.org, trail.Template); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Trails.Events(t.Context(), &trail); err != nil {
		t.Fatal(err)
	}
}
