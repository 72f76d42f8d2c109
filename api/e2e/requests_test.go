package e2e_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"testing"
)

// answer is the answer to a request.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// do sends a request and checks that the answer is one that the OpenAPI document describes.
func (s *service) do(method, path, key string, body []byte) answer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	return s.send(request)
}

func (s *service) send(request *http.Request) answer {
	s.t.Helper()
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	return s.exchange(request)
}

func (s *service) exchange(request *http.Request) answer {
	s.t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	s.checkSecrets(request, response.StatusCode, content)
	if s.api != nil {
		s.api.check(s.t, request.Method, request.URL.Path, response.StatusCode, content)
	}
	return answer{status: response.StatusCode, header: response.Header, body: content}
}

// want sends a request as an administrator and checks the status of the answer.
func (s *service) want(status int, method, path string, body []byte) answer {
	s.t.Helper()
	got := s.do(method, "/api/v2"+path, adminKey, body)
	if got.status != status {
		s.t.Fatalf("%s %s: status %d, want %d: %s", method, path, got.status, status, got.body)
	}
	return got
}

// text decodes a bare JSON string.
func (a answer) text(t *testing.T) string {
	t.Helper()
	var text string
	a.decode(t, &text)
	return text
}

// value decodes an answer of any shape.
func (a answer) value(t *testing.T) any {
	t.Helper()
	var value any
	a.decode(t, &value)
	return value
}

func (a answer) decode(t *testing.T, into any) {
	t.Helper()
	if err := json.Unmarshal(a.body, into); err != nil {
		t.Fatalf("decode %s: %v", a.body, err)
	}
}

// problem decodes an error.
func (a answer) problem(t *testing.T) (message string, errors map[string]string) {
	t.Helper()
	var body struct {
		Message string
		Errors  map[string]string
	}
	a.decode(t, &body)
	return body.Message, body.Errors
}

// read sends a GET, which must succeed, and decodes the answer.
func (s *service) read(path string) any {
	s.t.Helper()
	var value any
	s.want(http.StatusOK, http.MethodGet, path, nil).decode(s.t, &value)
	return value
}

// wantError sends a request that must be answered with a status and a message.
func (s *service) wantError(status int, message, method, path, body string) {
	s.t.Helper()
	if got, _ := s.want(status, method, path, []byte(body)).problem(s.t); got != message {
		s.t.Errorf("%s %s: %q, want %q", method, path, got, message)
	}
}

// wantMessage checks the message of an error.
func wantMessage(t *testing.T, got answer, want string) {
	t.Helper()
	if message, _ := got.problem(t); message != want {
		t.Errorf("message %q, want %q", message, want)
	}
}

// wantProblem checks the status, the message and the locations of an error. errors is nil if it has no locations.
func wantProblem(t *testing.T, got answer, status int, message string, errors map[string]string) {
	t.Helper()
	gotMessage, gotErrors := got.problem(t)
	if got.status != status || gotMessage != message || !maps.Equal(gotErrors, errors) {
		t.Errorf("%d %q %q, want %d %q %q", got.status, gotMessage, gotErrors, status, message, errors)
	}
}

// wantUnavailable checks for the status 503, a message and a Retry-After header.
func wantUnavailable(t *testing.T, got answer, message string) {
	t.Helper()
	wantMessage(t, got, message)
	if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
		t.Errorf("status %d, Retry-After %q", got.status, got.header.Get("Retry-After"))
	}
}

// part is a file of a form.
type part struct {
	field, filename, contentType string
	content                      []byte
}

// form sends a multipart form: first the data in the field of a name, unless that is empty, then the files.
func (s *service) form(method, path, key, name, data string, files ...part) answer {
	s.t.Helper()
	var body bytes.Buffer
	writer := multipart.NewWriter(&body)
	if name != "" {
		s.must(writer.WriteField(name, data))
	}
	for _, file := range files {
		header := textproto.MIMEHeader{}
		header.Set("Content-Disposition", `form-data; name="`+file.field+`"; filename="`+file.filename+`"`)
		header.Set("Content-Type", file.contentType)
		into, err := writer.CreatePart(header)
		s.must(err)
		_, err = into.Write(file.content)
		s.must(err)
	}
	s.must(writer.Close())
	return s.sendForm(method, path, key, writer.FormDataContentType(), &body)
}

// sendForm sends a form that is encoded already.
func (s *service) sendForm(method, path, key, contentType string, body io.Reader) answer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+"/api/v2"+path, body)
	s.must(err)
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", contentType)
	return s.exchange(request)
}

// wantForm sends a form with data_json as an administrator and checks the status of the answer.
func (s *service) wantForm(status int, method, path, data string, files ...part) answer {
	s.t.Helper()
	got := s.form(method, path, adminKey, "data_json", data, files...)
	if got.status != status {
		s.t.Fatalf("%s %s: status %d, want %d: %s", method, path, got.status, status, got.body)
	}
	return got
}

func (s *service) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func yamlFile(content string) part {
	return part{field: "template_file", filename: "template.yml", contentType: "application/octet-stream", content: []byte(content)}
}

func attachment(filename, content string) part {
	return part{field: "attachment_file", filename: filename, contentType: "application/octet-stream", content: []byte(content)}
}
