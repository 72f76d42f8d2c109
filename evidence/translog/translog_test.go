package translog_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"attestry/evidence/evidencetest"
	"attestry/evidence/translog"
	"attestry/evidence/translog/translogtest"
)

func TestTreeAndTilesEqualThoseOfTheLibrary(t *testing.T) {
	var stored translogtest.Hashes
	var tree translog.Tree
	tiles := 0
	for size := range int64(70_000) {
		text := fmt.Appendf(nil, "entry %d", size)
		added, err := tlog.StoredHashes(size, text, stored)
		evidencetest.Must(t, err)
		stored = append(stored, added...)
		full := tree.Append(text)
		tiles += len(full)
		for _, tile := range full {
			want, err := tlog.ReadTileData(tlog.Tile{H: 8, L: tile.Level, N: tile.Number, W: translog.Width}, stored)
			if err != nil || !bytes.Equal(want, tile.Hashes) {
				t.Fatalf("tile %d of level %d: %v", tile.Number, tile.Level, err)
			}
		}
		if size < 600 || size%997 == 0 || size == 65_535 {
			want, err := tlog.TreeHash(size+1, stored)
			if err != nil || tree.Root() != want || tree.Size != size+1 {
				t.Fatalf("root of %d entries: %v", size+1, err)
			}
		}
	}
	if tiles != 70_000/256+1 || len(tree.Edge) != 3 {
		t.Errorf("%d tiles are full, the tree has %d levels of them", tiles, len(tree.Edge))
	}
	copied := tree.Clone()
	if before := tree.Root(); len(copied.Append([]byte("another"))) > 0 || tree.Root() != before || copied.Root() == before {
		t.Error("a copy is not apart from the tree")
	}
}

func TestEmptyTreeHasTheRootOfTheStandard(t *testing.T) {
	want, err := tlog.TreeHash(0, translogtest.Hashes(nil))
	if got := (&translog.Tree{}).Root(); err != nil || got != want {
		t.Errorf("root %v, want %v: %v", got, want, err)
	}
}

func TestPartsHaveThePathsOfTlogTiles(t *testing.T) {
	for path, want := range map[string]translog.Part{
		"0/000":                 {Level: 0, Number: 0, Width: 256},
		"0/x001/x234/067":       {Level: 0, Number: 1234067, Width: 256},
		"1/000.p/5":             {Level: 1, Number: 0, Width: 5},
		"entries/x001/005":      {Level: translog.Entries, Number: 1005, Width: 256},
		"entries/x001/005.p/17": {Level: translog.Entries, Number: 1005, Width: 17},
	} {
		if got, ok := translog.ParsePart(path); !ok || got != want || got.Path() != path {
			t.Errorf("%s is %+v, %v, %s", path, got, ok, got.Path())
		}
	}
	for _, path := range []string{"", "0", "0/0", "0/000.p/0", "0/000.p/256", "0/000.p/x", "data/000", "entries", "0/x000/001", "-1/000", "0/000/"} {
		if got, ok := translog.ParsePart(path); ok {
			t.Errorf("%q is %+v", path, got)
		}
	}
}

func TestPartsAreWithinTheSizeOfTheTree(t *testing.T) {
	for path, from := range map[string]int64{
		"0/000.p/1": 1, "0/000": 256, "0/001.p/3": 259, "1/000.p/1": 256, "1/000": 65_536, "entries/001": 512, "2/000.p/1": 65_536,
	} {
		part, _ := translog.ParsePart(path)
		if part.Within(from-1) || !part.Within(from) || !part.Within(from+1_000_000) {
			t.Errorf("%s is not there from %d entries on", path, from)
		}
	}
	if huge, _ := translog.ParsePart("9/000.p/1"); huge.Within(1 << 62) {
		t.Error("a level that no log has is within")
	}
}

func TestBundlesAreRead(t *testing.T) {
	texts := [][]byte{[]byte("one"), []byte("three"), {}}
	bundle := translog.Bundle(texts)
	read, err := translog.ReadBundle(bundle, 3)
	if err != nil || len(read) != 3 || string(read[1]) != "three" || len(read[2]) != 0 {
		t.Errorf("read %q: %v", read, err)
	}
	if _, err := translog.ReadBundle(bundle, 4); err == nil {
		t.Error("an entry that is missing is read")
	}
	if _, err := translog.ReadBundle(bundle[:6], 2); err == nil {
		t.Error("half an entry is read")
	}
}

