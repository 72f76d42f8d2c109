package apitest

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

// Answer is the answer to a request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do sends a request and checks that the answer is one that the OpenAPI document describes.
func (s *Service) Do(method, path, key string, body []byte) Answer {
	s.T.Helper()
	request, err := http.NewRequestWithContext(s.T.Context(), method, s.URL+path, bytes.NewReader(body))
	if err != nil {
		s.T.Fatal(err)
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	return s.Send(request)
}

// Send sends a request and checks the answer as Do does.
func (s *Service) Send(request *http.Request) Answer {
	s.T.Helper()
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	return s.Exchange(request)
}

// Exchange sends a request and reads the answer.
func (s *Service) Exchange(request *http.Request) Answer {
	s.T.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.T.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		s.T.Fatal(err)
	}
	s.checkSecrets(request, response.StatusCode, content)
	if s.API != nil {
		s.API.Check(s.T, request.Method, request.URL.Path, response.StatusCode, content)
	}
	return Answer{Status: response.StatusCode, Header: response.Header, Body: content}
}

// Want sends a request as an administrator and checks the status of the answer.
func (s *Service) Want(status int, method, path string, body []byte) Answer {
	s.T.Helper()
	got := s.Do(method, "/api/v2"+path, AdminKey, body)
	if got.Status != status {
		s.T.Fatalf("%s %s: status %d, want %d: %s", method, path, got.Status, status, got.Body)
	}
	return got
}

// Text decodes a bare JSON string.
func (a Answer) Text(t *testing.T) string {
	t.Helper()
	var text string
	a.Decode(t, &text)
	return text
}

// Value decodes an answer of any shape.
func (a Answer) Value(t *testing.T) any {
	t.Helper()
	var value any
	a.Decode(t, &value)
	return value
}

// Decode decodes the body.
func (a Answer) Decode(t *testing.T, into any) {
	t.Helper()
	if err := json.Unmarshal(a.Body, into); err != nil {
		t.Fatalf("decode %s: %v", a.Body, err)
	}
}

// Problem decodes an error.
func (a Answer) Problem(t *testing.T) (message string, errors map[string]string) {
	t.Helper()
	var body struct {
		Message string
		Errors  map[string]string
	}
	a.Decode(t, &body)
	return body.Message, body.Errors
}

// Read sends a GET, which must succeed, and decodes the answer.
func (s *Service) Read(path string) any {
	s.T.Helper()
	var value any
	s.Want(http.StatusOK, http.MethodGet, path, nil).Decode(s.T, &value)
	return value
}

// WantError sends a request that must be answered with a status and a message.
func (s *Service) WantError(status int, message, method, path, body string) {
	s.T.Helper()
	if got, _ := s.Want(status, method, path, []byte(body)).Problem(s.T); got != message {
		s.T.Errorf("%s %s: %q, want %q", method, path, got, message)
	}
}

// WantMessage checks the message of an error.
func WantMessage(t *testing.T, got Answer, want string) {
	t.Helper()
	if message, _ := got.Problem(t); message != want {
		t.Errorf("message %q, want %q", message, want)
	}
}

// WantProblem checks the status, the message and the locations of an error. errors is nil if it has no locations.
func WantProblem(t *testing.T, got Answer, status int, message string, errors map[string]string) {
	t.Helper()
	gotMessage, gotErrors := got.Problem(t)
	if got.Status != status || gotMessage != message || !maps.Equal(gotErrors, errors) {
		t.Errorf("%d %q %q, want %d %q %q", got.Status, gotMessage, gotErrors, status, message, errors)
	}
}

// WantUnavailable checks for the status 503, a message and a Retry-After header.
func WantUnavailable(t *testing.T, got Answer, message string) {
	t.Helper()
	WantMessage(t, got, message)
	if got.Status != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" {
		t.Errorf("status %d, Retry-After %q", got.Status, got.Header.Get("Retry-After"))
	}
}

// Part is a file of a form.
type Part struct {
	Field, Filename, ContentType string
	Content                      []byte
}

// Form sends a multipart form: first the data in the field of a name, unless that is empty, then the files.
func (s *Service) Form(method, path, key, name, data string, files ...Part) Answer {
	s.T.Helper()
	var body bytes.Buffer
	writer := multipart.NewWriter(&body)
	if name != "" {
		s.Must(writer.WriteField(name, data))
	}
	for _, file := range files {
		header := textproto.MIMEHeader{}
		header.Set("Content-Disposition", `form-data; name="`+file.Field+`"; filename="`+file.Filename+`"`)
		header.Set("Content-Type", file.ContentType)
		into, err := writer.CreatePart(header)
		s.Must(err)
		_, err = into.Write(file.Content)
		s.Must(err)
	}
	s.Must(writer.Close())
	return s.SendForm(method, path, key, writer.FormDataContentType(), &body)
}

// SendForm sends a form that is encoded already.
func (s *Service) SendForm(method, path, key, contentType string, body io.Reader) Answer {
	s.T.Helper()
	request, err := http.NewRequestWithContext(s.T.Context(), method, s.URL+"/api/v2"+path, body)
	s.Must(err)
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", contentType)
	return s.Exchange(request)
}

// WantForm sends a form with data_json as an administrator and checks the status of the answer.
func (s *Service) WantForm(status int, method, path, data string, files ...Part) Answer {
	s.T.Helper()
	got := s.Form(method, path, AdminKey, "data_json", data, files...)
	if got.Status != status {
		s.T.Fatalf("%s %s: status %d, want %d: %s", method, path, got.Status, status, got.Body)
	}
	return got
}

// Must ends the test if there is an error.
func (s *Service) Must(err error) {
	s.T.Helper()
	if err != nil {
		s.T.Fatal(err)
	}
}

// YAMLFile returns the file of a form with a template.
func YAMLFile(content string) Part {
	return Part{Field: "template_file", Filename: "template.yml", ContentType: "application/octet-stream", Content: []byte(content)}
}

// Attachment returns the file of a form with evidence.
func Attachment(filename, content string) Part {
	return Part{Field: "attachment_file", Filename: filename, ContentType: "application/octet-stream", Content: []byte(content)}
}
