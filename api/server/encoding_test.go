package server

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"attestry/api/representation"
	"attestry/links"
)

// packed returns an answer as it was sent: the client does not decompress it.
func (r *testServer) packed(t *testing.T, method, path, accepted string) answer {
	t.Helper()
	return r.send(t, method, links.Prefix+path, "reader", "", "Accept-Encoding", accepted)
}

// unpack decompresses the body of an answer.
func (a answer) unpack(t *testing.T) string {
	t.Helper()
	reader, err := gzip.NewReader(strings.NewReader(a.body))
	if err != nil {
		t.Fatalf("%d %v: %v", a.status, a.header, err)
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestAnswersAreCompressedForClientsThatAcceptIt(t *testing.T) {
	for name, row := range map[string]struct {
		batches, size int
		accepted      string
		compressed    bool
		// varies is true if the answer depends on Accept-Encoding.
		varies bool
	}{
		"small":                  {1, 100, "gzip", false, false},
		"just too small":         {1, representation.MinGzip - len(`{"data":[""],"more":{"read":1}}`) - 1, "gzip", false, false},
		"just large enough":      {1, representation.MinGzip - len(`{"data":[""],"more":{"read":1}}`), "gzip", true, true},
		"sent as a whole":        {3, 10_000, "br, gzip;q=0.5", true, true},
		"whole, not wanted":      {3, 10_000, "gzip;q=0", false, true},
		"whole, no gzip":         {3, 10_000, "identity", false, true},
		"streamed":               {40, 10_000, "gzip", true, true},
		"streamed, not wanted":   {40, 10_000, "identity, gzip;q=0", false, true},
		"streamed, any encoding": {40, 10_000, "*", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			list := &batched{batches: row.batches, size: row.size}
			s := startBatched(t, list)
			got := s.packed(t, "GET", "/lists/acme", row.accepted)
			if compressed := got.header.Get("Content-Encoding") == "gzip"; compressed != row.compressed {
				t.Fatalf("compressed: %v, want %v: %v", compressed, row.compressed, got.header)
			}
			if varies := got.header.Get("Vary") == "Accept-Encoding"; varies != row.varies {
				t.Errorf("Vary = %q", got.header.Get("Vary"))
			}
			body := got.body
			if row.compressed {
				body = got.unpack(t)
			}
			if body != list.want() || got.header.Get("Content-Type") != "application/json" {
				t.Errorf("%d bytes, want %d; %v", len(body), len(list.want()), got.header)
			}
			eventually(t, func() bool { return s.budget.InUse() == 0 })
			list.read.Store(0)
			head := s.packed(t, "HEAD", "/lists/acme", row.accepted)
			for _, field := range []string{"Content-Encoding", "Vary", "Content-Type", "X-Total-Count"} {
				if head.header.Get(field) != got.header.Get(field) {
					t.Errorf("%s of HEAD = %q, want %q", field, head.header.Get(field), got.header.Get(field))
				}
			}
			if length := got.header.Get("Content-Length"); head.header.Get("Content-Length") != length || length != "" && length != strconv.Itoa(len(got.body)) {
				t.Errorf("Content-Length of HEAD = %q, of GET %q", head.header.Get("Content-Length"), length)
			}
		})
	}
}

func TestLargeErrorsAreCompressed(t *testing.T) {
	s := start(t, testRoutes())
	body := `{"name":"x"` + manyKeys(500) + "}"
	got := s.send(t, "PUT", links.Prefix+"/things/acme", "member", body, "Accept-Encoding", "gzip")
	if text := got.unpack(t); got.status != 400 || !strings.HasPrefix(text, `{"message":`) || !strings.HasSuffix(text, `}}`) {
		t.Errorf("%d %.100s", got.status, text)
	}
}

func TestAbortedCompressedAnswersAreIncomplete(t *testing.T) {
	list := &batched{batches: 40, size: 10_000, fail: func(_ context.Context, batch int) error {
		if batch > 20 {
			return errors.New("disk on fire")
		}
		return nil
	}}
	s := startBatched(t, list)
	request, err := http.NewRequest("GET", s.url+links.Prefix+"/lists/acme", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer reader")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.ReadAll(response.Body); err == nil || !response.Uncompressed {
		t.Errorf("a part was taken for the whole: %v, compressed: %v", err, response.Uncompressed)
	}
	eventually(t, func() bool { return s.budget.InUse() == 0 })
}

func TestDownloadsAreNotCompressed(t *testing.T) {
	content := strings.Repeat("0123456789", 1000)
	s := startDownload(t, &source{content: content, size: int64(len(content))})
	got := s.packed(t, "GET", "/file", "gzip")
	if got.body != content || got.header.Get("Content-Encoding") != "" || got.header.Get("Vary") != "" {
		t.Errorf("%d bytes, %v", len(got.body), got.header)
	}
}

func TestTheDocumentIsConditional(t *testing.T) {
	s := start(t, testRoutes())
	for _, path := range []string{"/openapi.json", "/docs"} {
		tags := map[string]string{}
		for _, accepted := range []string{"identity", "gzip"} {
			got := s.packed(t, "GET", path, accepted)
			tag := got.header.Get("ETag")
			if got.status != 200 || tag == "" || got.header.Get("Vary") != "Accept-Encoding" || got.header.Get("Content-Encoding") != map[string]string{"gzip": "gzip"}[accepted] {
				t.Errorf("%s as %s: %d %v", path, accepted, got.status, got.header)
			}
			tags[accepted] = tag
			for _, method := range []string{"GET", "HEAD"} {
				for field, status := range map[string]int{"If-None-Match": 304, "If-Match": 200} {
					if again := s.send(t, method, links.Prefix+path, "", "", "Accept-Encoding", accepted, field, tag); again.status != status || again.header.Get("ETag") != tag || status == 304 && again.body != "" {
						t.Errorf("%s %s with %s: %d %v", method, path, field, again.status, again.header)
					}
				}
			}
			s.send(t, "GET", links.Prefix+path, "", "", "Accept-Encoding", "identity", "If-Match", `"00"`).expect(t, 412, preconditionMessage)
		}
		if tags["identity"] == tags["gzip"] {
			t.Errorf("both forms of %s have the tag %s", path, tags["gzip"])
		}
		if plain, compressed := s.packed(t, "GET", path, "identity"), s.packed(t, "GET", path, "gzip"); plain.body != compressed.unpack(t) {
			t.Errorf("%s is another one when it comes compressed", path)
		}
	}
}

func TestCompressedBodiesAndOtherCharsetsAreRefused(t *testing.T) {
	const compressed = "The body must not be compressed: Content-Encoding is not supported"
	const charset = "The body must be UTF-8: no other charset is supported"
	s := start(t, testRoutes())
	for name, row := range map[string]struct {
		fields  fields
		message string
	}{
		"gzip":                 {fields{"Content-Encoding", "gzip"}, compressed},
		"several":              {fields{"Content-Encoding", "identity, br"}, compressed},
		"identity":             {fields{"Content-Encoding", "Identity"}, ""},
		"latin 1":              {fields{"Content-Type", "application/json; charset=ISO-8859-1"}, charset},
		"UTF-16 of plain text": {fields{"Content-Type", `text/plain;charset="utf-16"`}, charset},
		"UTF-8":                {fields{"Content-Type", `application/json; charset="UTF-8"`}, ""},
		"UTF8":                 {fields{"Content-Type", "application/json;charset=utf8"}, ""},
		"no charset":           {fields{"Content-Type", "application/json"}, ""},
		"a type that is none":  {fields{"Content-Type", "; charset"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.send(t, "PUT", links.Prefix+"/things/acme", "member", `{"name":"x"}`, row.fields...)
			if row.message != "" {
				got.expect(t, 415, row.message)
			} else if got.status != 201 {
				t.Errorf("answered %d %s", got.status, got.body)
			}
			if got := s.send(t, "PUT", links.Prefix+"/things/acme", "nobody", `{}`, row.fields...); got.status != 401 {
				t.Errorf("a wrong key is answered %d", got.status)
			}
			if got := s.send(t, "PUT", links.Prefix+"/things/acme/x/archive", "admin", `null`, row.fields...); got.status != 200 {
				t.Errorf("an operation without a body answers %d", got.status)
			}
		})
	}
}

func TestCompressedFormsAndOtherCharsetsAreRefused(t *testing.T) {
	s := startForm(t)
	form := func(kind string) string {
		return "--b\r\nContent-Disposition: form-data; name=data_json\r\nContent-Type: " + kind + "\r\n\r\n{\"name\":\"x\"}\r\n--b--\r\n"
	}
	for name, row := range map[string]struct {
		kind   string
		fields fields
		status int
	}{
		"plain":           {"application/json", nil, 201},
		"UTF-8":           {"application/json; charset=UTF-8", nil, 201},
		"compressed":      {"application/json", fields{"Content-Encoding", "gzip"}, 415},
		"charset of data": {"application/json; charset=utf-16", nil, 415},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.send(t, "POST", links.Prefix+"/forms/acme", "member", form(row.kind), append(row.fields, "Content-Type", "multipart/form-data; boundary=b")...)
			if got.status != row.status {
				t.Errorf("answered %d %s, want %d", got.status, got.body, row.status)
			}
		})
	}
}
