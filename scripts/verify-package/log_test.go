package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/evidence/evidencetest"
	"attestry/evidence/template"
	"attestry/evidence/translog"
	"attestry/evidence/translog/translogtest"
)

const (
	testOrigin = "attestry.example.com/acme"
	testGroup  = "f-id/t"
	// otherOrigin is the origin of another trusted log with the same keys.
	otherOrigin = "attestry.example.com/other"
)

var testSecret = []byte("the log's secret")

// testLog is a transparency log of a service.
type testLog struct {
	t       *testing.T
	keys    translog.Keys
	entries [][]byte
	hashes  map[int64]tlog.Hash // stored hashes by index
}

func newLog(t *testing.T) *testLog {
	t.Helper()
	return &testLog{t: t, keys: translogtest.NewKeys(t), hashes: map[int64]tlog.Hash{}}
}

// ReadHashes implements tlog.HashReader.
func (l *testLog) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	return evidence.Map(indexes, func(index int64) tlog.Hash { return l.hashes[index] }), nil
}

func (l *testLog) add(entry []byte) {
	l.t.Helper()
	stored, err := tlog.StoredHashes(int64(len(l.entries)), entry, l)
	evidencetest.Must(l.t, err)
	for _, hash := range stored {
		l.hashes[int64(len(l.hashes))] = hash
	}
	l.entries = append(l.entries, entry)
}

// replace builds the log again with another entry at an index.
func (l *testLog) replace(index int, entry []byte) {
	l.t.Helper()
	entries := l.entries
	l.entries, l.hashes = nil, map[int64]tlog.Hash{}
	for i, before := range entries {
		if i == index {
			before = entry
		}
		l.add(before)
	}
}

// checkpoint signs a checkpoint of the first entries.
func (l *testLog) checkpoint(size int, keys translog.Keys) string {
	l.t.Helper()
	var tree translog.Tree
	for _, entry := range l.entries[:size] {
		tree.Append(entry)
	}
	signed, err := keys.Sign(testOrigin, &tree)
	evidencetest.Must(l.t, err)
	return signed
}

// proof returns the proof of the entry at an index by a checkpoint of all entries.
func (l *testLog) proof(index int, checkpoint string) string {
	l.t.Helper()
	hashes, err := tlog.ProveRecord(int64(len(l.entries)), int64(index), l)
	evidencetest.Must(l.t, err)
	proof := translog.Proof{Index: int64(index), Hashes: hashes, Checkpoint: checkpoint}
	return proof.Text()
}

// serve serves the log to requests with the token.
func (l *testLog) serve(token string) (address string) {
	l.t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		part, ok := translog.ParsePart(strings.TrimPrefix(r.URL.Path, "/-/log/acme/tile/"))
		switch {
		case r.Header.Get("Authorization") != "Bearer "+token:
			http.Error(w, "an API key is needed", http.StatusUnauthorized)
		case !ok || !part.Within(int64(len(l.entries))):
			http.Error(w, "no such tile", http.StatusNotFound)
		default:
			_, _ = w.Write(translog.Bundle(l.entries[part.Number*translog.Width:][:part.Width]))
		}
	}))
	l.t.Cleanup(server.Close)
	return server.URL + "/-/log/acme"
}

// attested returns a stored attestation.
func attested(id string) evidence.Attestation {
	return evidence.Attestation{ID: id, Name: "check-" + id, Type: evidence.TypeGeneric, Flow: "f-id", Trail: "t", Compliant: true}
}

func saltOf(id string) []byte { sum := sha256.Sum256([]byte(id)); return sum[:translog.SaltSize] }

func factOf(t *testing.T, a evidence.Attestation) []byte {
	t.Helper()
	fact, err := json.Marshal(a)
	evidencetest.Must(t, err)
	return fact
}

func entryOf(id string, fact []byte, group string) []byte {
	entry := translog.Entry{Version: 1, Kind: "attestation", ID: id, Hash: translog.Commitment(saltOf(id), fact), Group: translog.GroupCommitment(testSecret, group)}
	return entry.Text()
}

// trailPackage is the package of a trail, before it is packed.
type trailPackage struct {
	t     *testing.T
	log   *testLog
	files map[string]string
}

