// Package resource has the common parts of operations: look-ups by path, inputs, and parts of answers.
package resource

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"attestry/api/oidc"
	"attestry/api/recognition"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/app"
	"attestry/app/evaluation"
	"attestry/app/recording"
	"attestry/evidence"
	"attestry/evidence/signing"
	"attestry/evidence/yamlfile"
	"attestry/links"
	"attestry/storage"
	"attestry/storage/environments"
	"attestry/tasks/logical"
	"attestry/tasks/reports"
)

// Base has the dependencies of all handlers.
type Base struct {
	*app.Store
	Clock  evidence.Clock
	Links  links.Links
	Intake *reports.Intake
	// Recognition recognizes reports that were already accepted.
	Recognition *recognition.Cache
	// Evaluator judges payloads of custom attestation types.
	Evaluator *evaluation.Evaluator
	// Logical numbers the snapshots of logical environments.
	Logical *logical.Updater
	// Tokens verifies the tokens of identity providers.
	Tokens *oidc.Verifier
	// SigningKey signs verdicts, nil if the operator has set none.
	SigningKey *signing.Key
	Log        *slog.Logger
	// BatchBytes is the size of the batches that lists read, in bytes.
	BatchBytes int
}

// ResolveFlow returns the id of the flow by name, of an archived one by its archive name, or evidence.NotFound.
func (b *Base) ResolveFlow(ctx context.Context, name string) (id string, err error) {
	ref, err := b.Flows.Resolve(ctx, server.Access(ctx).OrgID, name)
	return ref.ID, FlowNotFound(ctx, name, err)
}

// ResolveActiveFlow is ResolveFlow without archived flows, which cannot be changed.
func (b *Base) ResolveActiveFlow(ctx context.Context, name string) (id string, err error) {
	ref, err := b.Flows.Registry.Resolve(ctx, server.Access(ctx).OrgID, name)
	return ref.ID, FlowNotFound(ctx, name, err)
}

// FlowNotFound is NotFound for a flow.
func FlowNotFound(ctx context.Context, name string, err error) error {
	return NotFound(err, "Flow named '%s' does not exist for organization '%s'", name, server.Access(ctx).OrgName)
}

// FlowPath is the path of an operation on a flow.
type FlowPath struct {
	server.OrgPath
	Flow string `path:"flow_name" doc:"Name of the flow."`
}

// Ref is the name of the flow.
func (p FlowPath) Ref() string { return p.Flow }

// NewFlowPath is the path of an operation that creates the flow if it does not exist.
type NewFlowPath struct {
	server.OrgPath
	Flow string `path:"flow_name" maxLength:"255" pattern:"^[a-zA-Z0-9][a-zA-Z0-9\\.\\-_~]*$" doc:"Name of the flow."`
}

// NewTrailPath is the path of an operation that creates the flow and the trail if they do not exist.
type NewTrailPath struct {
	NewFlowPath
	Trail string `path:"trail_name" maxLength:"255" pattern:"^[a-zA-Z0-9][a-zA-Z0-9\\-_.~]*$" doc:"Name of the trail."`
}

var validTrailName = regexp.MustCompile(trailNamePattern)

// CheckTrailName returns a validation error for a name that a new trail cannot have.
func CheckTrailName(name string) error {
	switch {
	case utf8.RuneCountInString(name) > evidence.MaxResourceName:
		return validation.Fault("trail_name", validation.TooLongText(evidence.MaxResourceName), name)
	case !validTrailName.MatchString(name):
		return validation.Fault("trail_name", "String should match pattern '"+trailNamePattern+"'", name)
	}
	return nil
}

// TrailPath is the path of an operation on a trail.
type TrailPath struct {
	FlowPath
	Trail string `path:"trail_name" doc:"Name of the trail."`
}

// Ref is the whole path.
func (p TrailPath) Ref() *TrailPath { return &p }

// LoadTrail reads the trail of a path, or returns an evidence.NotFound error.
func (b *Base) LoadTrail(ctx context.Context, in *TrailPath) (evidence.Trail, error) {
	flow, err := b.ResolveFlow(ctx, in.Flow)
	if err != nil {
		return evidence.Trail{}, err
	}
	trail, err := b.Trails.Get(ctx, flow, in.Trail)
	return trail, NotFound(err, "Trail with name '%s' does not exist for Organization '%s' and Flow '%s'", in.Trail, server.Access(ctx).OrgName, in.Flow)
}

