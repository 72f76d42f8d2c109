package server

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"attestry/evidence"
	"attestry/links"
	"attestry/storage"
)

// fileSHA256 is the hash of 0123456789.
const fileSHA256 = "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882"

// source is the content of a test download.
type source struct {
	content string
	size    int64
	sha256  string
	openErr error
	// failAfter is the number of bytes after which reading fails as end says. 0 never fails, a negative number at once.
	failAfter int
	end       func(ctx context.Context) error // nil for an error
	opened    atomic.Int32
	closed    atomic.Int32
	ctx       atomic.Value
}

func (s *source) open(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
	if s.openErr != nil {
		return nil, s.openErr
	}
	s.opened.Add(1)
	s.ctx.Store(ctx)
	part := s.content[offset:]
	if length >= 0 {
		part = part[:length]
	}
	var reader io.Reader = iotest.OneByteReader(strings.NewReader(part))
	if len(part) > 100 {
		reader = strings.NewReader(part)
	}
	if s.failAfter > 0 {
		reader = io.MultiReader(strings.NewReader(part[:s.failAfter]), brokenOff(func() error {
			if s.end != nil {
				return s.end(ctx)
			}
			return errors.New("disk on fire")
		}))
	}
	if s.failAfter < 0 {
		reader = iotest.ErrReader(errors.New("disk on fire"))
	}
	return &countingCloser{reader, &s.closed}, nil
}

// brokenOff is a reader that always fails.
type brokenOff func() error

func (b brokenOff) Read([]byte) (int, error) { return 0, b() }

type countingCloser struct {
	io.Reader
	closed *atomic.Int32
}

func (c *countingCloser) Close() error {
	c.closed.Add(1)
	return nil
}

func startDownload(t *testing.T, s *source, change ...func(*Deps)) *testServer {
	return start(t, []Route{{Method: "GET", Path: "/file", OperationID: "get_file", Tag: "Files", Summary: "Get a file",
		Serve: Handle(func(ctx context.Context, _ *struct{}) (*StreamOutput, error) {
			return Stream(ctx, Download{ContentType: "text/csv", Filename: "a b.csv", Size: s.size, SHA256: s.sha256, Open: s.open})
		})}}, change...)
}

func TestDownloadsAreSentWithTheirSize(t *testing.T) {
	file := &source{content: "0123456789", size: 10}
	s := startDownload(t, file)
	got := s.send(t, "GET", links.Prefix+"/file", "reader", "")
	if got.status != 200 || got.body != "0123456789" {
		t.Errorf("got %d %q", got.status, got.body)
	}
	for name, want := range map[string]string{
		"Content-Length": "10", "Content-Type": "text/csv", "Accept-Ranges": "bytes", "Content-Disposition": `attachment; filename="a b.csv"`,
	} {
		if got := got.header.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	eventually(t, func() bool { return file.closed.Load() == 1 })
	if err := file.ctx.Load().(context.Context).Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("after closing, the stream's context says %v", err)
	}
}

func TestDownloadsOfUnknownSizeAreChunked(t *testing.T) {
	file := &source{content: strings.Repeat("x", 1<<20), size: -1}
	s := startDownload(t, file)
	got := s.send(t, "GET", links.Prefix+"/file", "reader", "", "Range", "bytes=0-1")
	if got.status != 200 || got.body != file.content || got.header.Get("Content-Length") != "" {
		t.Errorf("got %d, %d bytes, %v", got.status, len(got.body), got.header)
	}
	eventually(t, func() bool { return file.closed.Load() == 1 })
}

func TestClientsOfHTTP10GetDownloadsOfUnknownSizeWithTheirLength(t *testing.T) {
	file := &source{content: strings.Repeat("x", 1<<20), size: -1}
	s := startDownload(t, file)
	s.wantWhole(t, "/file", file.content)
	eventually(t, func() bool { return file.closed.Load() == 1 && s.budget.InUse() == 0 })
}

func TestHeadOfADownloadOpensNothing(t *testing.T) {
	file := &source{content: "0123456789", size: 10}
	s := startDownload(t, file)
	got := s.send(t, "HEAD", links.Prefix+"/file", "reader", "")
	if got.status != 200 || got.header.Get("Content-Length") != "10" || got.body != "" || file.opened.Load() != 0 {
		t.Errorf("got %d %v, opened %d times", got.status, got.header, file.opened.Load())
	}
}

