package config

import "strings"

// Faults lists all that is wrong with an input, one sentence each. No fault
// quotes a secret.
type Faults []string

// Error puts each fault on a line of its own.
func (f Faults) Error() string { return strings.Join(f, "\n") }

// orNil keeps an empty list from being taken for an error.
func (f Faults) orNil() error {
	if len(f) == 0 {
		return nil
	}
	return f
}
