package attestations_test

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

	"attestry/api/apitest"
	"attestry/evidence/evidencetest"
	"attestry/storage"
)

const evidenceLimit = 10 << 20

func TestEvidenceIsDownloadedUnchanged(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	content := "<script>alert(1)</script>"
	s.PostAttestation(http.StatusCreated, "t", "generic", apitest.GenericData,
		apitest.Part{Field: "attachment_file", Filename: "page.html", ContentType: "text/html; charset=utf-8", Content: []byte(content)})
	address := s.EvidencePath("t", "check")
	got := s.Want(http.StatusOK, http.MethodGet, address, nil)
	apitest.Equal(t, string(got.Body), content)
	for header, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Content-Disposition": `attachment; filename=page.html`,
		"X-Content-Type-Options": "nosniff", "Accept-Ranges": "bytes", "ETag": `"` + apitest.DigestOf(content) + `"`,
	} {
		apitest.Equal(t, got.Header.Get(header), want, header)
	}
	shown := s.OnlyAttestation("t", "check")
	apitest.WantMember(t, shown, "evidence_archive_fingerprint", apitest.DigestOf(content))
	evidencetest.Contains(t, apitest.Lookup(t, shown, "evidence_archive_path").(string), "/trail_attestation/")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/api/v2"+address, nil)
	s.Must(err)
	request.Header.Set("Authorization", "Bearer "+apitest.ReaderKey)
	request.Header.Set("Range", "bytes=1-6")
	if part := s.Exchange(request); part.Status != http.StatusPartialContent || string(part.Body) != "script" {
		t.Errorf("a part is %d %q", part.Status, part.Body)
	}
	request.Header.Set("If-Range", `"`+apitest.DigestOf("another file")+`"`)
	if whole := s.Exchange(request); whole.Status != http.StatusOK || string(whole.Body) != content {
		t.Errorf("a part of another file is %d %q", whole.Status, whole.Body)
	}
	request.Header.Del("If-Range")
	request.Header.Set("If-None-Match", `"`+apitest.DigestOf(content)+`"`)
	if known := s.Exchange(request); known.Status != http.StatusNotModified || len(known.Body) > 0 {
		t.Errorf("a file that the client has is %d %q", known.Status, known.Body)
	}
	request.Header.Del("If-None-Match")
	request.Header.Set("If-Match", `"`+apitest.DigestOf("another file")+`"`)
	apitest.WantAnswer(t, s.Exchange(request), http.StatusPreconditionFailed)
	request.Header.Del("If-Match")
	request.Header.Set("Range", "bytes=25-")
	if beyond := s.Send(request); beyond.Status != http.StatusRequestedRangeNotSatisfiable || beyond.Header.Get("Content-Range") != "bytes */25" {
		t.Errorf("beyond the end: %d %q", beyond.Status, beyond.Header.Get("Content-Range"))
	}
}

// TestEvidenceUnderRetentionOutlivesDeletion needs a real object store with object lock.
func TestEvidenceUnderRetentionOutlivesDeletion(t *testing.T) {
	if apitest.RealS3 == "" {
		t.Skip("needs a real object store")
	}
	s := apitest.Start(t, apitest.Options{Real: true, WithoutWorker: true, Settings: []string{"ATTESTRY_RETENTION_ORGANIZATIONS=acme=1"}})
	deleted := func(org string) error {
		s.Org = org
		for _, name := range []string{"check", "again"} {
			s.PostAttestation(http.StatusCreated, "t", "generic", strings.Replace(apitest.GenericData, "check", name, 1),
				apitest.Part{Field: "attachment_file", Filename: "a.txt", ContentType: "text/plain", Content: []byte("of " + org)})
		}
		objects, err := s.Process.Store.Objects.List(t.Context(), "", storage.MaxMany)
		s.Must(err)
		i := slices.IndexFunc(objects, func(o storage.Object) bool { return o.SHA256 == apitest.DigestOf("of "+org) })
		return s.Process.Store.Objects.Delete(t.Context(), objects[i].Key)
	}
	if err := deleted(s.Public); err != nil {
		t.Errorf("without retention: %v", err)
	}
	if err := deleted("acme"); !errors.Is(err, storage.ErrRetained) {
		t.Errorf("under retention: %v", err)
	}
	if got := s.Want(http.StatusOK, http.MethodGet, s.EvidencePath("t", "check"), nil); string(got.Body) != "of acme" {
		t.Errorf("the evidence is %q", got.Body)
	}
}

