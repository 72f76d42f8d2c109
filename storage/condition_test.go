package storage

import (
	"testing"

	"attestry/evidence"
)

func TestFilterRequiresAllConditions(t *testing.T) {
	fields := map[string]any{"name": "Größe.v1", "size": int64(3), "flag": true}
	cases := []struct {
		condition Condition
		want      bool
	}{
		{Condition{"name", Equals, "Größe.v1"}, true},
		{Condition{"name", Equals, "größe.v1"}, false},
		{Condition{"size", Equals, 3.0}, true},
		{Condition{"flag", Equals, true}, true},
		{Condition{"flag", Equals, "true"}, false},
		{Condition{"absent", Equals, nil}, true},
		{Condition{"name", Equals, nil}, false},
		{Condition{"size", OneOf, In{int64(5), int64(3), nil}}, true},
		{Condition{"size", OneOf, In{}}, false},
		{Condition{"absent", OneOf, In{"a", nil}}, true},
		{Condition{"name", Contains, "öße"}, true},
		{Condition{"name", Contains, "ÖSS"}, false},
		{Condition{"name", Contains, ".*"}, false},
		{Condition{"name", ContainsFold, "RÖß"}, true},
		{Condition{"name", ContainsFold, "rößE.V"}, true},
		{Condition{"size", Contains, "3"}, false},
		{Condition{"absent", Contains, ""}, false},
		{Condition{"name", Matches, `^Gr.*\.v\d$`}, true},
		{Condition{"name", Matches, `^v\d$`}, false},
	}
	for _, c := range cases {
		filter, err := NewFilter([]Condition{c.condition})
		if err != nil {
			t.Errorf("%+v: %v", c.condition, err)
			continue
		}
		if filter(fields) != c.want {
			t.Errorf("%+v is %v", c.condition, !c.want)
		}
	}
	both, err := NewFilter([]Condition{{"size", Equals, int64(3)}, {"name", Equals, "other"}})
	if err != nil || both(fields) {
		t.Errorf("one of two conditions is enough: %v", err)
	}
}

func TestMalformedPatternIsInvalid(t *testing.T) {
	if _, err := NewFilter([]Condition{{"name", Matches, "("}}); evidence.CodeOf(err) != evidence.Invalid {
		t.Errorf("got %v", err)
	}
}
