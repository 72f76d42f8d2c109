// Package framework reads the files that map the requirements of a standard to measures (docs/semantics.md 26.7).
package framework

import (
	"embed"
	"path"
	"slices"
	"strings"

	"attestry/evidence"
	"attestry/evidence/attestation"
	"attestry/evidence/yamlfile"
)

// MaxMeasures bounds the measures of a file.
const MaxMeasures = 500

// Framework is a standard, or the part of one that is audited.
type Framework struct {
	Title        string
	Requirements []Requirement
}

// Requirement is a requirement of a framework. It is not measured if it has no measures.
type Requirement struct {
	ID, Title string
	Measures  []Measure
}

// Measure is a measure of a requirement. Exactly one of Findings, Attestation, Control and Log is set.
type Measure struct {
	Title string
	// Findings are the findings with which a deployment fails the measure.
	Findings []string
	// Attestation is required for each deployment.
	Attestation *Attestation
	// Control is the identifier of the control that needs a decision for each deployment.
	Control string
	// Log requires that the transparency log covers the period.
	Log bool
}

// Attestation is a required attestation: its type, its name, or both. "" matches any.
type Attestation struct{ Type, Name string }

// Controls are the distinct controls of the measures, sorted.
func (f *Framework) Controls() (named []string) {
	for _, requirement := range f.Requirements {
		for _, measure := range requirement.Measures {
			if measure.Control != "" {
				named = append(named, measure.Control)
			}
		}
	}
	slices.Sort(named)
	return slices.Compact(named)
}

// Fits reports whether an attestation of a type and a name is the required one.
func (a *Attestation) Fits(kind, name string) bool {
	if kind == evidence.TypeDecision {
		kind = attestation.DecisionName
	}
	return (a.Type == "" || a.Type == "*" || a.Type == kind) && (a.Name == "" || a.Name == name)
}

// String describes the measure.
func (m *Measure) String() string {
	switch {
	case m.Attestation != nil:
		return strings.TrimSpace("attestation " + strings.TrimSpace(m.Attestation.Type+" "+m.Attestation.Name))
	case m.Control != "":
		return "control " + m.Control
	case m.Log:
		return "log"
	}
	return "findings " + strings.Join(m.Findings, ", ")
}

var format = yamlfile.Format{Name: "Framework", Columns: true}

// Findings are the findings of deployments that a measure may name. Restarts are not measured: they change nothing.
var Findings = []string{
	"release", "rollback", "compliant", "non_compliant", "not_judged", "not_recorded", "allow_listed", "broke_glass", "unapproved_trails",
	"incident", "machine_account", "approved", "overridden", "approved_late", "not_approved", "no_pull_request", "no_provenance",
}

// Parse reads a file. Faults of the file are a *yamlfile.Error, which is for its author.
func Parse(content []byte) (Framework, error) { return yamlfile.Parse(format, content, frameworkOf) }

func frameworkOf(value yamlfile.Value) Framework {
	fields, ok := value.Mapping("Framework", "title", "requirements")
	if !ok {
		return Framework{}
	}
	parsed, known, measures := Framework{Title: fields["title"].BoundedText(maxText)}, map[string]bool{}, 0
	for _, one := range fields["requirements"].List() {
		requirement := requirementOf(one)
		if known[requirement.ID] {
			one.Fault("Value error, another requirement has this id" + yamlfile.Shown(requirement.ID))
		}
		known[requirement.ID] = true
		if measures += len(requirement.Measures); measures > MaxMeasures {
			one.Fault("Value error, a framework has at most 500 measures")
			break
		}
		parsed.Requirements = append(parsed.Requirements, requirement)
	}
	if len(parsed.Requirements) == 0 {
		value.Fault("Value error, a framework has at least one requirement")
	}
	return parsed
}

func requirementOf(value yamlfile.Value) Requirement {
	fields, ok := value.Mapping("Requirement", "id", "title", "measures")
	if !ok {
		return Requirement{}
	}
	requirement := Requirement{ID: fields["id"].BoundedText(maxText), Title: fields["title"].BoundedText(maxText)}
	for _, one := range fields["measures"].List() {
		requirement.Measures = append(requirement.Measures, measureOf(one))
	}
	return requirement
}

func measureOf(value yamlfile.Value) Measure {
	fields, ok := value.Mapping("Measure", "title", "findings", "attestation", "control", "log")
	if !ok {
		return Measure{}
	}
	measure := Measure{Title: fields["title"].BoundedText(maxText), Log: fields["log"].Bool(false)}
	for _, one := range fields["findings"].List() {
		finding := one.BoundedText(maxText)
		if !slices.Contains(Findings, finding) {
			one.Fault("Input should be one of " + strings.Join(Findings, ", ") + yamlfile.Shown(finding))
		}
		measure.Findings = append(measure.Findings, finding)
	}
	if !fields["attestation"].IsAbsent() {
		measure.Attestation = attestationOf(fields["attestation"])
	}
	if !fields["control"].IsAbsent() {
		measure.Control = fields["control"].BoundedText(maxText)
	}
	kinds := []bool{measure.Findings != nil, measure.Attestation != nil, measure.Control != "", measure.Log}
	if set := slices.DeleteFunc(kinds, func(set bool) bool { return !set }); len(set) != 1 {
		value.Fault("Value error, a measure has exactly one of findings, attestation, control and log")
	}
	return measure
}

func attestationOf(value yamlfile.Value) *Attestation {
	fields, ok := value.Mapping("Attestation", "type", "name")
	if !ok {
		return nil
	}
	required := &Attestation{}
	if !fields["type"].IsAbsent() {
		required.Type = fields["type"].AttestationType(maxText)
	}
	if !fields["name"].IsAbsent() {
		required.Name = fields["name"].BoundedText(maxText)
	}
	if *required == (Attestation{}) {
		value.Fault("Value error, an attestation has a type or a name")
	}
	return required
}

// maxText bounds each text of a file, in characters.
const maxText = 300

//go:embed shipped
var files embed.FS

// Shipped are the frameworks that come with the service, by name: examples to copy and change.
var Shipped = readShipped()

func readShipped() map[string][]byte {
	all := map[string][]byte{}
	entries, _ := files.ReadDir("shipped") // it is embedded, as the files are
	for _, entry := range entries {
		all[strings.TrimSuffix(entry.Name(), ".yml")], _ = files.ReadFile(path.Join("shipped", entry.Name()))
	}
	return all
}