func TestAttestationWithoutEvidenceHasNone(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.AttestGeneric("t", "check", true, "")
	// A form may send a file that was not chosen as a part without a filename and content.
	body := "--b\r\nContent-Disposition: form-data; name=\"data_json\"\r\n\r\n" + strings.Replace(apitest.GenericData, "check", "empty", 1) +
		"\r\n--b\r\nContent-Disposition: form-data; name=\"attachment_file\"\r\n\r\n\r\n--b--\r\n"
	if got := s.SendForm(http.MethodPost, s.TrailPath("t")+"/generic", apitest.AdminKey, "multipart/form-data; boundary=b", strings.NewReader(body)); got.Status != http.StatusCreated {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	apitest.EachOf(s, []string{"check", "empty"}, func(s *apitest.Service, name string) {
		shown := s.OnlyAttestation("t", name)
		if apitest.Lookup(s.T, shown, "evidence_archive_path") != nil ||
			apitest.Lookup(s.T, shown, "evidence_archive_fingerprint") != nil || apitest.Lookup(s.T, shown, "_links", "evidence") != nil {
			s.T.Errorf("%s has evidence: %v", name, shown)
		}
		apitest.WantMessage(s.T, s.Want(http.StatusNotFound, http.MethodGet,
			s.TrailPath("t")+"/attestation/"+apitest.Lookup(s.T, shown, "attestation_id").(string)+"/evidence", nil),
			"This attestation has no evidence file attached.")
	})
	s.AttestGeneric("other", "check", true, "")
	id := apitest.Lookup(t, s.OnlyAttestation("other", "check"), "attestation_id").(string)
	apitest.Each(s, map[string]string{"t": id, "other": "unknown"}, func(s *apitest.Service, trail, id string) {
		got := s.Want(http.StatusNotFound, http.MethodGet, s.TrailPath(trail)+"/attestation/"+id+"/evidence", nil)
		if message, _ := got.Problem(s.T); !strings.Contains(message, "does not exist in trail '"+trail+"'") {
			s.T.Errorf("message %q", message)
		}
	})
	// An empty file is evidence.
	s.PostAttestation(http.StatusCreated, "t", "generic", strings.Replace(apitest.GenericData, "check", "file", 1), apitest.Attachment("empty.txt", ""))
	if got := s.Want(http.StatusOK, http.MethodGet, s.EvidencePath("t", "file"), nil); len(got.Body) != 0 {
		t.Errorf("an empty file gives %q", got.Body)
	}
}

func TestEvidenceIsAcceptedUpToItsLimit(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	content := bytes.Repeat([]byte("evidence"), evidenceLimit/8)
	send := func(content []byte) apitest.Answer {
		return s.Form(http.MethodPost, s.TrailPath("t")+"/generic", apitest.AdminKey, "data_json", apitest.GenericData,
			apitest.Part{Field: "attachment_file", Filename: "big", ContentType: "application/octet-stream", Content: content})
	}
	if got := send(append(bytes.Clone(content), 'x')); got.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("one byte more: %d", got.Status)
	} else {
		apitest.WantMessage(t, got, "File size exceeds 10MB limit")
	}
	s.Want(http.StatusNotFound, http.MethodGet, s.TrailPath("t")+"/check", nil)
	if got := send(content); got.Status != http.StatusCreated {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	if got := s.Want(http.StatusOK, http.MethodGet, s.EvidencePath("t", "check"), nil); !bytes.Equal(got.Body, content) {
		t.Errorf("came back as %d bytes", len(got.Body))
	}
	if _, errors := s.PostAttestation(http.StatusBadRequest, "t", "generic", apitest.GenericData, apitest.Attachment("a", "1"), apitest.Attachment("b", "2")).Problem(t); errors["attachment_file"] == "" {
		t.Errorf("two files: %q", errors)
	}
}

func TestBrokenUploadRecordsNothing(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	body := "--b\r\nContent-Disposition: form-data; name=\"data_json\"\r\n\r\n" + apitest.GenericData +
		"\r\n--b\r\nContent-Disposition: form-data; name=\"attachment_file\"; filename=\"x\"\r\n\r\nbreaks off"
	if got := s.SendForm(http.MethodPost, s.TrailPath("t")+"/generic", apitest.AdminKey, "multipart/form-data; boundary=b", strings.NewReader(body)); got.Status != http.StatusBadRequest {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	s.Want(http.StatusNotFound, http.MethodGet, s.TrailPath("t")+"/check", nil)
}

func TestHostileFileNamesAndTypesAreSanitized(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	apitest.Each(s, map[string]struct{ sent, kind, name, shownKind string }{
		"parent-folders":     {"../../etc/passwd", "text/plain", "passwd", "text/plain"},
		"backslashes":        {`..\\..\\boot.ini`, "text/plain", "boot.ini", "text/plain"},
		"quotation-mark":     {`quo\"te.txt`, "nonsense", "quo_te.txt", "application/octet-stream"},
		"dots":               {"..", "", "evidence", "application/octet-stream"},
		"slash":              {"/", "text/plain", "evidence", "text/plain"},
		"right-to-left":      {"Prüfung \u202etxt.exe", "application/x-msdownload", "Prüfung _txt.exe", "application/x-msdownload"},
		"tab":                {"tab\there", "text/plain; charset=\"a\\\"b\"", "tab_here", `text/plain; charset="a\"b"`},
		"long-name-and-type": {strings.Repeat("long", 255) + ".tgz", strings.Repeat("a", 300) + "/b", "", "application/octet-stream"},
	}, func(s *apitest.Service, name string, c struct{ sent, kind, name, shownKind string }) {
		s.PostAttestation(http.StatusCreated, "t", "generic", strings.Replace(apitest.GenericData, "check", name, 1),
			apitest.Part{Field: "attachment_file", Filename: c.sent, ContentType: c.kind, Content: []byte("content")})
		got := s.Want(http.StatusOK, http.MethodGet, s.EvidencePath("t", name), nil)
		kind, parameters, err := mime.ParseMediaType(got.Header.Get("Content-Disposition"))
		filename := parameters["filename"]
		if err != nil || kind != "attachment" || (c.name != "" && filename != c.name) || len(filename) > 255 ||
			!utf8.ValidString(filename) {
			s.T.Errorf("%q came back as %q (%v)", c.sent, got.Header.Get("Content-Disposition"), err)
		}
		apitest.Equal(s.T, got.Header.Get("Content-Type"), c.shownKind)
		apitest.Equal(s.T, string(got.Body), "content")
	})
}

func TestFilesMayPrecedeTheData(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	// fileFirst sends a form with the file before the data.
	fileFirst := func(s *apitest.Service, method, path string, file apitest.Part, data string) apitest.Answer {
		s.T.Helper()
		return s.Form(method, path, apitest.MemberKey, "", "", file, apitest.Part{Field: "data_json", Content: []byte(data)})
	}
	s.CreateFlow("ci")
	content, schema := strings.Repeat("evidence", 100_000), `{"type":"object"}`
	type testCase struct {
		method, path string
		file         apitest.Part
		data         string
		stored       func(s *apitest.Service) any
	}
	apitest.Each(s, map[string]testCase{
		"flow": {http.MethodPut, s.FlowsPath() + "/template_file", apitest.YAMLFile(apitest.UnusualTemplate), `{"name":"web","description":"d"}`,
			func(s *apitest.Service) any { return s.GetFlow("web").Template }},
		"trail": {http.MethodPut, "/trails/" + s.Org + "/ci", apitest.YAMLFile(apitest.UnusualTemplate), `{"name":"t"}`,
			func(s *apitest.Service) any { return apitest.Lookup(s.T, s.GetTrail("ci", "t"), "template", "content") }},
		"attestation type": {http.MethodPost, s.TypesPath(), apitest.SchemaFile(schema), `{"name":"kind"}`,
			func(s *apitest.Service) any { return string(s.GetAttestationType("kind").Versions[0].TypeSchema) }},
		"attestation": {http.MethodPost, s.TrailPath("t") + "/generic", apitest.Attachment("big.txt", content), apitest.GenericData,
			func(s *apitest.Service) any {
				return string(s.Want(http.StatusOK, http.MethodGet, s.EvidencePath("t", "check"), nil).Body)
			}},
	}, func(s *apitest.Service, _ string, c testCase) {
		if got := fileFirst(s, c.method, c.path, c.file, c.data); got.Status != http.StatusCreated {
			s.T.Fatalf("%d %s", got.Status, got.Body)
		}
		if got := c.stored(s); got != string(c.file.Content) {
			s.T.Errorf("came back as %s", apitest.AsJSON(got))
		}
	})
	_, findings := fileFirst(s, http.MethodPost, s.TrailPath("t")+"/generic", apitest.Attachment("a", "refused"), `{"attestation_name":"refused"}`).Problem(t)
	apitest.Equal(t, findings["is_compliant"], "Field required [input: None]", findings)
	_, err := s.Process.Store.Objects.Stat(t.Context(), storage.ObjectKey(s.OrgID(), apitest.DigestOf("refused")))
	if !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("the file of a refused request is stored: %v", err)
	}
}

func TestNamesOfFilesMustBeShortUnicodeText(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	apitest.Each(s, map[string]struct{ filename, text string }{
		"no UTF-8": {"na\xffme.tgz", "Input should be a valid string, unable to parse raw data as a unicode string [input: na\uFFFDme.tgz]"},
		"too long": {strings.Repeat("long", 256) + ".tgz", "String should have at most 1024 characters [input: " + strings.Repeat("long", 50) + "...]"},
	}, func(s *apitest.Service, _ string, c struct{ filename, text string }) {
		_, errors := s.PostAttestation(http.StatusBadRequest, "t", "generic", apitest.GenericData,
			apitest.Attachment(c.filename, "content")).Problem(s.T)
		apitest.Equal(s.T, errors["attachment_file.filename"], c.text, errors)
	})
	s.Want(http.StatusNotFound, http.MethodGet, s.TrailPath("t")+"/check", nil)
}

func TestFileWithABadHeaderIsRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.PostAttestation(http.StatusBadRequest, "t", "generic", apitest.GenericData, apitest.Attachment("a\x00b.txt", "content"))
	s.PostAttestation(http.StatusBadRequest, "t", "generic", apitest.GenericData, apitest.Attachment(`a"; b c`, "content"))
	s.Want(http.StatusNotFound, http.MethodGet, s.TrailPath("t")+"/check", nil)
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
	return "--b\r\nContent-Disposition: form-data; name=\"data_json\"\r\n\r\n" + strings.Replace(apitest.GenericData, "check", name, 1) + "\r\n"
}

