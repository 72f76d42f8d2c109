package measure

import (
	"slices"
	"testing"
)

func TestScalingComparesWithTheNextSmallerSize(t *testing.T) {
	var results []Result
	for _, size := range []int{100, 1_000} {
		for _, series := range []string{"1 client", "16 clients"} {
			i := float64(len(results))
			results = append(results, Result{Name: series, Series: series, Size: size, Service: Summary{P50: 1 + i, CPU: 2 + 2*i}})
		}
	}
	results = append(results, Result{Name: "another", Series: "another"}, Result{Name: "one more", Series: "one more"})
	want := []Scaling{
		{Name: "1 client", From: 100, To: 1_000, Time: 3, CPU: 3},
		{Name: "16 clients", From: 100, To: 1_000, Time: 2, CPU: 2},
	}
	if got := Scalings(results); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}
