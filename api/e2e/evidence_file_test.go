package e2e_test

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"attestry/storage"
)

const evidenceLimit = 10 << 20

// evidencePath returns the path of the evidence of the only attestation with a name.
func (s *service) evidencePath(trail, name string) string {
	s.t.Helper()
	links := lookup(s.t, s.onlyAttestation(trail, name), "_links", "evidence", "href")
	address, ok := links.(string)
	if !ok {
		s.t.Fatalf("%s has no evidence", name)
	}
	return strings.TrimPrefix(address, s.URL+"/api/v2")
}

const genericData = `{"attestation_name":"check","is_compliant":true}`

func TestEvidenceIsDownloadedUnchanged(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	content := "<script>alert(1)</script>"
	s.postAttestation(http.StatusCreated, "t", "generic", genericData,
		part{field: "attachment_file", filename: "page.html", contentType: "text/html; charset=utf-8", content: []byte(content)})
	address := s.evidencePath("t", "check")
	got := s.want(http.StatusOK, http.MethodGet, address, nil)
	if string(got.body) != content {
		t.Errorf("the content is %q", got.body)
	}
	for header, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Content-Disposition": `attachment; filename=page.html`,
		"X-Content-Type-Options": "nosniff", "Accept-Ranges": "bytes", "ETag": `"` + digestOf(content) + `"`,
	} {
		if got.header.Get(header) != want {
			t.Errorf("%s is %q, want %q", header, got.header.Get(header), want)
		}
	}
	shown := s.onlyAttestation("t", "check")
	if lookup(t, shown, "evidence_archive_fingerprint") != digestOf(content) {
		t.Errorf("the digest is %v", lookup(t, shown, "evidence_archive_fingerprint"))
	}
	if path := lookup(t, shown, "evidence_archive_path").(string); !strings.Contains(path, "/trail_attestation/") {
		t.Errorf("the path is %s", path)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/api/v2"+address, nil)
	s.must(err)
	request.Header.Set("Authorization", "Bearer "+readerKey)
	request.Header.Set("Range", "bytes=1-6")
	if part := s.exchange(request); part.status != http.StatusPartialContent || string(part.body) != "script" {
		t.Errorf("a part is %d %q", part.status, part.body)
	}
	request.Header.Set("If-Range", `"`+digestOf("another file")+`"`)
	if whole := s.exchange(request); whole.status != http.StatusOK || string(whole.body) != content {
		t.Errorf("a part of another file is %d %q", whole.status, whole.body)
	}
	request.Header.Del("If-Range")
	request.Header.Set("If-None-Match", `"`+digestOf(content)+`"`)
	if known := s.exchange(request); known.status != http.StatusNotModified || len(known.body) > 0 {
		t.Errorf("a file that the client has is %d %q", known.status, known.body)
	}
	request.Header.Del("If-None-Match")
	request.Header.Set("If-Match", `"`+digestOf("another file")+`"`)
	if other := s.exchange(request); other.status != http.StatusPreconditionFailed {
		t.Errorf("another file is %d %q", other.status, other.body)
	}
	request.Header.Del("If-Match")
	request.Header.Set("Range", "bytes=25-")
	if beyond := s.send(request); beyond.status != http.StatusRequestedRangeNotSatisfiable || beyond.header.Get("Content-Range") != "bytes */25" {
		t.Errorf("beyond the end: %d %q", beyond.status, beyond.header.Get("Content-Range"))
	}
}

// TestEvidenceUnderRetentionOutlivesDeletion needs a real object store with object lock.
func TestEvidenceUnderRetentionOutlivesDeletion(t *testing.T) {
	if testS3 == "" {
		t.Skip("needs a real object store")
	}
	s := start(t, options{real: true, withoutWorker: true, settings: []string{"ATTESTRY_RETENTION_ORGANIZATIONS=acme=1"}})
	deleted := func(org string) error {
		s.org = org
		for _, name := range []string{"check", "again"} {
			s.postAttestation(http.StatusCreated, "t", "generic", strings.Replace(genericData, "check", name, 1),
				part{field: "attachment_file", filename: "a.txt", contentType: "text/plain", content: []byte("of " + org)})
		}
		objects, err := s.Process.Store.Objects.List(t.Context(), "", storage.MaxMany)
		s.must(err)
		i := slices.IndexFunc(objects, func(o storage.Object) bool { return o.SHA256 == digestOf("of "+org) })
		return s.Process.Store.Objects.Delete(t.Context(), objects[i].Key)
	}
	if err := deleted(s.public); err != nil {
		t.Errorf("without retention: %v", err)
	}
	if err := deleted("acme"); !errors.Is(err, storage.ErrRetained) {
		t.Errorf("under retention: %v", err)
	}
	if got := s.want(http.StatusOK, http.MethodGet, s.evidencePath("t", "check"), nil); string(got.body) != "of acme" {
		t.Errorf("the evidence is %q", got.body)
	}
}

