package template

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"attestry/evidence"
	"attestry/evidence/attestation"
	"attestry/evidence/yamlfile"
)

// builtin are the types that an attestation can be required to have, beside AnyType and custom:<name>.
var builtin = attestation.Names()

const namePattern = `^[a-zA-Z0-9\-_]+$`

var format = yamlfile.Format{Name: "Template"}

var nameTooLong = fmt.Sprintf("String should have at most %d characters", evidence.MaxResourceName)

var validName = regexp.MustCompile(namePattern)

// Parse reads a template: YAML in the grammar of flow templates, version 1. What is wrong with the file is a
// *yamlfile.Error, which is meant for whoever wrote it. The lists of a parsed template are never nil.
func Parse(content []byte) (Template, error) {
	root, err := format.Load(content)
	if err != nil {
		return Template{}, err
	}
	return read(root, evidence.MaxResourceName)
}

func read(root *yaml.Node, maxName int) (Template, error) {
	r := &reader{Reader: format.NewReader(), maxName: maxName}
	parsed := r.template(root)
	if err := r.Err(); err != nil {
		return Template{}, err
	}
	return parsed, nil
}

// reader takes a template from a YAML tree and collects what is wrong with it.
type reader struct {
	*yamlfile.Reader
	// maxName is how many characters a name may have.
	maxName int
}

func (r *reader) template(node *yaml.Node) Template {
	parsed := Template{Version: 1, Trail: Trail{Attestations: []Attestation{}, Artifacts: []Artifact{}}}
	fields, ok := r.Mapping(node, "", "Template", "version", "trail")
	if !ok {
		return parsed
	}
	r.version(fields["version"])
	if trail := r.Resolve(fields["trail"], "trail"); !yamlfile.Absent(trail) {
		parsed.Trail = r.trail(trail)
	}
	return parsed
}

// version admits 1 alone; one that is left out is 1.
func (r *reader) version(node *yaml.Node) {
	node = r.Resolve(node, "version")
	if node == nil {
		return
	}
	var number int
	if node.Tag == yamlfile.IntTag && node.Decode(&number) == nil && number == 1 {
		return
	}
	r.Fault(node, "version", "Input should be 1"+r.Value(node))
}

func (r *reader) trail(node *yaml.Node) Trail {
	fields, _ := r.Mapping(node, "trail", "Trail", "attestations", "artifacts")
	return Trail{
		Attestations: r.attestations(fields["attestations"], "trail.attestations"),
		Artifacts:    r.artifacts(fields["artifacts"]),
	}
}

func (r *reader) artifacts(node *yaml.Node) []Artifact {
	const at = "trail.artifacts"
	artifacts := []Artifact{}
	taken := names{}
	for i, one := range r.List(node, at) {
		where := yamlfile.Item(at, i)
		fields, ok := r.Mapping(one, where, "Artifact", "name", "attestations")
		if !ok {
			continue
		}
		artifacts = append(artifacts, Artifact{
			Name:         r.name(one, fields["name"], yamlfile.Member(where, "name"), taken),
			Attestations: r.attestations(fields["attestations"], yamlfile.Member(where, "attestations")),
		})
	}
	return artifacts
}

func (r *reader) attestations(node *yaml.Node, at string) []Attestation {
	attestations := []Attestation{}
	taken := names{}
	for i, one := range r.List(node, at) {
		where := yamlfile.Item(at, i)
		fields, ok := r.Mapping(one, where, "Attestation", "name", "type")
		if !ok {
			continue
		}
		attestations = append(attestations, Attestation{
			Name: r.name(one, fields["name"], yamlfile.Member(where, "name"), taken),
			Type: r.kind(one, fields["type"], yamlfile.Member(where, "type")),
		})
	}
	return attestations
}

// names are those that a list has given already.
type names map[string]bool

// name reads the name of an entry, which no other of its list has.
func (r *reader) name(entry, node *yaml.Node, at string, taken names) string {
	name, ok := r.Text(entry, node, at)
	switch {
	case !ok:
	case utf8.RuneCountInString(name) > r.maxName:
		r.Fault(node, at, nameTooLong+yamlfile.Shown(name))
	case !validName.MatchString(name):
		r.Fault(node, at, "String should match pattern '"+namePattern+"'"+yamlfile.Shown(name))
	case taken[name]:
		r.Fault(node, at, "Value error, names must be unique within their list"+yamlfile.Shown(name))
	}
	taken[name] = true
	return name
}

// kind reads the type that an attestation is required to have.
func (r *reader) kind(entry, node *yaml.Node, at string) string {
	kind, ok := r.Text(entry, node, at)
	if ok && utf8.RuneCountInString(strings.TrimPrefix(kind, evidence.CustomPrefix)) > r.maxName {
		r.Fault(node, at, nameTooLong+yamlfile.Shown(kind))
		return kind
	}
	if ok && kind != AnyType && !slices.Contains(builtin, kind) && !isCustom(kind) {
		r.Fault(node, at, "Input should be '"+strings.Join(builtin, "', '")+"', '"+AnyType+"' or match pattern '^custom:.*$'"+yamlfile.Shown(kind))
	}
	return kind
}

// isCustom reports whether the type is custom:<name>, on one line.
func isCustom(kind string) bool {
	return strings.HasPrefix(kind, evidence.CustomPrefix) && !strings.Contains(kind, "\n")
}
