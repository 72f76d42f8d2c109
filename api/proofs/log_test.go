package proofs_test

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"attestry/api/apitest"
	"attestry/api/apitest/webclient"
	"attestry/api/proofs"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/translog"
	"attestry/evidence/translog/translogtest"
)

type shownProof struct {
	Entry     string `json:"entry"`
	Fact      string `json:"fact"`
	Salt      []byte `json:"salt"`
	Index     int64  `json:"index"`
	TlogProof string `json:"tlog_proof"`
}

// readRaw returns the body of an address as an administrator.
func readRaw(s *apitest.Service, path string) []byte {
	s.T.Helper()
	got := s.Do(http.MethodGet, path, apitest.AdminKey, nil)
	if got.Status != http.StatusOK {
		s.T.Fatalf("%s: status %d: %s", path, got.Status, got.Body)
	}
	return got.Body
}

// entriesOf reads the entries of a log from its tiles, as a client of tlog-tiles does, and checks their root against
// the checkpoint.
func entriesOf(s *apitest.Service, org string, verifiers []string) (texts []string) {
	s.T.Helper()
	signed := readRaw(s, "/-/log/"+org+"/checkpoint")
	checkpoint, err := translogtest.OpenCheckpoint(string(signed), verifiers...)
	s.Must(err)
	var tree translog.Tree
	for number := int64(0); tree.Size < checkpoint.Size; number++ {
		width := min(translog.Width, int(checkpoint.Size-tree.Size))
		bundle := readRaw(s, "/-/log/"+org+"/tile/"+translog.Part{Level: translog.Entries, Number: number, Width: width}.Path())
		hashes := readRaw(s, "/-/log/"+org+"/tile/"+translog.Part{Number: number, Width: width}.Path())
		entries, err := translog.ReadBundle(bundle, width)
		s.Must(err)
		for i, text := range entries {
			if hash := tlog.RecordHash(text); string(hash[:]) != string(hashes[i*tlog.HashSize:][:tlog.HashSize]) {
				s.T.Fatalf("the hash of entry %d is not in its tile", tree.Size)
			}
			tree.Append(text)
			texts = append(texts, string(text))
		}
	}
	if tree.Root() != checkpoint.Root || checkpoint.Origin != verifiers[0][:strings.Index(verifiers[0], "+")] {
		s.T.Errorf("the entries are not those of the checkpoint %+v", checkpoint)
	}
	return texts
}

// prove returns the proof of a fact and checks it.
func prove(s *apitest.Service, org, kind, id string, verifiers []string) (proof shownProof) {
	s.T.Helper()
	s.Must(json.Unmarshal(readRaw(s, s.LogPath(org)+"/proof/"+kind+"/"+id), &proof))
	if index, err := translogtest.CheckProof(proof.TlogProof, []byte(proof.Entry), verifiers...); err != nil || index != proof.Index {
		s.T.Errorf("%s %s: %v", kind, id, err)
	}
	return proof
}

func TestEveryFactIsInTheLogAndProven(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{Settings: []string{apitest.LogKeyFile(t)}})
	s.CreateFlow("build")
	for range 300 {
		s.AttestGeneric("release", "checked", true, "")
	}
	s.CreateEnvironment("production", evidence.K8S)
	s.Want(http.StatusCreated, http.MethodPut, s.EnvironmentsPath()+"/production/report/K8S", []byte(`{"artifacts":[{"digests":
		{"api:1":"0abb3136559bf13f2b324a0255d0feee0ab7d75da98063bed6dada3d1a18bba1"},"podName":"api","namespace":"shop","creationTimestamp":1793520000,"owners":null}]}`))
	shown := s.AwaitLogged(s.Org)
	texts := entriesOf(s, s.Org, shown.VerifierKeys)
	kinds := map[string]int{}
	for index, text := range texts {
		var entry translog.Entry
		s.Must(json.Unmarshal([]byte(text), &entry))
		kinds[entry.Kind]++
		proof := prove(s, s.Org, entry.Kind, strings.ReplaceAll(entry.ID, "%", "%25"), shown.VerifierKeys)
		apitest.Equal(t, proof.Entry, text)
		apitest.Equal(t, proof.Index, int64(index))
		if secret := entry.Kind == "audit_entry"; secret != (proof.Fact == "") || !secret && translog.Commitment(proof.Salt, []byte(proof.Fact)) != entry.Hash {
			t.Errorf("entry %d, %s, is not of the fact %s", index, text, proof.Fact)
		}
	}
	findEntries(s, texts)
	if kinds["attestation"] != 300 || kinds["environment"] != 1 || kinds["snapshot"] != 1 || kinds["audit_entry"] == 0 {
		t.Errorf("logged %v", kinds)
	}
}

