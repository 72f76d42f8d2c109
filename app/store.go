// Package app puts the repositories and the use cases over them together.
package app

import (
	"log/slog"
	"slices"

	"attestry/app/facts"
	"attestry/app/recording"
	"attestry/app/states"
	"attestry/config"
	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/environments"
	"attestry/storage/governance"
	"attestry/storage/logs"
	"attestry/storage/names"
	"attestry/storage/notifications"
	"attestry/storage/packages"
	"attestry/storage/pipelines"
	"attestry/storage/retention"
	"attestry/storage/sessions"
	"attestry/storage/tenancy"
)

// Store is every repository over one pair of engines.
type Store struct {
	recording.Repositories
	Documents storage.Documents
	Objects   storage.Objects
	// Retention prevents the deletion of evidence and audit packages. It is off unless the process has replaced it.
	Retention    *retention.Retention
	Tenancy      *tenancy.Tenancy
	Environments *environments.Environments
	Heads        *environments.Heads
	Reports      *environments.Reports
	Snapshots    *environments.Snapshots
	Events       *environments.Events
	Deployments  *environments.Deployments
	Successions  *environments.Successions
	FirstSeen    *environments.FirstSeen
	Leases       *storage.Leases
	Allowlist    *environments.Allowlist
	Admissions   *environments.Admissions
	Scalings     *environments.Scalings
	Policies     *governance.Policies
	Periods      *governance.Periods
	Frameworks   *governance.Frameworks
	States       *states.Evaluator
	Facts        *facts.Loader
	Recorder     *recording.Recorder
	// AttestationTypes are the custom ones.
	AttestationTypes *pipelines.AttestationTypes
	Actions          *notifications.Actions
	Targets          *notifications.Targets
	Outbox           *notifications.Outbox
	Deliveries       *notifications.Deliveries
	Assemblies       *packages.Assemblies
	// Sessions are the sessions of people who are signed in to the pages.
	Sessions *sessions.Sessions
	// Logs are the transparency logs.
	Logs *logs.Logs
}

// NewStore builds the repositories over an engine that was opened with Schemas. It logs background failures.
func NewStore(docs storage.Documents, objects storage.Objects, clock evidence.Clock, log *slog.Logger) *Store {
	logged := logs.NewDocuments(docs, clock)
	docs = logged
	heads := environments.NewHeads(docs)
	actions := notifications.NewActions(docs, clock)
	outbox := notifications.NewOutbox(docs, actions)
	store := &Store{
		Repositories: recording.Repositories{
			Flows:        pipelines.NewFlows(docs),
			Templates:    pipelines.NewTemplates(docs, objects),
			Slots:        pipelines.NewSlots(docs),
			Artifacts:    pipelines.NewArtifacts(docs),
			Attestations: pipelines.NewAttestations(docs),
			TrailEvents:  pipelines.NewTrailEvents(docs, outbox),
			Provenances:  pipelines.NewProvenances(docs),
			Decisions:    pipelines.NewDecisions(docs),
			Controls:     governance.NewControls(docs),
			People:       governance.NewPeople(docs),
			Approvals:    governance.NewApprovals(docs),
			Repos:        pipelines.NewRepos(docs, clock),
			Running:      environments.NewRunningSet(docs),
			Generations:  storage.NewGenerations(docs),
			Logged:       logged,
		},
		Documents:    docs,
		Objects:      objects,
		Retention:    retention.New(objects, config.Retention{}, clock),
		Tenancy:      tenancy.New(docs, clock, log),
		Environments: environments.New(docs, heads),
		Heads:        heads,
		Reports:      environments.NewReports(docs, objects),
		Snapshots:    environments.NewSnapshots(docs),
		Events:       environments.NewEvents(docs),
		Deployments:  environments.NewDeployments(docs),
		Successions:  environments.NewSuccessions(docs),
		FirstSeen:    environments.NewFirstSeen(docs),
		Leases:       storage.NewLeases(docs, clock),
		Allowlist:    environments.NewAllowlist(docs, outbox),
		Admissions:   environments.NewAdmissions(docs, outbox),
		Scalings:     environments.NewScalings(docs),
		Policies:     governance.NewPolicies(docs),
		Periods:      governance.NewPeriods(docs),
		Frameworks:   governance.NewFrameworks(docs),

		AttestationTypes: pipelines.NewAttestationTypes(docs, objects),
		Actions:          actions,
		Outbox:           outbox,
		Targets:          notifications.NewTargets(docs),
		Deliveries:       notifications.NewDeliveries(docs),
		Assemblies:       packages.NewAssemblies(docs),
		Sessions:         sessions.New(docs, clock),
		Logs:             logs.New(docs, objects),
	}
	store.Trails = pipelines.NewTrails(docs, pipelines.NewTrailTallies(docs), store.TrailEvents, store.Generations)
	store.States = &states.Evaluator{
		Trails: store.Trails, Templates: store.Templates, Slots: store.Slots,
		Artifacts: store.Artifacts, Attestations: store.Attestations,
	}
	store.Facts = &facts.Loader{Flows: store.Flows, Decisions: store.Decisions, States: store.States}
	store.Recorder = recording.NewRecorder(store.Repositories, docs, clock)
	return store
}

// Schemas declares every collection there is.
func Schemas() []*storage.Schema {
	return slices.Concat(tenancy.Schemas(), pipelines.Schemas(), environments.Schemas(), governance.Schemas(), recording.Schemas(), notifications.Schemas(), packages.Schemas(), sessions.Schemas(), logs.Schemas(),
		[]*storage.Schema{names.Schema, storage.GenerationSchema, storage.LeaseSchema, storage.ProbeSchema})
}
