package population

import (
	"context"

	"attestry/evidence"
	"attestry/evidence/period"
	"attestry/evidence/snapshot"
)

// Sample is a sample of a population (docs/semantics.md 26.4).
type Sample struct {
	period.Draw
	Population int          `json:"population" doc:"How many rows it was drawn from."`
	Strata     []Stratum    `json:"strata" doc:"The environments or verdicts, if it was drawn by them."`
	Rows       []SampledRow `json:"sample" doc:"Sorted by stratum if it was drawn by strata, then by rank."`
}

// Stratum is how many rows were drawn of an environment or a verdict. The other one is empty.
type Stratum struct {
	Environment string `json:"env_name,omitempty"`
	Verdict     string `json:"verdict,omitempty"`
	Population  int    `json:"population"`
	Drawn       int    `json:"drawn"`
}

// SampledRow is a row of a sample.
type SampledRow struct {
	Rank string `json:"rank" doc:"SHA-256 of the seed, a line feed and the id. Those with the smallest ranks were drawn."`
	Row
}

// Draw draws a sample of a period. A size above the population is Invalid, unless it is drawn by strata.
func (r *Reader) Draw(ctx context.Context, p *period.Period, draw period.Draw) (Sample, error) {
	sample := period.NewSample(draw)
	shown := Sample{Draw: draw, Strata: []Stratum{}}
	add := func(environment, verdict, id string) {
		shown.Population++
		sample.Add(environment, verdict, id)
	}
	if err := r.eachID(ctx, p, draw.By, add); err != nil {
		return shown, err
	}
	if draw.By == "" && draw.Size > shown.Population {
		return shown, evidence.FieldError("query.size", "The population has only %d rows [input: %d]", shown.Population, draw.Size)
	}
	drawn := sample.Drawn()
	found, err := r.store.Deployments.GetMany(ctx, evidence.Map(drawn, func(one period.Drawn) string { return one.ID }))
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
			stratum := Stratum{Population: sample.Sizes[one.Stratum]}
			if draw.By == period.ByVerdict {
				stratum.Verdict = row.Verdict
			} else {
				stratum.Environment = row.Environment
			}
			shown.Strata = append(shown.Strata, stratum)
		}
		shown.Strata[len(shown.Strata)-1].Drawn++
	}
	return shown, err
}

// eachID calls add for each deployment of a period. It reads the verdict only to draw by verdict.
func (r *Reader) eachID(ctx context.Context, p *period.Period, by period.By, add func(environment, verdict, id string)) error {
	if by != period.ByVerdict {
		return r.store.Deployments.EachID(ctx, Query(p), func(environment, id string) { add(environment, "", id) })
	}
	yield := func(one *snapshot.Deployment) {
		row := newRow(one)
		add(one.Environment, row.Verdict, row.ID)
	}
	return each(ctx, r, yield, func(after string) ([]snapshot.Deployment, string, error) {
		return r.store.Deployments.Walk(ctx, Query(p), after, r.pageBytes)
	})
}
