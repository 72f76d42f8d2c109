package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// EnvironmentType is the kind of runtime of an environment, as the API writes it (docs/semantics.md 9.1).
type EnvironmentType string

// The environment types. A logical environment unites physical ones and is never reported to.
const (
	K8S         EnvironmentType = "K8S"
	ECS         EnvironmentType = "ECS"
	S3          EnvironmentType = "S3"
	Lambda      EnvironmentType = "lambda"
	Server      EnvironmentType = "server"
	Docker      EnvironmentType = "docker"
	AzureApps   EnvironmentType = "azure-apps"
	CloudRun    EnvironmentType = "cloud-run"
	LogicalType EnvironmentType = "logical"
)

// Environment is the configuration of an environment. The state that reports change is in its snapshot.Head.
type Environment struct {
	ID          string          `json:"id"`
	Org         string          `json:"org"`
	Name        string          `json:"name"`
	Type        EnvironmentType `json:"type"`
	Description string          `json:"description"`
	// IncludeScaling and RequireProvenance are stored as sent and have no effect (docs/semantics.md 9.1).
	IncludeScaling    bool `json:"include_scaling"`
	RequireProvenance bool `json:"require_provenance"`
	// Included are the ids of the members of a logical environment as they were given, in order and with repetitions.
	Included []string `json:"included,omitempty"`
	// Policies are the names of the attached policies, in the order in which they were attached.
	Policies []string `json:"policies,omitempty"`
	// Admission is nil until it is set.
	Admission *AdmissionSettings `json:"admission,omitempty"`
	// Active are those of Included that are not archived, each once, if they were read.
	Active []string          `json:"-"`
	Tags   map[string]string `json:"tags,omitempty"`
	// Archived environments are not listed and accept no reports. Another environment may have taken the name.
	Archived       bool    `json:"archived,omitempty"`
	ArchivedAt     float64 `json:"archived_at,omitempty"` // Unix seconds
	CreatedAt      float64 `json:"created_at"`
	CreatedBy      string  `json:"created_by"`
	LastModifiedAt float64 `json:"last_modified_at"`
	// Former are the newest maxFormer names that it had, also those that other environments have taken since. Earlier
	// versions kept none.
	Former []string `json:"former_names,omitempty"`
}

// Logical reports whether the environment unites others.
func (e *Environment) Logical() bool { return e.Type == LogicalType }

// maxFormer bounds the names that are kept of an environment, which is read for most requests.
const maxFormer = 100

// Rename renames an environment at a moment in Unix seconds.
func (e *Environment) Rename(name string, at float64) {
	if !slices.Contains(e.Former, e.Name) {
		e.Former = append(e.Former, e.Name)
		e.Former = e.Former[max(0, len(e.Former)-maxFormer):]
	}
	e.Name, e.LastModifiedAt = name, max(e.LastModifiedAt, at)
}

// Names are the names that the environment had and has.
func (e *Environment) Names() []string { return append(slices.Clone(e.Former), e.Name) }

// Archive takes an environment out of use at a moment in Unix seconds. Archiving it again changes nothing.
func (e *Environment) Archive(at float64) {
	if e.Archived {
		return
	}
	e.Archived, e.ArchivedAt = true, at
	e.LastModifiedAt = max(e.LastModifiedAt, at)
}

// MaxMembers bounds the members of a logical environment, so that they are read with one command.
const MaxMembers = 1000

// Join adds a member, by id, to a logical environment, and reports whether it was new. Beyond MaxMembers it is Invalid.
func (e *Environment) Join(member string) (bool, error) {
	if slices.Contains(e.Included, member) {
		return false, nil
	}
	if len(e.Included) >= MaxMembers {
		return false, FieldError("physical_env_name", "A logical environment should have at most %d members", MaxMembers)
	}
	e.Included = append(e.Included, member)
	return true, nil
}

// FollowMembers replaces members of a logical environment by their successors, by id. A member that becomes equal to
// another one is removed, but repetitions of one member are kept.
func (e *Environment) FollowMembers(successors map[string]string) {
	former := map[string]string{} // the member that is kept for an id
	followed := make([]string, 0, len(e.Included))
	for _, id := range e.Included {
		next := cmp.Or(successors[id], id)
		if former[next] = cmp.Or(former[next], id); former[next] == id {
			followed = append(followed, next)
		}
	}
	e.Included = followed
}

// UnitedState is the state of a logical environment by those of its members: false if one is false, else unknown if one
// is unknown or there are none (docs/semantics.md 12.3).
func UnitedState(states []*bool) *bool {
	unknown := len(states) == 0
	for _, state := range states {
		switch {
		case state == nil:
			unknown = true
		case !*state:
			return new(false)
		}
	}
	if unknown {
		return nil
	}
	return new(true)
}

// MaxPolicies bounds the policies of an environment: snapshots store a decision of each policy on each artifact.
const MaxPolicies = 100

// AttachPolicies attaches policies by name, and reports whether one is new. More than MaxPolicies are Invalid.
func (e *Environment) AttachPolicies(names []string) (changed bool, err error) {
	policies := Distinct(slices.Concat(e.Policies, names))
	if len(policies) > MaxPolicies {
		return false, Errorf(Invalid, "Environment '%s' can have at most %d policies", e.Name, MaxPolicies)
	}
	changed = len(policies) > len(e.Policies)
	e.Policies = policies
	return changed, nil
}

// DetachPolicies detaches policies, by name, and reports whether one of them was attached.
func (e *Environment) DetachPolicies(names []string) (changed bool) {
	before := len(e.Policies)
	e.Policies = slices.DeleteFunc(slices.Clone(e.Policies), func(name string) bool { return slices.Contains(names, name) })
	return len(e.Policies) < before
}

