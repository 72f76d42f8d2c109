package e2e_test

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"attestry/api/proofs"
	"attestry/evidence"
	"attestry/evidence/translog"
	"attestry/evidence/translog/translogtest"
	"attestry/scripts/standalone/instance"
)

type shownLog struct {
	Origin       string   `json:"origin"`
	VerifierKeys []string `json:"verifier_keys"`
	Size         int64    `json:"size"`
	RootHash     string   `json:"root_hash"`
	LagSeconds   float64  `json:"lag_seconds"`
	Continues    string   `json:"continues"`
}

type shownProof struct {
	Entry     string `json:"entry"`
	Fact      string `json:"fact"`
	Salt      []byte `json:"salt"`
	Index     int64  `json:"index"`
	TlogProof string `json:"tlog_proof"`
}

// logKeyFile creates a key of the log and returns the setting that enables the log.
func logKeyFile(t *testing.T) string {
	t.Helper()
	file, err := instance.KeyFile(t.TempDir(), "log.key", translog.NewKeyFile)
	if err != nil {
		t.Fatal(err)
	}
	return "ATTESTRY_LOG_KEY_FILE=" + file
}

func (s *service) logPath(org string) string { return "/api/v2/log/" + org }

// readRaw returns the body of an address as an administrator.
func (s *service) readRaw(path string) []byte {
	s.t.Helper()
	got := s.do(http.MethodGet, path, adminKey, nil)
	if got.status != http.StatusOK {
		s.t.Fatalf("%s: status %d: %s", path, got.status, got.body)
	}
	return got.body
}

// awaitLogged waits until a checkpoint covers all facts of the test's organization.
func (s *service) awaitLogged(org string) (shown shownLog) {
	s.t.Helper()
	eventually(s.t, "all facts are in the log", func() bool {
		got := s.do(http.MethodGet, s.logPath(org), adminKey, nil)
		if got.status != http.StatusOK {
			return false
		}
		s.must(json.Unmarshal(got.body, &shown))
		log, err := s.Process.Store.Logs.Get(s.t.Context(), s.orgID())
		return err == nil && shown.LagSeconds == 0 && log.Signed == log.Tree.Size && shown.Size == log.Signed
	})
	return shown
}

// entriesOf reads the entries of a log from its tiles, as a client of tlog-tiles does, and checks their root against
// the checkpoint.
func (s *service) entriesOf(org string, verifiers []string) (texts []string) {
	s.t.Helper()
	signed := s.readRaw("/-/log/" + org + "/checkpoint")
	checkpoint, err := translogtest.OpenCheckpoint(string(signed), verifiers...)
	s.must(err)
	var tree translog.Tree
	for number := int64(0); tree.Size < checkpoint.Size; number++ {
		width := min(translog.Width, int(checkpoint.Size-tree.Size))
		bundle := s.readRaw("/-/log/" + org + "/tile/" + translog.Part{Level: translog.Entries, Number: number, Width: width}.Path())
		hashes := s.readRaw("/-/log/" + org + "/tile/" + translog.Part{Number: number, Width: width}.Path())
		entries, err := translog.ReadBundle(bundle, width)
		s.must(err)
		for i, text := range entries {
			if hash := tlog.RecordHash(text); string(hash[:]) != string(hashes[i*tlog.HashSize:][:tlog.HashSize]) {
				s.t.Fatalf("the hash of entry %d is not in its tile", tree.Size)
			}
			tree.Append(text)
			texts = append(texts, string(text))
		}
	}
	if tree.Root() != checkpoint.Root || checkpoint.Origin != verifiers[0][:strings.Index(verifiers[0], "+")] {
		s.t.Errorf("the entries are not those of the checkpoint %+v", checkpoint)
	}
	return texts
}

