package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/attestation"
	"attestry/evidence/attestation/attestationtest"
	"attestry/evidence/audit"
	"attestry/evidence/evidencetest"
	"attestry/evidence/template"
)

// file is a member of an archive.
type file struct {
	name, content string
	link          bool
}

// newPackage makes a minimal package, of an attestation in an organization whose name has a control sequence of terminals.
func newPackage(t *testing.T) []file {
	t.Helper()
	return newPackageOf(t, evidence.Attestation{
		ID: "a", Name: "check", Type: evidence.TypeGeneric, Flow: "f-id", Trail: "t", Compliant: true,
	})
}

// newPackageOf makes the package of an attestation with id a in the trail t of the flow f-id, with more members.
func newPackageOf(t *testing.T, attested evidence.Attestation, more ...file) []file {
	t.Helper()
	const organization = "acme\x1b[2J"
	flow := evidence.Flow{ID: "f-id", Name: "f"}
	trail := evidence.Trail{ID: "t-id", Name: "t", Flow: flow.ID, Template: template.ID([]byte(template.Empty))}
	files := []file{
		{name: audit.AttestationPath("a"), content: encode(t, audit.NewAttestationDocument(attested, ""))},
		{name: audit.TemplatePath(trail.Template), content: template.Empty},
		{name: audit.TrailOf(trail.ID), content: encode(t, audit.NewTrailDocument(organization, &flow, &trail, "https://attestry.example.com"))},
		{name: audit.InstructionsPath, content: string(audit.Instructions)},
	}
	files = append(files, more...)
	var members []audit.Member
	for _, one := range files {
		members = append(members, audit.NewMember(one.name, []byte(one.content)))
	}
	checksums := audit.Checksums(members)
	manifest, err := audit.Manifest{
		SchemaVersion: audit.SchemaVersion, Generator: "Attestry test",
		Subject: audit.Subject{Kind: audit.OfAttestation, Organization: organization, Flow: "f", Trail: "t", Attestation: "a"},
		Members: append(members, audit.NewMember(audit.ChecksumsPath, checksums)), LostEvidence: []audit.LostEvidence{},
	}.Encode()
	evidencetest.Must(t, err)
	return append(files, file{name: audit.ChecksumsPath, content: string(checksums)}, file{name: audit.ManifestPath, content: string(manifest)})
}

func encode(t *testing.T, value any) string {
	t.Helper()
	content, err := audit.Encode(value)
	evidencetest.Must(t, err)
	return string(content)
}

func pack(t *testing.T, compressed bool, files ...file) []byte {
	t.Helper()
	var packed bytes.Buffer
	archive := tar.NewWriter(&packed)
	for _, one := range files {
		header := &tar.Header{Name: one.name, Size: int64(len(one.content)), Mode: 0o644}
		if one.link {
			header.Typeflag, header.Linkname, header.Size, one.content = tar.TypeSymlink, "/etc/passwd", 0, ""
		}
		evidencetest.Must(t, archive.WriteHeader(header))
		if _, err := archive.Write([]byte(one.content)); err != nil {
			t.Fatal(err)
		}
	}
	evidencetest.Must(t, archive.Close())
	if !compressed {
		return packed.Bytes()
	}
	return gzipped(t, packed.Bytes(), gzip.Header{})
}

func gzipped(t *testing.T, packed []byte, header gzip.Header) []byte {
	t.Helper()
	var content bytes.Buffer
	w := gzip.NewWriter(&content)
	w.Header = header
	if _, err := w.Write(packed); err != nil {
		t.Fatal(err)
	}
	evidencetest.Must(t, w.Close())
	return content.Bytes()
}

// newSparseFile makes an archive with a sparse file: it has a byte of content and, by an extended header, size bytes.
func newSparseFile(t *testing.T, size int) []byte {
	t.Helper()
	var records string
	for _, record := range []string{fmt.Sprintf("GNU.sparse.size=%d", size), "GNU.sparse.numblocks=1", "GNU.sparse.map=0,1"} {
		records += fmt.Sprintf("%d %s\n", len(record)+4, record) // with the two digits, the space and the line break
	}
	packed := pack(t, false, file{name: "header", content: records}, file{name: "sparse", content: "x"})
	packed[156] = tar.TypeXHeader
	copy(packed[148:156], "        ")
	sum := 0
	for _, b := range packed[:512] {
		sum += int(b)
	}
	copy(packed[148:156], fmt.Sprintf("%06o\x00 ", sum))
	return packed
}

