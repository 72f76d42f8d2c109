package server

import (
	"context"
	"maps"
	"math"
	"slices"

	"attestry/evidence"
	"attestry/evidence/snapshot"
)

// union is a logical environment's snapshots: those of its members in the order of
// time, numbered from 1 (contract/semantics.md 4.6).
type union struct {
	h       *handlers
	members []string
	// total is how many there are, and until when the last one began.
	total int64
	until float64
}

// unionOf counts the snapshots of a logical environment: one command, as long as the
// last thousand snapshots are of all its members.
func (h *handlers) unionOf(ctx context.Context, environment evidence.Environment) (*union, error) {
	u := &union{h: h, members: environment.Included}
	latest, err := h.store.Snapshots.InForce(ctx, u.members, snapshot.Place{Timestamp: math.MaxFloat64})
	for _, place := range latest {
		u.total += place.Number
		u.until = max(u.until, place.Timestamp)
	}
	return u, err
}

// numberAt is the number of the snapshot in force at a point in time, in Unix seconds;
// 0 before the first.
func (u *union) numberAt(ctx context.Context, at float64) (int64, error) {
	places, err := u.h.store.Snapshots.InForce(ctx, u.members, snapshot.Place{Timestamp: at, ID: lastID})
	number := int64(0)
	for _, place := range places {
		number += place.Number
	}
	return number, err
}

// lastID comes behind every id: of places of one time it is the last.
const lastID = "\U0010FFFF"

// places returns those of the snapshots numbered first to last, looked for from the
// nearer end.
func (u *union) places(ctx context.Context, first, last int64) ([]snapshot.Place, error) {
	first, last = max(first, 1), min(last, u.total)
	count := int(last - first + 1)
	if count <= 0 {
		return nil, nil
	}
	if first <= u.total/2 {
		return u.h.store.Snapshots.Merged(ctx, u.members, u.until, int(first-1), count, false)
	}
	places, err := u.h.store.Snapshots.Merged(ctx, u.members, u.until, int(u.total-last), count, true)
	slices.Reverse(places)
	return places, err
}

// between describes the snapshots numbered first to last, without what runs by them.
func (u *union) between(ctx context.Context, environment evidence.Environment, first, last int64) ([]snapshot.Snapshot, error) {
	places, err := u.places(ctx, first, last)
	if err != nil || len(places) == 0 {
		return nil, err
	}
	begin, err := u.h.store.Snapshots.InForce(ctx, u.members, places[0])
	if err != nil {
		return nil, err
	}
	parts, err := u.h.store.Snapshots.At(ctx, append(slices.Collect(maps.Values(begin)), places[1:]...))
	if err != nil {
		return nil, err
	}
	states := map[string]map[int64]*bool{} // by member and number
	for _, part := range parts {
		if states[part.Environment] == nil {
			states[part.Environment] = map[int64]*bool{}
		}
		states[part.Environment][part.Number] = part.State
	}
	inForce := map[string]*bool{}
	for member, place := range begin {
		inForce[member] = states[member][place.Number]
	}
	described := make([]snapshot.Snapshot, 0, len(places))
	for i, place := range places {
		inForce[place.Environment] = states[place.Environment][place.Number]
		described = append(described, snapshot.Snapshot{
			Org: environment.Org, Environment: environment.ID, Number: max(first, 1) + int64(i), Timestamp: place.Timestamp,
			Type: evidence.LogicalType, State: evidence.UnitedState(slices.Collect(maps.Values(inForce))),
		})
	}
	return described, nil
}

// load adds what runs by a snapshot, and what has changed against the one before: the
// trees of all members, and of one more.
func (u *union) load(ctx context.Context, loaded *loadedSnapshot) error {
	places, err := u.places(ctx, loaded.Number, loaded.Number)
	if err != nil || len(places) == 0 {
		return err
	}
	inForce, err := u.h.store.Snapshots.InForce(ctx, u.members, places[0])
	if err != nil {
		return err
	}
	if loaded.Artifacts, err = u.running(ctx, inForce); err != nil {
		return err
	}
	former := places[0]
	former.Number--
	inForce[former.Environment] = former
	before, err := u.running(ctx, inForce)
	if err != nil {
		return err
	}
	loaded.Counts = snapshot.Count(loaded.Artifacts)
	loaded.Changes = snapshot.Diff(before, loaded.Artifacts)
	return nil
}

// running unites what runs by snapshots of the members, in the members' order.
func (u *union) running(ctx context.Context, inForce map[string]snapshot.Place) ([]snapshot.Artifact, error) {
	var places []snapshot.Place
	for _, member := range u.members {
		if place, ok := inForce[member]; ok && place.Number > 0 {
			places = append(places, place)
		}
	}
	parts, err := u.h.store.Snapshots.At(ctx, places)
	if err != nil {
		return nil, err
	}
	lists := make([][]snapshot.Artifact, 0, len(parts))
	for i := range parts {
		artifacts, err := u.h.store.Snapshots.Artifacts(ctx, &parts[i])
		if err != nil {
			return nil, err
		}
		lists = append(lists, artifacts)
	}
	return snapshot.Union(lists), nil
}
