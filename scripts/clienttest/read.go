package clienttest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Get returns the body of the answer at a path of the API. Answers other than 200 are errors.
func Get(ctx context.Context, c *Client, path string) ([]byte, error) {
	status, body, err := c.Send(ctx, Request{Method: http.MethodGet, Path: path})
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("GET %s: %d %.300s", path, status, body)
	}
	return body, err
}

// List reads all pages of a list, which is the answer itself or the member data of an object.
func List[T any](ctx context.Context, c *Client, path string, perPage int) (all []T, err error) {
	for number := 1; ; number++ {
		body, err := Get(ctx, c, fmt.Sprintf("%s?per_page=%d&page=%d", path, perPage, number))
		if err != nil {
			return nil, err
		}
		var page struct{ Data []T }
		if bytes.HasPrefix(body, []byte("{")) {
			err = json.Unmarshal(body, &page)
		} else {
			err = json.Unmarshal(body, &page.Data)
		}
		all = append(all, page.Data...)
		if err != nil || len(page.Data) < perPage {
			return all, err
		}
	}
}
