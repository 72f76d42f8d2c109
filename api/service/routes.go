package service

import (
	"slices"

	"attestry/api/attestations"
	"attestry/api/deployments"
	"attestry/api/environments"
	"attestry/api/organizations"
	"attestry/api/pipelines"
	"attestry/api/resource"
	"attestry/api/server"
)

// Routes lists every operation of the API.
func Routes(base *resource.Base) []server.Route {
	return slices.Concat(
		organizations.Routes(base),
		environments.Routes(base),
		pipelines.Routes(base),
		attestations.Routes(base),
		deployments.Routes(base),
		server.SchemaRoutes(),
	)
}
