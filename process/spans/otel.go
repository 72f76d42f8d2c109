//go:build otel

package spans

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"attestry/process/buildinfo"
	"attestry/trace"
)

// flushTimeout bounds how long the last spans may take to be sent.
const flushTimeout = 5 * time.Second

// Start exports spans from now on as the variables OTEL_* say, and returns what sends the last ones. name is that of the
// process in its log.
func Start(ctx context.Context, name string, log *slog.Logger) (stop func(), err error) {
	on, err := wanted()
	if !on || err != nil {
		return func() {}, err
	}
	var faults []error
	reporter(func(err error) { faults = append(faults, fmt.Errorf("OTEL_*: %w", err)) }).install()
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, errors.Join(append(faults, err)...)
	}
	// The provider reports what is wrong with the variables; what else is not found out is left out.
	about, _ := resource.New(ctx, resource.WithHost(), resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "attestry-"+name), attribute.String("service.version", buildinfo.Read().Version)), resource.WithFromEnv())
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))
	if err := errors.Join(faults...); err != nil {
		return nil, errors.Join(err, provider.Shutdown(ctx))
	}
	reporter(func(err error) { log.Warn("spans are lost", "error", err.Error()) }).install()
	trace.Use(tracer{provider.Tracer("attestry")})
	log.Info("exporting spans")
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			log.Warn("spans are lost", "error", err.Error())
		}
	}, nil
}
