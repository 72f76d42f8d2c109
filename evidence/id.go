package evidence

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/google/uuid"
)

// NewID returns a new identifier: a UUIDv7 cut to 8-4-4-4-8 hex digits. Ids sort by time (docs/semantics.md 1.3).
func NewID() string { return uuid.Must(uuid.NewV7()).String()[:32] }

// DerivedID returns an identifier derived from content, in the form of NewID but not in the order of time.
func DerivedID(content []byte) string {
	sum := sha256.Sum256(content)
	return uuid.UUID(sum[:16]).String()[:32]
}

// SHA256 returns the SHA-256 of content in hexadecimal digits.
func SHA256(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