func TestEvidenceIsNotHeldInMemory(t *testing.T) {
	const allowed = 2 << 20
	s := apitest.Start(t, apitest.Options{WithoutWorker: true})
	s.PostAttestation(http.StatusCreated, "t", "generic", strings.Replace(apitest.GenericData, "check", "warm", 1), apitest.Attachment("a", "warm"))
	s.Want(http.StatusOK, http.MethodGet, s.EvidencePath("t", "warm"), nil)

	apitest.Each(s, map[string][2]string{
		"check": {dataPart("check"), ""}, "check-last": {"", dataPart("check-last")},
	}, func(s *apitest.Service, _ string, order [2]string) {
		up := newHeapGauge()
		body := io.MultiReader(strings.NewReader(order[0]+
			"--b\r\nContent-Disposition: form-data; name=\"attachment_file\"; filename=\"big\"\r\n\r\n"),
			&generatedReader{left: evidenceLimit, gauge: up}, strings.NewReader("\r\n"+order[1]+"--b--\r\n"))
		if got := s.SendForm(http.MethodPost, s.TrailPath("t")+"/generic", apitest.AdminKey,
			"multipart/form-data; boundary=b", body); got.Status != http.StatusCreated {
			s.T.Fatalf("%d %s", got.Status, got.Body)
		}
		if up.passed != evidenceLimit || up.growth() > allowed {
			s.T.Errorf("an upload of %d bytes took %d bytes of memory", up.passed, up.growth())
		}
	})

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/api/v2"+s.EvidencePath("t", "check"), nil)
	s.Must(err)
	request.Header.Set("Authorization", "Bearer "+apitest.ReaderKey)
	down := newHeapGauge()
	response, err := http.DefaultClient.Do(request)
	s.Must(err)
	defer response.Body.Close()
	if n, err := io.Copy(down, response.Body); err != nil || n != evidenceLimit || down.growth() > allowed {
		t.Errorf("a download of %d bytes took %d bytes of memory: %v", n, down.growth(), err)
	}
}
