package recording_test

import (
	"encoding/json"
	"slices"
	"testing"

	"attestry/app"
	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/storagetest"
)

// alter replaces the body of a document by what change makes of its members.
func (s *clockFixture) alter(collection, id string, change func(members map[string]any)) {
	s.T.Helper()
	schemas := app.Schemas()
	schema := schemas[slices.IndexFunc(schemas, func(schema *storage.Schema) bool { return schema.Name == collection })]
	record, err := s.Db.Get(s.T.Context(), schema, id)
	s.Must(err)
	var members map[string]any
	s.Must(json.Unmarshal(record.Body, &members))
	change(members)
	record.Body, err = json.Marshal(members)
	s.Must(err)
	s.Must(storagetest.Put(s.T.Context(), s.Db, schema, record))
}

func steady(turn int) float64 { return 10_000 + float64(turn) }

func TestOverrideOfAnOverrideOfAnEarlierVersionNamesTheOriginal(t *testing.T) {
	for name, ofTrail := range map[string]bool{"of the trail": true, "of an artifact": false} {
		t.Run(name, func(t *testing.T) {
			s := newClockFixture(t, 1, steady)
			attest := func(override *evidence.Override) string {
				return s.attest("t", true, func(a *evidence.Attestation) {
					a.Override = override
					if !ofTrail {
						a.Targets = []string{"app"}
					}
				})
			}
			first := attest(nil)
			attest(&evidence.Override{})
			collection, id := "trails", evidence.TrailKey(s.flow, "t")
			if !ofTrail {
				collection, id = "slots", evidence.SlotID(id, "app")
			}
			s.alter(collection, id, func(members map[string]any) {
				delete(members["entries"].([]any)[0].(map[string]any), "override")
			})
			second, err := s.Attestations.Get(t.Context(), "org", attest(&evidence.Override{}))
			s.Must(err)
			if second.Override.Original != first {
				t.Errorf("it overrides %s, want %s", second.Override.Original, first)
			}
		})
	}
}

func TestProvenanceOfAnEarlierVersionTellsTheNewestRecord(t *testing.T) {
	s := newClockFixture(t, 2, disagreeing["clocks differ by an hour"].clock)
	s.report("flow", "t", apptest.Sha("1", 64))
	s.alter("provenance", "org/"+apptest.Sha("1", 64), func(members map[string]any) { delete(members, "latest") })
	last := s.report("other", "t", apptest.Sha("1", 64))
	if origins, build := s.origins(apptest.Sha("1", 64)); len(origins) != 2 || origins[1].Record != last || build == last {
		t.Errorf("origins %+v, the build %s, want %s as the last", origins, build, last)
	}
}
