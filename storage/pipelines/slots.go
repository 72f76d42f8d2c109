package pipelines

import (
	"context"
	"errors"
	"reflect"

	"attestry/evidence"
	"attestry/storage"
)

var slotSchema = &storage.Schema{Name: "slots"}

// Slots keeps what was reported under the artifact names of trails.
type Slots struct {
	collection *storage.Collection[evidence.Slot]
}

// NewSlots binds the repository to an engine.
func NewSlots(docs storage.Documents) *Slots {
	return &Slots{collection: storage.NewCollection(docs, slotSchema,
		(*evidence.Slot).ID, nil)}
}

// OfTrail returns slots of a trail by name; names without one are left out.
func (s *Slots) OfTrail(ctx context.Context, trail string, names []string) (map[string]evidence.Slot, error) {
	ids := make([]string, 0, len(names))
	for _, name := range names {
		ids = append(ids, evidence.SlotID(trail, name))
	}
	found, err := s.GetMany(ctx, ids)
	if err != nil {
		return nil, err
	}
	slots := make(map[string]evidence.Slot, len(found))
	for _, slot := range found {
		slots[slot.Name] = slot
	}
	return slots, nil
}

// GetMany returns slots by id, in the order of ids.
func (s *Slots) GetMany(ctx context.Context, ids []string) ([]evidence.Slot, error) {
	return s.collection.GetMany(ctx, ids)
}

// Change lets a slot take something in; known tells that it is there already. What
// the slot has taken in before changes nothing.
func (s *Slots) Change(ctx context.Context, org, trail, name string, known bool, take func(*evidence.Slot)) (evidence.Slot, error) {
	apply := func(slot *evidence.Slot) error {
		before := *slot
		before.Artifacts, before.Entries = nil, nil
		before.Artifacts = append(before.Artifacts, slot.Artifacts...)
		before.Entries = append(before.Entries, slot.Entries...)
		take(slot)
		slot.Prune()
		if slot.Version == 0 || !reflect.DeepEqual(before, *slot) {
			slot.Version++
		}
		return nil
	}
	fresh := func() evidence.Slot { return evidence.Slot{Org: org, Trail: trail, Name: name} }
	if !known {
		slot := fresh()
		if err := apply(&slot); err != nil {
			return slot, err
		}
		err := s.collection.Insert(ctx, slot)
		if !errors.Is(err, storage.ErrExists) {
			return slot, err
		}
	}
	return storage.Upsert(ctx, s.collection, evidence.SlotID(trail, name), fresh, apply)
}
