// Package states evaluates the states of artifacts in their trails from the current facts (docs/semantics.md 5.3).
package states

import (
	"context"
	"maps"
	"slices"

	"attestry/evidence"
	"attestry/evidence/compliance"
	"attestry/evidence/template"
	"attestry/storage/pipelines"
)

// Evaluator reads the inputs of the states of artifacts, and evaluates them.
type Evaluator struct {
	Trails       *pipelines.Trails
	Templates    *pipelines.Templates
	Slots        *pipelines.Slots
	Artifacts    *pipelines.Artifacts
	Attestations *pipelines.Attestations
}

// Evaluated is an artifact with its state and the inputs of the state.
type Evaluated struct {
	Template *template.Template
	Trail    *evidence.Trail
	// Slot is that of the artifact, or, if that is incomplete, one rebuilt from facts.
	Slot     evidence.Slot
	Artifact evidence.SlotArtifact
	Status   evidence.Status
}

// Of returns the states of artifacts. It takes one command per MaxMany trails and templates. Artifacts that are not the
// newest of their name take as many for their slots. If these are incomplete, they take one more for the records, and
// those of RebuildSlots.
func (e *Evaluator) Of(ctx context.Context, org string, queries []Query) (map[Query]evidence.Status, error) {
	trails, err := e.trailsOf(ctx, org, queries)
	if err != nil {
		return nil, err
	}
	states := make(map[Query]evidence.Status, len(queries))
	var others []Query
	for _, query := range queries {
		in := trails[query.Trail]
		status, ok := compliance.NewestState(in.template, in.trail, query.Slot, query.Fingerprint)
		if !ok {
			others = append(others, query)
			continue
		}
		states[query] = status
	}
	evaluated, err := e.evaluate(ctx, trails, others, func(incomplete []int) (map[string]evidence.Slot, error) {
		return e.rebuild(ctx, org, others, incomplete)
	})
	for i, one := range evaluated {
		states[others[i]] = one.Status
	}
	return states, err
}

// Details returns the states of artifacts with their inputs, in the order of queries: one command per MaxMany trails,
// templates and slots, one more for records of incomplete slots, and those of RebuildSlots.
func (e *Evaluator) Details(ctx context.Context, org string, queries []Query) ([]Evaluated, error) {
	trails, err := e.trailsOf(ctx, org, queries)
	if err != nil {
		return nil, err
	}
	return e.evaluate(ctx, trails, queries, func(incomplete []int) (map[string]evidence.Slot, error) {
		return e.rebuild(ctx, org, queries, incomplete)
	})
}

// Evaluate evaluates records, in their order: one command per MaxMany trails, templates
// and slots. attested is what Attestations.OfRecords returned for the records. If it is
// nil, those of incomplete slots take the commands of RebuildSlots.
func (e *Evaluator) Evaluate(ctx context.Context, org string, records []evidence.ArtifactRecord, attested pipelines.Attested) ([]Evaluated, error) {
	queries := evidence.Map(records, func(record evidence.ArtifactRecord) Query {
		return Query{Fingerprint: record.Fingerprint, Trail: evidence.TrailKey(record.Flow, record.Trail), Slot: record.Name, Record: record.ID}
	})
	trails, err := e.trailsOf(ctx, org, queries)
	if err != nil {
		return nil, err
	}
	return e.evaluate(ctx, trails, queries, func(incomplete []int) (map[string]evidence.Slot, error) {
		some := evidence.Map(incomplete, func(i int) evidence.ArtifactRecord { return records[i] })
		if attested != nil {
			return attested.Slots(some), nil
		}
		return e.Attestations.RebuildSlots(ctx, org, some)
	})
}

// trailWithTemplate is a trail with the template in force; both are empty if there is no such trail.
type trailWithTemplate struct {
	trail    *evidence.Trail
	template *template.Template
}

// trailsOf reads the trails of queries, by key.
func (e *Evaluator) trailsOf(ctx context.Context, org string, queries []Query) (map[string]trailWithTemplate, error) {
	trails, none := map[string]trailWithTemplate{}, trailWithTemplate{new(evidence.Trail), new(template.Template)}
	for _, query := range queries {
		trails[query.Trail] = none
	}
	found, err := e.Trails.GetMany(ctx, slices.Sorted(maps.Keys(trails)))
	if err != nil {
		return nil, err
	}
	ids := evidence.Map(found, func(trail evidence.Trail) string { return trail.Template })
	templates, err := e.Templates.GetMany(ctx, org, evidence.Distinct(ids))
	for _, trail := range found {
		trails[trail.Key()] = trailWithTemplate{&trail, new(templates[trail.Template].Template)}
	}
	return trails, err
}

// evaluate evaluates artifacts from their slots, in the order of queries. rebuild gets the indexes of queries with
// incomplete slots, and returns the rebuilt slots by the ids of records.
func (e *Evaluator) evaluate(ctx context.Context, trails map[string]trailWithTemplate, queries []Query, rebuild func(incomplete []int) (map[string]evidence.Slot, error)) ([]Evaluated, error) {
	found, err := e.Slots.GetMany(ctx, evidence.Distinct(evidence.Map(queries, Query.slotID)))
	if err != nil {
		return nil, err
	}
	slots := evidence.ByKey(found, (*evidence.Slot).ID)
	evaluated := make([]Evaluated, len(queries))
	var incomplete []int
	for i, query := range queries {
		in := trails[query.Trail]
		evaluated[i] = Evaluated{Template: in.template, Trail: in.trail, Slot: slots[query.slotID()]}
		if !evaluated[i].evaluate(query.Fingerprint) {
			incomplete = append(incomplete, i)
		}
	}
	rebuilt, err := rebuild(incomplete)
	for _, i := range incomplete {
		evaluated[i].Slot = rebuilt[queries[i].Record]
		evaluated[i].evaluate(queries[i].Fingerprint)
	}
	return evaluated, err
}

// evaluate sets the state by the slot. It returns whether the slot is complete.
func (e *Evaluated) evaluate(fingerprint string) (complete bool) {
	e.Artifact, e.Status, complete = compliance.State(e.Template, e.Trail, &e.Slot, fingerprint)
	return complete
}

// rebuild makes the slots of some queries, given by their indexes, by the ids of records.
func (e *Evaluator) rebuild(ctx context.Context, org string, queries []Query, some []int) (map[string]evidence.Slot, error) {
	ids := evidence.Map(some, func(i int) string { return queries[i].Record })
	records, err := e.Artifacts.GetMany(ctx, evidence.Distinct(ids))
	if err != nil {
		return nil, err
	}
	return e.Attestations.RebuildSlots(ctx, org, records)
}

// Query is a query for the state of a fingerprint in the trail of one of its records.
type Query struct {
	Fingerprint string
	Trail       string // key
	Slot        string // artifact name in the trail
	Record      string // id
}

// QueryOf returns the query for the state of a fingerprint in the trail of an origin.
func QueryOf(fingerprint string, origin *evidence.Origin) Query {
	return Query{Fingerprint: origin.Fingerprint(fingerprint), Trail: origin.TrailKey(), Slot: origin.Slot, Record: origin.Record}
}

func (q Query) slotID() string { return evidence.SlotID(q.Trail, q.Slot) }
