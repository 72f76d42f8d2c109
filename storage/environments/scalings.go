package environments

import (
	"context"

	"attestry/evidence/snapshot"
	"attestry/storage"
)

var scalingSchema = &storage.Schema{Name: "scalings"}

// Scalings keeps the numbers of instances by which the last reports of environments differ from
// their last snapshots. That of an environment is valid while snapshot.Head.Scaled says so.
type Scalings struct {
	collection *storage.Collection[scaling]
}

type scaling struct {
	Environment string           `json:"environment"` // id
	Instances   snapshot.Scaling `json:"instances"`
}

// NewScalings binds the repository to an engine.
func NewScalings(docs storage.Documents) *Scalings {
	return &Scalings{collection: storage.NewCollection(docs, scalingSchema,
		func(s *scaling) string { return s.Environment }, nil)}
}

// Of returns the scaling of an environment, by its head: one command, none if there is none.
func (s *Scalings) Of(ctx context.Context, head *snapshot.Head) (snapshot.Scaling, error) {
	if !head.Scaled {
		return nil, nil
	}
	stored, err := storage.GetOrZero(ctx, s.collection, head.Environment)
	return stored.Value.Instances, err
}

// PutIn adds the scaling of an environment, by its id, to a batch.
func (s *Scalings) PutIn(batch *storage.Batch, environment string, instances snapshot.Scaling) {
	s.collection.PutIn(batch, scaling{Environment: environment, Instances: instances})
}
