package audits

import (
	"context"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/app/population"
	"attestry/evidence"
	"attestry/evidence/period"
)

type listPopulationInput struct {
	resource.AuditPath
	FindingQuery
	Page    int `query:"page" minimum:"1" default:"1"`
	PerPage int `query:"per_page" minimum:"1" maximum:"100" default:"25"`
}

// FindingQuery selects rows. It is exported because huma ignores unexported embedded types.
type FindingQuery struct {
	Finding string `query:"finding" enum:"release,restart,rollback,compliant,non_compliant,not_judged,not_recorded,allow_listed,broke_glass,unapproved_trails,incident,machine_account,approved,overridden,approved_late,not_approved,no_pull_request,no_provenance" doc:"Rows with this kind, verdict or approval, or that were allow_listed, broke_glass, brought unapproved_trails or had an incident. To find them, the whole period is read."`
}

// PopulationResponse is a page of an audit's population, oldest first (docs/semantics.md 1.10, style 4).
type PopulationResponse struct {
	server.PageEnvelope
	Population []population.Row `json:"population"`
}

func (h *handlers) listPopulation(ctx context.Context, in *listPopulationInput, p period.Period) (*server.Answer[PopulationResponse], error) {
	read := h.page
	if in.Finding != "" {
		read = h.pageWithFinding
	}
	rows, total, err := read(ctx, &p, in)
	page := server.PageOf(ctx, h.Links, in.Page, in.PerPage, total)
	return server.Answered(PopulationResponse{PageEnvelope: page.Envelope(), Population: append([]population.Row{}, rows...)}), err
}

// page reads a page of all rows. Each page takes the same number of commands.
func (h *handlers) page(ctx context.Context, p *period.Period, in *listPopulationInput) ([]population.Row, int64, error) {
	query := population.Query(p)
	total, err := h.Deployments.Count(ctx, query)
	if err != nil {
		return nil, 0, err
	}
	query.Offset, query.Limit = server.OffsetOf(in.Page, in.PerPage), in.PerPage
	found, err := h.Deployments.List(ctx, query)
	if err != nil {
		return nil, 0, err
	}
	rows, err := h.population.Describe(ctx, p.Org, found)
	return rows, total, err
}

// pageWithFinding reads a page of the rows with a finding. It reads all rows of the period.
func (h *handlers) pageWithFinding(ctx context.Context, p *period.Period, in *listPopulationInput) (page []population.Row, total int64, err error) {
	skip := int64(server.OffsetOf(in.Page, in.PerPage))
	err = h.population.NewSurvey(p).Each(ctx, func(row *population.Row) {
		if !row.Has(in.Finding) {
			return
		}
		if total >= skip && len(page) < in.PerPage {
			page = append(page, *row)
		}
		total++
	})
	return page, total, err
}

type downloadPopulationInput struct {
	resource.AuditPath
	FindingQuery
}

func (h *handlers) downloadPopulation(ctx context.Context, in *downloadPopulationInput, p period.Period) (*server.StreamOutput, error) {
	survey := h.population.NewSurvey(&p)
	return h.StreamCSV(ctx, p.Name+"-population.csv", population.Columns, func(ctx context.Context, after string) ([][]string, string, error) {
		return survey.Lines(ctx, in.Finding, after)
	})
}

func (h *handlers) getTotals(ctx context.Context, _ *resource.AuditPath, p period.Period) (*server.Answer[population.Totals], error) {
	totals, err := h.population.Totals(ctx, &p, evidence.Seconds(h.Clock()))
	return server.Answered(totals), err
}

type drawSampleInput struct {
	resource.AuditPath
	resource.SampleQuery
}

// drawSample draws a sample that anybody can reproduce with the same seed.
func (h *handlers) drawSample(ctx context.Context, in *drawSampleInput, p period.Period) (*server.Answer[population.Sample], error) {
	draw, err := in.Draw()
	if err != nil {
		return nil, err
	}
	sample, err := h.population.Draw(ctx, &p, draw)
	return server.Answered(sample), err
}
