package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"attestry/evidence/audit"
)

// file is a member of an archive.
type file struct {
	name, content string
}

// newPackage makes the smallest package there is, of an attestation whose name controls terminals.
func newPackage(t *testing.T) []file {
	t.Helper()
	files := []file{{audit.InstructionsPath, string(audit.Instructions)}}
	members := []audit.Member{audit.NewMember(audit.InstructionsPath, audit.Instructions)}
	checksums := audit.Checksums(members)
	files = append(files, file{audit.ChecksumsPath, string(checksums)})
	manifest, err := audit.Manifest{
		SchemaVersion: audit.SchemaVersion, Generator: "Attestry test",
		Subject: audit.Subject{Kind: audit.OfAttestation, Organization: "acme\x1b[2J", Flow: "f", Trail: "t", Attestation: "a"},
		Members: append(members, audit.NewMember(audit.ChecksumsPath, checksums)), LostEvidence: []audit.LostEvidence{},
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return append(files, file{audit.ManifestPath, string(manifest)})
}

func pack(t *testing.T, compressed bool, files ...file) []byte {
	t.Helper()
	var packed bytes.Buffer
	archive := tar.NewWriter(&packed)
	for _, one := range files {
		if err := archive.WriteHeader(&tar.Header{Name: one.name, Size: int64(len(one.content)), Mode: 0o644}); err != nil {
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
	altered := append([]file{{sound[0].name, sound[0].content + " "}}, sound[1:]...)
	damaged := bytes.Clone(pack(t, true, sound...))
	damaged[len(damaged)-12] ^= 1
	for name, c := range map[string]struct {
		content []byte
		code    int
		prints  string
	}{
		"a package":                    {pack(t, true, sound...), 0, `package  of attestation a in trail "t" of flow "f" of organization "acme\x1b[2J"`},
		"one that was decompressed":    {pack(t, false, sound...), 0, "agrees with itself"},
		"one that was altered":         {pack(t, true, altered...), 1, "FAILED   VERIFY.md: it was altered"},
		"one that lacks a member":      {pack(t, true, sound[1:]...), 1, "FAILED   VERIFY.md: it is missing"},
		"one that was damaged":         {damaged, 1, "FAILED"},
		"one that ends too early":      {pack(t, false, sound...)[:1500], 1, "FAILED"},
		"an archive of something else": {pack(t, true, file{"a.txt", "x"}), 2, "is no audit package"},
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
