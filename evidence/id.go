package evidence

import "github.com/google/uuid"

// NewID returns a fresh identifier: a UUIDv7 cut to 8-4-4-4-8 hex digits, so
// that ids sort by the time they were made (docs/semantics.md 1.3).
func NewID() string {
	return uuid.Must(uuid.NewV7()).String()[:32]
}
