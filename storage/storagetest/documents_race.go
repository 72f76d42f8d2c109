package storagetest

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"attestry/storage"
)

const (
	// victimLocation is the environment variable that tells the child process to be killed where to write.
	victimLocation = "ATTESTRY_STORAGETEST_VICTIM"
	// victimPrefix begins the lines by which that process acknowledges writes.
	victimPrefix = "stored "
	// Writers is the number of concurrent writers.
	Writers = 16
)

// testKilled kills a child process while it writes, and checks that every acknowledged write is stored.
func testKilled(t *testing.T, engine DocumentsEngine) {
	location := engine.Locate(t)
	name, _, _ := strings.Cut(t.Name(), "/")
	victim := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+name+"$")
	victim.Env = append(os.Environ(), victimLocation+"="+location)
	victim.Stderr = os.Stderr
	output, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	var stored []string
	for lines := bufio.NewScanner(output); lines.Scan(); {
		id, ok := strings.CutPrefix(lines.Text(), victimPrefix)
		if !ok {
			continue
		}
		if stored = append(stored, id); len(stored) == 200 {
			_ = victim.Process.Kill()
		}
	}
	if err := victim.Wait(); err == nil || len(stored) < 200 {
		t.Fatalf("the process ended after %d writes: %v", len(stored), err)
	}
	mustHold(t, engine, location, stored)
}

func mustHold(t *testing.T, engine DocumentsEngine, location string, stored []string) {
	schema := things()
	db := engine.Open(t, location, schema)
	defer db.Close()
	for _, id := range stored {
		got, err := db.Get(t.Context(), schema, id)
		if err != nil {
			t.Fatalf("%s was acknowledged and is lost: %v", id, err)
		}
		mustEqual(t, got, victimRecord(id))
	}
	for i := range 10 {
		mustBe(t, Insert(t.Context(), db, schema, victimRecord(fmt.Sprint("after-", i))), nil)
	}
}

func victimRecord(id string) storage.Record {
	return record(id, 7, map[string]any{"org": "victim", "name": id})
}

// beVictim does all kinds of writes in several goroutines and prints the acknowledged ids, until the process is killed.
func beVictim(t *testing.T, engine DocumentsEngine, location string) {
	schema := things()
	db := engine.Open(t, location, schema)
	acknowledged := make(chan string)
	for writer := range 4 {
		go func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%d-%d", writer, i)
				if err := victimWrite(t, db, schema, id, i); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(3)
				}
				acknowledged <- id
			}
		}()
	}
	for id := range acknowledged {
		fmt.Println(victimPrefix + id)
	}
}

func victimWrite(t *testing.T, db storage.Documents, schema *storage.Schema, id string, i int) error {
	final := victimRecord(id)
	switch i % 4 {
	case 0:
		return Insert(t.Context(), db, schema, final)
	case 1:
		return Put(t.Context(), db, schema, final)
	case 2:
		return db.Write(t.Context(),
			storage.Write{Kind: storage.WriteInsert, Schema: schema, Record: record(id, 6, nil)},
			storage.Write{Kind: storage.WriteReplace, Schema: schema, Record: final, Revision: 6})
	}
	if err := Add(t.Context(), db, schema, record(id, 6, nil)); err != nil {
		return err
	}
	return Replace(t.Context(), db, schema, final, 6)
}

// each runs f concurrently in all writers and reports their errors.
func each(t *testing.T, f func(writer int) error) {
	t.Helper()
	var all sync.WaitGroup
	for writer := range Writers {
		all.Go(func() {
			if err := f(writer); err != nil {
				t.Errorf("writer %d: %v", writer, err)
			}
		})
	}
	all.Wait()
}

type ticket struct {
	ID   string `json:"id"`
	Last int64  `json:"last"`
}

// testUpdates draws numbers from one document through several Collections, as several processes do.
func testUpdates(t *testing.T, engine DocumentsEngine) {
	const rounds = 10
	db := newDatabase(t, engine)
	var collections []storage.Collection[ticket]
	for range 3 {
		collections = append(collections, storage.NewCollection(db, db.schema, func(t *ticket) string { return t.ID },
			func(t *ticket) map[string]any { return map[string]any{"org": "o", "size": t.Last} }))
	}
	mustBe(t, collections[0].Insert(t.Context(), ticket{ID: "counter"}), nil)
	drawn := sync.Map{}
	each(t, func(writer int) error {
		for range rounds {
			got, err := collections[writer%len(collections)].Update(t.Context(), "counter", func(t *ticket) error {
				t.Last++
				return nil
			})
			if err != nil {
				return err
			}
			if _, twice := drawn.LoadOrStore(got.Last, true); twice {
				return fmt.Errorf("number %d was handed out twice", got.Last)
			}
		}
		return nil
	})
	last, err := collections[0].Get(t.Context(), "counter")
	if err != nil || last.Last != Writers*rounds {
		t.Fatalf("the last number is %d, want %d: %v", last.Last, Writers*rounds, err)
	}
	if found := db.all(storage.Query{Index: "size", Equal: []any{last.Last}, Limit: 9}); len(found) != 1 {
		t.Fatalf("%d entries are in the index", len(found))
	}
}

func testRacingInserts(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	for round := range 20 {
		id := "race-" + strconv.Itoa(round)
		wins := make(chan int64, Writers)
		each(t, func(writer int) error {
			err := Insert(t.Context(), db, db.schema, record(id, int64(writer+1), nil))
			if err == nil {
				wins <- int64(writer + 1)
			}
			if errors.Is(err, storage.ErrExists) {
				return nil
			}
			return err
		})
		if len(wins) != 1 {
			t.Fatalf("%d inserts of %s succeeded", len(wins), id)
		}
		mustEqual(t, db.get(id), record(id, <-wins, nil))
	}
}

func testRacingAdds(t *testing.T, engine DocumentsEngine) {
	const span = 200
	db := newDatabase(t, engine)
	each(t, func(writer int) error {
		var records []storage.Record
		for i := range span {
			id := fmt.Sprintf("%04d", i+writer*span/4)
			records = append(records, record(id, int64(writer+1), map[string]any{"org": "o"}))
		}
		return Add(t.Context(), db, db.schema, records...)
	})
	want := span + (Writers-1)*span/4
	found, err := db.Count(t.Context(), db.schema, storage.Query{Index: "time", Equal: []any{"o"}})
	if err != nil || int(found) != want {
		t.Fatalf("%d are there, want %d: %v", found, want, err)
	}
}

func testRacingPuts(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	each(t, func(writer int) error {
		for range 5 {
			var records []storage.Record
			for i := range 20 {
				fields := map[string]any{"size": int64(writer + 1)}
				records = append(records, record(fmt.Sprint("put-", i), int64(writer+1), fields))
			}
			if err := Put(t.Context(), db, db.schema, records...); err != nil {
				return err
			}
		}
		return nil
	})
	for i := range 20 {
		got := db.get(fmt.Sprint("put-", i))
		mustEqual(t, got, record(got.ID, got.Revision, map[string]any{"size": got.Revision}))
	}
	if n, err := db.Count(t.Context(), db.schema, storage.Query{Index: "size"}); err != nil || n != 20 {
		t.Fatalf("the index has %d entries, want 20: %v", n, err)
	}
}