// prove returns the proof of a fact and checks it.
func (s *service) prove(org, kind, id string, verifiers []string) (proof shownProof) {
	s.t.Helper()
	s.must(json.Unmarshal(s.readRaw(s.logPath(org)+"/proof/"+kind+"/"+id), &proof))
	if index, err := translogtest.CheckProof(proof.TlogProof, []byte(proof.Entry), verifiers...); err != nil || index != proof.Index {
		s.t.Errorf("%s %s: %v", kind, id, err)
	}
	return proof
}

func TestEveryFactIsInTheLogAndProven(t *testing.T) {
	t.Parallel()
	s := start(t, options{settings: []string{logKeyFile(t)}})
	s.createFlow("build")
	for range 300 {
		s.attestGeneric("release", "checked", true, "")
	}
	s.createEnvironment("production", evidence.K8S)
	s.want(http.StatusCreated, http.MethodPut, s.environmentsPath()+"/production/report/K8S", []byte(`{"artifacts":[{"digests":
		{"api:1":"0abb3136559bf13f2b324a0255d0feee0ab7d75da98063bed6dada3d1a18bba1"},"podName":"api","namespace":"shop","creationTimestamp":1793520000,"owners":null}]}`))
	shown := s.awaitLogged(s.org)
	texts := s.entriesOf(s.org, shown.VerifierKeys)
	kinds := map[string]int{}
	for index, text := range texts {
		var entry translog.Entry
		s.must(json.Unmarshal([]byte(text), &entry))
		kinds[entry.Kind]++
		proof := s.prove(s.org, entry.Kind, strings.ReplaceAll(entry.ID, "%", "%25"), shown.VerifierKeys)
		if proof.Entry != text || proof.Index != int64(index) {
			t.Errorf("entry %d is %s, its proof is of %s", index, text, proof.Entry)
		}
		if secret := entry.Kind == "audit_entry"; secret != (proof.Fact == "") || !secret && translog.Commitment(proof.Salt, []byte(proof.Fact)) != entry.Hash {
			t.Errorf("entry %d, %s, is not of the fact %s", index, text, proof.Fact)
		}
	}
	s.findEntries(texts)
	if kinds["attestation"] != 300 || kinds["environment"] != 1 || kinds["snapshot"] != 1 || kinds["audit_entry"] == 0 {
		t.Errorf("logged %v", kinds)
	}
}

// findEntries looks up entries of the log by their facts. A fact may have the name of an environment instead of its id.
func (s *service) findEntries(texts []string) {
	s.t.Helper()
	query := url.Values{"facts": {"attestation/none", "snapshot/production:1"}}
	want := []proofs.LogEntry{{Fact: "snapshot/production:1"}}
	for index, text := range texts {
		var entry translog.Entry
		s.must(json.Unmarshal([]byte(text), &entry))
		if entry.Kind == "snapshot" {
			want[0].Index = int64(index)
		}
		if entry.Kind == "attestation" && len(want) < 200 {
			query.Add("facts", "attestation/"+entry.ID)
			want = append(want, proofs.LogEntry{Fact: "attestation/" + entry.ID, Index: int64(index)})
		}
	}
	var found proofs.LogEntriesResponse
	s.must(json.Unmarshal(s.readRaw(s.logPath(s.org)+"/entries?"+query.Encode()), &found))
	if !slices.Equal(found.Entries, want) {
		s.t.Errorf("found %v, want %v", found.Entries, want)
	}
	s.prove(s.org, "snapshot", "production:1", s.awaitLogged(s.org).VerifierKeys)
}

