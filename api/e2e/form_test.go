package e2e_test

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
)

// part is a file of a form, as the client sends it.
type part struct {
	field, filename, contentType string
	content                      []byte
}

// form sends a form: its data first, under the given name, then files.
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

// sendForm sends a form that is made already.
func (s *service) sendForm(method, path, key, contentType string, body io.Reader) answer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+"/api/v2"+path, body)
	s.must(err)
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", contentType)
	return s.exchange(request)
}

// wantForm is form by the administrator, with data_json, and insists on the
// status.
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
