//go:build otel

package spans

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"attestry/process/buildinfo"
	"attestry/trace"
)

// flushTimeout bounds the export of the last spans.
const flushTimeout = 5 * time.Second

// Start exports spans as configured by the variables OTEL_*. stop exports the last ones. name is the name of the
// process in its log.
func Start(ctx context.Context, name string, log *slog.Logger) (stop func(), err error) {
	on, err := enabled()
	if !on || err != nil {
		return func() {}, err
	}
	var faults []error
	reporter(func(err error) { faults = append(faults, fmt.Errorf("OTEL_*: %w", err)) }).install()
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, errors.Join(append(faults, err)...)
	}
	// The provider reports faults of the variables. Attributes that cannot be detected are left out.
	attributes, _ := resource.New(ctx, resource.WithHost(), resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "attestry-"+name), attribute.String("service.version", buildinfo.Read().Version)), resource.WithFromEnv())
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(attributes))
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

// enabled reports whether the environment enables the export of spans. Without an endpoint it is off, as there may be
// no collector. The error has faults of variables that the exporter would not report before the first export.
func enabled() (bool, error) {
	variable, collector := endpoint()
	exporter := os.Getenv("OTEL_TRACES_EXPORTER")
	if collector == "" || exporter == "none" || strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	var faults []error
	if address, err := url.Parse(collector); err != nil || address.Host == "" || !slices.Contains([]string{"http", "https"}, address.Scheme) {
		faults = append(faults, fmt.Errorf("%s: must be an address such as http://collector:4318", variable))
	}
	if !slices.Contains([]string{"", "otlp"}, exporter) {
		faults = append(faults, errors.New("OTEL_TRACES_EXPORTER: must be otlp or none"))
	}
	protocol := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"))
	if !slices.Contains([]string{"", "http/protobuf", "http/json"}, protocol) {
		faults = append(faults, errors.New("OTEL_EXPORTER_OTLP_PROTOCOL: must be http/protobuf or http/json"))
	}
	return true, errors.Join(faults...)
}
