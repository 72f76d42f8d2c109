package workload

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"attestry/evidence"
	api "attestry/scripts/clienttest"
)

// notifyWebhooks has an action that notifies size webhooks, and hanging ones that never answer, of each trail that a
// client begins. The baseline calls as many webhooks without storing anything.
func notifyWebhooks(hanging int) setup {
	return func(c *client) (service, baseline requests, err error) {
		if c.receiver, err = newReceiver(); err != nil {
			return nil, nil, err
		}
		if err := c.createAction(hanging); err != nil {
			return nil, nil, err
		}
		service = func() request {
			r := c.put("/trails/{org}/{flow}", fmt.Sprintf(`{"name": %q}`, evidence.NewID()))
			r.then = func() error { return c.receiver.await(c.size) }
			return r
		}
		direct := always(request{method: http.MethodPatch, body: []byte("{}"), then: func() error { return c.receiver.call(c.size) }})
		return service, direct, nil
	}
}

// put returns a request with a form that creates something.
func (c *client) put(path, data string) request {
	body, contentType := api.EncodeForm("data_json", data, "", nil)
	return request{method: http.MethodPut, path: c.path(path), contentType: contentType, body: body, want: answer{status: http.StatusCreated}}
}

// createAction creates the flow and the action.
func (c *client) createAction(hanging int) error {
	if _, err := c.connection.send(c.put("/flows/{org}/template_file", fmt.Sprintf(`{"name": %q, "description": ""}`, c.flow()))); err != nil {
		return err
	}
	_, err := c.connection.send(request{
		method: http.MethodPut, path: c.path("/actions/{org}/flows"), body: c.action(hanging), want: answer{status: http.StatusCreated},
	})
	return err
}

// action returns the body of an action with size webhooks and hanging ones.
func (c *client) action(hanging int) []byte {
	var targets []string
	for i := range c.size + hanging {
		path := "answers"
		if i < hanging {
			path = "hangs"
		}
		targets = append(targets, fmt.Sprintf(`{"type": "WEBHOOK", "webhook": "http://%s/%s/%d"}`, c.receiver.listener.Addr(), path, i))
	}
	return fmt.Appendf(nil, `{"name": %q, "flows": [%q], "triggers": ["ON_STARTED_TRAIL"], "targets": [%s]}`, c.scope, c.flow(), strings.Join(targets, ", "))
}

type receiver struct {
	listener net.Listener
	server   *http.Server
	got      chan struct{}
	stop     chan struct{}
	once     sync.Once
}

func newReceiver() (*receiver, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{listener: listener, got: make(chan struct{}, 100_000), stop: make(chan struct{})}
	r.server = &http.Server{Handler: http.HandlerFunc(r.serve)}
	go r.server.Serve(listener)
	return r, nil
}

func (r *receiver) serve(w http.ResponseWriter, request *http.Request) {
	if _, err := io.Copy(io.Discard, request.Body); err != nil {
		return
	}
	if strings.HasPrefix(request.URL.Path, "/hangs") {
		select {
		case <-request.Context().Done():
		case <-r.stop:
		}
		return
	}
	w.WriteHeader(http.StatusNoContent)
	r.got <- struct{}{}
}

func (r *receiver) await(n int) error {
	late := time.After(answerTimeout)
	for i := range n {
		select {
		case <-r.got:
		case <-late:
			return fmt.Errorf("%d of %d webhooks were called in time", i, n)
		}
	}
	return nil
}

// call calls n webhooks, and waits until the requests have arrived.
func (r *receiver) call(n int) error {
	err := concurrently(min(n, 2*writers), func(i int) error {
		for ; i < n; i += 2 * writers {
			response, err := http.Post("http://"+r.listener.Addr().String()+"/answers/direct", "application/json", strings.NewReader("{}"))
			if err != nil {
				return err
			}
			response.Body.Close()
		}
		return nil
	})
	return errors.Join(err, r.await(n))
}

func (r *receiver) close() error {
	r.once.Do(func() { close(r.stop) })
	err := r.server.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
