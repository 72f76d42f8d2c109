package service

import (
	"slices"
	"time"

	"attestry/api/admission"
	"attestry/api/attestations"
	"attestry/api/audits"
	"attestry/api/deployments"
	"attestry/api/environments"
	"attestry/api/governance"
	"attestry/api/organizations"
	"attestry/api/packages"
	"attestry/api/pipelines"
	"attestry/api/proofs"
	"attestry/api/resource"
	"attestry/api/schemas"
	"attestry/api/server"
	"attestry/api/snapshots"
	"attestry/api/webhooks"
	"attestry/tasks/auditpackage"
)

// Routes lists all operations of the API. requestTimeout bounds a request.
func Routes(base *resource.Base, requests *auditpackage.Requests, requestTimeout time.Duration) []server.Route {
	return slices.Concat(
		organizations.Routes(base),
		environments.Routes(base),
		admission.Routes(base),
		snapshots.Routes(base),
		pipelines.Routes(base),
		attestations.Routes(base),
		deployments.Routes(base),
		audits.Routes(base),
		governance.Routes(base),
		webhooks.Routes(base),
		packages.Routes(base, requests, requestTimeout),
		proofs.Routes(base),
		schemas.Routes(),
	)
}
