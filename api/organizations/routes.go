// Package organizations has the operations on organizations, their members, service accounts,
// identity providers and actions, and on users.
package organizations

import (
	"context"
	"slices"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence/identity"
)

// Routes are those of the package.
func Routes(base *resource.Base) []server.Route {
	h := &handlers{Base: base, targets: newTargetReader()}
	return slices.Concat(h.organizationRoutes(), h.memberRoutes(), h.serviceAccountRoutes(), h.userKeyRoutes(),
		h.identityProviderRoutes(), h.auditLogRoutes(),
		h.actionRoutes(), h.environmentNotificationRoutes(), h.deliveryRoutes())
}

type handlers struct {
	*resource.Base
	targets *targetReader
}

// actor is the principal of the request, as the audit log names it.
func actor(ctx context.Context) identity.Actor { return identity.ActorOf(server.Principal(ctx)) }