func TestAttestationWithoutEvidenceHasNone(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.attestGeneric("t", "check", true, "")
	// A form may send a file that was not chosen as a part without a filename and content.
	body := "--b\r\nContent-Disposition: form-data; name=\"data_json\"\r\n\r\n" + strings.Replace(genericData, "check", "empty", 1) +
		"\r\n--b\r\nContent-Disposition: form-data; name=\"attachment_file\"\r\n\r\n\r\n--b--\r\n"
	if got := s.sendForm(http.MethodPost, s.trailPath("t")+"/generic", adminKey, "multipart/form-data; boundary=b", strings.NewReader(body)); got.status != http.StatusCreated {
		t.Fatalf("%d %s", got.status, got.body)
	}
	for _, name := range []string{"check", "empty"} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			shown := s.onlyAttestation("t", name)
			if lookup(t, shown, "evidence_archive_path") != nil || lookup(t, shown, "evidence_archive_fingerprint") != nil || lookup(t, shown, "_links", "evidence") != nil {
				t.Errorf("%s has evidence: %v", name, shown)
			}
			wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, s.trailPath("t")+"/attestation/"+lookup(t, shown, "attestation_id").(string)+"/evidence", nil),
				"This attestation has no evidence file attached.")
		})
	}
	s.attestGeneric("other", "check", true, "")
	id := lookup(t, s.onlyAttestation("other", "check"), "attestation_id").(string)
	for trail, id := range map[string]string{"t": id, "other": "unknown"} {
		t.Run(trail, func(t *testing.T) {
			s := s.in(t)
			got := s.want(http.StatusNotFound, http.MethodGet, s.trailPath(trail)+"/attestation/"+id+"/evidence", nil)
			if message, _ := got.problem(t); !strings.Contains(message, "does not exist in trail '"+trail+"'") {
				t.Errorf("message %q", message)
			}
		})
	}
	// An empty file is evidence.
	s.postAttestation(http.StatusCreated, "t", "generic", strings.Replace(genericData, "check", "file", 1), attachment("empty.txt", ""))
	if got := s.want(http.StatusOK, http.MethodGet, s.evidencePath("t", "file"), nil); len(got.body) != 0 {
		t.Errorf("an empty file gives %q", got.body)
	}
}

