// Package evidence is the domain: types of delivery evidence and pure rules, without I/O, context or clock.
package evidence

import (
	"errors"
	"fmt"
	"time"
)

// Code is the kind of an error. Each maps to one HTTP status.
type Code string

// The error codes, in the order of the statuses they map to.
const (
	Invalid      Code = "invalid"      // 400
	Unauthorized Code = "unauthorized" // 401
	Forbidden    Code = "forbidden"    // 403
	NotFound     Code = "not_found"    // 404
	Conflict     Code = "conflict"     // 409
	TooLarge     Code = "too_large"    // 413
	RateLimited  Code = "rate_limited" // 429
	Internal     Code = "internal"     // 500
	Damaged      Code = "damaged"      // 502: stored content is altered, truncated or lost
	Unavailable  Code = "unavailable"  // 503
)

// Error is an error for the client. Others are internal: they are logged, and the client gets a fixed message.
type Error struct {
	Code    Code
	Message string
	// Fields maps locations of validation findings to texts (docs/semantics.md 1.8).
	Fields map[string]string
	// RetryAfter is how long a client should wait; only with RateLimited and Unavailable.
	RetryAfter time.Duration
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// NewError makes an error of the given code with a message for the client.
func NewError(code Code, message string) *Error { return &Error{Code: code, Message: message} }

// Errorf is NewError with a formatted message.
func Errorf(code Code, format string, values ...any) *Error {
	return NewError(code, fmt.Sprintf(format, values...))
}

// Busy makes an Unavailable error that tells the client to retry after a second.
func Busy(message string) *Error {
	return &Error{Code: Unavailable, Message: message, RetryAfter: time.Second}
}

// ValidationMessage is the message of all validation errors (docs/semantics.md 1.8).
const ValidationMessage = "Input payload validation failed"

// ValidationError makes an error of findings by location.
func ValidationError(fields map[string]string) *Error {
	return &Error{Code: Invalid, Message: ValidationMessage, Fields: fields}
}

// FieldError is ValidationError with one finding.
func FieldError(field, format string, values ...any) *Error {
	return ValidationError(map[string]string{field: fmt.Sprintf(format, values...)})
}

// MessageOf returns the message of err if that is an *Error, else the text otherwise.
func MessageOf(err error, otherwise string) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Message
	}
	return otherwise
}

// CodeOf returns the code of err, Internal if it is not an *Error, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}
