package job

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
}
