package notification

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"attestry/evidence"
)

// KeyExpiryName is the name of the action about keys that expire. As it has blanks, no other action can have it.
const KeyExpiryName = "API key expiry"

// MaxDaysBefore is how many days before its expiry an organization can be notified of a key. Deliveries are kept as
// long (KeepFor), so that each is made once.
const MaxDaysBefore = 30

// KeyExpiry has the settings of the action about keys of service accounts that expire (docs/semantics.md 20.7).
type KeyExpiry struct {
	Scope *string `json:"scope,omitempty"`
	// Detection is an object, as it was sent, or nil.
	Detection json.RawMessage `json:"detection,omitempty"`
}

// daysBefore returns how many days before the expiry of a key the targets are notified.
func (k *KeyExpiry) daysBefore() []int {
	var detection struct {
		DaysBefore []int `json:"days_before"`
	}
	if err := json.Unmarshal(k.Detection, &detection); err != nil || len(detection.DaysBefore) == 0 {
		return []int{30, 7, 1}
	}
	return detection.DaysBefore
}

// ExpiringEvent is the event of a key of a service account that expires soon. It is the same until the next of the days
// that the organization is notified on. It is not ok if the organization is not notified yet, or never.
func (s *Actions) ExpiringEvent(key *evidence.Key, now float64) (event Event, ok bool) {
	action, ok := s.Named(KeyExpiryName)
	if !ok {
		return Event{}, false
	}
	left := float64(key.ExpiresAt) - now
	begun := slices.DeleteFunc(action.KeyExpiry.daysBefore(), func(day int) bool { return left > float64(day)*(24*time.Hour).Seconds() })
	if len(begun) == 0 || left <= 0 {
		return Event{}, false
	}
	return Event{
		ID: fmt.Sprintf("%s/expiring/%s/%d/%d", s.Org, key.ID, key.ExpiresAt, slices.Min(begun)), Org: s.Org, At: now,
		Expiring: &ExpiringKey{ID: key.ID, Owner: key.OwnerName, Description: key.Description, ExpiresAt: key.ExpiresAt},
		Subject:  s.Org, Triggers: []Trigger{KeyExpires},
	}, true
}

// ExpiringKey is a key of a service account that expires soon.
type ExpiringKey struct {
	ID          string `json:"id"`
	Owner       string `json:"owner"` // name
	Description string `json:"description"`
	ExpiresAt   int64  `json:"expires_at"` // Unix seconds
}

// Sentence says which key expires when.
func (k *ExpiringKey) Sentence() string {
	return fmt.Sprintf("API key %s (%s) of the service account %s expires at %s",
		k.ID, k.Description, k.Owner, time.Unix(k.ExpiresAt, 0).UTC().Format(time.RFC3339))
}
