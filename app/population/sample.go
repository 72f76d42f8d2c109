package population

import (
	"context"

	"attestry/evidence"
	"attestry/evidence/period"
	"attestry/storage"
)

// Sample is a sample of a population (docs/semantics.md 26.4).
type Sample struct {
	period.Draw
	Population int          `json:"population" doc:"How many rows it was drawn from."`
	Strata     []Stratum    `json:"strata" doc:"The environments, if it was drawn by them."`
	Rows       []SampledRow `json:"sample" doc:"By rank, and by environment before that if it was drawn by environments."`
}

// Stratum is how much was drawn of an environment.
type Stratum struct {
	Environment string `json:"env_name"`
	Population  int    `json:"population"`
	Drawn       int    `json:"drawn"`
}

// SampledRow is a row of a sample.
type SampledRow struct {
	Rank string `json:"rank" doc:"SHA-256 of the seed, a line feed and the id. The smallest were drawn."`
	Row
}

// Draw draws a sample of a period. More than there is are Invalid, unless it is drawn by environment.
func (r *Reader) Draw(ctx context.Context, p *period.Period, draw period.Draw) (Sample, error) {
	sample := period.NewSample(draw)
	shown := Sample{Draw: draw, Strata: []Stratum{}}
	err := r.store.Deployments.EachID(ctx, Query(p), func(environment, id string) {
		shown.Population++
		sample.Add(environment, id)
	})
	if err != nil {
		return shown, err
	}
	if !draw.ByEnvironment && draw.Size > shown.Population {
		return shown, evidence.FieldError("query.size", "The population has only %d rows [input: %d]", shown.Population, draw.Size)
	}
	drawn := sample.Drawn()
	found, err := r.store.Deployments.GetMany(ctx, storage.Map(drawn, func(one period.Drawn) string { return one.ID }))
	if err != nil {
		return shown, err
	}
	rows, err := r.Describe(ctx, p.Org, found)
	shown.Rows = make([]SampledRow, 0, len(rows))
	for i, row := range rows {
		one := &drawn[i]
		shown.Rows = append(shown.Rows, SampledRow{Rank: one.Rank, Row: row})
		if one.Stratum == "" {
			continue
		}
		if i == 0 || drawn[i-1].Stratum != one.Stratum {
			shown.Strata = append(shown.Strata, Stratum{Environment: row.Environment, Population: sample.Sizes[one.Stratum]})
		}
		shown.Strata[len(shown.Strata)-1].Drawn++
	}
	return shown, err
}
