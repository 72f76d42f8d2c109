package storage

import (
	"log/slog"
	"slices"

	"attestry/evidence"
)

// Store is every repository over one pair of engines.
type Store struct {
	Documents    Documents
	Objects      Objects
	Tenancy      *Tenancy
	Environments *Environments
	Heads        *Heads
	Reports      *Reports
	Snapshots    *Snapshots
	Running      *RunningSet
	Events       *Events
	Deployments  *Deployments
	Successions  *Successions
	FirstSeen    *FirstSeen
	Generations  *Generations
	Leases       *Leases
	Templates    *Templates
	Flows        *Flows
	Trails       *Trails
	Repos        *Repos
	Slots        *Slots
	Artifacts    *Artifacts
	Attestations *Attestations
	TrailEvents  *TrailEvents
	Provenances  *Provenances
	Decisions    *Decisions
	Allowlist    *Allowlist
	Recorder     *Recorder
	Reconciler   *Reconciler
	// AttestationTypes are the custom ones.
	AttestationTypes *AttestationTypes
}

// NewStore builds the repositories. The engine behind docs must have been opened
// with Schemas. What fails in the background is logged.
func NewStore(docs Documents, objects Objects, clock evidence.Clock, log *slog.Logger) *Store {
	heads := NewHeads(docs)
	names := NewNames(docs)
	store := &Store{
		Documents:    docs,
		Objects:      objects,
		Tenancy:      NewTenancy(docs, clock, log),
		Environments: NewEnvironments(docs, names, heads),
		Heads:        heads,
		Reports:      NewReports(docs, objects),
		Snapshots:    NewSnapshots(docs),
		Running:      NewRunningSet(docs),
		Events:       NewEvents(docs),
		Deployments:  NewDeployments(docs),
		Successions:  NewSuccessions(docs),
		FirstSeen:    NewFirstSeen(docs),
		Generations:  NewGenerations(docs),
		Leases:       NewLeases(docs, clock),
		Templates:    NewTemplates(docs, objects),
		Flows:        NewFlows(docs, names),
		Repos:        NewRepos(docs, clock),
		Slots:        NewSlots(docs),
		Artifacts:    NewArtifacts(docs),
		Attestations: NewAttestations(docs),
		TrailEvents:  NewTrailEvents(docs),
		Provenances:  NewProvenances(docs),
		Decisions:    NewDecisions(docs),
		Allowlist:    NewAllowlist(docs),

		AttestationTypes: NewAttestationTypes(docs, objects),
	}
	store.Trails = NewTrails(docs, NewTrailTallies(docs), store.TrailEvents, store.Generations)
	store.Recorder = NewRecorder(Repositories{
		Flows: store.Flows, Templates: store.Templates, Trails: store.Trails, Slots: store.Slots,
		Artifacts: store.Artifacts, Attestations: store.Attestations, TrailEvents: store.TrailEvents,
		Provenances: store.Provenances, Decisions: store.Decisions, Repos: store.Repos, Running: store.Running, Generations: store.Generations,
	}, docs, clock)
	store.Reconciler = NewReconciler(store.Recorder)
	return store
}

// Schemas declares every collection there is.
func Schemas() []*Schema {
	return slices.Concat(TenancySchemas(), PipelineSchemas(), EnvironmentSchemas(), RecordingSchemas(),
		[]*Schema{NameSchema, GenerationSchema, LeaseSchema, ProbeSchema})
}
