// Package audits has the operations on audits (docs/semantics.md 26).
package audits

import (
	"context"
	"errors"
	"slices"
	"time"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/app/population"
	"attestry/evidence"
	"attestry/evidence/period"
	"attestry/storage"
	"attestry/storage/logs"
)

type handlers struct {
	*resource.Base
	population *population.Reader
}

// ReleaseMemory releases what a request has reserved for reads, before it reads the next page of a population.
func ReleaseMemory(ctx context.Context) { server.RequestOf(ctx).Memory.Rewind(0) }

// Routes returns the routes of audits.
func Routes(base *resource.Base) []server.Route {
	h := &handlers{Base: base, population: population.NewReader(base.Store, base.BatchBytes)}
	h.population.Release = ReleaseMemory
	return server.Routes(map[string]server.Binder{
		"list_audits":               server.Handle(h.listAudits),
		"create_audit":              server.WithBody(h.createAudit),
		"get_audit":                 resource.Found(h.LoadPeriod, h.getAudit),
		"list_audit_population":     resource.Found(h.LoadPeriod, h.listPopulation),
		"download_audit_population": resource.Found(h.LoadPeriod, h.downloadPopulation),
		"draw_audit_sample":         resource.Found(h.LoadPeriod, h.drawSample),
		"get_audit_totals":          resource.Found(h.LoadPeriod, h.getTotals),
		"list_frameworks":           server.Handle(h.listFrameworks),
		"get_framework":             server.Handle(h.getFramework),
		"put_framework":             server.WithBody(h.putFramework),
		"assess_audit":              resource.Found(h.LoadPeriod, h.assess),
		"download_audit_assessment": resource.Found(h.LoadPeriod, h.downloadAssessment),
	})
}

// AuditPostInput is the body of create_audit.
type AuditPostInput struct {
	Name         string   `json:"name" minLength:"1" maxLength:"255" pattern:"^[a-zA-Z0-9][a-zA-Z0-9\\-_.~]*$"`
	Environments []string `json:"environments" minItems:"1" maxItems:"1000" doc:"Names; a logical environment stands for its members as of now."`
	From         string   `json:"from" doc:"ISO 8601, included; UTC unless it names a zone."`
	To           string   `json:"to" doc:"ISO 8601, not included. The audit is open until then."`
}

// Audit is a period in which environments are audited (docs/semantics.md 26.1).
type Audit struct {
	Name         string                 `json:"name"`
	Environments []string               `json:"environments" doc:"The names that they have now, or had when they were archived."`
	Archived     []string               `json:"archived_environments,omitempty" doc:"Those of these names whose environments are archived. Others may have them now."`
	From         string                 `json:"from" format:"date-time" doc:"ISO 8601 in UTC, included."`
	To           string                 `json:"to" format:"date-time" doc:"ISO 8601 in UTC, not included."`
	Open         bool                   `json:"open" doc:"Whether the period has not ended yet."`
	CreatedAt    float64                `json:"created_at" doc:"Unix seconds."`
	CreatedBy    string                 `json:"created_by"`
	Links        map[string]server.Href `json:"_links"`
}

// AuditListResponse is a page of audits, the latest start first (docs/semantics.md 1.10, style 4).
type AuditListResponse struct {
	server.PageEnvelope
	Audits []Audit `json:"audits"`
}

type listAuditsInput struct {
	server.OrgPath
	Page    int `query:"page" minimum:"1" default:"1"`
	PerPage int `query:"per_page" minimum:"1" maximum:"100" default:"15"`
}

func (h *handlers) listAudits(ctx context.Context, in *listAuditsInput) (*server.Answer[AuditListResponse], error) {
	found, total, err := h.Periods.List(ctx, server.Access(ctx).OrgID, server.OffsetOf(in.Page, in.PerPage), in.PerPage)
	if err != nil {
		return nil, err
	}
	shown, err := h.show(ctx, found)
	page := server.PageOf(ctx, h.Links, in.Page, in.PerPage, total)
	return server.Answered(AuditListResponse{PageEnvelope: page.Envelope(), Audits: shown}), err
}

