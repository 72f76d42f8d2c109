package evidence

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"hash/crc32"
	"math/big"
	"strings"
)

const (
	apiKeyPrefix = "att_"
	// apiKeyBytes is the length of a key's random part, in bytes.
	apiKeyBytes = 32
	// base62Random and base62Checksum are the numbers of base-62 digits of 32 bytes and of a CRC-32.
	base62Random   = 43
	base62Checksum = 6
	base62         = 62
)

// APIKeyPattern (RE2) matches keys of NewAPIKey, even if they are truncated or mistyped.
const APIKeyPattern = apiKeyPrefix + "[0-9A-Za-z]{16,}"

// SignedTokenPattern (RE2) matches signed JWTs, even if they are truncated after the header.
const SignedTokenPattern = `eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]+(\.[0-9A-Za-z_-]*)?`

const (
	// MinKeyLength is the least number of characters of an imported key.
	MinKeyLength = 16
	// MaxKeyLength is the greatest number of bytes of a key. It fits into a header.
	MaxKeyLength = 1024
	// MaxKeyDescription is the greatest number of characters of a key's description.
	MaxKeyDescription = 256
	// MaxKeyExpiry is the latest expiry of a key, in Unix seconds: the year 2100.
	MaxKeyExpiry = 4102444800
)

// InvalidKeyMessage is the message for a missing, malformed, unknown, expired or revoked key.
const InvalidKeyMessage = "A valid API key is required."

// ErrUnknownKey is the error for a secret that never was a key. Clients get the same for expired keys.
var ErrUnknownKey = NewError(Unauthorized, InvalidKeyMessage)

// Key is a stored API key. It has the hash of the secret, never the secret.
type Key struct {
	// ID identifies the key to people; it gives no access.
	ID string `json:"id"`
	// Hash is HashAPIKey of the secret.
	Hash string `json:"hash"`
	// OwnerID and OwnerName are those of the user or service account whose rights the key has.
	OwnerID   string `json:"owner_id"`
	OwnerName string `json:"owner_name"`
	// AccountOrgID is the id of the organization of a service account, "" for a user's key.
	AccountOrgID string `json:"account_org_id,omitempty"`
	Description  string `json:"description"`
	// Times are whole Unix seconds; 0 is never.
	CreatedAt  int64 `json:"created_at"`
	ExpiresAt  int64 `json:"expires_at"`
	LastUsedAt int64 `json:"last_used_at"`
	// RevokedAt is when the revocation takes effect: in the future for a rotated key, long ago for a revoked one.
	RevokedAt int64 `json:"revoked_at"`
}

// ActiveAt reports whether the key is valid at a time in Unix seconds.
func (k *Key) ActiveAt(now int64) bool {
	ends := k.Ends()
	return ends == 0 || now < ends
}

// Ends returns when the key becomes invalid, in Unix seconds, or 0 for never.
func (k *Key) Ends() int64 {
	if k.ExpiresAt == 0 || k.RevokedAt == 0 {
		return max(k.ExpiresAt, k.RevokedAt)
	}
	return min(k.ExpiresAt, k.RevokedAt)
}

// Principal returns the principal of the key.
func (k *Key) Principal() Principal {
	return Principal{UserID: k.OwnerID, Name: k.OwnerName, ServiceAccount: k.AccountOrgID != "", KeyID: k.ID}
}

// Secret is a text that prints, logs and marshals as a placeholder.
type Secret string

const hiddenSecret = "[hidden]"

// Reveal returns the text.
func (s Secret) Reveal() string { return string(s) }

// String hides the text.
func (Secret) String() string { return hiddenSecret }

// GoString hides the text from %#v.
func (Secret) GoString() string { return hiddenSecret }

// MarshalText hides the text from JSON, and so from slog.
func (Secret) MarshalText() ([]byte, error) { return []byte(hiddenSecret), nil }

// NewAPIKey makes the secret of a key: a prefix for secret scanners, 32 random bytes, and a CRC-32 that distinguishes a
// mistyped key from an unknown one. Digits are base 62, so that a double click selects all of it.
func NewAPIKey() Secret {
	random := make([]byte, apiKeyBytes)
	rand.Read(random)
	body := apiKeyPrefix + toBase62(new(big.Int).SetBytes(random), base62Random)
	return Secret(body + apiKeyChecksum(body))
}

// MistypedAPIKey reports whether a secret has the form of NewAPIKey but a wrong checksum.
func MistypedAPIKey(secret string) bool {
	const length = len(apiKeyPrefix) + base62Random + base62Checksum
	digits, made := strings.CutPrefix(secret, apiKeyPrefix)
	if !made || len(secret) != length || strings.ContainsFunc(digits, isNotBase62) {
		return false
	}
	body := secret[:length-base62Checksum]
	return secret != body+apiKeyChecksum(body)
}

// IsSignedToken reports whether a text has the form of a signed JWT: three parts in base64url, the first of which is a
// JSON object with an algorithm. No key of NewAPIKey has this form; an imported key may.
func IsSignedToken(text string) bool {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return false
	}
	for _, part := range parts {
		// Decoders skip line breaks.
		if part == "" || strings.ContainsFunc(part, func(r rune) bool { return isNotBase62(r) && r != '-' && r != '_' }) {
			return false
		}
	}
	header, err := base64.RawURLEncoding.DecodeString(parts[0])
	if err != nil {
		return false
	}
	var fields struct {
		Algorithm string `json:"alg"`
	}
	return json.Unmarshal(header, &fields) == nil && fields.Algorithm != ""
}

// HashAPIKey returns the SHA-256 of a secret in lower-case hex. A secret is stored in this form only.
func HashAPIKey(secret string) string { return SHA256([]byte(secret)) }

func apiKeyChecksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	return toBase62(big.NewInt(int64(sum)), base62Checksum)
}

func toBase62(n *big.Int, width int) string {
	digits := n.Text(base62)
	return strings.Repeat("0", width-len(digits)) + digits
}

func isNotBase62(r rune) bool {
	return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}