func TestRangesAreServed(t *testing.T) {
	file := &source{content: "0123456789", size: 10}
	s := startDownload(t, file)
	for header, want := range map[string]struct {
		status        int
		body, content string
	}{
		"bytes=0-0":    {206, "0", "bytes 0-0/10"},
		"bytes=2-4":    {206, "234", "bytes 2-4/10"},
		"bytes=7-":     {206, "789", "bytes 7-9/10"},
		"bytes=-3":     {206, "789", "bytes 7-9/10"},
		"bytes=-99":    {206, "0123456789", "bytes 0-9/10"},
		"bytes=8-99":   {206, "89", "bytes 8-9/10"},
		"bytes=10-":    {416, "", "bytes */10"},
		"bytes=-0":     {416, "", "bytes */10"},
		"bytes=4-2":    {200, "0123456789", ""},
		"bytes=0-1,3-": {200, "0123456789", ""},
		"lines=0-1":    {200, "0123456789", ""},
		"bytes=a-b":    {200, "0123456789", ""},
		"bytes=-":      {200, "0123456789", ""},
	} {
		got := s.send(t, "GET", links.Prefix+"/file", "reader", "", "Range", header)
		if got.status != want.status || got.header.Get("Content-Range") != want.content || want.status < 400 && got.body != want.body {
			t.Errorf("%s: got %d %q %q, want %v", header, got.status, got.body, got.header.Get("Content-Range"), want)
		}
	}
}

// fields are names of header fields, each followed by its value.
type fields = []string

func TestDownloadsAreConditional(t *testing.T) {
	const tag, other = `"` + fileSHA256 + `"`, `"00"`
	for name, row := range map[string]struct {
		method string
		fields fields
		status int
		body   string
	}{
		"nothing":                       {"GET", nil, 200, "0123456789"},
		"the client has it":             {"GET", fields{"If-None-Match", tag}, 304, ""},
		"the client has it, HEAD":       {"HEAD", fields{"If-None-Match", tag}, 304, ""},
		"a weak tag":                    {"GET", fields{"If-None-Match", "W/" + tag}, 304, ""},
		"one of several":                {"GET", fields{"If-None-Match", other + ", " + tag}, 304, ""},
		"any":                           {"GET", fields{"If-None-Match", "*"}, 304, ""},
		"the client has another":        {"GET", fields{"If-None-Match", other}, 200, "0123456789"},
		"a tag without quotes":          {"GET", fields{"If-None-Match", fileSHA256}, 200, "0123456789"},
		"the version is wanted":         {"GET", fields{"If-Match", other + "," + tag}, 200, "0123456789"},
		"any version is wanted":         {"GET", fields{"If-Match", "*"}, 200, "0123456789"},
		"another version is wanted":     {"GET", fields{"If-Match", other}, 412, ""},
		"a weak version is wanted":      {"GET", fields{"If-Match", "W/" + tag}, 412, ""},
		"another version, HEAD":         {"HEAD", fields{"If-Match", other}, 412, ""},
		"If-Match before If-None-Match": {"GET", fields{"If-Match", other, "If-None-Match", tag}, 412, ""},
		"If-None-Match before a range":  {"GET", fields{"If-None-Match", tag, "Range", "bytes=2-4"}, 304, ""},
		"a range of the version":        {"GET", fields{"If-Range", tag, "Range", "bytes=2-4"}, 206, "234"},
		"a range of another version":    {"GET", fields{"If-Range", other, "Range", "bytes=2-4"}, 200, "0123456789"},
		"a range outside of another":    {"GET", fields{"If-Range", other, "Range", "bytes=10-"}, 200, "0123456789"},
		"a range of a weak version":     {"GET", fields{"If-Range", "W/" + tag, "Range", "bytes=2-4"}, 200, "0123456789"},
		"a range since a date":          {"GET", fields{"If-Range", "Wed, 21 Oct 2026 07:28:00 GMT", "Range", "bytes=2-4"}, 200, "0123456789"},
		"HEAD of a range":               {"HEAD", fields{"Range", "bytes=2-4"}, 200, ""},
		"HEAD of a range that is empty": {"HEAD", fields{"Range", "bytes=10-"}, 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := &source{content: "0123456789", size: 10, sha256: fileSHA256}
			s := startDownload(t, file)
			got := s.send(t, row.method, links.Prefix+"/file", "reader", "", row.fields...)
			if got.status != row.status || row.status != 412 && got.body != row.body {
				t.Errorf("answered %d %q, want %d %q", got.status, got.body, row.status, row.body)
			}
			if row.status != 412 && got.header.Get("ETag") != tag {
				t.Errorf("ETag = %q", got.header.Get("ETag"))
			}
			if row.status == 304 && (file.opened.Load() != 0 || got.header.Get("Content-Disposition") != "") {
				t.Errorf("opened %d times, %v", file.opened.Load(), got.header)
			}
			if row.method == "HEAD" && row.status == 200 && got.header.Get("Content-Length") != "10" {
				t.Errorf("Content-Length = %q", got.header.Get("Content-Length"))
			}
			if row.status == 412 && row.method == "GET" {
				got.expect(t, 412, "The content is not the one that was asked for")
			}
		})
	}
}

