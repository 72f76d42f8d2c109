package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/evidence/template"
)

// file is a member of an archive.
type file struct {
	name, content string
	link          bool
}

// newPackage makes the smallest package there is, of an attestation in an organization whose name
// controls terminals.
func newPackage(t *testing.T) []file {
	t.Helper()
	const organization = "acme\x1b[2J"
	flow := evidence.Flow{ID: "f-id", Name: "f"}
	trail := evidence.Trail{ID: "t-id", Name: "t", Flow: flow.ID, Template: template.ID([]byte(template.Empty))}
	attested := evidence.Attestation{ID: "a", Name: "check", Type: evidence.TypeGeneric, Flow: flow.ID, Trail: "t", Compliant: true}
	files := []file{
		{name: audit.AttestationPath("a"), content: encode(t, audit.NewAttestationDocument(attested, ""))},
		{name: audit.TemplatePath(trail.Template), content: template.Empty},
		{name: audit.TrailOf(trail.ID), content: encode(t, audit.NewTrailDocument(organization, &flow, &trail, "https://attestry.example.com"))},
		{name: audit.InstructionsPath, content: string(audit.Instructions)},
	}
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
	if err != nil {
		t.Fatal(err)
	}
	return append(files, file{name: audit.ChecksumsPath, content: string(checksums)}, file{name: audit.ManifestPath, content: string(manifest)})
}

func encode(t *testing.T, value any) string {
	t.Helper()
	content, err := audit.Encode(value)
	if err != nil {
		t.Fatal(err)
	}
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
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(one.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if !compressed {
		return packed.Bytes()
	}
	var content bytes.Buffer
	w := gzip.NewWriter(&content)
	if _, err := w.Write(packed.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return content.Bytes()
}

func TestExitCodeSaysWhetherThePackageIsSound(t *testing.T) {
	sound := newPackage(t)
	altered := append([]file{{name: sound[0].name, content: sound[0].content + " "}}, sound[1:]...)
	named := append(slices.Clone(sound), file{name: "\x1b[2J", content: "x"})
	linked := append(slices.Clone(sound), file{name: "link\x1b", link: true})
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
		"one with a link":              {pack(t, true, linked...), 1, `FAILED   link\x1b: it is no plain file`},
		"one that was damaged":         {damaged, 1, "FAILED"},
		"one that ends too early":      {pack(t, false, sound...)[:1500], 1, "FAILED"},
		"an archive of something else": {pack(t, true, file{name: "a.txt", content: "x"}), 2, "is no audit package"},
		"something else":               {[]byte("something else that is no archive"), 2, "is no audit package"},
		"an empty file":                {nil, 2, "is no audit package"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "package.tgz")
			if err := os.WriteFile(path, c.content, 0o600); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if code := run([]string{path}, &out, &out); code != c.code || !strings.Contains(out.String(), c.prints) || strings.Contains(out.String(), "\x1b") {
				t.Errorf("exit code %d, printed:\n%q", code, out.String())
			}
		})
	}
	var out bytes.Buffer
	if code := run(nil, &out, &out); code != 2 || !strings.Contains(out.String(), "usage") {
		t.Errorf("without an argument: %d, %q", code, out.String())
	}
	if code := run([]string{"/nowhere"}, &out, &out); code != 2 {
		t.Errorf("without a file: %d", code)
	}
}
