package measure

// Scaling compares a result with that of the next smaller size in the same run.
type Scaling struct {
	Name string `json:"of"`
	From int    `json:"from"`
	To   int    `json:"to"`
	// Time is the ratio of the median latencies, CPU that of the processor times.
	Time float64 `json:"time"`
	CPU  float64 `json:"processor"`
}

// Scalings compares each result with the one before it in its series, in order of size.
func Scalings(results []Result) []Scaling {
	var scalings []Scaling
	smaller := map[string]Result{} // by series
	for _, r := range results {
		if s, ok := smaller[r.Series]; ok {
			scalings = append(scalings, Scaling{
				Name: r.Name, From: s.Size, To: r.Size,
				Time: r.Service.P50 / s.Service.P50,
				CPU:  r.Service.CPU / s.Service.CPU,
			})
		}
		smaller[r.Series] = r
	}
	return scalings
}
