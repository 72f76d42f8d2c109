package evaluation

import (
	"encoding/json"
	"testing"

	"attestry/evidence/attestation"
)

func TestSchemaIsCompiledOnce(t *testing.T) {
	s := newServer(productionLimits)
	evaluate := func(property, payload string, compliant bool) *attestation.Schema {
		definition := schema(`{"properties":{` + each(300, property) + `}}`)
		if a := s.answer(request{Definition: definition, HasSchema: true, Payload: json.RawMessage(payload)}); a.Verdict.Compliant != compliant || a.Fault != "" {
			t.Errorf("got %+v", a)
		}
		compiled, ok := s.schemas.Get(string(definition.Schema))
		if !ok {
			t.Error("the compiled schema was not cached")
		}
		return compiled
	}
	first := evaluate(`"p%d":{"type":"string"}`, `{"p1":"a"}`, true)
	evaluate(`"p%d":{"type":"number"}`, `{"p1":"a"}`, false)
	if evaluate(`"p%d":{"type":"string"}`, `{"p1":1}`, false) != first {
		t.Error("the schema was compiled again")
	}
}
