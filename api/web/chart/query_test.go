package chart

import (
	"fmt"
	"testing"
	"time"
)

func TestQueryHasNumbersThatCanBeDrawn(t *testing.T) {
	from := time.Unix(1772539200, 0).UTC()
	bars, ok := ParseQuery(Query(from, []float64{2.5, -1, 1e300}), 24*time.Hour, 3)
	if !ok {
		t.Fatal("the query cannot be drawn")
	}
	for i, want := range []float64{2.5, 0, maxNumber} {
		if got, day := bars[i], from.AddDate(0, 0, i); got.Value != want || !got.Day.Equal(day) {
			t.Errorf("bar %d is %s, want %g on %s", i, fmt.Sprint(got), want, day)
		}
	}
}
