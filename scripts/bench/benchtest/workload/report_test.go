package workload

import (
	"encoding/json"
	"slices"
	"testing"

	"attestry/api/environments"
	"attestry/evidence/evidencetest"
)

func TestOtherVersionChangesOneFingerprint(t *testing.T) {
	r, err := newReport("seed", 4)
	evidencetest.Must(t, err)
	first := fingerprints(t, r)
	before := first
	for n := range 16 {
		r.replaceByOtherVersion(3)
		now := fingerprints(t, r)
		fresh := without(now, before)
		if len(now) != 4 || len(fresh) != 1 {
			t.Fatalf("change %d: %d images, %d others than before", n, len(now), len(fresh))
		}
		if i := (3 + n) % 4; fresh[0] != environments.Fingerprint(digest("seed", secondVersion, i)) && fresh[0] != environments.Fingerprint(digest("seed", firstVersion, i)) {
			t.Errorf("change %d: an image without provenance", n)
		}
		before = now
	}
	if !slices.Equal(before, first) {
		t.Errorf("after four rounds the images are %v, want %v", before, first)
	}
}

func without(all, removed []environments.Fingerprint) []environments.Fingerprint {
	return slices.DeleteFunc(slices.Clone(all), func(f environments.Fingerprint) bool { return slices.Contains(removed, f) })
}

func fingerprints(t *testing.T, r *report) []environments.Fingerprint {
	t.Helper()
	var body environments.K8SReport
	evidencetest.Must(t, json.Unmarshal(r.body, &body))
	if !body.Check() {
		t.Fatal("the report does not meet its schema")
	}
	var found []environments.Fingerprint
	for _, pod := range body.Artifacts {
		for _, fingerprint := range pod.Digests {
			if !slices.Contains(found, fingerprint) {
				found = append(found, fingerprint)
			}
		}
	}
	return found
}

func TestNextOrderChangesOnlyTheOrder(t *testing.T) {
	r, err := newReport("seed", 50)
	evidencetest.Must(t, err)
	evidencetest.Must(t, r.prepareOrders(50))
	want := slices.Sorted(slices.Values(fingerprints(t, r)))
	for n := range 2 * preparedOrders {
		before := fingerprints(t, r)
		r.nextOrder()
		now := fingerprints(t, r)
		if slices.Equal(now, before) {
			t.Errorf("order %d is the same as the previous one", n)
		}
		if slices.Sort(now); !slices.Equal(now, want) {
			t.Errorf("order %d has %d images: %v", n, len(now), now)
		}
	}
}
