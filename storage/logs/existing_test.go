package logs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"attestry/app/apptest"
	"attestry/evidence/evidencetest"
	"attestry/evidence/translog"
	"attestry/storage"
	"attestry/storage/logs"
	"attestry/storage/storagetest"
)

// noon is a time in Unix seconds.
const noon = 1774872000

var errKilled = errors.New("the process was killed")

// killed is an engine whose n-th write returns errKilled, before or after it is done.
type killed struct {
	storage.Documents
	at, writes int
	after      bool
}

func (k *killed) around(write func() error) error {
	k.writes++
	if k.writes == k.at && !k.after {
		return errKilled
	}
	err := write()
	if k.writes == k.at {
		return errKilled
	}
	return err
}

func (k *killed) Write(ctx context.Context, writes ...storage.Write) error {
	return k.around(func() error { return k.Documents.Write(ctx, writes...) })
}

// storeOld stores facts without leaves, as versions without logs did.
func storeOld(t *testing.T, engine storage.Documents, schema *storage.Schema, count int) {
	t.Helper()
	for start := 0; start < count; start += storage.MaxMany {
		var records []storage.Record
		for i := start; i < min(start+storage.MaxMany, count); i++ {
			record := fact(fmt.Sprintf("%05d", i), 1)
			record.Fields = map[string]any{"created": float64(1000 + i)}
			records = append(records, record)
		}
		evidencetest.Must(t, storagetest.Add(t.Context(), engine, schema, records...))
	}
}

// enterFact commits a fact as the first entry of the log.
func enterFact(t *testing.T, engine storage.Documents, id string) logs.Leaf {
	t.Helper()
	record, err := engine.Get(t.Context(), apptest.Schema(t, "artifacts"), id)
	evidencetest.Must(t, err)
	evidencetest.Must(t, storagetest.Put(t.Context(), logs.NewDocuments(engine, clock), apptest.Schema(t, "artifacts"), record))
	of := logs.New(engine, nil)
	evidencetest.Must(t, of.Begin(t.Context(), "acme", "example.com/acme"))
	log, err := of.GetVersioned(t.Context(), "acme")
	evidencetest.Must(t, err)
	leaves := leavesIn(t, engine)
	log.Value.Tree.Size = 1
	_, err = of.Commit(t.Context(), &log.Value, log.Revision, &logs.Change{Leaves: leaves})
	evidencetest.Must(t, err)
	return leaves[0]
}

func TestFactsOfEarlierVersionsGetLeavesOnce(t *testing.T) {
	const count = 2100
	schema := apptest.Schema(t, "artifacts")
	for _, after := range []bool{false, true} {
		for at, reached := 1, true; reached; at++ {
			t.Run(fmt.Sprintf("write %d, after %t", at, after), func(t *testing.T) {
				engine := openEngine(t)
				storeOld(t, engine, schema, count)
				entered := enterFact(t, engine, "01500")

				process := &killed{Documents: engine, at: at, after: after}
				err := logs.New(process, nil).AddExisting(t.Context(), schema, noon)
				reached = process.writes >= at
				if reached != errors.Is(err, errKilled) || !reached && err != nil {
					t.Fatal(err)
				}
				evidencetest.Must(t, logs.New(engine, nil).AddExisting(t.Context(), schema, noon))

				leaves := leavesIn(t, engine)
				if len(leaves) != count-1 {
					t.Fatalf("%d leaves", len(leaves))
				}
				leaves = slices.Insert(leaves, 1500, entered)
				for i, leaf := range leaves {
					want := fact(fmt.Sprintf("%05d", i), 1)
					if leaf.ID != want.ID || leaf.At != float64(1000+i) || leaf.Hash != translog.Commitment(leaf.Salt, want.Body) {
						t.Errorf("leaf %d is %+v", i, leaf)
					}
				}
			})
			if at == 1 && !reached {
				t.Error("nothing was written")
			}
		}
	}
}

func TestExistingFactsAreSearchedOnce(t *testing.T) {
	engine, schema := openEngine(t), apptest.Schema(t, "environments")
	evidencetest.Must(t, storagetest.Insert(t.Context(), engine, schema, fact("e", 1)))
	for range 2 {
		evidencetest.Must(t, logs.New(engine, nil).AddExisting(t.Context(), schema, noon))
	}
	evidencetest.Must(t, logs.New(engine, nil).AddExisting(t.Context(), apptest.Schema(t, "flows"), noon))
	leaves := leavesIn(t, engine)
	if versions := all(t, engine, "log_versions"); len(leaves) != 1 || len(versions) != 1 || string(versions[0].Body) != string(fact("e", 1).Body) || leaves[0].ID != "e:1" {
		t.Errorf("leaves %+v", leaves)
	}
	evidencetest.Must(t, storagetest.Insert(t.Context(), engine, schema, fact("f", 1)))
	process := &killed{Documents: engine}
	evidencetest.Must(t, logs.New(process, nil).AddExisting(t.Context(), schema, noon))
	if process.writes > 0 {
		t.Error("facts were looked for again")
	}
}

func TestFactsWhoseLeavesWereLostAreFoundWithinADay(t *testing.T) {
	const day = 24 * 60 * 60
	for collection, found := range map[string]bool{"environments": true, "audit_log": true, "policy_versions": true, "artifacts": false} {
		t.Run(collection, func(t *testing.T) {
			engine, schema := openEngine(t), apptest.Schema(t, collection)
			evidencetest.Must(t, logs.New(engine, nil).AddExisting(t.Context(), schema, noon))
			evidencetest.Must(t, storagetest.Insert(t.Context(), engine, schema, fact("e", 1))) // without its leaf, as if the process had been killed
			evidencetest.Must(t, logs.New(engine, nil).AddExisting(t.Context(), schema, noon+day-1))
			if leaves := leavesIn(t, engine); len(leaves) != 0 {
				t.Errorf("before a day has passed there are %d leaves", len(leaves))
			}
			for range 2 {
				evidencetest.Must(t, logs.New(engine, nil).AddExisting(t.Context(), schema, noon+day))
			}
			if leaves := leavesIn(t, engine); (len(leaves) == 1) != found {
				t.Errorf("after a day there are %d leaves", len(leaves))
			}
		})
	}
}

func TestLargeFactsOfEarlierVersionsAllGetLeaves(t *testing.T) {
	engine, schema := openEngine(t), apptest.Schema(t, "artifacts")
	for i := range 20 {
		record := fact(fmt.Sprint(i), 1)
		record.Body = fmt.Appendf(nil, `{"org":"acme","text":"%01000000d"}`, i)
		evidencetest.Must(t, storagetest.Insert(t.Context(), engine, schema, record))
	}
	evidencetest.Must(t, logs.New(engine, nil).AddExisting(t.Context(), schema, noon))
	if leaves := leavesIn(t, engine); len(leaves) != 20 {
		t.Errorf("%d leaves", len(leaves))
	}
}
