// Package tenancy keeps users, organizations, members and API keys.
package tenancy

import (
	"log/slog"
	"time"

	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/cache"
)

const (
	// tenancyCacheAge is how long a key or an access is believed without looking.
	// A revocation acts at once in the process that makes it, and within this time
	// in all others.
	tenancyCacheAge = 10 * time.Second
	// tenancyCacheSize bounds each of the two caches to a few megabytes.
	tenancyCacheSize = 10_000
)

// Tenancy keeps who there is and who may do what: users, organizations, members,
// keys and inbound webhooks. It is safe for concurrent use.
type Tenancy struct {
	clock         evidence.Clock
	users         *storage.Collection[evidence.User]
	organizations *storage.Collection[evidence.Organization]
	members       *storage.Collection[evidence.Membership]
	keys          *storage.Collection[evidence.Key]
	hooks         *storage.Collection[hook]
	knownKeys     *cache.TTL[*knownKey]
	accesses      *cache.TTL[evidence.OrgAccess]
	uses          *keyUses
}

// New binds the repositories to an engine. Close ends what it does in the
// background; what fails there is logged.
func New(docs storage.Documents, clock evidence.Clock, log *slog.Logger) *Tenancy {
	keys := storage.NewCollection(docs, keySchema, keyID, keyFields)
	return &Tenancy{
		clock:         clock,
		users:         storage.NewCollection(docs, userSchema, userID, nil),
		organizations: storage.NewCollection(docs, organizationSchema, organizationID, organizationFields),
		members:       storage.NewCollection(docs, memberSchema, memberID, nil),
		keys:          keys,
		hooks:         storage.NewCollection(docs, hookSchema, hookID, hookFields),
		knownKeys:     cache.NewTTL[*knownKey](tenancyCacheAge, tenancyCacheSize),
		accesses:      cache.NewTTL[evidence.OrgAccess](tenancyCacheAge, tenancyCacheSize),
		uses:          newKeyUses(keys, log),
	}
}

// Schemas declares the collections that Tenancy uses.
func Schemas() []*storage.Schema {
	return []*storage.Schema{userSchema, organizationSchema, memberSchema, keySchema, hookSchema}
}

// Close waits until the last uses of keys are written. The Tenancy goes on
// answering, but records no further use.
func (t *Tenancy) Close() { t.uses.close() }
