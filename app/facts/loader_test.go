package facts_test

import (
	"testing"

	"attestry/app/facts"
	"attestry/app/states"
	"attestry/evidence"
)

func TestArtifactIsNamedByItsNewestOrigin(t *testing.T) {
	named := func(name string) states.Evaluated {
		return states.Evaluated{Artifact: evidence.SlotArtifact{Filename: name}}
	}
	evaluated := []states.Evaluated{named("first"), named("second"), named("third")}
	for name, test := range map[string]struct {
		times []float64
		want  string
	}{
		"no flow knows it":       {nil, ""},
		"the first flow is last": {[]float64{3, 1, 2}, "first"},
		"another flow is last":   {[]float64{1, 3, 2}, "second"},
		"the last flow is last":  {[]float64{1, 2, 3}, "third"},
	} {
		t.Run(name, func(t *testing.T) {
			origins := evidence.Map(test.times, func(at float64) evidence.Origin { return evidence.Origin{Time: at} })
			if got := facts.NewestName(origins, evaluated); got != test.want {
				t.Errorf("NewestName returned %q, not %q", got, test.want)
			}
		})
	}
}
