package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// EnvironmentType is the kind of runtime of an environment, spelled as in the contract (docs/semantics.md 9.1).
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

// Environment is the configuration of an environment. What reports change is in its Head.
type Environment struct {
	ID          string          `json:"id"`
	Org         string          `json:"org"`
	Name        string          `json:"name"`
	Type        EnvironmentType `json:"type"`
	Description string          `json:"description"`
	// IncludeScaling and RequireProvenance are kept as sent and change nothing (docs/semantics.md 9.1).
	IncludeScaling    bool `json:"include_scaling"`
	RequireProvenance bool `json:"require_provenance"`
	// Included holds the ids of the members of a logical environment, in the order they were given.
	Included []string `json:"included,omitempty"`
	// Policies are the names of the attached policies, in the order in which they were attached.
	Policies []string `json:"policies,omitempty"`
	// Admission is nil if nobody has set it.
	Admission *AdmissionSettings `json:"admission,omitempty"`
	// Active holds those of Included that are not archived, if they were read.
	Active []string          `json:"-"`
	Tags   map[string]string `json:"tags,omitempty"`
	// Archived environments leave the lists and take no reports. Another environment may have taken their name.
	Archived       bool    `json:"archived,omitempty"`
	ArchivedAt     float64 `json:"archived_at,omitempty"` // Unix seconds
	CreatedAt      float64 `json:"created_at"`
	CreatedBy      string  `json:"created_by"`
	LastModifiedAt float64 `json:"last_modified_at"`
}

// Logical reports whether the environment unites others.
func (e *Environment) Logical() bool { return e.Type == LogicalType }

// Archive takes an environment out of use at a moment in Unix seconds. Archiving it again changes nothing.
func (e *Environment) Archive(at float64) {
	if e.Archived {
		return
	}
	e.Archived, e.ArchivedAt = true, at
	e.LastModifiedAt = max(e.LastModifiedAt, at)
}

// MaxMembers is how many environments a logical one includes at most, so that they are looked up with one command.
const MaxMembers = 1000

// Join adds a member, by id, to a logical environment, unless it is one. Beyond MaxMembers it is Invalid.
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

// FollowMembers replaces members of a logical environment by their successors, both by id. None is there twice then.
func (e *Environment) FollowMembers(successors map[string]string) {
	var members []string
	for _, id := range e.Included {
		if successor, ok := successors[id]; ok {
			id = successor
		}
		if !slices.Contains(members, id) {
			members = append(members, id)
		}
	}
	e.Included = members
}

// UnitedState is the state of a logical environment whose members have the given ones: false when any is false, unknown
// when any is unknown or there are none (docs/semantics.md 12.3).
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

// MaxPolicies is how many policies an environment has at most: snapshots keep what each of them says of each artifact.
const MaxPolicies = 100

// AttachPolicies attaches policies by name, and reports whether one is new. More than MaxPolicies are Invalid.
func (e *Environment) AttachPolicies(names []string) (changed bool, err error) {
	policies := slices.Clone(e.Policies)
	for _, name := range names {
		if !slices.Contains(policies, name) {
			policies = append(policies, name)
		}
	}
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
	// Included holds ids.
	Included *[]string
	// Policies holds names, each once.
	Policies *[]string
}

// Apply changes what was sent and reports whether that changed anything.
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

// AdmissionMode says whether an environment keeps what it must not run from starting (docs/semantics.md 25.1).
type AdmissionMode string

// The modes.
const (
	AdmissionOff  AdmissionMode = "off"
	AdmissionWarn AdmissionMode = "warn"
	AdmissionDeny AdmissionMode = "deny"
)

// AdmissionRule says what becomes of an image, or of a request, that is not judged by the policies.
type AdmissionRule string

// The rules. Resolve is for images that have a tag alone, Policies for artifacts that no flow knows.
const (
	RuleAdmit    AdmissionRule = "admit"
	RuleWarn     AdmissionRule = "warn"
	RuleDeny     AdmissionRule = "deny"
	RuleResolve  AdmissionRule = "resolve"
	RulePolicies AdmissionRule = "policies"
)

// AdmissionSettings say how an environment answers clusters that ask before they start something.
type AdmissionSettings struct {
	Mode AdmissionMode `json:"mode"`
	// Tags is for images without a digest: RuleDeny, RuleWarn or RuleResolve.
	Tags AdmissionRule `json:"tags"`
	// UnknownArtifacts is for artifacts that no flow knows: RulePolicies, RuleDeny, RuleWarn or RuleAdmit.
	UnknownArtifacts AdmissionRule `json:"unknown_artifacts"`
	// Failure is for reviews that cannot be read: RuleDeny or RuleAdmit.
	Failure AdmissionRule `json:"failure"`
	// ExemptNamespaces are not judged.
	ExemptNamespaces []string `json:"exempt_namespaces"`
	// BreakGlass is the key of a label or annotation whose value is the reason to admit whatever the verdict is; "" for none.
	BreakGlass string `json:"break_glass"`
}

// DefaultAdmission is that of an environment that nobody has set: clusters are told that all is admitted.
func DefaultAdmission() AdmissionSettings {
	return AdmissionSettings{
		Mode: AdmissionOff, Tags: RuleDeny, UnknownArtifacts: RulePolicies, Failure: RuleDeny, ExemptNamespaces: []string{"kube-system"},
	}
}

// AdmissionOf are the settings of an environment.
func (e *Environment) AdmissionOf() AdmissionSettings {
	if e.Admission == nil {
		return DefaultAdmission()
	}
	return *e.Admission
}

// Changes says for the audit log what other settings change, "" if nothing.
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
	// ArtifactName and Description are as sent; the latter says why.
	ArtifactName string `json:"artifact_name"`
	Description  string `json:"description"`
	// UserID and UserName tell who permitted it last, At when, in Unix seconds.
	UserID   string  `json:"user_id"`
	UserName string  `json:"user_name"`
	At       float64 `json:"at"`
	// ExpiresAt is when the permission ends, in Unix seconds, 0 for never. Lapsed is set once the environment has been
	// evaluated without it.
	ExpiresAt float64 `json:"expires_at,omitempty"`
	Lapsed    bool    `json:"lapsed,omitempty"`
}

// InForce reports whether the artifact is permitted at a time in Unix seconds.
func (a *Allowance) InForce(at float64) bool { return a.ExpiresAt == 0 || at < a.ExpiresAt }

// Repeat takes over what a later request says. Its time never goes back.
func (a *Allowance) Repeat(later Allowance) {
	later.ID, later.At = a.ID, TimeAfter(a.At, later.At)
	*a = later
}
