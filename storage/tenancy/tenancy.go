// Package tenancy keeps users, organizations, members and API keys.
package tenancy

import (
	"log/slog"
	"time"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
	"attestry/storage/cache"
)

const (
	// tenancyCacheAge is how long a key, an access or an identity provider is believed
	// without reading it. What is taken away is forgotten earlier: see version.
	tenancyCacheAge = 10 * time.Second
	// tenancyCacheSize bounds each of the caches to a few megabytes.
	tenancyCacheSize = 10_000
	// maxIssuersKnown bounds the issuers of which it is remembered whether they are trusted. Anybody
	// may name any, of 2 KiB each.
	maxIssuersKnown = 2_000
)

// Tenancy keeps who there is and who may do what: users, organizations, members, service
// accounts, keys, identity providers and inbound webhooks, and the log of changes of these. It
// is safe for concurrent use.
type Tenancy struct {
	// BetaOfNew tells whether organizations have the experimental features when they are created. It is set
	// before the Tenancy is used.
	BetaOfNew         bool
	docs              storage.Documents
	clock             evidence.Clock
	users             storage.Collection[evidence.User]
	organizations     storage.Collection[evidence.Organization]
	organizationNames storage.Collection[organizationName]
	members           storage.Collection[evidence.Membership]
	accounts          storage.Collection[identity.ServiceAccount]
	keys              storage.Collection[evidence.Key]
	identityProviders storage.Collection[identity.IdentityProvider]
	auditLog          storage.Collection[identity.AuditEntry]
	hooks             storage.Collection[hook]
	turns             *turns
	version           *versionWatch
	knownKeys         cache.TTL[*knownKey]
	// unknownKeys holds hashes of secrets that are no keys, such as tokens of identity providers.
	unknownKeys cache.TTL[struct{}]
	accesses    cache.TTL[evidence.OrgAccess]
	// providers are those of organizations, by their names.
	providers cache.TTL[[]identity.IdentityProvider]
	// issuers tells of each whether any organization trusts it.
	issuers cache.TTL[bool]
	uses    *keyUses
}

// New binds the repositories to an engine. Close ends what it does in the
// background; what fails there is logged.
func New(docs storage.Documents, clock evidence.Clock, log *slog.Logger) *Tenancy {
	keys := storage.NewCollection(docs, keySchema, keyID, keyFields)
	return &Tenancy{
		BetaOfNew:         true,
		docs:              docs,
		clock:             clock,
		users:             storage.NewCollection(docs, userSchema, userID, nil),
		organizations:     storage.NewCollection(docs, organizationSchema, organizationID, organizationFields),
		organizationNames: storage.NewCollection(docs, organizationNameSchema, organizationNameID, nil),
		members:           storage.NewCollection(docs, memberSchema, memberID, memberFields),
		accounts: storage.NewCollection(docs, accountSchema,
			func(a *identity.ServiceAccount) string { return accountID(a.OrgID, a.Name) }, accountFields),
		keys: keys,
		identityProviders: storage.NewCollection(docs, providerSchema,
			func(p *identity.IdentityProvider) string { return providerID(p.OrgID, p.Name) }, providerFields),
		auditLog:    storage.NewCollection(docs, auditSchema, auditID, auditFields),
		hooks:       storage.NewCollection(docs, hookSchema, hookID, hookFields),
		turns:       newTurns(),
		version:     newVersionWatch(docs),
		knownKeys:   cache.NewTTL[*knownKey](tenancyCacheAge, tenancyCacheSize),
		unknownKeys: cache.NewTTL[struct{}](tenancyCacheAge, tenancyCacheSize),
		accesses:    cache.NewTTL[evidence.OrgAccess](tenancyCacheAge, tenancyCacheSize),
		providers:   cache.NewTTL[[]identity.IdentityProvider](tenancyCacheAge, tenancyCacheSize),
		issuers:     cache.NewTTL[bool](tenancyCacheAge, maxIssuersKnown),
		uses:        newKeyUses(keys, log),
	}
}

// Schemas declares the collections that Tenancy uses.
func Schemas() []*storage.Schema {
	return []*storage.Schema{
		userSchema, organizationSchema, organizationNameSchema, memberSchema, accountSchema, keySchema, providerSchema, auditSchema, hookSchema, versionSchema,
	}
}

// Close waits until the last uses of keys are written. The Tenancy goes on
// answering, but records no further use.
func (t *Tenancy) Close() { t.uses.close() }
