package storage

import (
	"log/slog"
	"time"

	"attestry/evidence"
)

const (
	// tenancyCacheAge is how long a key or an access is believed without looking.
	// A revocation acts at once in the process that makes it, and within this time
	// in all others.
	tenancyCacheAge = 10 * time.Second
	// tenancyCacheSize bounds each of the two caches to a few megabytes.
	tenancyCacheSize = 10_000
)

// Tenancy keeps who there is and who may do what: users, organizations, members
// and keys. It is safe for concurrent use.
type Tenancy struct {
	clock         evidence.Clock
	users         *Collection[evidence.User]
	organizations *Collection[evidence.Organization]
	members       *Collection[evidence.Membership]
	keys          *Collection[evidence.Key]
	knownKeys     *Cache[*knownKey]
	accesses      *Cache[evidence.OrgAccess]
	uses          *keyUses
}

// NewTenancy binds the repositories to an engine. Close ends what it does in the
// background; what fails there is logged.
func NewTenancy(docs Documents, clock evidence.Clock, log *slog.Logger) *Tenancy {
	keys := NewCollection(docs, keySchema, keyID, keyFields)
	return &Tenancy{
		clock:         clock,
		users:         NewCollection(docs, userSchema, userID, nil),
		organizations: NewCollection(docs, organizationSchema, organizationID, organizationFields),
		members:       NewCollection(docs, memberSchema, memberID, nil),
		keys:          keys,
		knownKeys:     NewCache[*knownKey](tenancyCacheAge, tenancyCacheSize),
		accesses:      NewCache[evidence.OrgAccess](tenancyCacheAge, tenancyCacheSize),
		uses:          newKeyUses(keys, log),
	}
}

// TenancySchemas declares the collections that Tenancy uses.
func TenancySchemas() []*Schema {
	return []*Schema{userSchema, organizationSchema, memberSchema, keySchema}
}

// Close waits until the last uses of keys are written. The Tenancy goes on
// answering, but records no further use.
func (t *Tenancy) Close() { t.uses.close() }