// TestSparseFilesAreRefused has a sparse file, which can expand to any size.
func TestSparseFilesAreRefused(t *testing.T) {
	content := newSparseFile(t, 1<<20)
	if header, err := tar.NewReader(bytes.NewReader(content)).Next(); err != nil || header.Size != 1<<20 || header.Typeflag != tar.TypeReg {
		t.Fatalf("not a sparse file: %+v, %v", header, err)
	}
	_, err := verify(bytes.NewReader(content), audit.NewVerifier(attestationtest.Evaluate, audit.DefaultMemory), func(string) {})
	if err == nil || err.Error() != "sparse: it is no plain file" {
		t.Errorf("got %v", err)
	}
}

// TestUnavailableEvaluationsArePrinted has an evaluator that fails.
func TestUnavailableEvaluationsArePrinted(t *testing.T) {
	fail := func(attestation.Definition, json.RawMessage) (attestation.Verdict, error) {
		return attestation.Verdict{}, &evidence.Error{Code: evidence.Unavailable, Message: "The evaluation failed."}
	}
	definition := encode(t, audit.TypeDocument{SchemaVersion: audit.SchemaVersion, Name: "scan", Version: 1, Rules: []string{"false"}})
	members := newPackageOf(t, evidence.Attestation{
		ID: "a", Name: "check", Type: "custom:scan", TypeVersion: 1, Flow: "f-id", Trail: "t", Compliant: true,
		Payload: map[string]json.RawMessage{"attestation_data": json.RawMessage(`{}`)},
	}, file{name: audit.TypePath("scan", 1), content: definition})
	result, err := verify(bytes.NewReader(pack(t, true, members...)), audit.NewVerifier(fail, audit.DefaultMemory), func(string) {})
	evidencetest.Must(t, err)
	var out bytes.Buffer
	printResult(&out, &result, &options{}, nil)
	for _, line := range []string{"note     attestations whose verdict could not be evaluated again: 1\n", "agrees with itself\n"} {
		if !strings.Contains(out.String(), line) || strings.Contains(out.String(), "FAILED") {
			t.Errorf("no %q in\n%s", line, out.String())
		}
	}
}

func TestFindingsThatAreNotPrintedAreCounted(t *testing.T) {
	var out bytes.Buffer
	printResult(&out, &audit.Result{
		Manifest: &audit.Manifest{}, Log: &audit.Log{}, Findings: make([]audit.Finding, maxPrinted+1), OmittedFindings: 2,
	}, &options{}, nil)
	if !strings.Contains(out.String(), "FAILED   and 3 more\n") {
		t.Errorf("printed:\n%s", out.String())
	}
}

