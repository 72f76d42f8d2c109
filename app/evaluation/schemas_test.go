package evaluation

import (
	"encoding/json"
	"fmt"
	"testing"

	"attestry/evidence/attestation"
)

func TestSchemasUsedLastAreKept(t *testing.T) {
	s := schemas{room: 100}
	source := func(i int) json.RawMessage { return fmt.Appendf(nil, "%010d", i) }
	for i := range 4 {
		s.get(source(0)) // is used all the time
		s.put(source(i), &attestation.Schema{}, 23)
	}
	for i, want := range []bool{true, false, true, true} {
		if got := s.get(source(i)) != nil; got != want {
			t.Errorf("schema %d: kept %v", i, got)
		}
	}
	s.put(source(4), &attestation.Schema{}, 91)
	if s.get(source(4)) != nil || s.get(source(3)) == nil {
		t.Error("a schema beyond the room took that of others")
	}
}

func TestSchemaIsCompiledOnce(t *testing.T) {
	s := server{limits: productionLimits, schemas: schemas{room: productionLimits.Memory / 2}}
	judge := func(property, payload string, compliant bool) uint64 {
		definition := schema(`{"properties":{` + each(300, property) + `}}`)
		return s.limits.watch(func() {
			if a := s.answer(request{Definition: definition, HasSchema: true, Payload: json.RawMessage(payload)}); a.Verdict.Compliant != compliant || a.Fault != "" {
				t.Errorf("got %+v", a)
			}
		})
	}
	first := judge(`"p%d":{"type":"string"}`, `{"p1":"a"}`, true)
	judge(`"p%d":{"type":"number"}`, `{"p1":"a"}`, false)
	if again := judge(`"p%d":{"type":"string"}`, `{"p1":1}`, false); again > first/4 {
		t.Errorf("allocated %d bytes the first time and %d again", first, again)
	}
}
