package monitor_test

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"attestry/monitor"
)

func TestOnlyLimitsThatAreSetAreShown(t *testing.T) {
	registry, used := prometheus.NewRegistry(), 3
	monitor.RegisterLimits(registry,
		monitor.Limit{Name: "connections", Max: 10, Used: func() int { return used }},
		monitor.Limit{Name: "requests", Max: 0, Used: func() int { return 1 }},
		monitor.Limit{Name: "tasks", Max: 7, Used: func() int { return 0 }})
	used = 4
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			got += fmt.Sprintln(family.GetName(), metric.GetLabel()[0].GetValue(), metric.GetGauge().GetValue())
		}
	}
	if got != "attestry_limit_max connections 10\nattestry_limit_max tasks 7\nattestry_limit_used connections 4\nattestry_limit_used tasks 0\n" {
		t.Error(got)
	}
}
