package compliance_test

import (
	"testing"

	"attestry/evidence"
	"attestry/evidence/compliance"
)

// TestOverrideNeedsAReportedOrRequiredAttestation tests docs/semantics.md 6.4.
func TestOverrideNeedsAReportedOrRequiredAttestation(t *testing.T) {
	s := full(t).ofTrail("more", "generic", false).byPrint("web", "w", "tests", "junit", true).
		ofTrail("ticket", "generic", true) // of a type that the template does not require
	ids := map[string]string{}
	entries := map[string][]evidence.Entry{"job": nil}
	for name, slot := range s.slots {
		entries[name] = slot.Shown()
		for _, entry := range entries[name] {
			ids[name+" "+entry.Name] = entry.ID
		}
	}
	for _, entry := range s.trail.Entries {
		ids[" "+entry.Name] = entry.ID
	}
	lacking := map[string][]evidence.Entry{}
	for name, c := range map[string]struct {
		kind, attestation string
		fingerprint       string
		names             []string
		entries           map[string][]evidence.Entry
		original          string // key in ids, "" where nothing was reported
		want              bool
	}{
		"of the trail":                      {"generic", "more", "", nil, nil, " more", true},
		"of the trail, another type":        {"junit", "more", "", nil, nil, "", false},
		"of the trail, required type":       {"jira", "ticket", "", nil, nil, "", true},
		"of the trail, unexpected type":     {"generic", "ticket", "", nil, nil, " ticket", true},
		"of the trail, unknown":             {"generic", "tests", "", nil, nil, "", false},
		"by name":                           {"junit", "tests", "", []string{"api"}, entries, "api tests", true},
		"by name, another type":             {"snyk", "tests", "", []string{"api"}, entries, "", false},
		"by names that have it":             {"junit", "tests", "", []string{"web", "api"}, entries, "web tests", true},
		"by names, of which one lacks it":   {"junit", "tests", "", []string{"api", "job"}, entries, "", false},
		"by name, required":                 {"junit", "tests", "", []string{"api"}, lacking, "", true},
		"by name, required of any type":     {"sonar", "free", "", []string{"api"}, lacking, "", true},
		"by name, required of another type": {"snyk", "tests", "", []string{"api"}, lacking, "", false},
		"by name, not required":             {"junit", "tests", "", []string{"web"}, lacking, "", false},
		"by fingerprint":                    {"junit", "tests", "a", []string{"api"}, entries, "api tests", true},
		"by fingerprint with two names":     {"junit", "tests", "a", []string{"job", "api"}, entries, "api tests", true},
		"by fingerprint, required once":     {"junit", "tests", "a", []string{"web", "api"}, lacking, "", true},
		"by fingerprint, unknown":           {"junit", "x", "a", []string{"api", "job"}, entries, "", false},
		"by fingerprint, without a name":    {"junit", "tests", "a", nil, entries, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			override := evidence.Attestation{Name: c.attestation, Type: c.kind, Fingerprint: c.fingerprint, Override: &evidence.Override{}}
			if c.fingerprint == "" {
				override.Targets = c.names
			}
			original, ok := compliance.Overridden(&s.template, &s.trail, &override, c.names, c.entries)
			if ok != c.want || original.ID != ids[c.original] {
				t.Errorf("it replaces %q, %v; want %q, %v", original.ID, ok, ids[c.original], c.want)
			}
		})
	}
}
