package audits

import (
	"context"
	"strconv"
	"strings"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/app/population"
	"attestry/evidence"
	"attestry/evidence/period"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/environments"
)

type listPopulationInput struct {
	AuditPath
	FindingQuery
	Page    int `query:"page" minimum:"1" default:"1"`
	PerPage int `query:"per_page" minimum:"1" maximum:"100" default:"25"`
}

// FindingQuery selects rows. It is exported because huma passes over embedded types that are not.
type FindingQuery struct {
	Finding string `query:"finding" enum:"release,restart,rollback,compliant,non_compliant,not_judged,not_recorded,allow_listed,broke_glass,machine_account,approved,overridden,approved_late,not_approved,no_pull_request,no_provenance" doc:"Rows with this kind, verdict or approval, or that were allow_listed or broke_glass. To find them, the whole period is read."`
}

// PopulationResponse is a page of what was deployed, oldest first (docs/semantics.md 1.10, style 4).
type PopulationResponse struct {
	server.PageEnvelope
	Population []population.Row `json:"population"`
}

// listPopulation lists what was deployed in a period.
func (h *handlers) listPopulation(ctx context.Context, in *listPopulationInput, p period.Period) (*server.Answer[PopulationResponse], error) {
	read := h.page
	if in.Finding != "" {
		read = h.selected
	}
	rows, total, err := read(ctx, &p, in)
	page := server.PageOf(ctx, h.Links, in.Page, in.PerPage, total)
	return server.Answered(PopulationResponse{PageEnvelope: page.Envelope(), Population: append([]population.Row{}, rows...)}), err
}

// page reads a page of all rows, in as many commands for the first page as for others.
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

