package environments

import (
	"context"

	"attestry/evidence/snapshot"
	"attestry/storage"
)

var scalingSchema = &storage.Schema{Name: "scalings"}

// Scalings keeps how the numbers of instances in the last reports of environments differ from their last snapshots: a
// document for each report. The head names the valid one.
type Scalings struct {
	collection storage.Collection[scaling]
}

type scaling struct {
	Environment string           `json:"environment"` // id
	Arrival     int64            `json:"arrival"`
	Instances   snapshot.Scaling `json:"instances"`
}

// NewScalings binds the repository to an engine.
func NewScalings(docs storage.Documents) *Scalings {
	return &Scalings{collection: storage.NewCollection(docs, scalingSchema,
		func(s *scaling) string { return numbered(s.Environment, s.Arrival) }, nil)}
}

// Of returns the scaling that a head of an environment names: one command, none if it names none.
func (s *Scalings) Of(ctx context.Context, head *snapshot.Head) (snapshot.Scaling, error) {
	if head.Scaled == 0 {
		return nil, nil
	}
	stored, err := s.collection.GetOrZero(ctx, numbered(head.Environment, head.Scaled))
	return stored.Value.Instances, err
}

// PutIn adds the scaling of a report, by its environment's id and arrival number, to a batch.
func (s *Scalings) PutIn(batch *storage.Batch, environment string, arrival int64, instances snapshot.Scaling) {
	s.collection.PutIn(batch, scaling{Environment: environment, Arrival: arrival, Instances: instances})
}

// RemoveIn adds the removal of the scaling that a head names to a batch.
func (s *Scalings) RemoveIn(batch *storage.Batch, head *snapshot.Head) {
	if head.Scaled != 0 {
		s.collection.DeleteIn(batch, numbered(head.Environment, head.Scaled))
	}
}
