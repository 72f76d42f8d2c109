package evaluation

import (
	"encoding/json"
	"testing"
)

func TestSchemaIsCompiledOnce(t *testing.T) {
	s := newServer(productionLimits)
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
