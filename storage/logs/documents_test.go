package logs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"attestry/app"
	"attestry/app/apptest"
	"attestry/evidence/evidencetest"
	"attestry/evidence/translog"
	"attestry/storage"
	"attestry/storage/logs"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/storagetest"
)

const now = 1_800_000_000

func clock() time.Time { return time.Unix(now, 0) }

// commands records the batches sent to an engine.
type commands struct {
	storage.Documents
	batches [][]storage.Write
}

func (c *commands) Write(ctx context.Context, writes ...storage.Write) error {
	c.batches = append(c.batches, writes)
	return c.Documents.Write(ctx, writes...)
}

func openEngine(t *testing.T) *commands {
	t.Helper()
	return &commands{Documents: pebbletest.Open(t, filepath.Join(t.TempDir(), "documents"), app.Schemas())}
}

// all lists a collection.
func all(t *testing.T, docs storage.Documents, collection string) (records []storage.Record) {
	t.Helper()
	for after := ""; ; after = records[len(records)-1].ID {
		page, err := docs.List(t.Context(), apptest.Schema(t, collection), after, storage.MaxMany, 64<<20)
		evidencetest.Must(t, err)
		if len(page) == 0 {
			return records
		}
		records = append(records, page...)
	}
}

func leavesIn(t *testing.T, docs storage.Documents) (leaves []logs.Leaf) {
	t.Helper()
	for _, record := range all(t, docs, "log_pending") {
		var leaf logs.Leaf
		evidencetest.Must(t, json.Unmarshal(record.Body, &leaf))
		leaves = append(leaves, leaf)
	}
	return leaves
}

// fact returns a document of the organization acme.
func fact(id string, revision int64) storage.Record {
	return storage.Record{ID: id, Revision: revision, Body: fmt.Appendf(nil, `{"org":"acme","id":%q,"revision":%d}`, id, revision)}
}

func TestFactAndLeafAreWrittenByOneCommand(t *testing.T) {
	writes := func(kind storage.WriteKind) func(storage.Documents, *storage.Schema) error {
		return func(docs storage.Documents, schema *storage.Schema) error {
			return docs.Write(t.Context(), storage.Write{Kind: kind, Schema: schema, Record: fact("new", 7)})
		}
	}
	for name, c := range map[string]struct {
		write func(storage.Documents, *storage.Schema) error
		// The numbers of leaves in a collection of immutable facts, of replaceable facts, and of other documents.
		fact, replaced, other int
	}{
		"Insert": {func(docs storage.Documents, schema *storage.Schema) error {
			return storagetest.Insert(t.Context(), docs, schema, fact("new", 7))
		}, 1, 1, 0},
		"Put": {func(docs storage.Documents, schema *storage.Schema) error {
			return storagetest.Put(t.Context(), docs, schema, fact("new", 7))
		}, 1, 1, 0},
		"Replace": {func(docs storage.Documents, schema *storage.Schema) error {
			return storagetest.Replace(t.Context(), docs, schema, fact("old", 7), 5)
		}, 0, 1, 0},
		"Write of an insertion": {writes(storage.WriteInsert), 1, 1, 0},
		"Write of an addition":  {writes(storage.WriteAdd), 1, 1, 0},
		"Write of a put":        {writes(storage.WritePut), 1, 1, 0},
		"Write of a deletion":   {writes(storage.WriteDelete), 0, 0, 0},
		"Write of a replacement": {func(docs storage.Documents, schema *storage.Schema) error {
			return docs.Write(t.Context(), storage.Write{Kind: storage.WriteReplace, Schema: schema, Record: fact("old", 7), Revision: 5})
		}, 0, 1, 0},
	} {
		for collection, want := range map[string]int{"artifacts": c.fact, "environments": c.replaced, "flows": c.other} {
			t.Run(name+" in "+collection, func(t *testing.T) {
				engine, schema := openEngine(t), apptest.Schema(t, collection)
				evidencetest.Must(t, storagetest.Insert(t.Context(), engine.Documents, schema, fact("old", 5)))
				evidencetest.Must(t, c.write(logs.NewDocuments(engine, clock), schema))
				leaves := leavesIn(t, engine)
				if len(leaves) != want || len(engine.batches) > 1 {
					t.Fatalf("%d leaves with %d batches, want %d", len(leaves), len(engine.batches), want)
				}
				for _, leaf := range leaves {
					stored := fact("new", 7)
					if strings.HasPrefix(leaf.ID, "old") {
						stored = fact("old", 7)
					}
					if leaf.Hash != translog.Commitment(leaf.Salt, stored.Body) || len(leaf.Salt) != translog.SaltSize || leaf.At != now || leaf.Org != "acme" || leaf.Index != 0 {
						t.Errorf("leaf %+v", leaf)
					}
				}
			})
		}
	}
}