func TestBadRequestsToTheLogAreRefused(t *testing.T) {
	t.Parallel()
	s := start(t, options{settings: []string{logKeyFile(t)}})
	s.createFlow("build")
	s.attestGeneric("release", "checked", true, "")
	s.awaitLogged(s.org)
	for name, row := range map[string]struct {
		path, key string
		status    int
		says      string
	}{
		"no key":               {"/-/log/" + s.org + "/checkpoint", "", http.StatusUnauthorized, "API key"},
		"a stranger":           {"/-/log/" + s.org + "/checkpoint", strangerKey, http.StatusForbidden, "Access denied"},
		"a stranger's proof":   {s.logPath(s.org) + "/proof/attestation/1", strangerKey, http.StatusForbidden, "Access denied"},
		"an unknown fact":      {s.logPath(s.org) + "/proof/attestation/1", adminKey, http.StatusNotFound, "attestation '1' does not exist in organization"},
		"an unknown kind":      {s.logPath(s.org) + "/proof/secret/1", adminKey, http.StatusNotFound, "secret '1' does not exist"},
		"a stranger's entries": {s.logPath(s.org) + "/entries?facts=attestation/1", strangerKey, http.StatusForbidden, "Access denied"},
		"no facts":             {s.logPath(s.org) + "/entries", adminKey, http.StatusBadRequest, "facts"},
		"too many facts":       {s.logPath(s.org) + "/entries?" + strings.Repeat("facts=attestation/1&", 257), adminKey, http.StatusBadRequest, "facts"},
		"beyond the size":      {"/-/log/" + s.org + "/tile/0/000", adminKey, http.StatusNotFound, "no tile '0/000'"},
		"a full partial tile":  {"/-/log/" + s.org + "/tile/0/000.p/256", adminKey, http.StatusBadRequest, `"tile"`},
		"no tile":              {"/-/log/" + s.org + "/tile/x", adminKey, http.StatusBadRequest, `"tile"`},
		"no bundle":            {"/-/log/" + s.org + "/tile/entries/0", adminKey, http.StatusBadRequest, `"tile"`},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.do(http.MethodGet, row.path, row.key, nil)
			if got.status != row.status || !strings.Contains(string(got.body), row.says) {
				t.Errorf("%s answers %d: %s", row.path, got.status, got.body)
			}
		})
	}
}

func TestCheckpointPageSaysHowToVerifyIt(t *testing.T) {
	t.Parallel()
	s := start(t, options{settings: []string{logKeyFile(t)}})
	s.createFlow("build")
	shown := s.awaitLogged(s.org)
	v := s.signedIn(readerKey)
	page := html.UnescapeString(string(v.open("/" + s.org + "/log").body))
	for _, text := range []string{shown.RootHash, "signed</span> by the log", "--log " + s.URL + "/-/log/" + s.org + " --token FILE PACKAGE", shown.VerifierKeys[0]} {
		if !strings.Contains(page, text) {
			t.Errorf("the page lacks %q: %s", text, page)
		}
	}
	v.wantPage(http.StatusOK, "/"+s.org+"/settings", `href="/`+s.org+`/log"`)
	for _, tool := range []string{"openssl", "xxd"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s, so the commands on the page are not run", tool)
		}
	}
	folder := t.TempDir()
	download := v.open("/-/log/" + s.org + "/checkpoint")
	if download.status != http.StatusOK {
		t.Fatalf("the checkpoint is answered %d", download.status)
	}
	writeFile(t, filepath.Join(folder, "checkpoint"), string(download.body))
	_, commands, _ := strings.Cut(page, `aria-label="Commands that verify the signature">`)
	commands, _, _ = strings.Cut(commands, "</pre>")
	shell := exec.CommandContext(t.Context(), "sh", "-ec", commands)
	shell.Dir = folder
	if output, err := shell.CombinedOutput(); err != nil || !strings.Contains(string(output), "Verified Successfully") {
		t.Errorf("%v: %s", err, output)
	}
}

func TestCheckpointPageCanBeUsedByEverybody(t *testing.T) {
	t.Parallel()
	s := start(t, options{settings: []string{logKeyFile(t)}})
	b := s.browser()
	s.createFlow("build")
	s.awaitLogged(s.org)
	b.signIn(readerKey, "/"+s.org+"/log")
	b.wantText("How to verify it")
	b.wantGoodLooks("checkpoint")
}