// AttestationPath is the path of an operation on an attestation of a trail.
type AttestationPath struct {
	TrailPath
	Attestation string `path:"attestation_id" doc:"Id of the attestation."`
}

// Ref is the whole path.
func (p AttestationPath) Ref() *AttestationPath { return &p }

// LoadAttestation reads the attestation of a path, or returns an evidence.NotFound error.
func (b *Base) LoadAttestation(ctx context.Context, in *AttestationPath) (evidence.Attestation, error) {
	org := server.Access(ctx)
	trail, err := b.LoadTrail(ctx, &in.TrailPath)
	if err != nil {
		return evidence.Attestation{}, err
	}
	found, err := b.Attestations.Get(ctx, org.OrgID, in.Attestation)
	if err == nil && evidence.TrailKey(found.Flow, found.Trail) != trail.Key() {
		err = storage.ErrNotFound
	}
	return found, NotFound(err, "Attestation with id '%s' does not exist in trail '%s' of flow '%s' belonging to organization '%s'",
		in.Attestation, in.Trail, in.Flow, org.OrgName)
}

// Scope returns the organization, flow, trail, principal and time that the facts of a request are recorded with.
func (b *Base) Scope(ctx context.Context, flow, trail string) recording.Scope {
	org, who := server.Access(ctx), server.Principal(ctx)
	return recording.Scope{
		Org: org.OrgID, OrgName: org.OrgName, Flow: flow, Trail: trail,
		By: who.Name, ByID: who.UserID, At: evidence.Seconds(b.Clock()),
	}
}

// ReportRepo records the repository of a request. It returns nil if there is none.
func (b *Base) ReportRepo(ctx context.Context, scope recording.Scope, sent OrNull[RepoInfoPostInput]) (*evidence.Repo, error) {
	if sent.Value == nil {
		return nil, nil
	}
	repo, err := b.Repos.Report(ctx, scope.Org, sent.Value.Evidence(), scope.At)
	if err != nil || repo.ID == "" {
		return nil, err
	}
	return &repo, nil
}

// ArtifactNotFound applies NotFound and Unambiguous to an error about an artifact of a flow.
func ArtifactNotFound(ctx context.Context, flow, fingerprint string, err error) error {
	return Unambiguous(NotFound(err, "Artifact with fingerprint '%s' does not exist in flow '%s' belonging to organization '%s'",
		fingerprint, flow, server.Access(ctx).OrgName), fingerprint)
}

// NotFound turns storage.ErrNotFound into an evidence.NotFound error with the text. It returns other errors unchanged.
func NotFound(err error, format string, values ...any) error {
	if errors.Is(err, storage.ErrNotFound) {
		return evidence.Errorf(evidence.NotFound, format, values...)
	}
	return err
}

// Unambiguous turns storage.ErrAmbiguous into an evidence.Invalid error. It returns other errors unchanged.
func Unambiguous(err error, digits string) error {
	if errors.Is(err, storage.ErrAmbiguous) {
		return evidence.Errorf(evidence.Invalid, "'%s' is too ambiguous, please give more digits", digits)
	}
	return err
}

// ResolveEnvironment resolves the environment by name, or returns an evidence.NotFound error.
func (b *Base) ResolveEnvironment(ctx context.Context, name string) (environments.EnvironmentRef, error) {
	ref, err := b.Environments.Resolve(ctx, server.Access(ctx).OrgID, name)
	return ref, EnvironmentNotFound(ctx, name, err)
}

// ResolveEnvironments resolves environments by name, in the order of names, or returns the error of the first name that
// cannot be resolved. It takes one command, and one more for that name.
func (b *Base) ResolveEnvironments(ctx context.Context, names []string) ([]environments.EnvironmentRef, error) {
	known, err := b.Environments.ResolveMany(ctx, server.Access(ctx).OrgID, evidence.Distinct(names))
	if err != nil {
		return nil, err
	}
	return b.PickEnvironments(ctx, names, known)
}

