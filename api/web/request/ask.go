package request

import (
	"encoding/json"
	"errors"
	"fmt"
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

// Refusal is an error that the API answered.
type Refusal struct {
	Status  int    `json:"-"`
	Message string `json:"message"`
	// Errors are the findings of validation by location.
	Errors map[string]string `json:"errors"`
	// retryAfter is the Retry-After header of the answer, "" for none.
	retryAfter string
}

func (e *Refusal) Error() string {
	if len(e.Errors) == 0 {
		return e.Message
	}
	wrong := slices.Sorted(maps.Values(e.Errors))
	return e.Message + ": " + strings.Join(wrong, "; ")
}

// Target formats a path of the API, below /api/v2, with escaped names.
func Target(format string, names ...string) string {
	return fmt.Sprintf(format, resource.Map(names, func(name *string) any { return url.PathEscape(*name) })...)
}

// Get sends a GET to the API and decodes the answer. An error of the API is a Refusal.
func (r *Request) Get(target string, into any) error {
	return r.Ask(server.PageQuery{Method: http.MethodGet, Target: target}, r.Decode(into))
}

// Read is Get for answers that are too large to be held in memory: take decodes the answer.
func (r *Request) Read(target string, take func(*jsonstream.Decoder) error) error {
	return r.Ask(server.PageQuery{Method: http.MethodGet, Target: target}, func(answer *server.PageAnswer) error {
		return take(jsonstream.NewDecoder(answer.Body()))
	})
}

// Post sends a POST without a body and decodes the answer. Another site can make a browser open the page, so the
// operation must be harmless.
func (r *Request) Post(target string, into any) error {
	return r.Ask(server.PageQuery{Method: http.MethodPost, Target: target}, r.Decode(into))
}

// Decode returns a function that decodes an answer, whose memory is charged to the page's request.
func (r *Request) Decode(into any) func(*server.PageAnswer) error {
	return func(answer *server.PageAnswer) error {
		text, err := server.RequestOf(r.C.UserContext()).Memory.ReadAll(answer.Body(), math.MaxInt)
		if err != nil {
			return err
		}
		return json.Unmarshal(text, into)
	}
}

// GetIfThere is Get, but reports a 404 as false instead of an error.
func (r *Request) GetIfThere(target string, into any) (bool, error) {
	err := r.Get(target, into)
	if IsRefused(err, http.StatusNotFound) {
		return false, nil
	}
	return err == nil, err
}

// IsRefused reports whether err is a Refusal with a status.
func IsRefused(err error, status int) bool {
	refused, ok := errors.AsType[*Refusal](err)
	return ok && refused.Status == status
}

// PassOn sets the status and Retry-After of the page to those of a Refusal. For other errors ok is false.
func (r *Request) PassOn(err error) (refused *Refusal, ok bool) {
	if refused, ok = errors.AsType[*Refusal](err); ok {
		r.C.Status(refused.Status)
		if refused.retryAfter != "" {
			r.C.Set(fiber.HeaderRetryAfter, refused.retryAfter)
		}
	}
	return refused, ok
}

// List is Get for an answer with the header X-Total-Pages, which it returns.
func (r *Request) List(target string, into any) (last int, err error) {
	err = r.Ask(server.PageQuery{Method: http.MethodGet, Target: target}, func(answer *server.PageAnswer) error {
		if last, err = strconv.Atoi(answer.Header("X-Total-Pages")); err != nil {
			return err
		}
		return r.Decode(into)(answer)
	})
	return last, err
}

// Ask sends a query to the API as the viewer, and calls take with the answer. An error of the API is a Refusal.
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
