package resource

import (
	"context"
	"io"

	"attestry/api/server"
)

// ReadFormFile reads a YAML or JSON file of at most max bytes. Of a greater one the rest is
// read as well, as a file beyond the limit of all files has its own error.
func ReadFormFile(ctx context.Context, file server.FormFile, max int) ([]byte, error) {
	m := server.RequestOf(ctx).Memory
	content, err := m.ReadAll(file, max+1)
	if err == nil && len(content) > max {
		if _, err = io.Copy(io.Discard, file); err == nil {
			return nil, server.PartTooLarge(file.Field, int64(max))
		}
	}
	if err != nil {
		return nil, server.MalformedForm(err)
	}
	return content, m.Take(server.DocumentMultiple * int64(len(content)))
}