// show shows periods: one command for the names of their environments.
func (h *handlers) show(ctx context.Context, periods []period.Period) ([]Audit, error) {
	ids := slices.Concat(evidence.Map(periods, func(p period.Period) []string { return p.Environments })...)
	org := server.Access(ctx)
	named, err := h.Environments.Names(ctx, org.OrgID, resource.SortUnique(ids))
	now := evidence.Seconds(h.Clock())
	return resource.Map(periods, func(p *period.Period) Audit {
		links := map[string]server.Href{"self": {Href: h.Links.AuditSelf(org.OrgName, p.Name)}, "html": {Href: h.Links.Audit(org.OrgName, p.Name)}}
		for _, part := range []string{"population", "population/csv", "totals"} {
			links[part] = server.Href{Href: h.Links.AuditSelf(org.OrgName, p.Name) + "/" + part}
		}
		name := func(id *string) string { return named[*id].Name }
		archived := slices.DeleteFunc(slices.Clone(p.Environments), func(id string) bool { return !named[id].Archived })
		return Audit{
			Name: p.Name, Environments: resource.Map(p.Environments, name), Archived: resource.Map(archived, name),
			From: evidence.ISOTime(p.From), To: evidence.ISOTime(p.To), Open: p.Open(now),
			CreatedAt: p.CreatedAt, CreatedBy: p.CreatedBy, Links: links,
		}
	}), err
}

// createAudit creates an audit, which cannot be changed later.
func (h *handlers) createAudit(ctx context.Context, _ *server.OrgPath, body *AuditPostInput) (*server.Answer[Audit], error) {
	org, now := server.Access(ctx), h.Clock()
	from, to, err := readBounds(body, now)
	if err != nil {
		return nil, err
	}
	ids, err := h.PhysicalEnvironments(ctx, body.Environments, "environments")
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, validation.Fault("environments", "The logical environments have no members", body.Environments)
	}
	fresh := period.Period{
		Org: org.OrgID, Name: body.Name, Environments: ids, From: evidence.Seconds(from), To: evidence.Seconds(to),
		CreatedAt: evidence.Seconds(now), CreatedBy: server.Principal(ctx).Name,
	}
	if err := h.Periods.Insert(ctx, fresh); errors.Is(err, storage.ErrExists) {
		return nil, evidence.Errorf(evidence.Conflict, "Audit named '%s' already exists for organization '%s'", body.Name, org.OrgName)
	} else if err != nil {
		return nil, err
	}
	return server.AnsweredOne(h.show(ctx, []period.Period{fresh}))
}

// readBounds reads the bounds of a period, which must begin before now and end after it begins.
func readBounds(body *AuditPostInput, now time.Time) (from, to time.Time, err error) {
	found := validation.Findings{}
	read := func(at, text string) time.Time {
		value, ok := evidence.ParseTime(text)
		if !ok {
			found.Add(at, "Input should be a valid ISO 8601 date and time", text)
		}
		return value
	}
	from, to = read("from", body.From), read("to", body.To)
	if len(found) == 0 && from.After(now) {
		found.Add("from", "A period cannot begin in the future", body.From)
	}
	if len(found) == 0 && !to.After(from) {
		found.Add("to", "A period cannot end before it begins", body.To)
	}
	return from, to, validation.Invalid(found)
}

// AuditResponse is an audit with the size of its population.
type AuditResponse struct {
	Audit
	Deployments int64                            `json:"deployments" doc:"How many artifacts began to run in the period. Beyond 100,000 that is 100,000."`
	LogBegin    resource.OrNull[AuditCheckpoint] `json:"log_begin" doc:"The last checkpoint of the transparency log before the period began; null if there was none."`
	LogEnd      resource.OrNull[AuditCheckpoint] `json:"log_end" doc:"The first checkpoint behind the end of the period, or the last one before if nothing was recorded since; null while the period is open."`
}

// AuditCheckpoint is a checkpoint of the transparency log.
type AuditCheckpoint struct {
	Size      int64   `json:"size" doc:"How many entries it covers."`
	Timestamp float64 `json:"timestamp" doc:"When it was signed, in Unix seconds."`
	Note      string  `json:"note" doc:"As it was signed."`
}

func (h *handlers) getAudit(ctx context.Context, _ *resource.AuditPath, p period.Period) (*server.Answer[AuditResponse], error) {
	shown, err := h.show(ctx, []period.Period{p})
	if err != nil {
		return nil, err
	}
	body := AuditResponse{Audit: shown[0]}
	if body.Deployments, err = h.Deployments.Count(ctx, population.Query(&p)); err != nil {
		return nil, err
	}
	begin, end, err := h.population.Checkpoints(ctx, &p, evidence.Seconds(h.Clock()))
	body.LogBegin.Value, body.LogEnd.Value = showCheckpoint(&begin), showCheckpoint(&end)
	return server.Answered(body), err
}

// showCheckpoint returns nil if there is no checkpoint.
func showCheckpoint(one *logs.Checkpoint) *AuditCheckpoint {
	if one.Note == "" {
		return nil
	}
	return &AuditCheckpoint{Size: one.Size, Timestamp: one.At, Note: one.Note}
}
