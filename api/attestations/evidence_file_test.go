package attestations

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/app"
	"attestry/config"
	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/filesystem"
	"attestry/storage/retention"
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

// retainingObjects is an object store that records and may refuse retention.
type retainingObjects struct {
	storage.Objects
	retained  []string
	retainErr error
}

func (r *retainingObjects) Retain(_ context.Context, key string, until time.Time) error {
	r.retained = append(r.retained, key+" until "+until.Format(time.RFC3339))
	return r.retainErr
}

func TestEvidenceIsRetainedBeforeItIsReferenced(t *testing.T) {
	for _, refused := range []error{nil, errors.New("refused")} {
		folder, err := filesystem.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		objects := &retainingObjects{Objects: folder, retainErr: refused}
		clock := func() time.Time { return time.Unix(1_800_000_000, 0).UTC() }
		h := &handlers{Base: &resource.Base{Store: &app.Store{
			Objects: objects, Retention: retention.New(objects, config.Retention{Organizations: map[string]int{"acme": 1}}, clock),
		}}}
		org := evidence.OrgAccess{OrgID: "id", OrgName: "acme"}
		file, err := h.storeFile(t.Context(), org, server.FormFile{Reader: strings.NewReader("content")})
		digest := sha256.Sum256([]byte("content"))
		want := storage.ObjectKey("id", hex.EncodeToString(digest[:])) + " until 2027-01-16T08:00:00Z"
		if !errors.Is(err, refused) || (file == nil) != (refused != nil) || !slices.Equal(objects.retained, []string{want}) {
			t.Errorf("if it is %v: %+v, %v, kept are %q", refused, file, err, objects.retained)
		}
	}
}
