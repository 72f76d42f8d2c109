package template

import (
	"fmt"
	"regexp"
	"unicode/utf8"

	"attestry/evidence"
	"attestry/evidence/expression"
	"attestry/evidence/independent"
	"attestry/evidence/pattern"
	"attestry/evidence/yamlfile"
)

const namePattern = `^[a-zA-Z0-9\-_]+$`

var format = yamlfile.Format{Name: "Template"}

const (
	// maxPatterns bounds the estimated memory of a template's expressions for machine accounts, in bytes.
	maxPatterns = 1 << 20
	// maxAccounts bounds the number of these expressions.
	maxAccounts = 1000
)

var validName = regexp.MustCompile(namePattern)

// Parse reads a template: YAML in the grammar of flow templates, version 1. Faults of the file are a *yamlfile.Error
// for its author. The lists of a parsed template are never nil.
func Parse(content []byte) (Template, error) {
	r := &reader{patterns: expression.NewPatterns(maxPatterns)}
	return yamlfile.Parse(format, content, r.template)
}

// reader decodes a template.
type reader struct {
	patterns *pattern.Set
	accounts int
}

func (r *reader) template(root yamlfile.Value) Template {
	parsed := Template{Version: 1, Trail: Trail{Attestations: []Attestation{}, Artifacts: []Artifact{}}}
	fields, ok := root.Mapping("Template", "version", "trail")
	if !ok {
		return parsed
	}
	// Version 1 is the only one, and the default.
	version, number := fields["version"].Resolve(), 0
	if version.Node != nil && (version.Node.Tag != "!!int" || version.Node.Decode(&number) != nil || number != 1) {
		version.Fault("Input should be 1" + version.Shown())
	}
	if trail := fields["trail"].Resolve(); !trail.IsAbsent() {
		lists, _ := trail.Mapping("Trail", "attestations", "artifacts")
		parsed.Trail = Trail{Attestations: r.attestations(lists["attestations"]), Artifacts: r.artifacts(lists["artifacts"])}
	}
	return parsed
}

func (r *reader) artifacts(list yamlfile.Value) []Artifact {
	artifacts, taken := []Artifact{}, names{}
	for _, one := range list.List() {
		if fields, ok := one.Mapping("Artifact", "name", "attestations"); ok {
			artifacts = append(artifacts, Artifact{
				Name: r.name(fields["name"], taken), Attestations: r.attestations(fields["attestations"]),
			})
		}
	}
	return artifacts
}

func (r *reader) attestations(list yamlfile.Value) []Attestation {
	attestations, taken := []Attestation{}, names{}
	for _, one := range list.List() {
		if fields, ok := one.Mapping("Attestation", "name", "type", "independent_approval", "separation_of_duties"); ok {
			required := Attestation{Name: r.name(fields["name"], taken), Type: fields["type"].AttestationType(evidence.MaxResourceName)}
			required.Independent = independent.Read(fields["independent_approval"], required.Type, r.patterns, r.allowAccount)
			if required.Independent != nil && required.Independent.SinceRelease {
				fields["independent_approval"].Fault("Value error, since_last_release is for policies only")
			}
			required.Separated = independent.ReadSeparation(fields["separation_of_duties"], required.Type)
			attestations = append(attestations, required)
		}
	}
	return attestations
}

// allowAccount counts an expression for machine accounts, and reports whether the number is within the limit.
func (r *reader) allowAccount(value yamlfile.Value) bool {
	r.accounts++
	if r.accounts == maxAccounts+1 {
		value.Fault(fmt.Sprintf("A template has at most %d machine accounts", maxAccounts))
	}
	return r.accounts <= maxAccounts
}

// names are the names of a list's previous entries.
type names map[string]bool

// name reads the name of an entry, which must be unique in its list.
func (r *reader) name(value yamlfile.Value, taken names) string {
	name, ok := value.Text()
	switch {
	case !ok:
	case utf8.RuneCountInString(name) > evidence.MaxResourceName:
		value.TooLong(name, evidence.MaxResourceName)
	case !validName.MatchString(name):
		value.Fault("String should match pattern '" + namePattern + "'" + yamlfile.Shown(name))
	case taken[name]:
		value.Fault("Value error, names must be unique within their list" + yamlfile.Shown(name))
	}
	taken[name] = true
	return name
}