// newTrailPackage makes the package of a trail with two attestations, which have the entries 1 and 300 of 302.
func newTrailPackage(t *testing.T) *trailPackage {
	t.Helper()
	p := &trailPackage{t: t, log: newLog(t)}
	for i := range 302 {
		switch i {
		case 1:
			p.log.add(entryOf("a", factOf(t, attested("a")), testGroup))
		case 300:
			p.log.add(entryOf("b", factOf(t, attested("b")), testGroup))
		default:
			other := attested(fmt.Sprint(i))
			p.log.add(entryOf(other.ID, factOf(t, other), "f-id/another"))
		}
	}
	p.fill(p.log.checkpoint(302, p.log.keys), "a", "b")
	return p
}

// fill makes the members of the package of a trail with attestations, except for those that seal derives.
func (p *trailPackage) fill(checkpoint string, ids ...string) {
	p.t.Helper()
	flow := evidence.Flow{ID: "f-id", Name: "f"}
	trail := evidence.Trail{ID: "t-id", Name: "t", Flow: flow.ID, Template: template.ID([]byte(template.Empty))}
	parsed, err := template.Parse([]byte(template.Empty))
	evidencetest.Must(p.t, err)
	evaluated := audit.NewTrail(audit.NewFlowDocument(&flow), trail.Name, trail.Commit, trail.Template, parsed)
	group := audit.GroupFolder(translog.GroupCommitment(testSecret, testGroup))
	p.files = map[string]string{
		audit.TemplatePath(trail.Template): template.Empty, audit.InstructionsPath: string(audit.Instructions),
		audit.EventsPath: "[]\n", audit.EnvironmentsPath: "[]\n",
		audit.CheckpointPath: checkpoint, group + audit.GroupFile: testGroup, group + audit.SaltFile: string(translog.GroupSalt(testSecret, testGroup)),
	}
	for _, id := range ids {
		one := attested(id)
		evaluated.AttestEntry(one.SlotEntry(), one.Targets)
		p.files[audit.AttestationPath(id)] = encode(p.t, audit.NewAttestationDocument(one, ""))
		fact := factOf(p.t, one)
		index := slices.IndexFunc(p.log.entries, func(text []byte) bool { return strings.Contains(string(text), `"id":"`+id+`"`) })
		folder := audit.FactFolder("attestation", id)
		p.files[folder+audit.FactFile], p.files[folder+audit.SaltFile] = string(fact), string(saltOf(id))
		p.files[folder+audit.EntryFile] = string(p.log.entries[index])
		p.files[folder+audit.ProofFile] = p.log.proof(index, checkpoint)
	}
	document := audit.NewTrailDocument("acme", &flow, &trail, "https://attestry.example.com")
	document.Compliance = audit.NewComplianceDocument(&evaluated.Evaluate().Report)
	p.files[audit.TrailPath] = encode(p.t, document)
}

// drop removes the members whose paths begin with folder.
func (p *trailPackage) drop(folder string) {
	for path := range p.files {
		if strings.HasPrefix(path, folder) {
			delete(p.files, path)
		}
	}
}

// edit replaces a text in a member.
func (p *trailPackage) edit(path, old, fresh string) {
	p.t.Helper()
	if !strings.Contains(p.files[path], old) {
		p.t.Fatalf("%s has no %q", path, old)
	}
	p.files[path] = strings.Replace(p.files[path], old, fresh, 1)
}

