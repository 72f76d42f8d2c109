package server

import "slices"

// Routes lists every operation of the API.
func Routes(base *Base) []Route {
	return slices.Concat(
		OrganizationRoutes(base),
		EnvironmentRoutes(base),
		PipelineRoutes(base),
		AttestationRoutes(base),
		DeploymentRoutes(base),
		SchemaRoutes(),
	)
}
