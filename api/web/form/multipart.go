package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
)

// File is a file of a request.
type File struct {
	Part, Name string
	Content    io.Reader
}

// Multipart encodes a body with a JSON part and files.
func Multipart(part string, data json.RawMessage, files ...File) (contentType string, body []byte, err error) {
	var content bytes.Buffer
	form := multipart.NewWriter(&content)
	err = form.WriteField(part, string(data))
	for _, file := range files {
		into, failed := form.CreateFormFile(file.Part, file.Name)
		if failed == nil {
			_, failed = io.Copy(into, file.Content)
		}
		err = errors.Join(err, failed)
	}
	err = errors.Join(err, form.Close())
	return form.FormDataContentType(), content.Bytes(), err
}