// selected reads a page of the rows with a finding, and so all rows.
func (h *handlers) selected(ctx context.Context, p *period.Period, in *listPopulationInput) (page []population.Row, total int64, err error) {
	skip := int64(server.OffsetOf(in.Page, in.PerPage))
	err = h.each(ctx, p, func(row *population.Row) {
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

// each calls yield for all rows.
func (h *handlers) each(ctx context.Context, p *period.Period, yield func(*population.Row)) error {
	return eachPage(ctx, yield, func(after string) ([]population.Row, string, error) {
		return h.population.Walk(ctx, p, after, h.BatchBytes)
	})
}

// eachPage calls yield for all that a list has. It holds one page at a time.
func eachPage[T any](ctx context.Context, yield func(*T), read func(after string) ([]T, string, error)) error {
	for after, more := "", true; more; more = after != "" {
		server.RequestOf(ctx).Memory.Rewind(0)
		found, next, err := read(after)
		if err != nil {
			return err
		}
		for i := range found {
			yield(&found[i])
		}
		after = next
	}
	return nil
}

// columns are those of the population as CSV: the members of a row, with the time as people read it too.
var columns = []string{
	"id", "deployed_at", "deployed_at_utc", "env_name", "snapshot_index", "fingerprint", "artifact_name", "kind", "flow_name", "trail_name",
	"git_commit", "author", "lead_time_seconds", "verdict", "reasons", "allow_listed", "broke_glass", "broke_glass_reason", "approval",
	"approvers", "approval_lack",
}

type downloadPopulationInput struct {
	AuditPath
	FindingQuery
}

// downloadPopulation sends what was deployed in a period, oldest first, as CSV.
func (h *handlers) downloadPopulation(ctx context.Context, in *downloadPopulationInput, p period.Period) (*server.StreamOutput, error) {
	return h.StreamCSV(ctx, p.Name+"-population.csv", columns, func(ctx context.Context, after string) ([][]string, string, error) {
		rows, next, err := h.population.Walk(ctx, &p, after, h.BatchBytes)
		lines := make([][]string, 0, len(rows))
		for i := range rows {
			if rows[i].Has(in.Finding) {
				lines = append(lines, lineOf(&rows[i]))
			}
		}
		return lines, next, err
	})
}

func lineOf(row *population.Row) []string {
	lead := ""
	if row.LeadTime != nil {
		lead = seconds(*row.LeadTime)
	}
	return []string{
		row.ID, seconds(row.DeployedAt), resource.ZeroIfNil(resource.ISOTime(row.DeployedAt)), row.Environment, strconv.FormatInt(row.Snapshot, 10),
		row.Fingerprint, row.Artifact, string(row.Kind), row.Flow, row.Trail, row.Commit, row.Author, lead, row.Verdict,
		strings.Join(row.Reasons, "; "), strconv.FormatBool(row.AllowListed), strconv.FormatBool(row.BrokeGlass), row.GlassReason,
		string(row.Approval), strings.Join(row.Approvers, " "), row.ApprovalLack,
	}
}

func seconds(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }

// getTotals counts what happened in a period.
func (h *handlers) getTotals(ctx context.Context, _ *AuditPath, p period.Period) (*server.Answer[population.Totals], error) {
	var totals population.Totals
	if err := h.each(ctx, &p, totals.Add); err != nil {
		return nil, err
	}
	for _, id := range p.Environments {
		bounds := environments.EventRange{Environment: id, From: p.From, To: p.Last()}
		if err := eachPage(ctx, totals.AddEvent, func(after string) ([]snapshot.Event, string, error) {
			return h.Events.Walk(ctx, bounds, after, h.BatchBytes)
		}); err != nil {
			return nil, err
		}
	}
	totals.Sum(&p, evidence.Seconds(h.Clock()))
	return server.Answered(totals), nil
}

type drawSampleInput struct {
	AuditPath
	Seed      string `query:"seed" maxLength:"1000" doc:"Any text, which the auditor chooses."`
	Size      int    `query:"size" minimum:"1" maximum:"1000" doc:"How many rows."`
	Frequency string `query:"frequency" enum:"yearly,quarterly,monthly,weekly,daily,many_daily" doc:"The usual size for what happens so often, instead of a size: 1, 2, 2, 5, 25 or 40."`
	By        string `query:"by" enum:"environment" doc:"Draws so many rows of each environment, all where there are fewer."`
}

// SampleResponse is a sample of a population (docs/semantics.md 26.4).
type SampleResponse struct {
	Seed       string          `json:"seed"`
	Size       int             `json:"size" doc:"As was asked for."`
	Population int             `json:"population" doc:"How many rows it was drawn from."`
	Strata     []SampleStratum `json:"strata" doc:"The environments, if it was drawn by them."`
	Sample     []SampledRow    `json:"sample" doc:"By rank, and by environment before that if it was drawn by environments."`
}

// SampleStratum is how much was drawn of an environment.
type SampleStratum struct {
	Environment string `json:"env_name"`
	Population  int    `json:"population"`
	Drawn       int    `json:"drawn"`
}

// SampledRow is a row of a sample.
type SampledRow struct {
	Rank string `json:"rank" doc:"SHA-256 of the seed, a line feed and the id. The smallest were drawn."`
	population.Row
}

// drawSample draws a sample that anybody can draw again.
func (h *handlers) drawSample(ctx context.Context, in *drawSampleInput, p period.Period) (*server.Answer[SampleResponse], error) {
	size := in.Size
	if in.Frequency != "" {
		size = period.SizeFor(in.Frequency)
	}
	if (in.Size == 0) == (in.Frequency == "") {
		return nil, validation.Fault("query.size", "Exactly one of size and frequency is needed", in.Size)
	}
	sample := period.NewSample(in.Seed, size)
	body := SampleResponse{Seed: in.Seed, Size: size}
	if err := h.Deployments.EachID(ctx, population.Query(&p), func(environment, id string) {
		body.Population++
		if in.By == "" {
			environment = ""
		}
		sample.Add(environment, id)
	}); err != nil {
		return nil, err
	}
	if in.By == "" && size > body.Population {
		return nil, validation.Fault("query.size", "The population has only "+strconv.Itoa(body.Population)+" rows", size)
	}
	var err error
	body.Strata, body.Sample, err = h.showSample(ctx, &p, sample)
	return server.Answered(body), err
}

// showSample describes what was drawn, and how much of each stratum.
func (h *handlers) showSample(ctx context.Context, p *period.Period, sample *period.Sample) (strata []SampleStratum, shown []SampledRow, err error) {
	drawn := sample.Drawn()
	found, err := h.Deployments.GetMany(ctx, storage.Map(drawn, func(one period.Drawn) string { return one.ID }))
	if err != nil {
		return nil, nil, err
	}
	rows, err := h.population.Describe(ctx, p.Org, found)
	strata, shown = []SampleStratum{}, make([]SampledRow, 0, len(rows))
	for i, row := range rows {
		one := &drawn[i]
		shown = append(shown, SampledRow{Rank: one.Rank, Row: row})
		if one.Stratum != "" && (i == 0 || drawn[i-1].Stratum != one.Stratum) {
			strata = append(strata, SampleStratum{Environment: row.Environment, Population: sample.Sizes[one.Stratum]})
		}
		if one.Stratum != "" {
			strata[len(strata)-1].Drawn++
		}
	}
	return strata, shown, err
}
