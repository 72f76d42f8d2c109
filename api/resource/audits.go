package resource

import (
	"context"
	"strconv"

	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence/period"
)

// AuditPath is the path of an operation on an audit.
type AuditPath struct {
	server.OrgPath
	Audit string `path:"audit_name" doc:"Name of the audit."`
}

// Ref is the name of the audit.
func (p AuditPath) Ref() string { return p.Audit }

// LoadPeriod reads the period of an audit, or returns an evidence.NotFound error.
func (b *Base) LoadPeriod(ctx context.Context, name string) (period.Period, error) {
	org := server.Access(ctx)
	found, err := b.Periods.Get(ctx, period.Key(org.OrgID, name))
	return found, NotFound(err, "Audit named '%s' does not exist for organization '%s'", name, org.OrgName)
}

// SampleQuery selects a sample. It is exported because huma ignores unexported embedded types.
type SampleQuery struct {
	Seed      string `query:"seed" maxLength:"1000" doc:"Any text, which the auditor chooses."`
	Size      int    `query:"size" minimum:"1" maximum:"1000" doc:"How many rows."`
	Frequency string `query:"frequency" enum:"yearly,quarterly,monthly,weekly,daily,many_daily" doc:"The usual size for what happens so often, instead of a size: 1, 2, 2, 5, 25 or 40."`
	By        string `query:"by" enum:"environment,verdict" doc:"Draws so many rows of each environment or verdict, all where there are fewer."`
}

// Draw returns the parameters of the sample, or a validation error.
func (q *SampleQuery) Draw() (period.Draw, error) {
	draw := period.Draw{Seed: q.Seed, Size: q.Size, By: period.By(q.By)}
	if q.Frequency != "" {
		draw.Size = period.Sizes[q.Frequency]
	}
	if (q.Size == 0) == (q.Frequency == "") {
		return draw, validation.Fault("query.size", "Exactly one of size and frequency is needed", strconv.Itoa(q.Size))
	}
	return draw, nil
}
