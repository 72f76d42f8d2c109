package framework

import (
	"fmt"
	"strings"
	"testing"

	"attestry/evidence"
)

func TestShippedFrameworksAreValid(t *testing.T) {
	all := Shipped
	for _, name := range []string{"soc2", "iso-27001", "pci-dss", "dora", "nist-ssdf", "cra"} {
		parsed, err := Parse(all[name])
		if err != nil || parsed.Title == "" || len(parsed.Controls()) > 0 {
			t.Errorf("%s: %v, %+v", name, err, parsed)
		}
	}
	if len(all) != 6 {
		t.Errorf("%d are shipped", len(all))
	}
}

func TestFrameworkHasAsManyMeasuresAsTheLimit(t *testing.T) {
	measures := strings.Repeat("      - {title: a, log: true}\n", MaxMeasures-1)
	second := "  - {id: R2, title: Two, measures: [{title: b, control: C-2}, {title: b, control: C-1}]}\n"
	one := strings.Replace(second, ", {title: b, control: C-1}", "", 1)
	if parsed, err := Parse([]byte(head + measures + one)); err != nil || len(parsed.Requirements) != 2 {
		t.Errorf("%d requirements, %v", len(parsed.Requirements), err)
	}
	if _, err := Parse([]byte(head + measures + second)); err == nil || !strings.Contains(err.Error(), "at most 500 measures") {
		t.Errorf("with one more it says %v", err)
	}
	if parsed, err := Parse([]byte(head + "      - {title: a, control: C-3}\n" + second)); err != nil || fmt.Sprint(parsed.Controls()) != "[C-1 C-2 C-3]" {
		t.Errorf("its controls are %v, %v", parsed.Controls(), err)
	}
}

const head = "title: T\nrequirements:\n  - id: R1\n    title: One\n    measures:\n"

func TestFrameworkIsParsed(t *testing.T) {
	parsed, err := Parse([]byte(head + `      - {title: a, findings: [no_provenance, incident]}
      - {title: b, attestation: {type: "custom:sbom", name: parts}}
      - {title: c, control: RCTL-1}
      - {title: d, log: true}
      - {title: e, control: RCTL-1}
      - {title: f, attestation: {name: unit}}
      - {title: g, attestation: {type: junit}}
  - {id: R2, title: Two}
`))
	if err != nil {
		t.Fatal(err)
	}
	var by []string
	for _, measure := range parsed.Requirements[0].Measures {
		by = append(by, measure.Title+" "+measure.String())
	}
	if got, want := strings.Join(by, "; "), "a findings no_provenance, incident; b attestation custom:sbom parts; c control RCTL-1; d log; e control RCTL-1; f attestation unit; g attestation junit"; got != want {
		t.Errorf("it measures %s, want %s", got, want)
	}
	if fmt.Sprint(parsed.Controls()) != "[RCTL-1]" || parsed.Title != "T" || len(parsed.Requirements) != 2 || parsed.Requirements[1].Measures != nil {
		t.Errorf("it is read as %+v", parsed)
	}
}

func TestFaultsOfFrameworksNameTheirLine(t *testing.T) {
	for name, c := range map[string]struct{ file, says string }{
		"empty":                    {"", "Framework"},
		"no requirement":           {"title: T\nrequirements: []\n", "at least one requirement"},
		"an id twice":              {head + "      - {title: a, log: true}\n  - {id: R1, title: Again}\n", "line 7"},
		"no title":                 {"requirements:\n  - {id: R1, title: One}\n", "title"},
		"an empty id":              {"title: T\nrequirements:\n  - {id: '', title: One}\n", "at least 1 character"},
		"a long title":             {"title: " + strings.Repeat("x", 301) + "\nrequirements:\n  - {id: a, title: b}\n", "at most 300 characters"},
		"an unknown member":        {head + "      - {title: a, log: true, weight: 3}\n", "weight"},
		"an unknown finding":       {head + "      - {title: a, findings: [restart]}\n", "line 6"},
		"nothing that is measured": {head + "      - {title: a}\n", "exactly one of"},
		"two at once":              {head + "      - {title: a, log: true, control: C}\n", "exactly one of"},
		"an attestation of none":   {head + "      - {title: a, attestation: {}}\n", "a type or a name"},
		"an unknown type":          {head + "      - {title: a, attestation: {type: tarot}}\n", "tarot"},
		"too many measures":        {head + strings.Repeat("      - {title: a, log: true}\n", MaxMeasures+1), "at most 500 measures"},
		"a list of texts":          {head + "      - just a text\n", "instance of Measure"},
		"a text for a requirement": {"title: T\nrequirements: [R1]\n", "instance of Requirement"},
		"a text for attestations":  {head + "      - {title: a, attestation: junit}\n", "instance of Attestation"},
		"no YAML":                  {"title: [", "Invalid YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse([]byte(c.file)); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("it says %v, want %s", err, c.says)
			}
		})
	}
}

func TestAnAttestationFitsByTypeAndName(t *testing.T) {
	for wanted, want := range map[Attestation]bool{
		{Type: "junit"}: true, {Type: "junit", Name: "unit"}: true, {Name: "unit"}: true, {Type: "*", Name: "unit"}: true,
		{Type: "snyk"}: false, {Type: "junit", Name: "system"}: false,
	} {
		if wanted.Fits(evidence.TypeJUnit, "unit") != want {
			t.Errorf("%+v fits: %t", wanted, !want)
		}
	}
	if wanted := (Attestation{Type: "decision"}); !wanted.Fits(evidence.TypeDecision, "any") {
		t.Error("a decision does not fit")
	}
}
