package identity

// Session is the session of a person who is signed in to the pages (docs/semantics.md 22.2).
type Session struct {
	// KeyHash is the hash of the API key that the person signed in with, "" without a key.
	KeyHash string `json:"key_hash,omitempty"`
	// User is the name of a person who signed in with the identity provider.
	User string `json:"user,omitempty"`
	// SignedInAt is when the person signed in, in Unix seconds.
	SignedInAt int64 `json:"signed_in_at"`
}
