// Package tenancy keeps users, organizations, members and API keys.
package tenancy

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
	"attestry/storage/cache"
)

const (
	// tenancyCacheAge is how long keys, accesses and identity providers are cached, unless the version changes.
	tenancyCacheAge = 10 * time.Second
	// tenancyCacheSize bounds each of the caches to a few megabytes.
	tenancyCacheSize = 10_000
	// maxCachedIssuers bounds the cached issuers. Any client can name any number of them, of up to 2 KiB each.
	maxCachedIssuers = 2_000
)

// Tenancy keeps users, organizations, members, service accounts, keys, identity providers and inbound webhooks, and the
// log of their changes. It is safe for concurrent use.
type Tenancy struct {
	// BetaByDefault says whether new organizations have the experimental features. It must be set before other calls.
	BetaByDefault     bool
	docs              storage.Documents
	clock             evidence.Clock
	users             storage.Collection[evidence.User]
	organizations     storage.Collection[evidence.Organization]
	organizationNames storage.Collection[organizationName]
	members           storage.Collection[evidence.Membership]
	accounts          storage.Collection[identity.ServiceAccount]
	keys              storage.Collection[evidence.Key]
	identityProviders storage.Collection[identity.IdentityProvider]
	invitations       storage.Collection[identity.Invitation]
	auditLog          storage.Collection[identity.AuditEntry]
	hooks             storage.Collection[hook]
	locks             cache.Shared[semaphore.Weighted] // by organization, each for one holder
	version           *versionWatch
	knownKeys         cache.TTL[*knownKey]
	// unknownKeys holds hashes of secrets that are no keys, such as tokens of identity providers.
	unknownKeys cache.TTL[struct{}]
	accesses    cache.TTL[evidence.OrgAccess]
	// certified are the service accounts of clients with certificates, by organization and name.
	certified cache.TTL[evidence.Principal]
	// providers are those of organizations, by their names.
	providers cache.TTL[[]identity.IdentityProvider]
	// issuers tells whether any organization trusts an issuer.
	issuers cache.TTL[bool]
	uses    *keyUses
}

// New binds the repositories to an engine. Errors of background work are logged until Close.
func New(docs storage.Documents, clock evidence.Clock, log *slog.Logger) *Tenancy {
	keys := storage.NewCollection(docs, keySchema, func(k *evidence.Key) string { return k.Hash }, keyFields)
	return &Tenancy{
		BetaByDefault:     true,
		docs:              docs,
		clock:             clock,
		users:             storage.NewCollection(docs, userSchema, func(u *evidence.User) string { return u.Name }, nil),
		organizationNames: storage.NewCollection(docs, organizationNameSchema, func(n *organizationName) string { return n.Lower }, nil),
		members:           storage.NewCollection(docs, memberSchema, memberID, memberFields),
		keys:              keys,
		organizations: storage.NewCollection(docs, organizationSchema, func(o *evidence.Organization) string { return o.Name },
			func(o *evidence.Organization) map[string]any { return map[string]any{"created": o.CreatedAt} }),
		accounts: storage.NewCollection(docs, accountSchema,
			func(a *identity.ServiceAccount) string { return idIn(a.OrgID, a.Name) },
			func(a *identity.ServiceAccount) map[string]any { return map[string]any{"org": a.OrgID, "name": a.Name} }),
		identityProviders: storage.NewCollection(docs, providerSchema,
			func(p *identity.IdentityProvider) string { return idIn(p.OrgID, p.Name) },
			func(p *identity.IdentityProvider) map[string]any {
				return map[string]any{"org": p.OrgID, "org_name": p.OrgName, "issuer": p.Issuer, "name": p.Name}
			}),
		invitations: storage.NewCollection(docs, invitationSchema, func(i *identity.Invitation) string { return i.Hash }, invitationFields),
		auditLog:    storage.NewCollection(docs, auditSchema, func(e *identity.AuditEntry) string { return e.ID }, auditFields),
		hooks: storage.NewCollection(docs, hookSchema, func(h *hook) string { return h.Hash },
			func(h *hook) map[string]any { return map[string]any{"org": h.OrgID} }),
		locks: cache.NewShared(func() *semaphore.Weighted { return semaphore.NewWeighted(1) }),
		version: &versionWatch{
			read:       cache.NewTTL[struct{}](versionAge, 1),
			collection: storage.NewCollection(docs, versionSchema, func(v *version) string { return v.ID }, nil),
		},
		knownKeys:   cache.NewTTL[*knownKey](tenancyCacheAge, tenancyCacheSize),
		unknownKeys: cache.NewTTL[struct{}](tenancyCacheAge, tenancyCacheSize),
		accesses:    cache.NewTTL[evidence.OrgAccess](tenancyCacheAge, tenancyCacheSize),
		certified:   cache.NewTTL[evidence.Principal](tenancyCacheAge, tenancyCacheSize),
		providers:   cache.NewTTL[[]identity.IdentityProvider](tenancyCacheAge, tenancyCacheSize),
		issuers:     cache.NewTTL[bool](tenancyCacheAge, maxCachedIssuers),
		uses:        &keyUses{keys: keys, logger: log},
	}
}

// Schemas declares the collections that Tenancy uses.
func Schemas() []*storage.Schema {
	return []*storage.Schema{
		userSchema, organizationSchema, organizationNameSchema, memberSchema, accountSchema, keySchema, providerSchema, invitationSchema, auditSchema, hookSchema, versionSchema,
	}
}

// Close waits until the last uses of keys are written. Later uses are not recorded.
func (t *Tenancy) Close() { t.uses.close() }

// versionAge is how long a process uses its caches before it reads the version again.
const versionAge = 500 * time.Millisecond

const versionID = "tenancy"

var versionSchema = &storage.Schema{Name: "tenancy_version"}

// version gets a fresh random value with each change after which all processes must clear their caches, such as the
// revocation of a key.
type version struct {
	ID    string `json:"id"`
	Value string `json:"value"`
}

func newVersion() version { return version{ID: versionID, Value: evidence.NewID()} }

type versionWatch struct {
	collection storage.Collection[version]
	read       cache.TTL[struct{}] // has an entry while the version need not be read again

	mu    sync.Mutex
	value string
}

// checkVersion returns the time. It reads the version unless that was done within versionAge, and clears the caches if
// it has changed.
func (t *Tenancy) checkVersion(ctx context.Context) (now time.Time, err error) {
	now = t.clock()
	// Several requests may read it at once; none waits for another one.
	_, err = t.version.read.Load(versionID, now, func() (done struct{}, err error) {
		read, err := t.version.collection.GetOrZero(ctx, versionID)
		if err != nil {
			return done, err
		}
		t.version.mu.Lock()
		defer t.version.mu.Unlock()
		if read.Value.Value != t.version.value {
			t.clearCaches()
		}
		t.version.value = read.Value.Value
		return done, nil
	})
	return now, err
}
