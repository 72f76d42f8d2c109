package monitor

import "github.com/prometheus/client_golang/prometheus"

// Limit bounds something that grows and shrinks.
type Limit struct {
	// Name is that of the limit in the metrics.
	Name string
	// Max is the limit, 0 for none.
	Max int
	// Used is how much of it is in use now.
	Used func() int
}

// RegisterLimits has the metrics show how far away limits are, each of which must have a name of its own.
func RegisterLimits(registerer prometheus.Registerer, limits ...Limit) {
	for _, limit := range limits {
		if limit.Max == 0 {
			continue
		}
		labels := prometheus.Labels{"limit": limit.Name}
		registerer.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "attestry_limit_used", Help: "How much of a limit of this process is in use.", ConstLabels: labels,
		}, func() float64 { return float64(limit.Used()) }), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "attestry_limit_max", Help: "How much of a limit of this process can be in use.", ConstLabels: labels,
		}, func() float64 { return float64(limit.Max) }))
	}
}
