package server

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humafiber"

	"attestry/api/limits"
	"attestry/api/validation"
)

// Binder registers a route with its handler.
type Binder func(s *Server, route Route) error

// Handle makes an operation of a handler that takes no body. A body is ignored, as some clients send `null`. I has the
// parameters and O the answer, in huma's form.
func Handle[I, O any](handler func(context.Context, *I) (*O, error)) Binder {
	return func(s *Server, route Route) error {
		return register(s, route, nil, func(ctx context.Context, in *I) (*O, error) {
			if err := validation.Invalid(RequestOf(ctx).findings); err != nil {
				return nil, err
			}
			return handler(ctx, in)
		})
	}
}

// WithBody is Handle for handlers with a JSON body T. Findings of body and parameters are answered together.
func WithBody[I, T, O any](handler func(context.Context, *I, *T) (*O, error)) Binder {
	return WithSignedBody(func(context.Context, *I, []byte) error { return nil }, handler)
}

// WithSignedBody is WithBody for signed bodies. verify gets the raw body, which is decoded only if verify accepts it.
func WithSignedBody[I, T, O any](verify func(context.Context, *I, []byte) error, handler func(context.Context, *I, *T) (*O, error)) Binder {
	return WithUndecodedBody(func(ctx context.Context, in *I, body *Body[T]) (*O, error) {
		if err := verify(ctx, in, body.Raw); err != nil {
			return nil, err
		}
		value, err := body.Decode()
		if err != nil {
			return nil, err
		}
		return handler(ctx, in, value)
	})
}

// Body is a raw JSON body. Decode returns the findings of the body and the parameters.
type Body[T any] struct {
	Raw             []byte
	ParametersValid bool
	Decode          func() (*T, error)
}

// WithUndecodedBody is WithBody for handlers that may answer without decoding the body.
func WithUndecodedBody[I, T, O any](handler func(context.Context, *I, *Body[T]) (*O, error)) Binder {
	return func(s *Server, route Route) error {
		schema := s.registry.Schema(reflect.TypeFor[T](), true, route.OperationID)
		content := map[string]*huma.MediaType{"application/json": {Schema: schema}}
		return register(s, route, &huma.RequestBody{Required: true, Content: content}, func(ctx context.Context, in *I) (*O, error) {
			raw, err := readBody(ctx, route.bodyLimit())
			if err != nil {
				return nil, err
			}
			found := RequestOf(ctx).findings
			return handler(ctx, in, &Body[T]{Raw: raw, ParametersValid: len(found) == 0, Decode: func() (*T, error) {
				value, err := validation.DecodeStrict[T](RequestOf(ctx).Memory, s.validator, schema, raw, found)
				return value, cmp.Or(err, validation.Invalid(found))
			}})
		})
	}
}

// Limited sets the limit of an operation's body, in bytes, instead of 1 MiB.
func Limited(limit int64, serve Binder) Binder {
	return func(s *Server, route Route) error {
		route.BodyLimit = limit
		return serve(s, route)
	}
}

// register registers a route with huma. huma generates the document, fills in the parameters and writes the answer.
// This package checks access, validates, and decodes the body.
func register[I, O any](s *Server, route Route, body *huma.RequestBody, handler func(context.Context, *I) (*O, error)) (err error) {
	// huma panics on an invalid type.
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("register %s: %v", route.OperationID, fault)
		}
	}()
	described := huma.Operation{
		Method:             route.Method,
		Path:               route.Path,
		OperationID:        route.OperationID,
		Tags:               []string{route.Tag},
		Summary:            route.Summary,
		Deprecated:         route.Deprecated,
		DefaultStatus:      route.statuses()[0],
		Security:           route.security(),
		SkipValidateParams: true,
	}
	described.Middlewares = huma.Middlewares{func(ctx huma.Context, next func(huma.Context)) {
		s.enter(ctx, route, ctx.Operation().Parameters, next)
	}}
	huma.Register(s.api, described, func(ctx context.Context, in *I) (*O, error) {
		out, err := handler(ctx, in)
		if err == nil {
			err = s.beginAnswer(ctx, out)
		}
		if err != nil {
			return nil, s.problemOf(ctx, err)
		}
		return out, nil
	})
	documented := s.documented[route.OperationID]
	documented.RequestBody = body
	s.operations[route.OperationID] = Operation{Route: route, Parameters: documented.Parameters, Body: body, registry: s.registry}
	s.describeAnswers(documented, route)
	s.describeUse(documented, route)
	return nil
}

// enter checks the access of a request and validates its parameters.
func (s *Server) enter(ctx huma.Context, route Route, parameters []*huma.Param, next func(huma.Context)) {
	r := RequestOf(ctx.Context())
	r.route = route.Path
	err := s.recognizeSession(humafiber.Unwrap(ctx), r)
	if err == nil {
		err = s.admit(ctx.Context(), route, r, ctx.Param("org"))
	}
	setRateLimit(ctx, r.rate)
	if err != nil {
		s.refuse(ctx, err)
		return
	}
	normalized, err := normalize(s.validator, ctx, parameters, r)
	if err != nil {
		s.refuse(ctx, err)
		return
	}
	next(normalized)
}

