package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"attestry/api/jsonstream"
	"attestry/api/resource"
	"attestry/api/server"
)

// Refusal is an answer of the API that is not what a page needs.
type Refusal struct {
	Status  int    `json:"-"`
	Message string `json:"message"`
	// Errors say by parameter what is wrong with a request.
	Errors map[string]string `json:"errors"`
	// retryAfter is when the request may be repeated, as the head of the answer says; "" if it does not.
	retryAfter string
}

func (e *Refusal) Error() string {
	if len(e.Errors) == 0 {
		return e.Message
	}
	wrong := slices.Sorted(maps.Values(e.Errors))
	return e.Message + ": " + strings.Join(wrong, "; ")
}

// Details say where a form is wrong, and how.
func (e *Refusal) Details() []string {
	places := slices.Sorted(maps.Keys(e.Errors))
	return resource.Map(places, func(place *string) string { return *place + ": " + e.Errors[*place] })
}

// Target is an address of the API: a format with names that are escaped.
func Target(format string, names ...string) string {
	return fmt.Sprintf(format, resource.Map(names, func(name *string) any { return url.PathEscape(*name) })...)
}

// Get has the API answer a read operation, and decodes the answer. What the API refuses is a Refusal.
func (r *Request) Get(target string, into any) error {
	return r.Ask(server.PageQuery{Method: http.MethodGet, Target: target}, r.Decode(into))
}

// Read has the API answer a read operation, and hands its answer to take, for answers that are too large to be held.
func (r *Request) Read(target string, take func(io.Reader) error) error {
	return r.Ask(server.PageQuery{Method: http.MethodGet, Target: target}, func(answer *server.PageAnswer) error {
		return take(answer.Body())
	})
}

// Post has the API answer an operation that takes no body, and decodes the answer. Another site can make a browser open
// the page, so the operation must be harmless.
func (r *Request) Post(target string, into any) error {
	return r.Ask(server.PageQuery{Method: http.MethodPost, Target: target}, r.Decode(into))
}

// Decode decodes an answer, which counts towards the memory that the page takes up.
func (r *Request) Decode(into any) func(*server.PageAnswer) error {
	return func(answer *server.PageAnswer) error {
		text, err := server.RequestOf(r.C.UserContext()).Memory.ReadAll(answer.Body(), math.MaxInt)
		if err != nil {
			return err
		}
		return json.Unmarshal(text, into)
	}
}

// GetIfThere is Get for what need not exist: it reports whether it does.
func (r *Request) GetIfThere(target string, into any) (bool, error) {
	err := r.Get(target, into)
	if IsRefused(err, http.StatusNotFound) {
		return false, nil
	}
	return err == nil, err
}

// IsRefused reports whether the API has refused a request with a status.
func IsRefused(err error, status int) bool {
	refused, ok := errors.AsType[*Refusal](err)
	return ok && refused.Status == status
}

// PassOn has the page answer with the status and the head of a refusal of the API, which it returns. For other errors
// ok is false.
func (r *Request) PassOn(err error) (refused *Refusal, ok bool) {
	if refused, ok = errors.AsType[*Refusal](err); ok {
		r.C.Status(refused.Status)
		if refused.retryAfter != "" {
			r.C.Set(fiber.HeaderRetryAfter, refused.retryAfter)
		}
	}
	return refused, ok
}

// List is Get for an answer that has the number of pages in its head, which it returns.
func (r *Request) List(target string, into any) (last int, err error) {
	err = r.Ask(server.PageQuery{Method: http.MethodGet, Target: target}, func(answer *server.PageAnswer) error {
		if last, err = strconv.Atoi(answer.Header("X-Total-Pages")); err != nil {
			return err
		}
		return r.Decode(into)(answer)
	})
	return last, err
}

// Ask has the API answer an operation on behalf of the viewer, and hands its answer to take. What the
// API refuses is a Refusal.
func (r *Request) Ask(query server.PageQuery, take func(*server.PageAnswer) error) (err error) {
	query.Principal = r.Viewer
	answer := r.API.Ask(r.C, query)
	defer func() { err = errors.Join(err, answer.CloseBodyStream()) }()
	if status := answer.StatusCode(); status >= http.StatusOK && status < http.StatusMultipleChoices {
		if err := take(answer); err != nil {
			return fmt.Errorf("read the answer of %s %s: %w", query.Method, query.Target, err)
		}
		return nil
	}
	refused := &Refusal{Status: answer.StatusCode(), retryAfter: answer.Header(fiber.HeaderRetryAfter)}
	if err := jsonstream.NewDecoder(answer.Body()).Decode(refused); err != nil {
		return fmt.Errorf("read the error of %s: %w", query.Target, err)
	}
	return refused
}