// seal derives checksums, report, signature and manifest from the other members, and packs all. Without keys, it keeps the
// signature of the last seal.
func (p *trailPackage) seal(keys translog.Keys) []byte {
	p.t.Helper()
	var members []audit.Member
	for path, content := range p.files {
		if path != audit.SignaturePath {
			members = append(members, audit.NewMember(path, []byte(content)))
		}
	}
	sorted := func() {
		slices.SortFunc(members, func(a, b audit.Member) int { return audit.CompareMembers(a.Path, b.Path) })
	}
	sorted()
	checksums := audit.Checksums(members)
	report := "the report of " + evidence.SHA256(checksums)
	signed := []audit.Member{audit.NewMember(audit.ChecksumsPath, checksums), audit.NewMember(audit.ReportPath, []byte(report))}
	files := map[string]string{audit.ChecksumsPath: string(checksums), audit.ReportPath: report, audit.SignaturePath: p.files[audit.SignaturePath]}
	if keys != nil {
		note, err := keys.SignText(testOrigin, audit.Statement(testOrigin, signed))
		evidencetest.Must(p.t, err)
		files[audit.SignaturePath], p.files[audit.SignaturePath] = note, note
	}
	members = append(members, signed...)
	members = append(members, audit.NewMember(audit.SignaturePath, []byte(files[audit.SignaturePath])))
	sorted()
	manifest, err := audit.Manifest{
		SchemaVersion: audit.SchemaVersion, Generator: "Attestry test", Status: evidence.Compliant,
		Subject: audit.Subject{Kind: audit.OfTrail, Organization: "acme", Flow: "f", Trail: "t"},
		Members: members, LostEvidence: []audit.LostEvidence{},
	}.Encode()
	evidencetest.Must(p.t, err)
	files[audit.ManifestPath] = string(manifest)
	maps.Copy(files, p.files)
	var all []file
	for path, content := range files {
		all = append(all, file{name: path, content: content})
	}
	slices.SortFunc(all, func(a, b file) int { return audit.CompareMembers(a.name, b.name) })
	return pack(p.t, true, all...)
}

func unpack(t *testing.T, packed []byte) (files []file) {
	t.Helper()
	content, err := gzip.NewReader(bytes.NewReader(packed))
	evidencetest.Must(t, err)
	for archive := tar.NewReader(content); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		evidencetest.Must(t, err)
		content, err := io.ReadAll(archive)
		evidencetest.Must(t, err)
		files = append(files, file{name: header.Name, content: string(content)})
	}
}

func write(t *testing.T, name string, content []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	evidencetest.Must(t, os.WriteFile(path, content, 0o600))
	return path
}

