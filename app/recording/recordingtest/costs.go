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

// The most commands that a report may cost in a trail that is there.
const (
	maxAttestCommands = 8
	maxDecideCommands = 11
	maxReportCommands = 12
	maxBeginCommands  = 8
	maxReadCommands   = 4
)

// testRecorderCosts pins how many commands reports cost: the same in a trail with
// one artifact and in one with hundreds.
func testRecorderCosts(t *testing.T, engine storagetest.DocumentsEngine) {
	docs := openEngine(t, engine)
	operations := map[string]struct {
		operation operation
		most      int
	}{
		"of the trail":       {operation{Kind: "attest", Attestation: "x", Type: "generic"}, maxAttestCommands},
		"by name":            {operation{Kind: "attest", Targets: []string{"slot-0"}, Attestation: "x", Type: "generic"}, maxAttestCommands},
		"by fingerprint":     {operation{Kind: "attest", Fingerprint: fmt.Sprintf("%064x", 1), Attestation: "x", Type: "generic"}, maxAttestCommands},
		"decision":           {operation{Kind: "attest", Attestation: "x", Type: "system:decision", Control: "ctl"}, maxDecideCommands},
		"artifact again":     {operation{Kind: "report", Name: "slot-0", Fingerprint: fmt.Sprintf("%064x", 1)}, maxReportCommands},
		"another artifact":   {operation{Kind: "report", Name: "slot-0", Fingerprint: printB}, maxReportCommands},
		"artifact of a name": {operation{Kind: "report", Name: "fresh", Fingerprint: printB}, maxReportCommands},
		"begin":              {operation{Kind: "begin", Trail: "fresh"}, maxBeginCommands},
		"begin again":        {operation{Kind: "begin", Description: "other"}, maxBeginCommands},
		"another template":   {operation{Kind: "begin", Template: 3}, maxBeginCommands},
		"nothing new":        {operation{Kind: "begin", Description: ""}, maxBeginCommands},
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

// testCost does an operation in a trail with artifacts, then reads the trail. It returns
// how many commands the operation took.
func testCost(t *testing.T, docs storage.Documents, d operation, artifacts, most int) int {
	t.Helper()
	c := newModel(t, docs, 1)
	counting := storage.NewCountingDocuments(docs)
	store := newStore(t, counting)
	c.stuff(t, store, artifacts)
	d.At = 5000
	if d.Trail == "" {
		d.Trail = "trail"
	}
	counting.Reset()
	if err := c.do(t.Context(), store, d); err != nil {
		t.Fatal(err)
	}
	costs := counting.Snapshot()
	t.Logf("%d artifacts: %d commands", artifacts, costs.Commands())
	if costs.Commands() > most {
		t.Errorf("%d artifacts: %+v", artifacts, costs)
	}
	counting.Reset()
	c.read(t, store)
	if costs := counting.Snapshot(); costs.Commands() > maxReadCommands {
		t.Errorf("reading a trail of %d artifacts: %+v", artifacts, costs)
	}
	return costs.Commands()
}

// stuff makes a trail with artifacts, each with twenty attestations. They are
// written as they would have become, as that many reports take long.
func (c *model) stuff(t *testing.T, store *app.Store, artifacts int) {
	t.Helper()
	if err := c.do(t.Context(), store, operation{Kind: "begin", Trail: "trail", At: 1000}); err != nil {
		t.Fatal(err)
	}
	trail, err := store.Trails.Get(t.Context(), c.flow.ID, "trail")
	if err != nil {
		t.Fatal(err)
	}
	// All templates are used, so that they are known without a command.
	for _, id := range c.templates {
		if _, err := store.Templates.Get(t.Context(), c.org, id); err != nil {
			t.Fatal(err)
		}
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
		trail.Summarize(slot.Name, compliance.Summarize(stored.ID, &stored.Template, &slot))
	}
	trail.Status = compliance.Trail(&stored.Template, &trail)
	put(t, c.engine, "slots", slots...)
	put(t, c.engine, "trails", record(t, trail.Key(), trail, map[string]any{"org": trail.Org, "flow": trail.Flow, "created": trail.CreatedAt}))
}

// record is a document as it is stored.
func record(t *testing.T, id string, value any, fields map[string]any) storage.Record {
	t.Helper()
	body, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return storage.Record{ID: id, Revision: 7, Fields: fields, Body: body}
}

// put stores documents over those of the same ids.
func put(t *testing.T, docs storage.Documents, collection string, records ...storage.Record) {
	t.Helper()
	schemas := app.Schemas()
	at := slices.IndexFunc(schemas, func(s *storage.Schema) bool { return s.Name == collection })
	if err := docs.Put(t.Context(), schemas[at], records...); err != nil {
		t.Fatal(err)
	}
}

// read reads all that is told of a trail.
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
