//go:build otel

package spans

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
)

// reporter receives the errors that OpenTelemetry reports or logs instead of returning them. It drops the values of log
// messages, which may be secrets, such as headers.
type reporter func(error)

// install makes r the global receiver of errors.
func (r reporter) install() {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(r))
	otel.SetLogger(logr.New(r))
}

// Init, Enabled, Info, Error, WithValues and WithName implement logr.LogSink. OpenTelemetry logs an ignored value of a
// variable at level 4.
func (reporter) Init(logr.RuntimeInfo) {}

func (reporter) Enabled(level int) bool { return level <= 4 }

func (r reporter) Info(_ int, message string, keysAndValues ...any) {
	if strings.HasPrefix(message, "Got invalid value") && len(keysAndValues) > 0 {
		r(fmt.Errorf("%v: %s", keysAndValues[0], message))
	}
}

func (r reporter) Error(err error, message string, _ ...any) {
	if parsing, ok := errors.AsType[*url.Error](err); ok {
		err = parsing.Err // it would show the whole address
	}
	r(fmt.Errorf("%s: %w", message, err))
}

func (r reporter) WithValues(...any) logr.LogSink { return r }

func (r reporter) WithName(string) logr.LogSink { return r }
