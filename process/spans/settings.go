//go:build otel

package spans

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
)

// wanted reports whether the environment wants spans exported. It wants none without an endpoint, as those who run the
// service may have no collector. It returns what the exporter would not notice before it sends.
func wanted() (bool, error) {
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
