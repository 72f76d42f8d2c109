package governance

import (
	"context"

	"attestry/evidence/period"
	"attestry/storage"
)

var periodSchema = storage.NewSchema("periods", storage.Index{Name: "from", Fields: []string{"org", "from"}})

// Periods keeps the periods that are audited.
type Periods struct {
	storage.Collection[period.Period]
}

// NewPeriods binds the repository to an engine.
func NewPeriods(docs storage.Documents) *Periods {
	return &Periods{storage.NewCollection(docs, periodSchema, (*period.Period).Key, func(p *period.Period) map[string]any {
		return map[string]any{"org": p.Org, "from": p.From}
	})}
}

// List returns a page of the periods of an organization, the latest beginning first, and how many there are.
func (p *Periods) List(ctx context.Context, org string, offset, limit int) ([]period.Period, int64, error) {
	return storage.FindPage(ctx, p.Collection, storage.Query{Index: "from", Equal: []any{org}, Descending: true}, offset, limit)
}
