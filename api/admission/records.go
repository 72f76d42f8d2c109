package admission

import (
	"context"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence/admission"
	"attestry/storage/environments"
)

type listRecordsInput struct {
	resource.EnvironmentPath
	Page    int `query:"page" minimum:"1" default:"1"`
	PerPage int `query:"per_page" minimum:"1" maximum:"100" default:"15"`
}

// AdmissionRecord is a workload that was denied, warned about, or admitted by break glass (docs/semantics.md 25.4).
type AdmissionRecord struct {
	ID        string         `json:"id"`
	Outcome   string         `json:"outcome" enum:"denied,warned,break_glass"`
	Kind      string         `json:"kind" doc:"Kind of the object, such as Pod."`
	Namespace string         `json:"namespace"`
	Name      string         `json:"name" doc:"Name of the object, or what the names of its pods begin with."`
	User      *string        `json:"user" nullable:"true" doc:"Who asked the cluster, as the cluster names them."`
	Images    []RefusedImage `json:"images"`
	Others    int            `json:"others,omitempty" doc:"How many more images were refused."`
	Reason    *string        `json:"reason" nullable:"true" doc:"Why it was to be admitted, of break_glass."`
	FirstAt   float64        `json:"first_at" doc:"Unix seconds."`
	LastAt    float64        `json:"last_at" doc:"Unix seconds."`
	Count     int64          `json:"count" doc:"How often the same was asked between these times, within a minute."`
}

// RefusedImage is an image that failed, with the reason.
type RefusedImage struct {
	Image       string  `json:"image"`
	Fingerprint *string `json:"fingerprint" nullable:"true"`
	Reason      string  `json:"reason"`
	Denied      bool    `json:"denied" doc:"Whether it is denied where the mode is deny."`
}

// AdmissionRecordPage is a page of records, newest first (docs/semantics.md 1.10, style 4).
type AdmissionRecordPage struct {
	server.PageEnvelope
	Admissions []AdmissionRecord `json:"admissions"`
}

func (h *handlers) listRecords(ctx context.Context, in *listRecordsInput, ref environments.EnvironmentRef) (*server.Answer[AdmissionRecordPage], error) {
	records, total, err := h.Admissions.List(ctx, ref.ID, h.Clock(), server.OffsetOf(in.Page, in.PerPage), in.PerPage)
	return server.Answered(AdmissionRecordPage{
		PageEnvelope: server.PageOf(ctx, h.Links, in.Page, in.PerPage, total).Envelope(), Admissions: resource.Map(records, showRecord),
	}), err
}

func showRecord(r *admission.Record) AdmissionRecord {
	return AdmissionRecord{
		ID: r.ID, Outcome: string(r.Outcome), Kind: r.Kind, Namespace: r.Namespace, Name: r.Name,
		User: resource.NilIfEmpty(r.User), Reason: resource.NilIfEmpty(r.Reason), Others: r.Others,
		FirstAt: r.FirstAt, LastAt: r.LastAt, Count: r.Count,
		Images: resource.Map(r.Refusals, func(refusal *admission.Refusal) RefusedImage {
			return RefusedImage{
				Image: refusal.Image, Fingerprint: resource.NilIfEmpty(refusal.Fingerprint), Reason: refusal.Reason, Denied: refusal.Denied,
			}
		}),
	}
}
