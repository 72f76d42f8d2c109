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
	"attestry/api/snapshots"
	"attestry/app"
)

// Routes lists every operation of the API.
func Routes(base *resource.Base, store *app.Store) []server.Route {
	return slices.Concat(
		organizations.Routes(base, organizations.Stores{
			Tenancy: store.Tenancy,
		}),
		environments.Routes(base, environments.Stores{
			Allowlist: store.Allowlist, Environments: store.Environments, Generations: store.Generations, Heads: store.Heads,
		}),
		snapshots.Routes(base, snapshots.Stores{
			Environments: store.Environments, Events: store.Events, Flows: store.Flows, Heads: store.Heads,
			Repos: store.Repos, Snapshots: store.Snapshots,
		}),
		pipelines.Routes(base, pipelines.Stores{
			Artifacts: store.Artifacts, Attestations: store.Attestations, Environments: store.Environments, Events: store.Events, Flows: store.Flows,
			Generations: store.Generations, Heads: store.Heads, Recorder: store.Recorder, Repos: store.Repos, Slots: store.Slots,
			States: store.States, Templates: store.Templates, Trails: store.Trails,
		}),
		attestations.Routes(base, attestations.Stores{
			Artifacts: store.Artifacts, AttestationTypes: store.AttestationTypes, Attestations: store.Attestations, Flows: store.Flows,
			Objects: store.Objects, Recorder: store.Recorder,
		}),
		deployments.Routes(base, deployments.Stores{
			Deployments: store.Deployments, Environments: store.Environments, Events: store.Events, Flows: store.Flows, Heads: store.Heads,
			Provenances: store.Provenances, Repos: store.Repos, Running: store.Running, Successions: store.Successions,
		}),
		server.SchemaRoutes(),
	)
}
