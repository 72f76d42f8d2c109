package recording

import (
	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/pipelines"
)

// trailUpdate is a trail with its slots, as they were last read or written, and the facts and
// changes that are to be written together. One goroutine uses it at a time. Functions that are
// named load read into it, those named apply change it in memory, and write commits it.
type trailUpdate struct {
	recorder *Recorder
	trail    storage.Versioned[evidence.Trail]
	template pipelines.StoredTemplate
	// slots are those that were needed so far, by name.
	slots map[string]*slotUpdate
	// cached means that the trail and its slots are from the cache: other processes may have changed them since.
	cached bool
	// repeated means that an earlier attempt may have stored facts, contended that several attempts were refused, and
	// everywhere that so many were refused that all environments of the organization get a new generation.
	repeated, contended, everywhere bool

	facts     storage.Batch
	decisions map[pipelines.DecisionKey]*decisionUpdate
	// attested and reported are the fingerprints that the facts are about.
	attested, reported map[string]bool
	provenances        []provenanceUpdate
	// concerned are the fingerprints whose state may change. concernsAll means that they are not all known.
	concerned   map[string]bool
	concernsAll bool
	// children are those of artifacts that are reported now, by fingerprint.
	children map[string][]string
	// givesChildren means that a record names children of its artifact, which an earlier attempt may have stored.
	givesChildren bool
	// events are those of the facts. The last one of each fact has the fact's id.
	events []evidence.TrailEvent
}

type slotUpdate struct {
	storage.Versioned[evidence.Slot]
	changed bool
}

type decisionUpdate struct {
	storage.Versioned[pipelines.Decision]
	changed bool
}

type provenanceUpdate struct {
	record *evidence.ArtifactRecord
	seen   storage.Versioned[pipelines.Provenance]
}

// forgetFacts begins the next batch with the trail as it was written.
func (u *trailUpdate) forgetFacts() {
	u.facts, u.decisions, u.provenances, u.events = storage.Batch{}, map[pipelines.DecisionKey]*decisionUpdate{}, nil, nil
	u.attested, u.reported = map[string]bool{}, map[string]bool{}
	u.concerned, u.concernsAll, u.children, u.givesChildren = map[string]bool{}, false, map[string][]string{}, false
}

// pending reports whether there is something to be written.
func (u *trailUpdate) pending() bool { return u.facts.Len() > 0 || len(u.events) > 0 }

// size is how much memory the update takes, roughly and in bytes.
func (u *trailUpdate) size() int {
	size := 1000 + len(u.trail.Value.UserData) + 300*len(u.trail.Value.Slots) + 200*len(u.trail.Value.Entries)
	for _, slot := range u.slots {
		size += 300 + 200*len(slot.Value.Artifacts) + 300*len(slot.Value.Entries)
	}
	return size
}
