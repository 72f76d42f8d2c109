package service

import (
	"slices"
	"time"

	"attestry/api/attestations"
	"attestry/api/deployments"
	"attestry/api/environments"
	"attestry/api/governance"
	"attestry/api/organizations"
	"attestry/api/packages"
	"attestry/api/pipelines"
	"attestry/api/resource"
	"attestry/api/schemas"
	"attestry/api/server"
	"attestry/api/snapshots"
	"attestry/api/webhooks"
	"attestry/app"
	"attestry/tasks/auditpackage"
)

// Routes lists every operation of the API. A request may take requestTimeout.
func Routes(base *resource.Base, store *app.Store, requests *auditpackage.Requests, requestTimeout time.Duration) []server.Route {
	return slices.Concat(
		organizations.Routes(base, organizations.Stores{
			Tenancy: store.Tenancy, Actions: store.Actions, Targets: store.Targets, Deliveries: store.Deliveries,
			Environments: store.Environments, Flows: store.Flows,
		}),
		environments.Routes(base, environments.Stores{
			Allowlist: store.Allowlist, Environments: store.Environments, Generations: store.Generations, Heads: store.Heads,
			Policies: store.Policies, Running: store.Running,
		}),
		snapshots.Routes(base, snapshots.Stores{
			Environments: store.Environments, Events: store.Events, Flows: store.Flows, Heads: store.Heads, Policies: store.Policies,
			Repos: store.Repos, Snapshots: store.Snapshots,
		}),
		pipelines.Routes(base, pipelines.Stores{
			Approvals: store.Approvals, Artifacts: store.Artifacts, Attestations: store.Attestations, Controls: store.Controls, Environments: store.Environments,
			Events: store.Events, Flows: store.Flows, Generations: store.Generations, Heads: store.Heads, Recorder: store.Recorder, Repos: store.Repos, Slots: store.Slots,
			States: store.States, Templates: store.Templates, Trails: store.Trails,
		}),
		attestations.Routes(base, attestations.Stores{
			Artifacts: store.Artifacts, AttestationTypes: store.AttestationTypes, Attestations: store.Attestations, Flows: store.Flows,
			Objects: store.Objects, Recorder: store.Recorder, Retention: store.Retention,
		}),
		deployments.Routes(base, deployments.Stores{
			Deployments: store.Deployments, Environments: store.Environments, Events: store.Events, Flows: store.Flows, Heads: store.Heads,
			Provenances: store.Provenances, Repos: store.Repos, Running: store.Running, Successions: store.Successions,
		}),
		governance.Routes(base, governance.Stores{
			Policies: store.Policies, Controls: store.Controls, Environments: store.Environments,
			Attestations: store.Attestations, Flows: store.Flows, Generations: store.Generations,
			Provenances: store.Provenances, Facts: store.Facts, Allowlist: store.Allowlist, Snapshots: store.Snapshots,
			Approvals: store.Approvals, Artifacts: store.Artifacts, Recorder: store.Recorder,
			Heads: store.Heads, Running: store.Running,
		}),
		webhooks.Routes(base, webhooks.Stores{
			Flows: store.Flows, Recorder: store.Recorder, Tenancy: store.Tenancy,
		}),
		packages.Routes(base, packages.Stores{
			Artifacts: store.Artifacts, Attestations: store.Attestations, Requests: requests,
		}, requestTimeout),
		schemas.Routes(),
	)
}