func TestALeafNamesTheGroupOfItsFact(t *testing.T) {
	for collection, want := range map[string]logs.Leaf{
		"attestations": {Kind: "attestation", ID: "x:1", Group: "flow/trail"},
		"snapshots":    {Kind: "snapshot", ID: "x:1", Group: "e1"},
		"environments": {Kind: "environment", ID: "x:1:f", Group: "x/1"},
		"allowlist":    {Kind: "allowance", ID: "x:1:f", Group: "x"},
		"audit_log":    {Kind: "audit_entry", ID: "x:1"},
	} {
		t.Run(collection, func(t *testing.T) {
			engine := openEngine(t)
			record := fact("x/1", 15)
			switch collection {
			case "attestations":
				record.Fields = map[string]any{"trail": "flow/trail"}
			case "snapshots":
				record.Fields = map[string]any{"environment": "e1"}
			}
			docs := logs.NewDocuments(engine, clock)
			evidencetest.Must(t, storagetest.Insert(t.Context(), docs, apptest.Schema(t, collection), record))
			leaves := leavesIn(t, engine)
			if len(leaves) != 1 || leaves[0].Kind != want.Kind || leaves[0].ID != want.ID || leaves[0].Group != want.Group {
				t.Errorf("leaves %+v", leaves)
			}
		})
	}
}

func TestLeafCommitsToTheStoredFact(t *testing.T) {
	engine, schema := openEngine(t), apptest.Schema(t, "artifacts")
	docs := logs.NewDocuments(engine, clock)
	evidencetest.Must(t, storagetest.Put(t.Context(), docs, schema, fact("a", 1)))
	evidencetest.Must(t, storagetest.Put(t.Context(), docs, schema, fact("a", 2)))
	if err := storagetest.Insert(t.Context(), docs, schema, fact("a", 3)); !errors.Is(err, storage.ErrExists) {
		t.Errorf("inserted twice: %v", err)
	}
	evidencetest.Must(t, docs.Write(t.Context(), storage.Write{Kind: storage.WriteAdd, Schema: schema, Record: fact("a", 4)}))
	leaves := leavesIn(t, engine)
	if len(leaves) != 1 || leaves[0].Hash != translog.Commitment(leaves[0].Salt, fact("a", 2).Body) {
		t.Errorf("leaves %+v", leaves)
	}
}

func TestRefusedWriteHasItsIndexAmongTheCallersWrites(t *testing.T) {
	for name, c := range map[string]struct {
		count, index int
		kind         storage.WriteKind
		reason       error
	}{
		"first":                 {3, 0, storage.WriteInsert, storage.ErrExists},
		"after leaves":          {3, 2, storage.WriteInsert, storage.ErrExists},
		"in the second command": {1000, 800, storage.WriteInsert, storage.ErrExists},
		"of a replacement":      {5, 3, storage.WriteReplace, storage.ErrMoved},
	} {
		t.Run(name, func(t *testing.T) {
			engine, schema := openEngine(t), apptest.Schema(t, "artifacts")
			var writes []storage.Write
			for i := range c.count {
				writes = append(writes, storage.Write{Kind: storage.WriteInsert, Schema: schema, Record: fact(fmt.Sprintf("%04d", i), 1)})
			}
			writes[c.index].Kind, writes[c.index].Revision = c.kind, 9
			evidencetest.Must(t, storagetest.Insert(t.Context(), engine, schema, writes[c.index].Record))
			err := logs.NewDocuments(engine, clock).Write(t.Context(), writes...)
			var refused *storage.RefusedWrite
			if !errors.As(err, &refused) || refused.Index != c.index || !errors.Is(err, c.reason) {
				t.Errorf("write %d is refused: %v", c.index, err)
			}
			if leaves, facts := leavesIn(t, engine), all(t, engine, "artifacts"); len(leaves) > len(facts) {
				t.Errorf("%d leaves for %d facts", len(leaves), len(facts))
			}
		})
	}
}

func TestRefusedSingleWriteReturnsTheBareReason(t *testing.T) {
	engine, schema := openEngine(t), apptest.Schema(t, "environments")
	docs := logs.NewDocuments(engine, clock)
	evidencetest.Must(t, storagetest.Insert(t.Context(), docs, schema, fact("e", 1)))
	if err := storagetest.Insert(t.Context(), docs, schema, fact("e", 2)); err != storage.ErrExists {
		t.Errorf("inserted twice: %v", err)
	}
	if err := storagetest.Replace(t.Context(), docs, schema, fact("e", 3), 2); err != storage.ErrMoved {
		t.Errorf("replaced another revision: %v", err)
	}
	if leaves := leavesIn(t, engine); len(leaves) != 1 {
		t.Errorf("%d leaves", len(leaves))
	}
}

