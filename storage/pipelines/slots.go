package pipelines

import (
	"context"

	"attestry/evidence"
	"attestry/storage"
)

var slotSchema = &storage.Schema{Name: "slots"}

// Slots keeps what was reported under the artifact names of trails.
type Slots struct {
	storage.Collection[evidence.Slot]
}

// NewSlots binds the repository to an engine.
func NewSlots(docs storage.Documents) *Slots {
	return &Slots{Collection: storage.NewCollection(docs, slotSchema,
		(*evidence.Slot).ID, nil)}
}

// OfTrail returns slots of a trail by name; names without one are left out.
func (s *Slots) OfTrail(ctx context.Context, trail string, names []string) (map[string]evidence.Slot, error) {
	found, err := s.GetMany(ctx, evidence.Map(names, func(name string) string { return evidence.SlotID(trail, name) }))
	return evidence.ByKey(found, func(slot *evidence.Slot) string { return slot.Name }), err
}
