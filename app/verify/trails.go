package verify

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"attestry/evidence"
	"attestry/evidence/compliance"
	"attestry/evidence/template"
	"attestry/storage"
)

func decode[T any](record *storage.Record) (*T, bool) {
	value := new(T)
	err := json.Unmarshal(record.Body, value)
	return value, err == nil
}

func same[T any](value *T) T { return *value }

// checkTrails compares trails with their attestations, slots and templates.
func (v *verification) checkTrails(ctx context.Context, _ *storage.Schema, records []storage.Record) (findings, error) {
	var trails []*evidence.Trail
	var entries []string
	for i := range records {
		trail, ok := decode[evidence.Trail](&records[i])
		if !ok {
			continue
		}
		trails = append(trails, trail)
		for _, entry := range trail.Entries {
			entries = append(entries, entry.ID)
		}
	}
	facts, err := fetch(ctx, v, "attestations", entries, (*evidence.Attestation).SlotEntry)
	if err != nil {
		return nil, err
	}
	found := findings{}
	var summaries []summary
	for _, trail := range trails {
		for _, entry := range trail.Entries {
			if !reflects(entry, facts[entry.ID].Entry) {
				found.add(trail.Key(), "its attestation "+entry.ID+" is missing or differs")
			}
		}
		evaluated, err := v.evaluate(ctx, trail, found)
		if err != nil {
			return nil, err
		}
		summaries = append(summaries, evaluated...)
	}
	return found, v.checkSummaries(ctx, summaries, found)
}

// reflects reports whether an entry is that of an attestation. Earlier versions stored less of overrides.
func reflects(entry, fact evidence.Entry) bool {
	return entry.ID == fact.ID && entry.Name == fact.Name && entry.Time == fact.Time && entry.Compliant == fact.Compliant
}

// summary names a slot whose summary a trail has.
type summary struct {
	trail    *evidence.Trail
	template *template.Template
	name     string
}

// slot is the id of the slot.
func (s *summary) slot() string { return evidence.SlotID(s.trail.Key(), s.name) }

// evaluate compares the status of a trail with its template and facts, and returns the summaries of its slots.
func (v *verification) evaluate(ctx context.Context, trail *evidence.Trail, found findings) ([]summary, error) {
	stored, err := v.templates.Get(ctx, trail.Org, trail.Template)
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, storage.ErrOutage) {
			return nil, err
		}
		found.add(trail.Key(), "its template cannot be read: "+err.Error())
		return nil, nil
	}
	if status := compliance.Trail(&stored.Template, trail); status != trail.Status {
		found.add(trail.Key(), "its status is "+string(trail.Status)+", and "+string(status)+" follows from its facts")
	}
	if trail.Approved && !compliance.Approved(trail) {
		found.add(trail.Key(), "it is approved, which does not follow from its facts")
	}
	return evidence.Map(trail.SlotNames(), func(name string) summary {
		return summary{trail: trail, template: &stored.Template, name: name}
	}), nil
}

// checkSummaries compares summaries with their slots. A slot is read after the trail, so it is newer than its summary
// only if the trail has changed.
func (v *verification) checkSummaries(ctx context.Context, summaries []summary, found findings) error {
	for some := range slices.Chunk(summaries, pageSize) {
		slots, err := fetch(ctx, v, "slots", evidence.Map(some, func(s summary) string { return s.slot() }), same[evidence.Slot])
		if err != nil {
			return err
		}
		for _, s := range some {
			if slot, ok := slots[s.slot()]; !ok || !s.of(&slot) {
				found.add(s.trail.Key(), "its artifact name "+s.name+" is not as its slot says")
			}
		}
	}
	return nil
}

// of reports whether the summary is that of a slot. A summary under an earlier template is compared by its version.
func (s *summary) of(slot *evidence.Slot) bool {
	known := s.trail.Slots[s.name]
	if known.Template != s.trail.Template {
		return known.Version == slot.Version
	}
	expected := compliance.Summarize(s.trail.Template, s.template, s.trail.Author(), slot)
	expected.Approved = expected.Approved && known.Approved // earlier versions did not keep it
	return known == expected
}

