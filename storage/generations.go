package storage

import (
	"context"
	"strings"

	"attestry/evidence"
)

// GenerationSchema declares the collection of generations.
var GenerationSchema = &Schema{Name: "tokens"}

// maxBumped bounds how many environments get a generation each. If they are more, the organization gets one.
const maxBumped = 100

// generation gets a fresh random value whenever a fact about something that runs changes (docs/semantics.md 10.4).
type generation struct {
	// Of is the id of an organization or of an environment.
	Of    string `json:"org"`
	Value string `json:"value"`
}

// Generations keeps a generation for each organization and each environment. A change concerns the whole
// organization, or only environments in which something runs.
type Generations struct {
	collection Collection[generation]
}

// NewGenerations binds the repository to an engine.
func NewGenerations(docs Documents) *Generations {
	return &Generations{collection: NewCollection(docs, GenerationSchema,
		func(g *generation) string { return g.Of }, nil)}
}

// Get returns the generations of an environment and its organization as one text, "" before the first change.
func (t *Generations) Get(ctx context.Context, org, environment string) (string, error) {
	found, err := t.collection.GetMany(ctx, []string{org, environment})
	values := evidence.Map(found, func(one generation) string { return one.Value })
	return strings.Join(values, "/"), err
}

// GetMany returns the generations of several environments, by their ids, as texts in another form than those of Get.
func (t *Generations) GetMany(ctx context.Context, org string, environments []string) (map[string]string, error) {
	found, err := t.collection.GetMany(ctx, append([]string{org}, environments...))
	known := evidence.ByKey(found, func(one *generation) string { return one.Of })
	return evidence.ToMap(environments, func(environment *string) (string, string) {
		return *environment, known[org].Value + "/" + known[*environment].Value
	}), err
}

// BumpIn gives an organization or an environment a fresh generation with a batch.
func (t *Generations) BumpIn(batch *Batch, org string) {
	t.collection.PutIn(batch, generation{Of: org, Value: evidence.NewID()})
}

// BumpEnvironmentsIn gives environments, or the organization if they are many, a fresh generation with a batch.
func (t *Generations) BumpEnvironmentsIn(batch *Batch, org string, environments []string) {
	if len(environments) > maxBumped {
		t.BumpIn(batch, org)
		return
	}
	for _, environment := range environments {
		t.BumpIn(batch, environment)
	}
}

// Bump gives an organization a fresh generation, so that the next report of every environment is evaluated again.
func (t *Generations) Bump(ctx context.Context, org string) error {
	return t.collection.Put(ctx, generation{Of: org, Value: evidence.NewID()})
}
