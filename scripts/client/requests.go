package client

import (
	"bytes"
	"mime/multipart"
)

// Request is a request of the API. {org} in its path is the organization of the client.
type Request struct {
	Method, Path, ContentType string
	Body                      []byte
}

// EncodeForm returns a form with its data and, if file is not "", a file in a field of that name.
func EncodeForm(field, data, file string, content []byte) (body []byte, contentType string) {
	var buffer bytes.Buffer // takes everything
	form := multipart.NewWriter(&buffer)
	form.WriteField(field, data)
	if file != "" {
		into, _ := form.CreateFormFile(file, file)
		into.Write(content)
	}
	form.Close()
	return buffer.Bytes(), form.FormDataContentType()
}
