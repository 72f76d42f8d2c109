package compliance

import (
	"slices"

	"attestry/evidence"
	"attestry/evidence/template"
)

// Overridden returns what an override replaces: the latest attestation of its name, type and target, or the zero Entry if
// that is required and missing. It is not ok where there is neither (docs/semantics.md 6.4). names are the artifact names
// that the override is about, none if it is about the trail, and entries the attestations of each. Each named artifact
// must have or require the attestation. Of several names of a fingerprint's artifact, one is enough.
func Overridden(t *template.Template, trail *evidence.Trail, override *evidence.Attestation, names []string, entries map[string][]evidence.Entry) (original evidence.Entry, ok bool) {
	if override.OfTrail() {
		return overriddenAmong(t.Trail.Attestations, trail.Entries, override)
	}
	for _, name := range names {
		required, _ := t.Artifact(name)
		found, known := overriddenAmong(required.Attestations, entries[name], override)
		if !known && override.Fingerprint == "" {
			return evidence.Entry{}, false
		}
		ok = ok || known
		if original.ID == "" {
			original = found
		}
	}
	return original, ok
}

// overriddenAmong is not ok unless the attestation is there, or required and missing.
func overriddenAmong(required []template.Attestation, entries []evidence.Entry, override *evidence.Attestation) (evidence.Entry, bool) {
	for _, entry := range entries {
		if entry.Name == override.Name && entry.Type == override.Type {
			return entry, true
		}
	}
	return evidence.Entry{}, slices.ContainsFunc(required, func(one template.Attestation) bool {
		_, found := fulfilling(one, entries)
		return one.Name == override.Name && one.Fits(override.Type) && !found
	})
}
