package workload

import (
	"fmt"
	"slices"
	"time"

	"github.com/valyala/fasthttp"
)

// answerTimeout is how long a client waits for an answer. It outlasts the time
// that the service takes to answer a report it has not processed yet.
const answerTimeout = 30 * time.Second

// client is one user with one connection that is kept alive.
type client struct {
	connection *fasthttp.HostClient
	url, key   string
	request    fasthttp.Request
	response   fasthttp.Response
}

// newClient makes a client of a server at host:port.
func newClient(address, key string) *client {
	return &client{
		url:        "http://" + address,
		key:        key,
		connection: &fasthttp.HostClient{Addr: address, MaxConns: 1, MaxIdemponentCallAttempts: 1},
	}
}

// put sends a JSON body, which must be answered as wanted.
func (c *client) put(path string, body []byte, want answer) error {
	return c.send(fasthttp.MethodPut, path, "application/json; charset=utf-8", body, want)
}

// putUntil repeats a request, for which each answer but the wanted one must be one of
// those that come first.
func (c *client) putUntil(path string, body []byte, want answer, first ...answer) error {
	for {
		err := c.put(path, body, want)
		got := answer{status: c.response.StatusCode(), body: string(c.response.Body())}
		if err == nil || !slices.Contains(first, got) {
			return err
		}
	}
}

// post is put with another method.
func (c *client) post(path string, body []byte, want answer) error {
	return c.send(fasthttp.MethodPost, path, "application/json; charset=utf-8", body, want)
}

// get asks for what must be there.
func (c *client) get(path string) error {
	return c.send(fasthttp.MethodGet, path, "application/json; charset=utf-8", nil, answer{status: fasthttp.StatusOK})
}

func (c *client) send(method, path, contentType string, body []byte, want answer) error {
	c.request.Header.SetMethod(method)
	c.request.SetRequestURI(c.url + path)
	c.request.Header.Set("Authorization", "Bearer "+c.key)
	c.request.Header.SetContentType(contentType)
	c.request.SetBodyRaw(body)
	if err := c.connection.DoTimeout(&c.request, &c.response, answerTimeout); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	got := answer{status: c.response.StatusCode(), body: string(c.response.Body())}
	if got.status != want.status || want.body != "" && got.body != want.body {
		return fmt.Errorf("%s %s: got %d %.200s, want %d %s", method, path, got.status, got.body, want.status, want.body)
	}
	return nil
}

// answer is what comes back of a request; a wanted one without a body takes any.
type answer struct {
	status int
	body   string
}