// TestForgeriesAreFound forges packages, with checksums that match, and checks which finding each of them has.
func TestForgeriesAreFound(t *testing.T) {
	const attestation, folder = "attestations/b/attestation.json", "log/facts/attestation/b/"
	edited := func(p *trailPackage) {
		p.edit(attestation, `"compliant": true`, `"compliant": true,`+"\n"+`  "description": "forged"`)
	}
	for name, c := range map[string]struct {
		forge func(p *trailPackage)
		// signs means that the forger has the key of the log.
		signs bool
		// finds is the printed finding. readsLog means that only reading the log finds it.
		finds    string
		readsLog bool
	}{
		"an attestation was edited": {edited, false, "FAILED   SHA256SUMS.note: it was signed for other checksums", false},
		"an attestation was edited, and the package signed": {edited, true,
			"FAILED   " + attestation + ": what it says of attestation/b is not what the entry of the log commits to", false},
		"its fact was edited": {func(p *trailPackage) { p.edit(folder+"fact.json", `"compliant":true`, `"compliant":false`) }, true,
			"FAILED   " + folder + "fact.json: its hash is not that of its entry", false},
		"its fact was moved into the salt": {func(p *trailPackage) {
			p.files[folder+"salt"] += p.files[folder+"fact.json"][:1]
			p.files[folder+"fact.json"] = p.files[folder+"fact.json"][1:]
		}, true, "FAILED   " + folder + "fact.json: its hash is not that of its entry", false},
		"its fact was edited, and its entry": {func(p *trailPackage) {
			one := attested("b")
			one.Description = new("forged")
			p.files[folder+"fact.json"], p.files[folder+"entry.json"] = string(factOf(p.t, one)), string(entryOf("b", factOf(p.t, one), testGroup))
			edited(p)
		}, true, "FAILED   " + folder + "proof.tlog-proof: it does not prove that the log has the entry", false},
		"its entry is that of another": {func(p *trailPackage) { p.files[folder+"entry.json"] = p.files["log/facts/attestation/a/entry.json"] }, true,
			"FAILED   " + folder + "entry.json: it is not the entry of this fact", false},
		"its entry has a space more": {func(p *trailPackage) { p.edit(folder+"entry.json", "{", "{ ") }, true,
			"FAILED   " + folder + "entry.json: it is not the entry of this fact", false},
		"its entry is of another trail": {func(p *trailPackage) {
			p.log.replace(300, entryOf("b", factOf(p.t, attested("b")), "f-id/another"))
			p.fill(p.log.checkpoint(302, p.log.keys), "a", "b")
			group := audit.GroupFolder(translog.GroupCommitment(testSecret, "f-id/another"))
			p.files[group+audit.GroupFile], p.files[group+audit.SaltFile] = "f-id/another", string(translog.GroupSalt(testSecret, "f-id/another"))
		}, true, "FAILED   " + folder + "entry.json: the package does not have its group, or that is not its trail", false},
		"its proof is that of another": {func(p *trailPackage) {
			p.files[folder+"proof.tlog-proof"] = p.files["log/facts/attestation/a/proof.tlog-proof"]
		}, true,
			"FAILED   " + folder + "proof.tlog-proof: it does not prove that the log has the entry", false},
		"its entry was left out": {func(p *trailPackage) { p.drop(folder) }, true,
			"FAILED   " + attestation + ": the package has no entry of the log for attestation/b", false},
		"its salt was left out":          {func(p *trailPackage) { p.drop(folder + "salt") }, true, "FAILED   " + folder + ": it lacks a file", false},
		"the document was left out":      {func(p *trailPackage) { p.drop(attestation) }, true, "FAILED   " + folder + "fact.json: no other member shows this fact", false},
		"everything of the log was left": {func(p *trailPackage) { p.drop("log/") }, false, "FAILED   log/checkpoint: it is missing", false},
		"the group was left out":         {func(p *trailPackage) { p.drop("log/groups/") }, true, "FAILED   " + folder + "entry.json: the package does not have its group", false},
		"the group has another name": {func(p *trailPackage) {
			p.edit(audit.GroupFolder(translog.GroupCommitment(testSecret, testGroup))+"group", "t", "u")
		}, true, "its hash is not the name of its folder", false},
		"the group was moved into the salt": {func(p *trailPackage) {
			group := audit.GroupFolder(translog.GroupCommitment(testSecret, testGroup))
			p.files[group+"salt"], p.files[group+"group"] = p.files[group+"salt"]+"f", "-id/t"
		}, true, "its hash is not the name of its folder", false},
		"the checkpoint was signed by another log": {func(p *trailPackage) {
			text, _, _ := strings.Cut(p.files["log/checkpoint"], "\n\n")
			signed, err := p.log.keys.SignText(otherOrigin, text+"\n")
			evidencetest.Must(p.t, err)
			p.fill(signed, "a", "b")
		}, true, "FAILED   log/checkpoint: no key that is trusted has signed it: the key of the log " + testOrigin + " has not signed", false},
		"the package was signed by another log": {func(p *trailPackage) {
			text, _, _ := strings.Cut(p.files["SHA256SUMS.note"], "\n\n")
			signed, err := p.log.keys.SignText(otherOrigin, text+"\n")
			evidencetest.Must(p.t, err)
			p.files["SHA256SUMS.note"] = signed
		}, false, "FAILED   SHA256SUMS.note: it was signed for other checksums, or by another log", false},
		"the checkpoint is of another key": {func(p *trailPackage) {
			p.fill(p.log.checkpoint(302, translogtest.NewKeys(p.t)), "a", "b")
		}, true,
			"FAILED   log/checkpoint: no key that is trusted has signed it", false},
		"the checkpoint is another one": {func(p *trailPackage) { p.files["log/checkpoint"] = p.log.checkpoint(301, p.log.keys) }, true,
			"FAILED   log/checkpoint: it is not the checkpoint of the proofs", false},
		"the signature was left out":             {func(p *trailPackage) { p.files["SHA256SUMS.note"] = "" }, false, "FAILED   SHA256SUMS.note: no key that is trusted has signed it", false},
		"the signature is the log's checkpoint":  {func(p *trailPackage) { p.files["SHA256SUMS.note"] = p.files["log/checkpoint"] }, false, "FAILED   SHA256SUMS.note: it was signed for other", false},
		"an attestation and its entry were left": {func(p *trailPackage) { p.fill(p.files["log/checkpoint"], "a") }, true, "FAILED   entry 300 of the log: it is of the trail, and the package does not have attestation b", true},
		"the history was rewritten": {func(p *trailPackage) {
			p.log.replace(100, p.log.entries[101])
			p.fill(p.log.checkpoint(302, p.log.keys), "a", "b")
		}, true, "FAILED   --checkpoint: it is not a checkpoint of the first 200 entries of the log", true},
		"the log is another one": {func(p *trailPackage) { p.log.entries[100] = p.log.entries[101] }, true,
			"FAILED   log/checkpoint: it is not a checkpoint of the first 302 entries of the log", true},
		"the log is shorter": {func(p *trailPackage) { p.log.entries = p.log.entries[:300] }, true, "404 Not Found: no such tile", true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTrailPackage(t)
			p.seal(p.log.keys)
			trusted := p.log.keys.Verifiers(testOrigin)
			others := p.log.keys.Verifiers(otherOrigin)
			keys := write(t, "keys", []byte(trusted[0]+"\n"+others[0]+"\n"))
			kept := write(t, "checkpoint", []byte(p.log.checkpoint(200, p.log.keys)))
			c.forge(p)
			var signers translog.Keys
			if c.signs {
				signers = p.log.keys
			}
			path := write(t, "package.tgz", p.seal(signers))
			var out bytes.Buffer
			code := run([]string{"--log-key", keys, path}, &out, &out, false)
			if found := strings.Contains(out.String(), c.finds); found == c.readsLog || found != (code == unsound) {
				t.Errorf("with the key: exit code %d, printed:\n%s", code, &out)
			}
			if !c.readsLog {
				return
			}
			out.Reset()
			args := []string{"--log-key", keys, "--log", p.log.serve("secret"), "--token", write(t, "token", []byte("secret\n")), "--checkpoint", kept, path}
			if code := run(args, &out, &out, false); code != unsound || !strings.Contains(out.String(), c.finds) {
				t.Errorf("with the log: exit code %d, printed:\n%s", code, &out)
			}
		})
	}
}