func TestExitCodeSaysWhetherThePackageIsSound(t *testing.T) {
	sound := newPackage(t)
	altered := append([]file{{name: sound[0].name, content: sound[0].content + " "}}, sound[1:]...)
	named := append(slices.Clone(sound), file{name: "\x1b[2J", content: "x"})
	linked := append(slices.Clone(sound), file{name: "link\x1b", link: true})
	later := slices.Clone(sound)
	last := &later[len(later)-1]
	last.content = strings.Replace(last.content, fmt.Sprintf(`"schema_version": %d`, audit.SchemaVersion), `"schema_version": 99`, 1)
	damaged := bytes.Clone(pack(t, true, sound...))
	damaged[len(damaged)-12] ^= 1
	for name, c := range map[string]struct {
		content []byte
		code    int
		prints  string
	}{
		"a package":                    {pack(t, true, sound...), 0, `package  of attestation a in trail "t" of flow "f" of organization "acme\x1b[2J"`},
		"one that was decompressed":    {pack(t, false, sound...), 0, "agrees with itself"},
		"one that was altered":         {pack(t, true, altered...), 1, "FAILED   attestations/a/attestation.json: it was altered"},
		"one that lacks a member":      {pack(t, true, sound[1:]...), 1, "FAILED   attestations/a/attestation.json: it is missing"},
		"one with a member more":       {pack(t, true, named...), 1, `FAILED   \x1b[2J: the manifest does not list it`},
		"one of a later version":       {pack(t, true, later...), 1, "recorded what is in it\nFAILED   manifest.json: its schema version 99 is not known"},
		"one with a link":              {pack(t, true, linked...), 1, `FAILED   link\x1b: it is no plain file`},
		"one with a folder":            {pack(t, true, append([]file{{name: "./attestations/"}}, sound...)...), 0, "agrees with itself"},
		"one with a folder outside":    {pack(t, true, append([]file{{name: "../etc/cron.d/"}}, sound...)...), 1, "FAILED   ../etc/cron.d/: it is no plain file"},
		"one that was damaged":         {damaged, 1, "FAILED"},
		"one that ends too early":      {pack(t, false, sound...)[:1500], 1, "FAILED"},
		"an archive of something else": {pack(t, true, file{name: "a.txt", content: "x"}), 2, "is no audit package"},
		"something else":               {[]byte("something else that is no archive"), 2, "is no audit package"},
		"one with another stream":      {append(pack(t, true, sound...), pack(t, true, file{name: "hidden", content: "x"})...), 1, "something follows the end"},
		"one with bytes behind it":     {append(pack(t, true, sound...), 'x'), 1, "something follows the end"},
		"one with hidden content":      {gzipped(t, append(pack(t, false, sound...), "hidden"...), gzip.Header{}), 1, "something follows the end"},
		"one with too much padding":    {gzipped(t, append(pack(t, false, sound...), make([]byte, maxPadding+1)...), gzip.Header{}), 1, "something follows the end"},
		"one with the padding of tar":  {gzipped(t, append(pack(t, false, sound...), make([]byte, maxPadding)...), gzip.Header{}), 0, "agrees with itself"},
		"one that gzip has named":      {gzipped(t, pack(t, false, sound...), gzip.Header{Name: "package.tar"}), 0, "agrees with itself"},
		"one with a comment":           {gzipped(t, pack(t, false, sound...), gzip.Header{Comment: "hidden"}), 2, "an extra field or a comment"},
		"one with an extra field":      {gzipped(t, pack(t, false, sound...), gzip.Header{Extra: []byte("hidden")}), 2, "an extra field or a comment"},
		"a plain one with more":        {append(pack(t, false, sound...), 'x'), 1, "something follows the end"},
		"an empty file":                {nil, 2, "is no audit package"},
		"a bundle with a long document": {
			pack(t, true, file{name: audit.PeriodPath, content: "{}"}, file{name: audit.SamplePath, content: strings.Repeat(" ", audit.DefaultMemory/4+1)}),
			1, "FAILED   sample.json: it is longer than 16 MiB; a greater --memory allows more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "package.tgz")
			evidencetest.Must(t, os.WriteFile(path, c.content, 0o600))
			var out bytes.Buffer
			if code := run([]string{path}, &out, &out, false); code != c.code || !strings.Contains(out.String(), c.prints) || strings.Contains(out.String(), "\x1b") {
				t.Errorf("exit code %d, printed:\n%q", code, out.String())
			}
		})
	}
	var out bytes.Buffer
	if code := run(nil, &out, &out, false); code != 2 || !strings.Contains(out.String(), "--help") {
		t.Errorf("without an argument: %d, %q", code, out.String())
	}
	if code := run([]string{"/nowhere"}, &out, &out, false); code != 2 {
		t.Errorf("without a file: %d", code)
	}
}

func TestDigestOfTheFileIsChecked(t *testing.T) {
	content := pack(t, true, newPackage(t)...)
	path := filepath.Join(t.TempDir(), "package.tgz")
	evidencetest.Must(t, os.WriteFile(path, content, 0o600))
	sum := evidence.SHA256(content)
	other := evidence.SHA256([]byte("another file"))
	for name, c := range map[string]struct {
		args   []string
		code   int
		prints string
	}{
		"its own":               {[]string{"--sha256", sum, path}, 0, "agrees with itself"},
		"in capitals":           {[]string{"--sha256=" + strings.ToUpper(sum), path}, 0, "agrees with itself"},
		"another":               {[]string{"--sha256", other, path}, 1, "its SHA-256 is " + sum + ", not " + other},
		"no digest":             {[]string{"--sha256", "xyz", path}, 2, "64 hexadecimal digits"},
		"an empty digest":       {[]string{"--sha256", "", path}, 2, "64 hexadecimal digits"},
		"behind the package":    {[]string{path, "--sha256", other}, 2, "behind the flags"},
		"too little memory":     {[]string{"--memory", "1", path}, 2, "a number of MiB"},
		"what is not a flag":    {[]string{"--fast", path}, 2, "--help"},
		"a request for help":    {[]string{"--help"}, 0, "--sha256 DIGEST"},
		"one of something else": {[]string{"--sha256", other, "/etc/passwd"}, 1, "not " + other},
	} {
		var out bytes.Buffer
		if code := run(c.args, &out, &out, false); code != c.code || !strings.Contains(out.String(), c.prints) {
			t.Errorf("%s: exit code %d, printed:\n%s", name, code, out.String())
		}
	}
}

func TestOmittedTrailsArePrinted(t *testing.T) {
	var out strings.Builder
	evidencetest.Must(t, printResult(&out, &audit.Result{Manifest: &audit.Manifest{Subject: audit.Subject{Kind: audit.OfArtifact}, OmittedTrails: 3}, Log: new(audit.Log)}, &options{}, nil))
	if want := "\nnote     the artifact's older trails, which the package does not have: 3\n"; !strings.Contains(out.String(), want) {
		t.Errorf("it prints\n%s", &out)
	}
}