func TestEvidenceIsAcceptedUpToItsLimit(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	content := bytes.Repeat([]byte("evidence"), evidenceLimit/8)
	send := func(content []byte) answer {
		return s.form(http.MethodPost, s.trailPath("t")+"/generic", adminKey, "data_json", genericData,
			part{field: "attachment_file", filename: "big", contentType: "application/octet-stream", content: content})
	}
	if got := send(append(bytes.Clone(content), 'x')); got.status != http.StatusRequestEntityTooLarge {
		t.Errorf("one byte more: %d", got.status)
	} else {
		wantMessage(t, got, "File size exceeds 10MB limit")
	}
	s.want(http.StatusNotFound, http.MethodGet, s.trailPath("t")+"/check", nil)
	if got := send(content); got.status != http.StatusCreated {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if got := s.want(http.StatusOK, http.MethodGet, s.evidencePath("t", "check"), nil); !bytes.Equal(got.body, content) {
		t.Errorf("came back as %d bytes", len(got.body))
	}
	if _, errors := s.postAttestation(http.StatusBadRequest, "t", "generic", genericData, attachment("a", "1"), attachment("b", "2")).problem(t); errors["attachment_file"] == "" {
		t.Errorf("two files: %q", errors)
	}
}

func TestBrokenUploadRecordsNothing(t *testing.T) {
	t.Parallel()
	s := share(t)
	body := "--b\r\nContent-Disposition: form-data; name=\"data_json\"\r\n\r\n" + genericData +
		"\r\n--b\r\nContent-Disposition: form-data; name=\"attachment_file\"; filename=\"x\"\r\n\r\nbreaks off"
	if got := s.sendForm(http.MethodPost, s.trailPath("t")+"/generic", adminKey, "multipart/form-data; boundary=b", strings.NewReader(body)); got.status != http.StatusBadRequest {
		t.Errorf("%d %s", got.status, got.body)
	}
	s.want(http.StatusNotFound, http.MethodGet, s.trailPath("t")+"/check", nil)
}

func TestHostileFileNamesAndTypesAreSanitized(t *testing.T) {
	t.Parallel()
	s := share(t)
	for name, c := range map[string]struct{ sent, kind, name, shownKind string }{
		"parent-folders":     {"../../etc/passwd", "text/plain", "passwd", "text/plain"},
		"backslashes":        {`..\\..\\boot.ini`, "text/plain", "boot.ini", "text/plain"},
		"quotation-mark":     {`quo\"te.txt`, "nonsense", "quo_te.txt", "application/octet-stream"},
		"dots":               {"..", "", "evidence", "application/octet-stream"},
		"slash":              {"/", "text/plain", "evidence", "text/plain"},
		"right-to-left":      {"Prüfung \u202etxt.exe", "application/x-msdownload", "Prüfung _txt.exe", "application/x-msdownload"},
		"tab":                {"tab\there", "text/plain; charset=\"a\\\"b\"", "tab_here", `text/plain; charset="a\"b"`},
		"long-name-and-type": {strings.Repeat("long", 255) + ".tgz", strings.Repeat("a", 300) + "/b", "", "application/octet-stream"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			s.postAttestation(http.StatusCreated, "t", "generic", strings.Replace(genericData, "check", name, 1),
				part{field: "attachment_file", filename: c.sent, contentType: c.kind, content: []byte("content")})
			got := s.want(http.StatusOK, http.MethodGet, s.evidencePath("t", name), nil)
			kind, parameters, err := mime.ParseMediaType(got.header.Get("Content-Disposition"))
			filename := parameters["filename"]
			if err != nil || kind != "attachment" || (c.name != "" && filename != c.name) || len(filename) > 255 || !utf8.ValidString(filename) {
				t.Errorf("%q came back as %q (%v)", c.sent, got.header.Get("Content-Disposition"), err)
			}
			if got.header.Get("Content-Type") != c.shownKind || string(got.body) != "content" {
				t.Errorf("%q is %s %q", c.kind, got.header.Get("Content-Type"), got.body)
			}
		})
	}
}

func TestFilesMayPrecedeTheData(t *testing.T) {
	t.Parallel()
	s := share(t)
	// fileFirst sends a form with the file before the data.
	fileFirst := func(s *service, method, path string, file part, data string) answer {
		s.t.Helper()
		return s.form(method, path, memberKey, "", "", file, part{field: "data_json", content: []byte(data)})
	}
	s.createFlow("ci")
	content, schema := strings.Repeat("evidence", 100_000), `{"type":"object"}`
	for name, c := range map[string]struct {
		method, path string
		file         part
		data         string
		stored       func(s *service) any
	}{
		"flow": {http.MethodPut, s.flowsPath() + "/template_file", yamlFile(unusualTemplate), `{"name":"web","description":"d"}`,
			func(s *service) any { return s.getFlow("web").Template }},
		"trail": {http.MethodPut, "/trails/" + s.org + "/ci", yamlFile(unusualTemplate), `{"name":"t"}`,
			func(s *service) any { return lookup(s.t, s.getTrail("ci", "t"), "template", "content") }},
		"attestation type": {http.MethodPost, s.typesPath(), schemaFile(schema), `{"name":"kind"}`,
			func(s *service) any { return string(s.getAttestationType("kind").Versions[0].TypeSchema) }},
		"attestation": {http.MethodPost, s.trailPath("t") + "/generic", attachment("big.txt", content), genericData,
			func(s *service) any {
				return string(s.want(http.StatusOK, http.MethodGet, s.evidencePath("t", "check"), nil).body)
			}},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			if got := fileFirst(s, c.method, c.path, c.file, c.data); got.status != http.StatusCreated {
				t.Fatalf("%d %s", got.status, got.body)
			}
			if got := c.stored(s); got != string(c.file.content) {
				t.Errorf("came back as %s", asJSON(got))
			}
		})
	}
	_, findings := fileFirst(s, http.MethodPost, s.trailPath("t")+"/generic", attachment("a", "refused"), `{"attestation_name":"refused"}`).problem(t)
	if findings["is_compliant"] != "Field required [input: None]" {
		t.Errorf("wrong data behind a file: %q", findings)
	}
	_, err := s.Process.Store.Objects.Stat(t.Context(), storage.ObjectKey(s.orgID(), digestOf("refused")))
	if !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("the file of a refused request is stored: %v", err)
	}
}

