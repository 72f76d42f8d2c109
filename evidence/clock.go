package evidence

import "time"

// Clock tells the time. Whatever needs it is handed one, so that tests can turn
// the hands.
type Clock func() time.Time

// Seconds returns t as float Unix seconds with microseconds, the form of times
// in the contract (contract/responses.md, "Values").
func Seconds(t time.Time) float64 {
	return float64(t.UnixMicro()) / 1e6
}
