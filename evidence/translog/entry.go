// Package translog has the formats of transparency logs (docs/semantics.md 24): entries, the tree over them, tiles,
// bundles and checkpoints, by C2SP tlog-tiles, checkpoint and tlog-proof. It does no I/O.
package translog

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// SaltSize is the size of a salt, in bytes.
const SaltSize = 16

// Entry is the log's entry of a fact. It reveals nothing of the fact's content.
type Entry struct {
	// Version is that of the format of entries.
	Version int `json:"v"`
	// Kind is the kind of the fact, and ID is unique among the facts of the kind.
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// Hash commits to the fact: Commitment of its salt and its canonical bytes.
	Hash string `json:"hash"`
	// Group commits to the trail or the environment that the fact belongs to, "" if it belongs to none.
	Group string `json:"group,omitempty"`
}

// Text is the entry as the log has it.
func (e Entry) Text() []byte {
	text, _ := json.Marshal(e) // texts and a number have JSON
	return text
}

// Commitment is SHA-256(salt ‖ content) in hexadecimal digits. Without the salt, contents cannot be guessed and tested.
func Commitment(salt, content []byte) string {
	hash := sha256.New()
	hash.Write(salt)
	hash.Write(content)
	return hex.EncodeToString(hash.Sum(nil))
}

// GroupSalt is the salt of a group, which is the key of a trail or the id of an environment. It is derived from the
// secret of the log, and reveals nothing about other groups.
func GroupSalt(secret []byte, group string) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(group))
	return mac.Sum(nil)[:SaltSize]
}

// GroupCommitment is the commitment to a group in entries, "" without a group.
func GroupCommitment(secret []byte, group string) string {
	if group == "" {
		return ""
	}
	return Commitment(GroupSalt(secret, group), []byte(group))
}
