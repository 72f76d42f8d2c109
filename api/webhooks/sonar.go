package webhooks

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"strings"

	"attestry/api/server"
	"attestry/api/validation"
	"attestry/app/recording"
	"attestry/evidence"
	"attestry/evidence/attestation"
	"attestry/evidence/identity"
)

const (
	sonarReporter = "sonar-webhook"
	// sonarName is the default name of an attestation.
	sonarName = "sonar"
)

// The properties of a scan that say where its analysis is recorded (docs/semantics.md 19.3).
const (
	flowProperty        = "sonar.analysis.kosli_flow"
	trailProperty       = "sonar.analysis.kosli_trail"
	attestationProperty = "sonar.analysis.kosli_attestation"
	fingerprintProperty = "sonar.analysis.kosli_artifact_fingerprint"
)

type sonarInput struct {
	UID       string        `path:"hook_uid" doc:"The secret part of the address."`
	Signature string        `header:"X-Sonar-Webhook-HMAC-SHA256" doc:"HMAC-SHA256 of the body with the secret of the webhook, in hex."`
	hook      identity.Hook // set after the signature was verified
}

// SonarWebhookInput is an analysis as SonarQube sends it. Other members are stored, too.
type SonarWebhookInput struct {
	_           struct{}            `json:"-" additionalProperties:"true"`
	Revision    *string             `json:"revision,omitempty" nullable:"true" doc:"The commit that was analysed."`
	Project     SonarWebhookProject `json:"project"`
	Branch      *SonarWebhookBranch `json:"branch,omitempty"`
	QualityGate *SonarWebhookGate   `json:"qualityGate,omitempty"`
	Properties  map[string]string   `json:"properties,omitempty" nullable:"true" doc:"Those of the scan that begin with sonar.analysis."`
	raw         json.RawMessage
}

// SonarWebhookProject is the project that was analysed.
type SonarWebhookProject struct {
	_   struct{} `json:"-" additionalProperties:"true"`
	Key string   `json:"key"`
}

// SonarWebhookBranch is the branch that was analysed.
type SonarWebhookBranch struct {
	_    struct{} `json:"-" additionalProperties:"true" nullable:"true"`
	Name *string  `json:"name,omitempty" nullable:"true"`
}

// SonarWebhookGate is the quality gate of the project.
type SonarWebhookGate struct {
	_      struct{} `json:"-" additionalProperties:"true" nullable:"true"`
	Status string   `json:"status" doc:"OK, or something else."`
}

// UnmarshalJSON decodes the members of the struct and keeps the whole JSON.
func (in *SonarWebhookInput) UnmarshalJSON(data []byte) error {
	type plain SonarWebhookInput
	in.raw = bytes.Clone(data)
	return json.Unmarshal(data, (*plain)(in))
}

func (h *handlers) verifySonar(ctx context.Context, in *sonarInput, body []byte) (err error) {
	in.hook, err = h.verifyHook(ctx, identity.SonarHook, in.UID, in.Signature, body)
	return err
}

func (h *handlers) recordAnalysis(ctx context.Context, in *sonarInput, body *SonarWebhookInput) (*server.TextAnswer, error) {
	target, err := body.target(&in.hook)
	if err != nil {
		return nil, err
	}
	scope := recording.Scope{
		Org: in.hook.OrgID, OrgName: in.hook.OrgName, Flow: target.flow, Trail: target.trail,
		By: sonarReporter, At: evidence.Seconds(h.Clock()),
	}
	record := evidence.Attestation{
		ID: evidence.NewID(), Org: scope.Org, Trail: scope.Trail, Name: target.attestation, Type: evidence.TypeSonar,
		Compliant: body.QualityGate != nil && attestation.IsSonarOK(body.QualityGate.Status), Fingerprint: target.fingerprint, Targets: target.artifacts, Commit: body.commit(),
		Payload: map[string]json.RawMessage{"sonar_results": body.raw}, CreatedAt: scope.At, ReportedBy: scope.By,
	}
	record.Finding = attestation.Finding(&record, "")
	return server.OK(), h.Recorder.Attest(ctx, scope, record, nil)
}

var wholeSHA = regexp.MustCompile(`^[a-f0-9]{40}$`)

// commit returns the analysed commit, nil if the revision is not a SHA-1 of Git.
func (in *SonarWebhookInput) commit() *evidence.GitCommit {
	revision := strings.ToLower(evidence.ZeroIfNil(in.Revision))
	if !wholeSHA.MatchString(revision) {
		return nil
	}
	commit := evidence.GitCommit{SHA1: revision}
	if in.Branch != nil {
		commit.Branch = in.Branch.Name
	}
	return &commit
}

// sonarTarget names what an analysis is recorded for.
type sonarTarget struct {
	flow, trail, attestation, fingerprint string
	artifacts                             []string // names
}

// target returns what the analysis is recorded for. Names in properties must be valid; nameFrom makes the others valid.
func (in *SonarWebhookInput) target(hook *identity.Hook) (sonarTarget, error) {
	target := sonarTarget{
		flow:        cmp.Or(in.Properties[flowProperty], nameFrom(hook.FlowPrefix+in.Project.Key+hook.FlowSuffix)),
		trail:       cmp.Or(in.Properties[trailProperty], nameFrom(evidence.ZeroIfNil(in.Revision))),
		attestation: cmp.Or(in.Properties[attestationProperty], sonarName),
		fingerprint: in.Properties[fingerprintProperty],
	}
	found := validation.Findings{}
	if artifact, name, ok := strings.Cut(target.attestation, "."); ok {
		target.artifacts, target.attestation = []string{artifact}, name
		checkName(found, propertyAt(attestationProperty), attestationPattern, artifact)
	}
	checkName(found, in.memberOf(flowProperty, "project.key"), namePattern, target.flow)
	checkName(found, in.memberOf(trailProperty, "revision"), namePattern, target.trail)
	checkName(found, propertyAt(attestationProperty), attestationPattern, target.attestation)
	if target.fingerprint != "" {
		checkName(found, propertyAt(fingerprintProperty), fingerprintPattern, target.fingerprint)
	}
	return target, validation.Invalid(found)
}

// memberOf returns the member that a name comes from: the property if it is set, else the fallback.
func (in *SonarWebhookInput) memberOf(property, fallback string) string {
	if in.Properties[property] != "" {
		return propertyAt(property)
	}
	return fallback
}

func propertyAt(property string) string { return "properties." + property }