// checkSlots compares slots with the facts that they name.
func (v *verification) checkSlots(ctx context.Context, _ *storage.Schema, records []storage.Record) (findings, error) {
	var slots []*evidence.Slot
	var entries, artifacts []string
	for i := range records {
		slot, ok := decode[evidence.Slot](&records[i])
		if !ok {
			continue
		}
		slots = append(slots, slot)
		entries = append(entries, evidence.Map(slot.Entries, func(entry evidence.SlotEntry) string { return entry.ID })...)
		artifacts = append(artifacts, evidence.Map(slot.Artifacts, func(a evidence.SlotArtifact) string { return a.Record })...)
	}
	attested, err := fetch(ctx, v, "attestations", entries, (*evidence.Attestation).SlotEntry)
	if err != nil {
		return nil, err
	}
	reported, err := fetch(ctx, v, "artifacts", artifacts, (*evidence.ArtifactRecord).SlotArtifact)
	found := findings{}
	for _, slot := range slots {
		for _, entry := range slot.Entries {
			if fact := attested[entry.ID]; !reflects(entry.Entry, fact.Entry) || entry.Fingerprint != fact.Fingerprint || entry.Commit != fact.Commit {
				found.add(slot.ID(), "its attestation "+entry.ID+" is missing or differs")
			}
		}
		for _, artifact := range slot.Artifacts {
			if artifact != reported[artifact.Record] {
				found.add(slot.ID(), "its artifact "+artifact.Record+" is missing or differs")
			}
		}
	}
	return found, err
}

// checkArtifacts looks for artifacts whose slot has neither them nor a later report of the same fingerprint.
func (v *verification) checkArtifacts(ctx context.Context, _ *storage.Schema, records []storage.Record) (findings, error) {
	reported := map[string]*evidence.ArtifactRecord{}
	var ids []string
	for i := range records {
		if record, ok := decode[evidence.ArtifactRecord](&records[i]); ok {
			reported[record.ID] = record
			ids = append(ids, evidence.SlotID(evidence.TrailKey(record.Flow, record.Trail), record.Name))
		}
	}
	slots, err := fetch(ctx, v, "slots", ids, same[evidence.Slot])
	found := findings{}
	for id, record := range reported {
		slot := slots[evidence.SlotID(evidence.TrailKey(record.Flow, record.Trail), record.Name)]
		if !slot.Reported(record.SlotArtifact()) {
			found.add(id, "its trail does not have it under the name "+record.Name)
		}
	}
	return found, err
}

// checkAttestations looks for attestations whose trail or slots have neither them nor a later one of the same name.
func (v *verification) checkAttestations(ctx context.Context, _ *storage.Schema, records []storage.Record) (findings, error) {
	attested := map[string]*evidence.Attestation{}
	var keys []string
	for i := range records {
		if a, ok := decode[evidence.Attestation](&records[i]); ok {
			attested[a.ID] = a
			keys = append(keys, evidence.TrailKey(a.Flow, a.Trail))
		}
	}
	trails, err := fetch(ctx, v, "trails", keys, same[evidence.Trail])
	if err != nil {
		return nil, err
	}
	slotIDs := map[string][]string{}
	var all []string
	found := findings{}
	for id, a := range attested {
		key := evidence.TrailKey(a.Flow, a.Trail)
		trail := trails[key]
		if trail.Name == "" || a.OfTrail() && !trail.Attested(a.Entry()) {
			found.add(id, "its trail is missing or does not have it")
		}
		names := a.Targets // of those slots that must have it
		if a.Fingerprint != "" {
			names = trail.NamesOf(a.Fingerprint)
		}
		for _, name := range names {
			slotIDs[id] = append(slotIDs[id], evidence.SlotID(key, name))
		}
		all = append(all, slotIDs[id]...)
	}
	slots, err := fetch(ctx, v, "slots", all, same[evidence.Slot])
	for id, wanted := range slotIDs {
		for _, slotID := range wanted {
			if slot := slots[slotID]; !slot.Attested(attested[id].SlotEntry()) {
				found.add(id, "the slot "+slotID+" does not have it")
			}
		}
	}
	return found, err
}

// checkEvents looks for the attestations and artifacts that events of trails name. It finds those missing that a later
// one has replaced in trails and slots.
func (v *verification) checkEvents(ctx context.Context, _ *storage.Schema, records []storage.Record) (findings, error) {
	found, attested, reported := findings{}, map[string][]string{}, map[string][]string{}
	for i := range records {
		event, ok := decode[evidence.TrailEvent](&records[i])
		if !ok {
			continue
		}
		switch data := event.Data.(type) {
		case *evidence.AttestationReportData:
			attested[data.Attestation] = append(attested[data.Attestation], records[i].ID)
		case *evidence.ArtifactReportData:
			reported[data.Record] = append(reported[data.Record], records[i].ID)
		}
	}
	if err := v.findDocuments(ctx, "attestations", attested, found, "its attestation %s is missing"); err != nil {
		return nil, err
	}
	return found, v.findDocuments(ctx, "artifacts", reported, found, "its artifact %s is missing")
}