func TestProofsArePrinted(t *testing.T) {
	p := newTrailPackage(t)
	path := write(t, "package.tgz", p.seal(p.log.keys))
	verifiers := p.log.keys.Verifiers(testOrigin)
	others := translogtest.NewKeys(t).Verifiers(testOrigin)
	keys := write(t, "keys", []byte(others[0]+"\n"+verifiers[0]+"\n"))
	token := write(t, "token", []byte("secret\n"))
	earlier := write(t, "earlier", []byte(p.log.checkpoint(200, p.log.keys)))
	later := write(t, "later", []byte(p.log.checkpoint(302, p.log.keys)))
	foreign := write(t, "foreign", []byte(p.log.checkpoint(200, translogtest.NewKeys(t))))
	address := p.log.serve("secret")
	for name, c := range map[string]struct {
		args   []string
		code   int
		prints []string
	}{
		"without a key":       {nil, sound, []string{"note     not proven without --log-key", "verdict  COMPLIANT"}},
		"with the key":        {[]string{"--log-key", verifiers[0]}, sound, []string{"log      " + testOrigin + " has signed the package, and has 2 facts of it among its first 302 entries\n", "not proven without --log:"}},
		"with a file of keys": {[]string{"--log-key", keys}, sound, []string{"has signed the package"}},
		"with another key":    {[]string{"--log-key", others[0]}, unsound, []string{"FAILED   log/checkpoint: no key that is trusted has signed it", "FAILED   SHA256SUMS.note: no key"}},
		"with the log":        {[]string{"--log-key", keys, "--log", address + "/", "--token", token}, sound, []string{"log      these have nothing else of the trail\n"}},
		"with an earlier checkpoint": {[]string{"--log-key", keys, "--log", address, "--token", token, "--checkpoint", earlier}, sound,
			[]string{"log      the 200 entries of the earlier checkpoint are the same now\n"}},
		"with a later checkpoint":     {[]string{"--log-key", keys, "--log", address, "--token", token, "--checkpoint", later}, sound, []string{"the 302 entries"}},
		"without a token":             {[]string{"--log-key", keys, "--log", address}, unsound, []string{"FAILED   the log " + address + " cannot be read: ", "401 Unauthorized"}},
		"with a foreign checkpoint":   {[]string{"--log-key", keys, "--log", address, "--checkpoint", foreign}, unusable, []string{"no checkpoint that a trusted key has signed"}},
		"a checkpoint and no log":     {[]string{"--log-key", keys, "--checkpoint", earlier}, unusable, []string{"--checkpoint needs --log"}},
		"a log and no key":            {[]string{"--log", address}, unusable, []string{"--log needs --log-key"}},
		"a key that is none":          {[]string{"--log-key", "x+y"}, unusable, []string{"--log-key takes a verifier key"}},
		"a file that is no key":       {[]string{"--log-key", token}, unusable, []string{"has something else than verifier keys"}},
		"a token that is not there":   {[]string{"--log-key", keys, "--log", address, "--token", "/nowhere"}, unusable, []string{"--token: open /nowhere"}},
		"a log that is not there":     {[]string{"--log-key", keys, "--log", "http://127.0.0.1:1/x"}, unsound, []string{"cannot be read"}},
		"a key for one without a log": {[]string{"--log-key", keys}, unsound, []string{"FAILED   log/checkpoint: it is missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			of := path
			if strings.HasSuffix(name, "without a log") {
				of = write(t, "plain.tgz", pack(t, true, newPackage(t)...))
			}
			var out bytes.Buffer
			code := run(append(c.args, of), &out, &out, false)
			for _, line := range c.prints {
				if code != c.code || !strings.Contains(out.String(), line) || strings.Contains(out.String(), "secret") {
					t.Errorf("exit code %d, want %d and %q, printed:\n%s", code, c.code, line, &out)
				}
			}
		})
	}
}

