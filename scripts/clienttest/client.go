package clienttest

import (
	"bytes"
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// Client sends requests for an organization with a key.
type Client struct {
	org, key  string
	addresses []string
	// failed counts requests without an answer. After each, the next address is used, as by a load balancer.
	failed atomic.Int64
	http   http.Client
}

// New returns a client of an organization. addresses are the http://host:port of the api processes of one service.
func New(org, key string, addresses ...string) *Client {
	// timeout is longer than the service takes to answer that it is too busy.
	const timeout = 40 * time.Second
	return &Client{org: org, key: key, addresses: addresses, http: http.Client{Timeout: timeout, Transport: &http.Transport{MaxIdleConnsPerHost: 4096}}}
}

// Address is that of the api process to which requests are sent now.
func (c *Client) Address() string { return c.addresses[int(c.failed.Load())%len(c.addresses)] }

// Send sends a request once.
func (c *Client) Send(ctx context.Context, r Request) (status int, body []byte, err error) {
	url := c.Address() + "/api/v2" + strings.Replace(r.Path, "{org}", c.org, 1)
	request, err := http.NewRequestWithContext(ctx, r.Method, url, bytes.NewReader(r.Body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	request.Header.Set("Content-Type", r.ContentType)
	response, err := c.http.Do(request)
	if err != nil {
		c.failed.Add(1)
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, err
}

// Request is a request of the API. {org} in its path is the organization of the client.
type Request struct {
	Method, Path, ContentType string
	Body                      []byte
}

// EncodeForm returns a form with its data and, if file is not "", a file in a field of that name.
func EncodeForm(field, data, file string, content []byte) (body []byte, contentType string) {
	var buffer bytes.Buffer // writing to it never fails
	form := multipart.NewWriter(&buffer)
	form.WriteField(field, data)
	if file != "" {
		into, _ := form.CreateFormFile(file, file)
		into.Write(content)
	}
	form.Close()
	return buffer.Bytes(), form.FormDataContentType()
}
