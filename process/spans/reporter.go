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

// reporter takes the errors that OpenTelemetry does not return, but reports or logs. It drops the values beside a message,
// which may be secrets, such as headers.
type reporter func(error)

// install has errors reported here from now on.
func (r reporter) install() {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(r))
	otel.SetLogger(logr.New(r))
}

// Init, Enabled, Info, Error, WithValues and WithName are those of a sink of logr. OpenTelemetry logs at the level 4 that
// it ignores the value of a variable.
func (reporter) Init(logr.RuntimeInfo) {}

func (reporter) Enabled(level int) bool { return level <= 4 }

func (r reporter) Info(_ int, message string, about ...any) {
	if strings.HasPrefix(message, "Got invalid value") && len(about) > 0 {
		r(fmt.Errorf("%v: %s", about[0], message))
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