// EnvironmentChange is a write to an environment; nil members were not sent.
type EnvironmentChange struct {
	Description       *string
	IncludeScaling    *bool
	RequireProvenance *bool
	Included          *[]string // ids
	Policies          *[]string // distinct names
}

// Apply sets the members that were sent and reports whether anything changed.
func (e *Environment) Apply(change EnvironmentChange) bool {
	before := *e
	Assign(&e.Description, change.Description)
	Assign(&e.IncludeScaling, change.IncludeScaling)
	Assign(&e.RequireProvenance, change.RequireProvenance)
	Assign(&e.Included, change.Included)
	sorted := func(names []string) []string { return slices.Sorted(slices.Values(names)) }
	// Another order of the same policies changes nothing.
	if change.Policies != nil && !slices.Equal(sorted(*change.Policies), sorted(e.Policies)) {
		e.Policies = *change.Policies
	}
	return before.Description != e.Description ||
		before.IncludeScaling != e.IncludeScaling ||
		before.RequireProvenance != e.RequireProvenance ||
		!slices.Equal(before.Included, e.Included) ||
		!slices.Equal(before.Policies, e.Policies)
}

// AdmissionMode is the mode of an environment's admission control (docs/semantics.md 25.1).
type AdmissionMode string

// The modes.
const (
	AdmissionOff  AdmissionMode = "off"
	AdmissionWarn AdmissionMode = "warn"
	AdmissionDeny AdmissionMode = "deny"
)

// AdmissionRule is the answer for an image or a request that the policies do not evaluate.
type AdmissionRule string

// The rules. Resolve is for images with a tag and no digest, Policies for artifacts without provenance.
const (
	RuleAdmit    AdmissionRule = "admit"
	RuleWarn     AdmissionRule = "warn"
	RuleDeny     AdmissionRule = "deny"
	RuleResolve  AdmissionRule = "resolve"
	RulePolicies AdmissionRule = "policies"
)

// AdmissionSettings are the settings of an environment's admission control.
type AdmissionSettings struct {
	Mode AdmissionMode `json:"mode"`
	// Tags is for images without a digest: RuleDeny, RuleWarn or RuleResolve.
	Tags AdmissionRule `json:"tags"`
	// UnknownArtifacts is for artifacts without provenance: RulePolicies, RuleDeny, RuleWarn or RuleAdmit.
	UnknownArtifacts AdmissionRule `json:"unknown_artifacts"`
	// Failure is for reviews that cannot be read: RuleDeny or RuleAdmit.
	Failure AdmissionRule `json:"failure"`
	// ExemptNamespaces are the namespaces whose workloads are always admitted.
	ExemptNamespaces []string `json:"exempt_namespaces"`
	// BreakGlass is the key of a label or annotation, "" for none. Its value is the reason to override the verdict.
	BreakGlass string `json:"break_glass"`
}

// DefaultAdmission are the settings of an environment without its own: everything is admitted.
func DefaultAdmission() AdmissionSettings {
	return AdmissionSettings{
		Mode: AdmissionOff, Tags: RuleDeny, UnknownArtifacts: RulePolicies, Failure: RuleDeny, ExemptNamespaces: []string{"kube-system"},
	}
}

// AdmissionOf are the environment's settings, or the default ones.
func (e *Environment) AdmissionOf() AdmissionSettings {
	if e.Admission == nil {
		return DefaultAdmission()
	}
	return *e.Admission
}

// Changes describes the changes to other settings for the audit log, "" if there are none.
func (s *AdmissionSettings) Changes(to *AdmissionSettings) string {
	var changes []string
	note := func(name, from, to string) {
		if from != to {
			changes = append(changes, fmt.Sprintf("%s %s to %s", name, cmp.Or(from, "none"), cmp.Or(to, "none")))
		}
	}
	note("mode", string(s.Mode), string(to.Mode))
	note("tags", string(s.Tags), string(to.Tags))
	note("unknown_artifacts", string(s.UnknownArtifacts), string(to.UnknownArtifacts))
	note("failure", string(s.Failure), string(to.Failure))
	note("exempt_namespaces", strings.Join(s.ExemptNamespaces, ","), strings.Join(to.ExemptNamespaces, ","))
	note("break_glass", s.BreakGlass, to.BreakGlass)
	return strings.Join(changes, ", ")
}

// Allowance permits one artifact in one environment (docs/semantics.md 9.5).
type Allowance struct {
	ID          string `json:"id"`
	Org         string `json:"org"`
	Environment string `json:"environment"` // id
	Fingerprint string `json:"fingerprint"`
	// ArtifactName and Description are as sent. Description is the reason.
	ArtifactName string `json:"artifact_name"`
	Description  string `json:"description"`
	// UserID and UserName are who permitted it last, At is when, in Unix seconds.
	UserID   string  `json:"user_id"`
	UserName string  `json:"user_name"`
	At       float64 `json:"at"`
	// ExpiresAt is when the permission ends, in Unix seconds, 0 for never. Lapsed is set once the environment has been
	// evaluated again after it ended.
	ExpiresAt float64 `json:"expires_at,omitempty"`
	Lapsed    bool    `json:"lapsed,omitempty"`
}

// InForceAt returns a function that reports whether an allowance is in force at a time in Unix seconds, and not lapsed.
func InForceAt(at float64) func(*Allowance) bool {
	return func(a *Allowance) bool { return !a.Lapsed && (a.ExpiresAt == 0 || at < a.ExpiresAt) }
}

// Repeat applies a later request for the same artifact. The time never decreases.
func (a *Allowance) Repeat(later Allowance) {
	later.ID, later.At = a.ID, TimeAfter(a.At, later.At)
	*a = later
}
