package chart

import (
	"net/url"
	"strconv"
	"time"
)

// maxNumber is the highest number that a chart shows.
const maxNumber = 1e12

// Query is the query of the address of a chart: it has the numbers in it, so that they are not asked for again.
// from is when the first of them begins, numbers below 0 and above 10^12 are drawn as these.
func Query(from time.Time, numbers []float64) url.Values {
	query := url.Values{"from": {strconv.FormatInt(from.Unix(), 10)}}
	for _, number := range numbers {
		query.Add("n", strconv.FormatFloat(min(max(0, number), maxNumber), 'f', -1, 64))
	}
	return query
}

// ParseQuery returns the bars of a Query of so many numbers, each of which begins a step behind the one before. It
// tells whether they can be drawn.
func ParseQuery(query url.Values, step time.Duration, count int) ([]Bar, bool) {
	from, err := strconv.ParseInt(query.Get("from"), 10, 64)
	if err != nil || len(query["n"]) != count {
		return nil, false
	}
	bars := make([]Bar, 0, count)
	for i, text := range query["n"] {
		number, err := strconv.ParseFloat(text, 64)
		if err != nil || !(number >= 0 && number <= maxNumber) {
			return nil, false
		}
		bars = append(bars, Bar{Day: time.Unix(from, 0).UTC().Add(time.Duration(i) * step), Value: number})
	}
	return bars, true
}