// findEntries looks up entries of the log by their facts. A fact may have the name of an environment instead of its id.
func findEntries(s *apitest.Service, texts []string) {
	s.T.Helper()
	query := url.Values{"facts": {"attestation/none", "snapshot/production:1"}}
	want := []proofs.LogEntry{{Fact: "snapshot/production:1"}}
	for index, text := range texts {
		var entry translog.Entry
		s.Must(json.Unmarshal([]byte(text), &entry))
		if entry.Kind == "snapshot" {
			want[0].Index = int64(index)
		}
		if entry.Kind == "attestation" && len(want) < 200 {
			query.Add("facts", "attestation/"+entry.ID)
			want = append(want, proofs.LogEntry{Fact: "attestation/" + entry.ID, Index: int64(index)})
		}
	}
	var found proofs.LogEntriesResponse
	s.Must(json.Unmarshal(readRaw(s, s.LogPath(s.Org)+"/entries?"+query.Encode()), &found))
	apitest.EqualList(s.T, found.Entries, want)
	prove(s, s.Org, "snapshot", "production:1", s.AwaitLogged(s.Org).VerifierKeys)
}

func TestBadRequestsToTheLogAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{Settings: []string{apitest.LogKeyFile(t)}})
	s.CreateFlow("build")
	s.AttestGeneric("release", "checked", true, "")
	s.AwaitLogged(s.Org)
	for name, row := range map[string]struct {
		path, key string
		status    int
		says      string
	}{
		"no key":               {"/-/log/" + s.Org + "/checkpoint", "", http.StatusUnauthorized, "API key"},
		"a stranger":           {"/-/log/" + s.Org + "/checkpoint", apitest.StrangerKey, http.StatusForbidden, "Access denied"},
		"a stranger's proof":   {s.LogPath(s.Org) + "/proof/attestation/1", apitest.StrangerKey, http.StatusForbidden, "Access denied"},
		"an unknown fact":      {s.LogPath(s.Org) + "/proof/attestation/1", apitest.AdminKey, http.StatusNotFound, "attestation '1' does not exist in organization"},
		"an unknown kind":      {s.LogPath(s.Org) + "/proof/secret/1", apitest.AdminKey, http.StatusNotFound, "secret '1' does not exist"},
		"a stranger's entries": {s.LogPath(s.Org) + "/entries?facts=attestation/1", apitest.StrangerKey, http.StatusForbidden, "Access denied"},
		"no facts":             {s.LogPath(s.Org) + "/entries", apitest.AdminKey, http.StatusBadRequest, "facts"},
		"too many facts":       {s.LogPath(s.Org) + "/entries?" + strings.Repeat("facts=attestation/1&", 257), apitest.AdminKey, http.StatusBadRequest, "facts"},
		"beyond the size":      {"/-/log/" + s.Org + "/tile/0/000", apitest.AdminKey, http.StatusNotFound, "no tile '0/000'"},
		"a full partial tile":  {"/-/log/" + s.Org + "/tile/0/000.p/256", apitest.AdminKey, http.StatusBadRequest, `"tile"`},
		"no tile":              {"/-/log/" + s.Org + "/tile/x", apitest.AdminKey, http.StatusBadRequest, `"tile"`},
		"no bundle":            {"/-/log/" + s.Org + "/tile/entries/0", apitest.AdminKey, http.StatusBadRequest, `"tile"`},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.Do(http.MethodGet, row.path, row.key, nil)
			apitest.WantAnswer(t, got, row.status, row.says)
		})
	}
}

func TestCheckpointPageSaysHowToVerifyIt(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{Settings: []string{apitest.LogKeyFile(t)}})
	s.CreateFlow("build")
	shown := s.AwaitLogged(s.Org)
	v := webclient.SignedIn(s, apitest.ReaderKey)
	page := html.UnescapeString(string(v.Open("/" + s.Org + "/log").Body))
	for _, text := range []string{shown.RootHash, "signed</span> by the log", "--log " + s.URL + "/-/log/" + s.Org + " --token FILE PACKAGE", shown.VerifierKeys[0]} {
		evidencetest.Contains(t, page, text)
	}
	v.WantPage(http.StatusOK, "/"+s.Org+"/settings", `href="/`+s.Org+`/log"`)
	for _, tool := range []string{"openssl", "xxd"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s, so the commands on the page are not run", tool)
		}
	}
	folder := t.TempDir()
	download := v.Open("/-/log/" + s.Org + "/checkpoint")
	if download.Status != http.StatusOK {
		t.Fatalf("the checkpoint is answered %d", download.Status)
	}
	apitest.WriteFile(t, filepath.Join(folder, "checkpoint"), string(download.Body))
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
	s := apitest.Start(t, apitest.Options{Settings: []string{apitest.LogKeyFile(t)}})
	b := webclient.NewBrowser(s)
	s.CreateFlow("build")
	s.AwaitLogged(s.Org)
	b.SignIn(apitest.ReaderKey, "/"+s.Org+"/log")
	b.WantText("How to verify it")
	b.WantGoodLooks("checkpoint")
}
