package admission

import (
	"cmp"
	"context"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
	"attestry/storage/environments"
)

// AdmissionSettings are an environment's settings of admission control (docs/semantics.md 25.1).
type AdmissionSettings struct {
	Mode             evidence.AdmissionMode `json:"mode" enum:"off,warn,deny" doc:"Whether what is not right is admitted, admitted with a warning or denied."`
	Tags             evidence.AdmissionRule `json:"tags,omitempty" enum:"deny,warn,resolve" default:"deny" doc:"For images without a digest. To resolve takes the newest artifact that was reported under the name and tag."`
	UnknownArtifacts evidence.AdmissionRule `json:"unknown_artifacts,omitempty" enum:"policies,deny,warn,admit" default:"policies" doc:"For artifacts that no flow knows. Policies decide about them if they ask for provenance; without a policy they are denied."`
	Failure          evidence.AdmissionRule `json:"failure,omitempty" enum:"deny,admit" default:"deny" doc:"For reviews that cannot be read."`
	ExemptNamespaces []string               `json:"exempt_namespaces,omitzero" maxItems:"100" doc:"Namespaces that are not judged; kube-system if left out."`
	BreakGlass       string                 `json:"break_glass,omitempty" maxLength:"317" doc:"Key of a label or annotation whose value is the reason to admit a workload whatever the verdict is. Left out for none."`
}

func (h *handlers) getSettings(_ context.Context, _ *resource.EnvironmentPath, environment evidence.Environment) (*server.Answer[AdmissionSettings], error) {
	return server.Answered(showSettings(environment.AdmissionOf())), nil
}

// showSettings keeps an empty list of namespaces, as a PUT without the list restores the default.
func showSettings(s evidence.AdmissionSettings) AdmissionSettings {
	s.ExemptNamespaces = append([]string{}, s.ExemptNamespaces...)
	return AdmissionSettings(s)
}

// putSettings replaces the settings, in one batch with the change's entry in the audit log.
func (h *handlers) putSettings(ctx context.Context, in *resource.EnvironmentPath, ref environments.EnvironmentRef, body *AdmissionSettings) (*server.Answer[AdmissionSettings], error) {
	if ref.Type != evidence.K8S {
		return nil, validation.Fault("env_name", "Only environments of the type K8S have admission settings", in.Environment)
	}
	next := body.evidence()
	err := h.Tenancy.Record(ctx, server.Access(ctx).OrgName, identity.ActorOf(server.Principal(ctx), server.Access(ctx).Role), identity.AuditEnvironment, func(_ *evidence.Organization, batch *storage.Batch) (string, error) {
		return h.Environments.SetAdmissionIn(ctx, batch, ref.ID, next, evidence.Seconds(h.Clock()))
	})
	return server.Answered(showSettings(next)), resource.EnvironmentNotFound(ctx, in.Environment, err)
}

func (s *AdmissionSettings) evidence() evidence.AdmissionSettings {
	settings, defaults := evidence.AdmissionSettings(*s), evidence.DefaultAdmission()
	settings.Tags = cmp.Or(settings.Tags, defaults.Tags)
	settings.UnknownArtifacts = cmp.Or(settings.UnknownArtifacts, defaults.UnknownArtifacts)
	settings.Failure = cmp.Or(settings.Failure, defaults.Failure)
	if settings.ExemptNamespaces = evidence.Distinct(s.ExemptNamespaces); s.ExemptNamespaces == nil {
		settings.ExemptNamespaces = defaults.ExemptNamespaces
	}
	return settings
}
