package job

import "strconv"

// Ref names a piece of work that is due.
type Ref struct {
	Kind *Kind
	// Key tells it from others of its kind.
	Key     string
	Payload Payload
	// Due is since when it is due, in Unix seconds.
	Due float64
}

// Payload is what a task holds. It names the record that the work belongs to, by the members of its kind.
type Payload struct {
	Environment string `json:"environment,omitempty"` // id
	Event       string `json:"event,omitempty"`       // id
	Action      int64  `json:"action,omitempty"`      // number
	Org         string `json:"org,omitempty"`         // id
	Delivery    string `json:"delivery,omitempty"`    // id
	Assembly    string `json:"assembly,omitempty"`    // id
	// Trace is the reference to the trace that the work belongs to (see package trace).
	Trace string `json:"trace,omitempty"`
}

// EnvironmentRef names the work of a kind that waits in an environment, by its id, since a record of an arrival number.
func EnvironmentRef(kind *Kind, environment string, arrival int64) Ref {
	return Ref{
		Kind: kind, Key: environment + "/" + strconv.FormatInt(arrival, 10), Payload: Payload{Environment: environment},
	}
}
