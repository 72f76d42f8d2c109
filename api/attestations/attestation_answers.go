package attestations

import (
	"context"
	"encoding/json"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/attestation"
)

// Attestation is an attestation in answers (docs/semantics.md 6.6), without unset members and those of other types.
type Attestation struct {
	SchemaVersion       int                                       `json:"schema_version"`
	AttestationType     string                                    `json:"attestation_type"`
	AttestationName     string                                    `json:"attestation_name"`
	AttestationID       string                                    `json:"attestation_id"`
	IsCompliant         bool                                      `json:"is_compliant"`
	CreatedAt           float64                                   `json:"created_at" doc:"Unix seconds."`
	ReportedBy          string                                    `json:"reported_by"`
	FlowName            string                                    `json:"flow_name"`
	TrailName           string                                    `json:"trail_name"`
	ArtifactFingerprint string                                    `json:"artifact_fingerprint,omitempty"`
	TargetArtifacts     []string                                  `json:"target_artifacts,omitempty"`
	GitCommitInfo       *resource.GitCommitInfo                   `json:"git_commit_info,omitempty"`
	OriginURL           *string                                   `json:"origin_url,omitempty"`
	Description         *string                                   `json:"description,omitempty"`
	ExternalURLs        map[string]resource.ExternalAttachmentUrl `json:"external_urls,omitempty"`
	Annotations         map[string]string                         `json:"annotations,omitempty"`
	Finding             string                                    `json:"finding,omitempty" doc:"Why the verdict is what it is: what failed, or who overrode it."`
	UserData            json.RawMessage                           `json:"user_data"`
	ArchivePath         *string                                   `json:"evidence_archive_path" nullable:"true"`
	ArchiveFingerprint  *string                                   `json:"evidence_archive_fingerprint" nullable:"true" doc:"SHA-256 of the file that is attached."`
	HasAuditPackage     bool                                      `json:"has_audit_package" doc:"Whether a package can be fetched: always true."`
	HTMLURL             string                                    `json:"html_url"`
	Links               AttestationLinks                          `json:"_links"`
	AttestationPayload
	AttestationOverride
}

// AttestationLinks are the addresses of an attestation in the API.
type AttestationLinks struct {
	Self     server.Href  `json:"self"`
	Evidence *server.Href `json:"evidence,omitempty" doc:"Only when a file is attached."`
}

// AttestationOverride holds the members that only an override has.
type AttestationOverride struct {
	Reason                  *string                  `json:"reason,omitempty"`
	OriginalAttestationType string                   `json:"original_attestation_type,omitempty"`
	OverriddenAttestationID *resource.OrNull[string] `json:"overridden_attestation_id,omitempty" doc:"Id of what was overridden, or null where that was missing."`
}

// customAttestationVersion is the schema_version of attestations of custom types.
const customAttestationVersion = 1

// archiveName is the name that clients expect for an attached file of any type.
const archiveName = "evidence.tgz"

// showAttestations shows attestations with the current names of their flows.
func (h *handlers) showAttestations(ctx context.Context, attestations []evidence.Attestation) ([]Attestation, error) {
	org := server.Access(ctx)
	flows, err := h.Flows.Names(ctx, org.OrgID, resource.UniqueOf(attestations, func(a *evidence.Attestation) string { return a.Flow }))
	if err != nil {
		return nil, err
	}
	return resource.Map(attestations, func(a *evidence.Attestation) Attestation {
		return h.showAttestation(org, flows[a.Flow].Name, a)
	}), nil
}

func (h *handlers) showAttestation(org evidence.OrgAccess, flow string, a *evidence.Attestation) Attestation {
	shown := Attestation{
		SchemaVersion:       customAttestationVersion,
		AttestationType:     a.Type,
		AttestationName:     a.Name,
		AttestationID:       a.ID,
		IsCompliant:         a.Compliant,
		CreatedAt:           a.CreatedAt,
		ReportedBy:          a.ReportedBy,
		HasAuditPackage:     true,
		FlowName:            flow,
		TrailName:           a.Trail,
		ArtifactFingerprint: a.Fingerprint,
		TargetArtifacts:     a.Targets,
		GitCommitInfo:       resource.NewGitCommitInfo(a.Commit),
		OriginURL:           a.OriginURL,
		Description:         a.Description,
		ExternalURLs:        resource.ShowURLs(a.ExternalURLs),
		Annotations:         a.Annotations,
		Finding:             a.Finding,
		UserData:            resource.ObjectIfNil(a.UserData),
		HTMLURL:             h.Links.Attestation(org.OrgName, flow, a.Trail, a.ID),
		Links:               AttestationLinks{Self: server.Href{Href: h.Links.AttestationSelf(org.OrgName, flow, a.Trail, a.Name)}},
		AttestationPayload:  showPayload(a),
	}
	if builtIn, ok := attestation.TypeOf(a.Type); ok {
		shown.SchemaVersion = builtIn.AnswerVersion
	}
	if a.Evidence != nil {
		shown.ArchivePath, shown.ArchiveFingerprint = new(archivePath(a)), &a.Evidence.SHA256
		shown.Links.Evidence = &server.Href{Href: h.Links.Evidence(org.OrgName, flow, a.Trail, a.ID)}
	}
	if a.Override != nil {
		shown.AttestationOverride = AttestationOverride{
			Reason: &a.Override.Reason, OriginalAttestationType: a.Type, OverriddenAttestationID: &resource.OrNull[string]{Value: resource.NilIfEmpty(a.Override.Original)},
		}
	}
	return shown
}

// jsonOrNull encodes a text or a number as JSON, null if it is empty or zero.
func jsonOrNull[T string | int](value T) json.RawMessage {
	var zero T
	if value == zero {
		return json.RawMessage("null")
	}
	encoded, _ := json.Marshal(value) // it cannot fail for strings and integers
	return encoded
}

func archivePath(a *evidence.Attestation) string {
	kind := "artifact_attestation"
	if a.OfTrail() {
		kind = "trail_attestation"
	}
	return a.Org + "/" + kind + "/" + a.ID + "/" + archiveName
}