func TestProofsWithoutACheckpointAreRefusedWithoutAKey(t *testing.T) {
	p := newTrailPackage(t)
	p.drop(audit.CheckpointPath)
	var out bytes.Buffer
	if code := run([]string{write(t, "package.tgz", p.seal(p.log.keys))}, &out, &out, false); code != unsound || !strings.Contains(out.String(), "FAILED   log/checkpoint: it is missing") {
		t.Errorf("exit code %d, printed:\n%s", code, &out)
	}
}

func TestFactsThatAreNotInTheLogArePrinted(t *testing.T) {
	p := newTrailPackage(t)
	p.drop("log/facts/attestation/b/")
	p.files[audit.UnloggedPath] = "attestation/b\n"
	path := write(t, "package.tgz", p.seal(p.log.keys))
	keys := p.log.keys.Verifiers(testOrigin)
	var out bytes.Buffer
	code := run([]string{"--log-key", keys[0], path}, &out, &out, false)
	if code != sound || !strings.Contains(out.String(), "UNLOGGED attestation/b: the log does not have it\n") || !strings.Contains(out.String(), "; facts that are not in the log: 1\n") {
		t.Errorf("exit code %d, printed:\n%s", code, &out)
	}
}

// TestMembersInAnotherOrderAreProven packs a package again in reverse order.
func TestMembersInAnotherOrderAreProven(t *testing.T) {
	p := newTrailPackage(t)
	members := unpack(t, p.seal(p.log.keys))
	slices.Reverse(members)
	keys := p.log.keys.Verifiers(testOrigin)
	var out bytes.Buffer
	if code := run([]string{"--log-key", keys[0], write(t, "package.tgz", pack(t, true, members...))}, &out, &out, false); code != sound {
		t.Errorf("exit code %d, printed:\n%s", code, &out)
	}
}

// TestManifestIsComparedWithFacts changes what the signature does not cover: the manifest lists its checksum.
func TestManifestIsComparedWithFacts(t *testing.T) {
	p := newTrailPackage(t)
	files := unpack(t, p.seal(p.log.keys))
	keys := p.log.keys.Verifiers(testOrigin)
	for name, change := range map[string]func(*audit.Manifest){
		"its time":        func(m *audit.Manifest) { m.CreatedAt = 1e9 },
		"omitted trails":  func(m *audit.Manifest) { m.OmittedTrails = 3 },
		"fewer than none": func(m *audit.Manifest) { m.OmittedTrails = -3 },
	} {
		t.Run(name, func(t *testing.T) {
			forged := slices.Clone(files)
			i := slices.IndexFunc(forged, func(f file) bool { return f.name == audit.ManifestPath })
			manifest, err := audit.ParseManifest([]byte(forged[i].content))
			evidencetest.Must(t, err)
			change(&manifest)
			content, err := manifest.Encode()
			evidencetest.Must(t, err)
			forged[i].content = string(content)
			var out bytes.Buffer
			if code := run([]string{"--log-key", keys[0], write(t, "package.tgz", pack(t, true, forged...))}, &out, &out, false); code != unsound {
				t.Errorf("exit code %d, printed:\n%s", code, &out)
			}
		})
	}
}
