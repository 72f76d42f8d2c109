package attestations

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"attestry/api/server"
	"attestry/evidence"
	"attestry/storage"
)

func TestFileNamesAreCleaned(t *testing.T) {
	for sent, want := range map[string]string{
		"report.tgz":            "report.tgz",
		"dir/report.tgz":        "report.tgz",
		`C:\dir\report.tgz`:     "report.tgz",
		"../..":                 "evidence",
		"":                      "evidence",
		"dir/":                  "evidence",
		" . ":                   "evidence",
		".hidden":               ".hidden",
		"a\x00\r\n\"b":          "a____b",
		"\xff\xfe":              "__",
		"right\u202eleft":       "right_left",
		"Übersicht 2026 (1).md": "Übersicht 2026 (1).md",
	} {
		if got := cleanFilename(sent); got != want {
			t.Errorf("%q becomes %q, want %q", sent, got, want)
		}
	}
	long := cleanFilename(strings.Repeat("ü", 5000) + ".tgz")
	if len(long) > maxFilename || !strings.HasSuffix(long, "ü.tgz") || !utf8.ValidString(long) {
		t.Errorf("a long name becomes %q", long)
	}
}

func TestContentTypesAreCleaned(t *testing.T) {
	for sent, want := range map[string]string{
		"":                               "application/octet-stream",
		"text/html":                      "text/html",
		"Text/HTML; Charset=UTF-8":       "text/html; charset=UTF-8",
		"text":                           "application/octet-stream",
		"text/html; charset":             "application/octet-stream",
		"a/b; c=\"\r\nSet-Cookie: x=y\"": "application/octet-stream",
		"a/" + strings.Repeat("b", 300):  "application/octet-stream",
	} {
		if got := cleanContentType(sent); got != want {
			t.Errorf("%q becomes %q, want %q", sent, got, want)
		}
	}
}

// evidenceStore keeps one object, or fails to.
type evidenceStore struct {
	Objects
	kept    []string
	keepErr error
}

func (e *evidenceStore) Put(_ context.Context, scope string, r io.Reader, _ int64) (storage.Object, error) {
	_, err := io.Copy(io.Discard, r)
	return storage.Object{Key: scope + "/key"}, err
}

func (e *evidenceStore) Keep(_ context.Context, org, key string) error {
	e.kept = append(e.kept, org+" "+key)
	return e.keepErr
}

func TestEvidenceIsKeptFromDeletionBeforeItIsReferredTo(t *testing.T) {
	for _, refused := range []error{nil, errors.New("refused")} {
		store := &evidenceStore{keepErr: refused}
		h := &handlers{Stores: Stores{Objects: store, Retention: store}}
		org := evidence.OrgAccess{OrgID: "id", OrgName: "acme"}
		file, err := h.storeFile(t.Context(), org, server.FormFile{Reader: strings.NewReader("content")})
		if !errors.Is(err, refused) || (file == nil) != (refused != nil) || !slices.Equal(store.kept, []string{"acme id/key"}) {
			t.Errorf("if it is %v: %+v, %v, kept are %q", refused, file, err, store.kept)
		}
	}
}
