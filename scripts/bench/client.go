package main

import (
	"fmt"
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
	c.request.Header.SetMethod(fasthttp.MethodPut)
	c.request.SetRequestURI(c.url + path)
	c.request.Header.Set("Authorization", "Bearer "+c.key)
	c.request.Header.SetContentType("application/json; charset=utf-8")
	c.request.SetBodyRaw(body)
	if err := c.connection.DoTimeout(&c.request, &c.response, answerTimeout); err != nil {
		return fmt.Errorf("PUT %s: %w", path, err)
	}
	got := answer{status: c.response.StatusCode(), body: string(c.response.Body())}
	if got.status != want.status || want.body != "" && got.body != want.body {
		return fmt.Errorf("PUT %s: got %d %.200s, want %d %s", path, got.status, got.body, want.status, want.body)
	}
	return nil
}

// answer is what comes back of a request; a wanted one without a body takes any.
type answer struct {
	status int
	body   string
}