func TestEntriesRevealNothingOfTheFact(t *testing.T) {
	entry := translog.Entry{Version: 1, Kind: "attestation", ID: "7", Hash: translog.Commitment([]byte("salt"), []byte("fact")), Group: translog.GroupCommitment([]byte("secret"), "flow/trail")}
	// printf saltfact | sha256sum
	want := `{"v":1,"kind":"attestation","id":"7","hash":"6d12290f746151d6bc6c09d19ca705922df8813379b5031a3a1a6c63505386ff","group":"`
	if text := string(entry.Text()); len(entry.Group) != 64 || text != want+entry.Group+`"}` {
		t.Errorf("entry %s", text)
	}
	if other := translog.GroupCommitment([]byte("secret"), "flow/other"); other == entry.Group {
		t.Error("two groups have one commitment")
	}
	if translog.GroupCommitment([]byte("secret"), "") != "" {
		t.Error("no group has a commitment")
	}
}

func TestCheckpointsAndProofsAreVerified(t *testing.T) {
	signing := append(translogtest.NewKeys(t), translogtest.NewKeys(t)...)
	var stored translogtest.Hashes
	var tree translog.Tree
	for size := range int64(300) {
		text := fmt.Appendf(nil, "entry %d", size)
		added, err := tlog.StoredHashes(size, text, stored)
		evidencetest.Must(t, err)
		stored = append(stored, added...)
		tree.Append(text)
	}
	signed, err := signing.Sign("example.com/acme", &tree)
	evidencetest.Must(t, err)
	verifiers := signing.Verifiers("example.com/acme")
	if len(verifiers) != 2 {
		t.Fatal(verifiers)
	}
	for _, verifier := range verifiers {
		opened, err := translogtest.OpenCheckpoint(signed, verifier)
		if err != nil || opened.Size != 300 || opened.Root != tree.Root() || opened.Origin != "example.com/acme" {
			t.Errorf("opened %+v: %v", opened, err)
		}
	}
	if _, err := translogtest.OpenCheckpoint(strings.Replace(signed, "300", "301", 1), verifiers...); err == nil {
		t.Error("an altered checkpoint is opened")
	}
	others := translogtest.NewKeys(t).Verifiers("example.com/acme")
	if _, err := translogtest.OpenCheckpoint(signed, others...); err == nil {
		t.Error("a checkpoint of another key is opened")
	}
	path, err := tlog.ProveRecord(300, 7, stored)
	evidencetest.Must(t, err)
	proof := (&translog.Proof{Index: 7, Hashes: path, Checkpoint: signed}).Text()
	if index, err := translogtest.CheckProof(proof, []byte("entry 7"), verifiers...); err != nil || index != 7 {
		t.Errorf("the proof of entry %d: %v", index, err)
	}
	if _, err := translogtest.CheckProof(proof, []byte("entry 8"), verifiers...); err == nil {
		t.Error("another entry is proven")
	}
}

func TestWrongKeyFilesAreRefused(t *testing.T) {
	made, err := translog.NewKeyFile()
	evidencetest.Must(t, err)
	file := string(made)
	for name, content := range map[string]string{
		"empty": "", "no key": "hello\n", "cut": file[:len(file)-9], "a second that is none": file + "PRIVATE+KEY+x\n",
	} {
		if _, err := translog.ParseKeys([]byte(content)); err == nil || strings.Contains(err.Error(), file[40:60]) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWrongProofFilesAreRefused(t *testing.T) {
	const header = "c2sp.org/tlog-proof@v1\n"
	proof := translog.Proof{Index: 7, Hashes: []tlog.Hash{{1}, {2}}, Checkpoint: "example.com/acme\n"}
	read, err := translog.ParseProof(proof.Text())
	if err != nil || !reflect.DeepEqual(read, proof) {
		t.Errorf("got %+v, %v", read, err)
	}
	for name, file := range map[string]string{
		"empty": "", "no checkpoint": header + "index 7\n", "another header": "hello\nindex 7\n\ncheckpoint",
		"no index": header + "\ncheckpoint", "an index without name": header + "7\n\ncheckpoint", "no number": header + "index x\n\ncheckpoint",
		"a negative index": header + "index -1\n\ncheckpoint", "no hash": header + "index 7\nhello\n\ncheckpoint",
	} {
		if _, err := translog.ParseProof(file); err == nil {
			t.Errorf("%s: it is read", name)
		}
	}
}