// admit checks that a request may call an operation, and stores its principal and access in it. org is the escaped name
// from the path.
func (s *Server) admit(ctx context.Context, route Route, r *Request, org string) error {
	if route.Public {
		return nil
	}
	rule := route.rule()
	var malformed error
	if rule.OfOrg {
		r.Org, malformed = unescape("org", org)
		rule.OfOrg = malformed == nil
	}
	var err error
	if r.principal, r.access, err = s.Gate.Admit(ctx, r.Request, rule); err == nil {
		r.Body.Admit()
		r.rate, err = s.Gate.Limit(ctx, r.principal, r.access)
	}
	return cmp.Or(err, malformed)
}

// setRateLimit sets the headers of the rate limit, if there is one.
func setRateLimit(ctx huma.Context, left limits.State) {
	if left.Limit == 0 {
		return
	}
	ctx.SetHeader("RateLimit-Limit", strconv.Itoa(left.Limit))
	ctx.SetHeader("RateLimit-Remaining", strconv.Itoa(left.Remaining))
	ctx.SetHeader("RateLimit-Reset", strconv.Itoa(wholeSeconds(left.Reset)))
}

func (s *Server) refuse(ctx huma.Context, err error) {
	s.problemOf(ctx.Context(), err).write(humafiber.Unwrap(ctx).Response())
}

// security is the list of authentication schemes in the document (docs/semantics.md 1.2).
func (r Route) security() []map[string][]string {
	switch {
	case r.Public:
		return nil
	case r.BasicToo:
		return []map[string][]string{{"bearer": {}}, {"basic": {}}}
	default:
		return []map[string][]string{{"bearer": {}}}
	}
}

// describeAnswers documents the other statuses of success, which have the same body as the first, and the errors.
func (s *Server) describeAnswers(op *huma.Operation, route Route) {
	statuses := route.statuses()
	for _, status := range statuses[1:] {
		same := *op.Responses[strconv.Itoa(statuses[0])]
		same.Description = http.StatusText(status)
		op.Responses[strconv.Itoa(status)] = &same
	}
	delete(op.Responses, "default")
	if slices.Contains(statuses, http.StatusPartialContent) {
		op.Responses[strconv.Itoa(http.StatusNotModified)] = &huma.Response{Description: http.StatusText(http.StatusNotModified)}
	}
	schema := s.registry.Schema(reflect.TypeFor[problem](), true, "")
	for _, status := range route.failures() {
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status),
			Content:     map[string]*huma.MediaType{"application/json": {Schema: schema}},
		}
	}
}

// failures lists the error statuses of operations of this kind.
func (r Route) failures() []int {
	failures := []int{http.StatusBadRequest}
	if !r.Public || r.Signed {
		failures = append(failures, http.StatusUnauthorized)
	}
	if r.Public {
		failures = append(failures, http.StatusNotFound)
	}
	if r.ofOrganization() || r.UsersOnly {
		failures = append(failures, http.StatusForbidden)
	}
	if r.ofOrganization() || strings.Contains(r.Path, "{") && !r.Public {
		failures = append(failures, http.StatusNotFound)
	}
	if slices.Contains(r.Statuses, http.StatusPartialContent) {
		failures = append(failures, http.StatusPreconditionFailed, http.StatusRequestedRangeNotSatisfiable)
	}
	if r.Method != http.MethodGet {
		failures = append(failures, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if !r.Public {
		failures = append(failures, http.StatusTooManyRequests)
	}
	return append(failures, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable)
}

// OrgPath is the path of an operation on an organization.
type OrgPath struct {
	Org string `path:"org" doc:"Name of the organization."`
}

// Answer is an answer with a body and the first status of its route.
type Answer[T any] struct{ Body T }

// Answered returns an answer with a body.
func Answered[T any](body T) *Answer[T] { return &Answer[T]{Body: body} }

// AnsweredOne returns an answer with the first element of shown, or the error.
func AnsweredOne[T any](shown []T, err error) (*Answer[T], error) {
	if err != nil {
		return nil, err
	}
	return Answered(shown[0]), nil
}

// StatusAnswer is an answer whose status the handler chooses among those of its route.
type StatusAnswer[T any] struct {
	Status int
	Body   T
}

// TextAnswer is a JSON string, the answer of most writes.
type TextAnswer = StatusAnswer[string]

// Stored returns the answer of a write: 201 if it created something, else 200.
func Stored[T any](created bool, body T) *StatusAnswer[T] {
	if created {
		return &StatusAnswer[T]{Status: http.StatusCreated, Body: body}
	}
	return &StatusAnswer[T]{Status: http.StatusOK, Body: body}
}

// CreatedOrOK is Created if the write created something, else OK.
func CreatedOrOK(created bool) *TextAnswer { return Stored(created, "OK") }

// OK is the answer of a write that created nothing.
func OK() *TextAnswer { return CreatedOrOK(false) }

// Created is the answer of a write that created something.
func Created() *TextAnswer { return CreatedOrOK(true) }
