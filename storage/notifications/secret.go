package notifications

import (
	"crypto/rand"
	"encoding/base64"
	"errors"

	"attestry/storage"
)

const (
	// secretPrefix begins the signing secrets of Standard Webhooks.
	secretPrefix = "whsec_"
	// secretSize is how many random bytes a secret has; Standard Webhooks asks for 24 to 64.
	secretSize = 32
)

// newSecret makes a signing secret as Standard Webhooks writes it.
func newSecret() string {
	secret := make([]byte, secretSize)
	rand.Read(secret)
	return secretPrefix + base64.StdEncoding.EncodeToString(secret)
}

func isNotFound(err error) bool { return errors.Is(err, storage.ErrNotFound) }
