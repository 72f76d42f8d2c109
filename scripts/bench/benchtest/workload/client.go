package workload

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
)

// answerTimeout is how long a client waits for an answer. It is longer than a report waits for its verdict.
const answerTimeout = 30 * time.Second

// request is a request and the wanted answer.
type request struct {
	method, path string
	contentType  string // empty for JSON
	body         []byte
	// cookie is that of a session, or "" to use the key.
	cookie string
	want   answer
	// firstByte closes the connection at the first byte of the answer, which is then all of its body.
	firstByte bool
	// then, if it is not nil, is called after the answer, and is part of the operation.
	then func() error
}

// requests returns the next request of a client each time it is called.
type requests func() request

// answer is the status and body of an answer. An empty wanted body matches any body.
type answer struct {
	status int
	body   string
}

// client is one of the concurrent users of a workload.
type client struct {
	*fixture
	variant
	// number is from 0 to clients-1.
	number int
	// connection is that to the service.
	connection *connection
}

// connection is kept alive, and sends one request at a time.
type connection struct {
	host     *fasthttp.HostClient
	url, key string
	request  fasthttp.Request
	response fasthttp.Response
}

// newConnection prepares a connection to host:port.
func newConnection(address, key string) *connection {
	return &connection{
		host: &fasthttp.HostClient{Addr: address, MaxConns: 1, MaxIdemponentCallAttempts: 1},
		url:  "http://" + address,
		key:  key,
	}
}

// send returns the answer to a request. It is an error if that is not the wanted one.
func (c *connection) send(r request) (answer, error) {
	c.request.Reset()
	c.request.Header.SetMethod(r.method)
	c.request.SetRequestURI(c.url + r.path)
	if r.cookie == "" {
		c.request.Header.Set("Authorization", "Bearer "+c.key)
	} else {
		c.request.Header.Set("Cookie", r.cookie)
	}
	c.request.Header.SetContentType("application/json; charset=utf-8")
	if r.contentType != "" {
		c.request.Header.SetContentType(r.contentType)
	}
	c.request.SetBodyRaw(r.body)
	c.response.StreamBody = r.firstByte
	if r.firstByte {
		c.request.SetConnectionClose()
	}
	if err := c.host.DoTimeout(&c.request, &c.response, answerTimeout); err != nil {
		return answer{}, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	body, err := c.body()
	if err != nil {
		return answer{}, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	got := answer{status: c.response.StatusCode(), body: body}
	if got.status != r.want.status || r.want.body != "" && got.body != r.want.body {
		return got, fmt.Errorf("%s %s: got %d %.200s, want %d %s", r.method, r.path, got.status, got.body, r.want.status, r.want.body)
	}
	if r.then != nil {
		return got, r.then()
	}
	return got, nil
}

// body returns the body of the answer, or its first byte if the answer is streamed.
func (c *connection) body() (string, error) {
	stream := c.response.BodyStream()
	if stream == nil {
		return string(c.response.Body()), nil
	}
	first := make([]byte, 1)
	_, err := io.ReadFull(stream, first)
	return string(first), errors.Join(err, c.response.CloseBodyStream())
}

// sendUntil repeats a request until it gets the wanted answer. Earlier answers must be among before.
func (c *connection) sendUntil(r request, before ...answer) error {
	for {
		got, err := c.send(r)
		if err == nil || !slices.Contains(before, got) {
			return err
		}
	}
}

// always returns the same request each time.
func always(r request) requests { return func() request { return r } }

// rest sends a small request each second, while the service has nothing else to do.
func rest(c *client) (service, baseline requests, err error) {
	next := always(request{
		method: http.MethodGet, path: c.path("/environments/{org}"), want: answer{status: http.StatusOK},
		then: func() error { time.Sleep(time.Second); return nil },
	})
	return next, next, nil
}

// get reads a path of the API with the placeholders of fixture.path, and {size} for the size of the workload.
func get(path string) setup {
	return func(c *client) (service, baseline requests, err error) {
		next := always(request{
			method: http.MethodGet, want: answer{status: http.StatusOK},
			path: strings.ReplaceAll(c.path(path), "{size}", strconv.Itoa(c.size)),
		})
		return next, next, nil
	}
}