func TestNamesOfFilesMustBeShortUnicodeText(t *testing.T) {
	t.Parallel()
	s := share(t)
	for name, c := range map[string]struct{ filename, text string }{
		"no UTF-8": {"na\xffme.tgz", "Input should be a valid string, unable to parse raw data as a unicode string [input: na\uFFFDme.tgz]"},
		"too long": {strings.Repeat("long", 256) + ".tgz", "String should have at most 1024 characters [input: " + strings.Repeat("long", 50) + "...]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			_, errors := s.postAttestation(http.StatusBadRequest, "t", "generic", genericData, attachment(c.filename, "content")).problem(t)
			if errors["attachment_file.filename"] != c.text {
				t.Errorf("%q", errors)
			}
		})
	}
	s.want(http.StatusNotFound, http.MethodGet, s.trailPath("t")+"/check", nil)
}

func TestFileWithABadHeaderIsRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.postAttestation(http.StatusBadRequest, "t", "generic", genericData, attachment("a\x00b.txt", "content"))
	s.postAttestation(http.StatusBadRequest, "t", "generic", genericData, attachment(`a"; b c`, "content"))
	s.want(http.StatusNotFound, http.MethodGet, s.trailPath("t")+"/check", nil)
}

// heapGauge measures the heap in use while data passes through it.
type heapGauge struct {
	before       int64
	samples      []int64
	passed, next int
}

func newHeapGauge() *heapGauge { return &heapGauge{before: heapInUse()} }

func heapInUse() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func (g *heapGauge) pass(n int) {
	g.passed += n
	if g.passed >= g.next {
		g.next += 1 << 20
		g.samples = append(g.samples, heapInUse())
	}
}

// growth is the median of the samples minus the heap in use before. Memory of other work of the process comes and goes.
// Memory that holds the data stays until all data has passed, and so raises the median.
func (g *heapGauge) growth() int64 {
	slices.Sort(g.samples)
	return g.samples[len(g.samples)/2] - g.before
}

// Write discards the data of a download and measures.
func (g *heapGauge) Write(p []byte) (int, error) {
	g.pass(len(p))
	return len(p), nil
}

// generatedReader generates bytes and does not keep them.
type generatedReader struct {
	left  int
	gauge *heapGauge
}

func (g *generatedReader) Read(p []byte) (int, error) {
	if g.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), g.left)
	for i := range p[:n] {
		p[i] = byte(g.left - i)
	}
	g.left -= n
	g.gauge.pass(n)
	return n, nil
}

// dataPart is the JSON part of a form whose boundary is b.
func dataPart(name string) string {
	return "--b\r\nContent-Disposition: form-data; name=\"data_json\"\r\n\r\n" + strings.Replace(genericData, "check", name, 1) + "\r\n"
}

func TestEvidenceIsNotHeldInMemory(t *testing.T) {
	const allowed = 2 << 20
	s := start(t, options{withoutWorker: true})
	s.postAttestation(http.StatusCreated, "t", "generic", strings.Replace(genericData, "check", "warm", 1), attachment("a", "warm"))
	s.want(http.StatusOK, http.MethodGet, s.evidencePath("t", "warm"), nil)

	for name, order := range map[string][2]string{
		"check": {dataPart("check"), ""}, "check-last": {"", dataPart("check-last")},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			up := newHeapGauge()
			body := io.MultiReader(strings.NewReader(order[0]+
				"--b\r\nContent-Disposition: form-data; name=\"attachment_file\"; filename=\"big\"\r\n\r\n"),
				&generatedReader{left: evidenceLimit, gauge: up}, strings.NewReader("\r\n"+order[1]+"--b--\r\n"))
			if got := s.sendForm(http.MethodPost, s.trailPath("t")+"/generic", adminKey, "multipart/form-data; boundary=b", body); got.status != http.StatusCreated {
				t.Fatalf("%d %s", got.status, got.body)
			}
			if up.passed != evidenceLimit || up.growth() > allowed {
				t.Errorf("an upload of %d bytes took %d bytes of memory", up.passed, up.growth())
			}
		})
	}

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/api/v2"+s.evidencePath("t", "check"), nil)
	s.must(err)
	request.Header.Set("Authorization", "Bearer "+readerKey)
	down := newHeapGauge()
	response, err := http.DefaultClient.Do(request)
	s.must(err)
	defer response.Body.Close()
	if n, err := io.Copy(down, response.Body); err != nil || n != evidenceLimit || down.growth() > allowed {
		t.Errorf("a download of %d bytes took %d bytes of memory: %v", n, down.growth(), err)
	}
}