func TestFactsOfALargeBatchAreWrittenWithTheirLeaves(t *testing.T) {
	for name, others := range map[string]int{"facts only": 0, "after another document": 1} {
		t.Run(name, func(t *testing.T) {
			engine, schema := openEngine(t), apptest.Schema(t, "artifacts")
			var writes []storage.Write
			for i := range storage.MaxMany {
				write := storage.Write{Kind: storage.WriteInsert, Schema: schema, Record: fact(fmt.Sprintf("%04d", i), 1)}
				if i < others {
					write.Schema = apptest.Schema(t, "flows")
				}
				writes = append(writes, write)
			}
			evidencetest.Must(t, logs.NewDocuments(engine, clock).Write(t.Context(), writes...))
			if len(engine.batches) != 2 {
				t.Errorf("%d commands", len(engine.batches))
			}
			for _, batch := range engine.batches {
				ids := map[string]bool{}
				for i := range batch {
					ids[batch[i].Record.ID] = true
				}
				for i := range batch {
					if batch[i].Schema == schema && !ids[fmt.Sprintf("acme/%016x/artifact/%s", now*1_000_000, batch[i].Record.ID)] {
						t.Errorf("fact %s is apart from its leaf", batch[i].Record.ID)
					}
				}
			}
			if got, want := len(leavesIn(t, engine)), storage.MaxMany-others; got != want || len(all(t, engine, "artifacts")) != want {
				t.Errorf("%d leaves of %d facts", got, want)
			}
		})
	}
}

func TestEachVersionOfAReplaceableFactHasALeaf(t *testing.T) {
	for _, collection := range []string{"environments", "allowlist"} {
		t.Run(collection, func(t *testing.T) {
			engine, schema := openEngine(t), apptest.Schema(t, collection)
			docs := logs.NewDocuments(engine, clock)
			evidencetest.Must(t, storagetest.Insert(t.Context(), docs, schema, fact("e", 1)))
			evidencetest.Must(t, storagetest.Replace(t.Context(), docs, schema, fact("e", 2), 1))
			evidencetest.Must(t, docs.Write(t.Context(), storage.Write{Kind: storage.WriteReplace, Schema: schema, Record: fact("e", 3), Revision: 2}))
			leaves := leavesIn(t, engine)
			versions := all(t, engine, "log_versions")
			if len(leaves) != 3 || len(versions) != 3 {
				t.Fatalf("%d leaves and %d versions", len(leaves), len(versions))
			}
			for i, leaf := range leaves {
				want := fact("e", int64(i+1)).Body
				if leaf.ID != fmt.Sprintf("e:%d", i+1) || !bytes.Equal(versions[i].Body, want) || leaf.Hash != translog.Commitment(leaf.Salt, want) {
					t.Errorf("leaf %d is %+v", i, leaf)
				}
			}
		})
	}
}

func TestAFactWithoutAnOrganizationIsNotStored(t *testing.T) {
	for name, body := range map[string]string{"none": `{"id":"1"}`, "empty": `{"org":""}`, "no JSON": `x`} {
		t.Run(name, func(t *testing.T) {
			engine, schema := openEngine(t), apptest.Schema(t, "templates")
			err := storagetest.Insert(t.Context(), logs.NewDocuments(engine, clock), schema, storage.Record{ID: "1", Revision: 1, Body: []byte(body)})
			if err == nil || strings.Contains(err.Error(), "%!") || !strings.Contains(err.Error(), "organization") {
				t.Errorf("error %v", err)
			}
			if stored := all(t, engine, "templates"); len(stored) > 0 {
				t.Errorf("stored %+v", stored)
			}
		})
	}
}

func TestEachOfSeveralAddedFactsGetsALeaf(t *testing.T) {
	engine := openEngine(t)
	docs := logs.NewDocuments(engine, clock)
	evidencetest.Must(t, storagetest.Add(t.Context(), docs, apptest.Schema(t, "artifacts"), fact("a", 1), fact("b", 1)))
	evidencetest.Must(t, storagetest.Add(t.Context(), docs, apptest.Schema(t, "flows"), fact("a", 1)))
	if leaves := leavesIn(t, engine); len(leaves) != 2 {
		t.Errorf("%d leaves of 2 facts", len(leaves))
	}
}
