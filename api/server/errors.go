package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"attestry/evidence"
	"attestry/process/redact"
)

const (
	internalMessage     = "Internal server error"
	overloadedMessage   = "The request took too long, please try again."
	pathUnknownMessage  = "The requested path does not exist"
	preconditionMessage = "The content is not the one that was asked for"
	fileTooLargeMessage = "File size exceeds 10MB limit"
)

// problem is an error ready to be answered; its exported members are the body of every error (docs/semantics.md 1.7).
// huma takes status and headers from its methods.
type problem struct {
	Message string            `json:"message" doc:"What went wrong, in a sentence."`
	Errors  map[string]string `json:"errors,omitempty" doc:"Findings of a validation by their location."`
	status  int
	headers http.Header
}

func (p *problem) Error() string           { return p.Message }
func (p *problem) GetStatus() int          { return p.status }
func (p *problem) GetHeaders() http.Header { return p.headers }

func newProblem(status int, message string) *problem {
	return &problem{Message: message, status: status, headers: http.Header{}}
}

// describeHuma is set as huma.NewError. Requests are validated before huma sees them, so an error that huma finds is a
// fault of the service, whose text is not for clients.
func describeHuma(status int, _ string, _ ...error) huma.StatusError {
	if status >= http.StatusInternalServerError || http.StatusText(status) == "" {
		return newProblem(http.StatusInternalServerError, internalMessage)
	}
	return newProblem(status, http.StatusText(status))
}

// The settings of huma are global: the form of errors, and that arrays are nullable only if their type says so. They
// are set here because schemas are made before there is a server.
func init() {
	huma.NewError = describeHuma
	huma.DefaultArrayNullable = false
}

var statuses = map[evidence.Code]int{
	evidence.Invalid:      http.StatusBadRequest,
	evidence.Unauthorized: http.StatusUnauthorized,
	evidence.Forbidden:    http.StatusForbidden,
	evidence.NotFound:     http.StatusNotFound,
	evidence.Conflict:     http.StatusConflict,
	evidence.TooLarge:     http.StatusRequestEntityTooLarge,
	evidence.RateLimited:  http.StatusTooManyRequests,
	evidence.Damaged:      http.StatusBadGateway,
	evidence.Unavailable:  http.StatusServiceUnavailable,
}

func statusOf(code evidence.Code) int {
	return cmp.Or(statuses[code], http.StatusInternalServerError)
}

// problemOf returns the answer to any error. Errors that are not meant for clients are logged and answered without
// their text. API keys are redacted: the answer may repeat a parameter that holds the client's key.
func (s *Server) problemOf(ctx context.Context, err error) *problem {
	p := *s.classify(ctx, err)
	p.Message = redact.Text(ctx, p.Message)
	if p.Errors != nil {
		fields := make(map[string]string, len(p.Errors))
		for location, finding := range p.Errors {
			fields[redact.Text(ctx, location)] = redact.Text(ctx, finding)
		}
		p.Errors = fields
	}
	return &p
}

// classify returns the answer to an error, and logs errors that the answer does not explain.
func (s *Server) classify(ctx context.Context, err error) *problem {
	var ready *problem
	var ours *evidence.Error
	var framework *fiber.Error
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &ready):
		return ready
	case errors.As(err, &ours) && ours.Code != evidence.Internal:
		switch ours.Code {
		case evidence.Unavailable:
			s.Logger.WarnContext(ctx, "request must be tried again", slog.String("request_id", RequestID(ctx)), slog.Any("error", err))
		case evidence.Damaged:
			s.Logger.ErrorContext(ctx, "request met damaged content", slog.String("request_id", RequestID(ctx)), slog.Any("error", err))
		}
		return problemOfEvidence(ours)
	case errors.As(err, &tooLarge):
		return newProblem(http.StatusRequestEntityTooLarge, fileTooLargeMessage)
	case errors.As(err, &framework):
		return problemOfFiber(framework)
	case errors.Is(err, context.DeadlineExceeded):
		s.Logger.WarnContext(ctx, "request ran out of time", slog.String("request_id", RequestID(ctx)), slog.Any("error", err))
		return retryable(newProblem(http.StatusServiceUnavailable, overloadedMessage), time.Second)
	default:
		s.Logger.ErrorContext(ctx, "request failed", slog.String("request_id", RequestID(ctx)), slog.Any("error", err))
		return newProblem(http.StatusInternalServerError, internalMessage)
	}
}

func problemOfEvidence(e *evidence.Error) *problem {
	p := newProblem(statusOf(e.Code), e.Message)
	p.Errors = e.Fields
	switch e.Code {
	case evidence.Unauthorized:
		p.headers.Set("WWW-Authenticate", "Bearer")
	case evidence.RateLimited, evidence.Unavailable:
		retryable(p, e.RetryAfter)
	}
	return p
}

func problemOfFiber(e *fiber.Error) *problem {
	switch {
	case e.Code == http.StatusNotFound:
		return newProblem(e.Code, pathUnknownMessage)
	case e.Code >= http.StatusBadRequest && e.Code < http.StatusInternalServerError && http.StatusText(e.Code) != "":
		return newProblem(e.Code, http.StatusText(e.Code))
	default:
		// fasthttp reports a request that it cannot parse as 502.
		return newProblem(http.StatusBadRequest, http.StatusText(http.StatusBadRequest))
	}
}

// retryable sets Retry-After: whole seconds, at least one.
func retryable(p *problem, after time.Duration) *problem {
	p.headers.Set("Retry-After", strconv.Itoa(max(1, wholeSeconds(after))))
	return p
}

// wholeSeconds rounds up, so that a client that waits this long does not retry too early.
func wholeSeconds(span time.Duration) int { return int(math.Ceil(span.Seconds())) }

// write writes the problem as the response, without huma.
func (p *problem) write(response *fasthttp.Response) {
	for name, values := range p.headers {
		for _, value := range values {
			response.Header.Set(name, value)
		}
	}
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // a plain struct of texts
	}
	response.SetStatusCode(p.status)
	response.Header.SetContentType(fiber.MIMEApplicationJSON)
	response.SetBody(body)
}