// PickEnvironments is ResolveEnvironments with environments that are already resolved, by name. It resolves the others
// one by one. If one cannot be resolved, it returns the environments before it and the error.
func (b *Base) PickEnvironments(ctx context.Context, names []string, known map[string]environments.EnvironmentRef) ([]environments.EnvironmentRef, error) {
	refs := make([]environments.EnvironmentRef, 0, len(names))
	for _, name := range names {
		ref, ok := known[name]
		if !ok {
			var err error
			if ref, err = b.ResolveEnvironment(ctx, name); err != nil {
				return refs, err
			}
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// EnvironmentNotFound is NotFound for an environment, which may be archived.
func EnvironmentNotFound(ctx context.Context, name string, err error) error {
	org := server.Access(ctx)
	if errors.Is(err, storage.ErrArchived) {
		return evidence.Errorf(evidence.NotFound, "Environment named '%s' has been archived for organization '%s'", name, org.OrgName)
	}
	return NotFound(err, "Environment named '%s' does not exist for organization '%s'", name, org.OrgName)
}

// LoadEnvironment reads the environment by its current or a former name, or returns an evidence.NotFound error: two
// commands, and up to three more for the members of a logical one.
func (b *Base) LoadEnvironment(ctx context.Context, name string) (evidence.Environment, error) {
	ref, err := b.ResolveEnvironment(ctx, name)
	if err != nil {
		return evidence.Environment{}, err
	}
	found, err := b.Environments.Get(ctx, ref.ID)
	if err != nil || !found.Logical() {
		return found, err
	}
	one := []evidence.Environment{found}
	err = b.Environments.ReplaceArchivedMembers(ctx, server.Access(ctx).OrgID, one)
	return one[0], err
}

// PhysicalIDs returns the id of the environment, or the ids of the members of a logical one.
func PhysicalIDs(environment *evidence.Environment) []string {
	if environment.Logical() {
		return append([]string{}, environment.Included...)
	}
	return []string{environment.ID}
}

// PhysicalEnvironments resolves names to the ids of physical environments: two commands, and up to three more for
// members of logical ones. field is the field of the request that has the names.
func (b *Base) PhysicalEnvironments(ctx context.Context, names []string, field string) ([]string, error) {
	refs, err := b.ResolveEnvironments(ctx, SortUnique(slices.Clone(names)))
	if err != nil {
		return nil, err
	}
	found, err := b.Environments.GetMany(ctx, UniqueOf(refs, func(ref *environments.EnvironmentRef) string { return ref.ID }))
	if err != nil {
		return nil, err
	}
	if err := b.Environments.ReplaceArchivedMembers(ctx, server.Access(ctx).OrgID, found); err != nil {
		return nil, err
	}
	ids := []string{}
	for i := range found {
		ids = append(ids, PhysicalIDs(&found[i])...)
	}
	if ids = SortUnique(ids); len(ids) > storage.MaxMany {
		return nil, evidence.FieldError(field, "Too many environments: %d, where %d are allowed", len(ids), storage.MaxMany)
	}
	return ids, nil
}

// CatchUpSpan bounds the time that a reader waits for reports that are not processed yet.
const CatchUpSpan = 2 * time.Second

// EnvironmentPath is the path of an operation on an environment.
type EnvironmentPath struct {
	server.OrgPath
	Environment string `path:"env_name" doc:"Name of the environment."`
}

// Ref is the name of the environment.
func (p EnvironmentPath) Ref() string { return p.Environment }

// FileFault turns a yamlfile.Error into an error of a field. It returns other errors unchanged.
func FileFault(field string, err error) error {
	if faults, ok := errors.AsType[*yamlfile.Error](err); ok {
		return evidence.FieldError(field, "%s", faults)
	}
	return err
}

// CheckControls returns an error of the field if one of the controls that a file names does not exist or is archived. It
// does not check those that the stored version of the file names, as they may have been archived since.
func (b *Base) CheckControls(ctx context.Context, field string, named, stored []string) error {
	org := server.Access(ctx)
	named = slices.DeleteFunc(named, func(one string) bool { return slices.Contains(stored, one) })
	known, err := b.Controls.GetMany(ctx, org.OrgID, named)
	if err != nil {
		return err
	}
	for _, identifier := range named {
		switch found, ok := known[identifier]; {
		case !ok:
			return evidence.FieldError(field, "Control '%s' does not exist in organization '%s'", identifier, org.OrgName)
		case found.Archived:
			return evidence.FieldError(field, "Control '%s' is archived in organization '%s'", identifier, org.OrgName)
		}
	}
	return nil
}

// LoadRepoOf returns the repository of a request, by its id if the request has one.
func (b *Base) LoadRepoOf(ctx context.Context, in *GetRepoInput) (evidence.Repo, error) {
	if in.ID != "" {
		return b.LoadRepoByID(ctx, in.ID)
	}
	return b.LoadRepo(ctx, in.Name, in.Provider)
}

// LoadRepoByID returns the repository by its internal id, or an evidence.NotFound error.
func (b *Base) LoadRepoByID(ctx context.Context, id string) (evidence.Repo, error) {
	repo, err := b.Repos.Get(ctx, server.Access(ctx).OrgID, id)
	return repo, NotFound(err, repoNotFound, id)
}

// LoadRepo returns the repository by name, as PickRepo does: one command.
func (b *Base) LoadRepo(ctx context.Context, name, provider string) (evidence.Repo, error) {
	repos, err := b.Repos.Named(ctx, server.Access(ctx).OrgID, name)
	if err != nil {
		return evidence.Repo{}, err
	}
	return PickRepo(repos, name, provider)
}

// PickRepo returns the newest of the repositories of a name that belong to the provider. If the provider is empty,
// there must be at most one repository.
func PickRepo(repos []evidence.Repo, name, provider string) (evidence.Repo, error) {
	if provider != "" {
		repos = slices.DeleteFunc(repos, func(r evidence.Repo) bool { return r.Provider != provider })
	}
	if len(repos) == 0 {
		return evidence.Repo{}, RepoNotFound(name)
	}
	if provider == "" && len(repos) > 1 {
		providers := evidence.SetOf(repos, func(r *evidence.Repo) string { return cmp.Or(r.Provider, "unknown") })
		return evidence.Repo{}, evidence.Errorf(evidence.Invalid,
			"Multiple repos named '%s' exist (%s). Specify the 'provider'", name, strings.Join(slices.Sorted(maps.Keys(providers)), ", "))
	}
	return NewestRepo(repos), nil
}

// NewestRepo returns the newest of at least one repository.
func NewestRepo(repos []evidence.Repo) evidence.Repo {
	return slices.MaxFunc(repos, func(a, b evidence.Repo) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}

// FlowsAndRepos returns the flows and repositories of items by id: two commands. sources returns the ids of an item;
// the repository may be "".
func FlowsAndRepos[T any](ctx context.Context, b *Base, items []T, sources func(*T) (flow, repo string)) (map[string]evidence.Flow, map[string]evidence.Repo, error) {
	var flowIDs, repoIDs []string
	for i := range items {
		flow, repo := sources(&items[i])
		flowIDs = append(flowIDs, flow)
		if repo != "" {
			repoIDs = append(repoIDs, repo)
		}
	}
	org := server.Access(ctx).OrgID
	flows, err := b.Flows.Names(ctx, org, SortUnique(flowIDs))
	if err != nil {
		return nil, nil, err
	}
	repos, err := b.Repos.GetMany(ctx, org, SortUnique(repoIDs))
	return flows, repos, err
}

const repoNotFound = "Repo '%s' not found"

// RepoNotFound returns the evidence.NotFound error for a repository.
func RepoNotFound(name string) error { return evidence.Errorf(evidence.NotFound, repoNotFound, name) }

// RepoProviderQuery qualifies a repository name. It is exported because huma ignores unexported embedded types.
type RepoProviderQuery struct {
	Provider string `query:"provider" enum:"github,gitlab,bitbucket,bitbucket_cloud,bitbucket_dc,azure-devops,azure_devops_services,azure_devops_server,circleci,git,subversion" doc:"Provider of the repository. Needed when several have the name."`
}

// GetRepoInput names a repository by its name or its internal id.
type GetRepoInput struct {
	server.OrgPath
	Name string `path:"repo_name" doc:"Name of the repository; it may have slashes."`
	RepoProviderQuery
	ID string `query:"id" doc:"The internal id. With it, name and provider are ignored."`
}