func TestDownloadsWithoutAHashHaveNoConditions(t *testing.T) {
	s := startDownload(t, &source{content: "0123456789", size: 10})
	got := s.send(t, "GET", links.Prefix+"/file", "reader", "", "If-Match", `"00"`, "If-None-Match", "*")
	if got.status != 200 || got.body != "0123456789" || got.header.Get("ETag") != "" {
		t.Errorf("answered %d %q %v", got.status, got.body, got.header)
	}
}

func TestEmptyDownloadsAreSent(t *testing.T) {
	s := startDownload(t, &source{size: 0})
	if got := s.send(t, "GET", links.Prefix+"/file", "reader", ""); got.status != 200 || got.body != "" || got.header.Get("Content-Length") != "0" {
		t.Errorf("got %d %q %v", got.status, got.body, got.header)
	}
}

func TestFailureBeforeTheFirstByteIsAnsweredAsAnError(t *testing.T) {
	s := startDownload(t, &source{content: "x", size: 1, openErr: evidence.NewError(evidence.NotFound, "gone")})
	s.send(t, "GET", links.Prefix+"/file", "reader", "").expect(t, 404, "gone")
	s = startDownload(t, &source{content: "x", size: 1, openErr: storage.ErrNotFound})
	s.send(t, "GET", links.Prefix+"/file", "reader", "").expect(t, 500, internalMessage)
	failing := &source{content: "x", size: 1, failAfter: -1}
	s = startDownload(t, failing)
	s.send(t, "GET", links.Prefix+"/file", "reader", "").expect(t, 500, internalMessage)
	if failing.closed.Load() != 1 {
		t.Error("a stream that failed at once was not closed")
	}
}

func TestLaterFailureAbortsTheDownloadAndIsLogged(t *testing.T) {
	for name, end := range map[string]func(context.Context) error{
		"an error": nil,
		"a panic":  func(context.Context) error { panic("fault") },
		"a store that hangs": func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		},
	} {
		for _, size := range []int64{1 << 20, -1} {
			file := &source{content: strings.Repeat("x", 1<<20), size: size, failAfter: 500_000, end: end}
			s := startDownload(t, file, func(d *Deps) { d.RequestTimeout = 100 * time.Millisecond })
			request, err := http.NewRequest("GET", s.url+links.Prefix+"/file", nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer reader")
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(response.Body); err == nil {
				t.Errorf("%s, size %d: a part was taken for the whole", name, size)
			}
			response.Body.Close()
			eventually(t, func() bool { return file.closed.Load() == 1 })
			if !strings.Contains(s.journal.String(), "answer broke off") {
				t.Errorf("%s, size %d: the log says %s", name, size, s.journal.String())
			}
		}
	}
}

func eventually(t *testing.T, met func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !met() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("waited in vain")
		}
	}
}

// TestHeadOfADownloadWithoutSizeLeavesTheConnectionClean sends several requests over one connection: bytes that follow
// the first answer would be read as the next one.
func TestHeadOfADownloadWithoutSizeLeavesTheConnectionClean(t *testing.T) {
	r := startDownload(t, &source{content: "0123456789", size: -1})
	connection, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	replies := bufio.NewReader(connection)
	for _, method := range []string{"HEAD", "HEAD", "GET"} {
		request, err := http.NewRequestWithContext(t.Context(), method, r.url+links.Prefix+"/file", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer reader")
		if err := request.Write(connection); err != nil {
			t.Fatal(err)
		}
		if next, err := replies.Peek(5); err != nil || string(next) != "HTTP/" {
			t.Fatalf("%s: %q stands before its answer, %v", method, next, err)
		}
		response, err := http.ReadResponse(replies, request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != 200 || response.Header.Get("Content-Type") != "text/csv" {
			t.Errorf("%s: %d %v, %v", method, response.StatusCode, response.Header, err)
		}
		if want := map[string]string{"HEAD": "", "GET": "0123456789"}[method]; string(body) != want || response.ContentLength > 0 {
			t.Errorf("%s: %q of %d bytes", method, body, response.ContentLength)
		}
	}
}
