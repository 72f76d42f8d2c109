package template

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"attestry/evidence"
)

// builtin are the types that an attestation can be required to have, beside
// AnyType and custom:<name>.
var builtin = []string{"generic", "junit", "snyk", "pull_request", "jira", "sonar", "decision"}

const (
	customPrefix = "custom:"
	namePattern  = `^[a-zA-Z0-9\-_]+$`
	// maxReads bounds what aliases may expand a file to, in nodes.
	maxReads = 500_000

	// The tags of scalars that are resolved by their value.
	floatTag  = "!!float"
	intTag    = "!!int"
	nullTag   = "!!null"
	stringTag = "!!str"
	timeTag   = "!!timestamp"

	fieldRequired = "Field required"
	notAMapping   = "Input should be a valid dictionary or instance of "
	notAList      = "Input should be a valid list"
	notAString    = "Input should be a valid string"
)

var nameTooLong = fmt.Sprintf("String should have at most %d characters", evidence.MaxResourceName)

var validName = regexp.MustCompile(namePattern)

// Parse reads a template: YAML in the grammar of flow templates, version 1. What is
// wrong with the file is an *Error, which is meant for whoever wrote it. The lists of
// a parsed template are never nil.
func Parse(content []byte) (Template, error) {
	root, err := document(content)
	if err != nil {
		return Template{}, err
	}
	return read(root, evidence.MaxResourceName)
}

// read takes a template from a YAML tree.
func read(root *yaml.Node, maxName int) (Template, error) {
	r := &reader{maxName: maxName}
	parsed := r.template(root)
	if err := r.faults.orNil(); err != nil {
		return Template{}, err
	}
	return parsed, nil
}

// reader takes a template from a YAML tree and collects what is wrong with it.
type reader struct {
	faults Error
	reads  int
	// maxName is how many characters a name may have.
	maxName int
}

func (r *reader) fault(node *yaml.Node, at, text string) {
	line := 1
	if node != nil {
		line = node.Line
	}
	r.faults.add(Finding{Location: at, Line: line, Text: text})
}

func (r *reader) template(node *yaml.Node) Template {
	parsed := Template{Version: 1, Trail: Trail{Attestations: []Attestation{}, Artifacts: []Artifact{}}}
	fields, ok := r.mapping(node, "", "Template", "version", "trail")
	if !ok {
		return parsed
	}
	r.version(fields["version"])
	if trail := r.resolve(fields["trail"], "trail"); !absent(trail) {
		parsed.Trail = r.trail(trail)
	}
	return parsed
}

// version admits 1 alone; one that is left out is 1.
func (r *reader) version(node *yaml.Node) {
	node = r.resolve(node, "version")
	if node == nil {
		return
	}
	var number int
	if node.Tag == intTag && node.Decode(&number) == nil && number == 1 {
		return
	}
	r.fault(node, "version", "Input should be 1"+r.value(node))
}

func (r *reader) trail(node *yaml.Node) Trail {
	fields, _ := r.mapping(node, "trail", "Trail", "attestations", "artifacts")
	return Trail{
		Attestations: r.attestations(fields["attestations"], "trail.attestations"),
		Artifacts:    r.artifacts(fields["artifacts"]),
	}
}

func (r *reader) artifacts(node *yaml.Node) []Artifact {
	const at = "trail.artifacts"
	artifacts := []Artifact{}
	taken := names{}
	for i, one := range r.list(node, at) {
		where := item(at, i)
		fields, ok := r.mapping(one, where, "Artifact", "name", "attestations")
		if !ok {
			continue
		}
		artifacts = append(artifacts, Artifact{
			Name:         r.name(one, fields["name"], member(where, "name"), taken),
			Attestations: r.attestations(fields["attestations"], member(where, "attestations")),
		})
	}
	return artifacts
}

func (r *reader) attestations(node *yaml.Node, at string) []Attestation {
	attestations := []Attestation{}
	taken := names{}
	for i, one := range r.list(node, at) {
		where := item(at, i)
		fields, ok := r.mapping(one, where, "Attestation", "name", "type")
		if !ok {
			continue
		}
		attestations = append(attestations, Attestation{
			Name: r.name(one, fields["name"], member(where, "name"), taken),
			Type: r.kind(one, fields["type"], member(where, "type")),
		})
	}
	return attestations
}

// names are those that a list has given already.
type names map[string]bool

// name reads the name of an entry, which no other of its list has.
func (r *reader) name(entry, node *yaml.Node, at string, taken names) string {
	name, ok := r.text(entry, node, at)
	switch {
	case !ok:
	case utf8.RuneCountInString(name) > r.maxName:
		r.fault(node, at, nameTooLong+shown(name))
	case !validName.MatchString(name):
		r.fault(node, at, "String should match pattern '"+namePattern+"'"+shown(name))
	case taken[name]:
		r.fault(node, at, "Value error, names must be unique within their list"+shown(name))
	}
	taken[name] = true
	return name
}

// kind reads the type that an attestation is required to have.
func (r *reader) kind(entry, node *yaml.Node, at string) string {
	kind, ok := r.text(entry, node, at)
	if ok && utf8.RuneCountInString(strings.TrimPrefix(kind, customPrefix)) > r.maxName {
		r.fault(node, at, nameTooLong+shown(kind))
		return kind
	}
	if ok && kind != AnyType && !slices.Contains(builtin, kind) && !isCustom(kind) {
		r.fault(node, at, "Input should be '"+strings.Join(builtin, "', '")+"', '"+AnyType+"' or match pattern '^custom:.*$'"+shown(kind))
	}
	return kind
}

// isCustom reports whether the type is custom:<name>, on one line.
func isCustom(kind string) bool {
	return strings.HasPrefix(kind, customPrefix) && !strings.Contains(kind, "\n")
}

// text reads a required text. Numbers and words such as true are none: they need
// quotes.
func (r *reader) text(entry, node *yaml.Node, at string) (string, bool) {
	if node == nil {
		r.fault(entry, at, fieldRequired)
		return "", false
	}
	value := r.resolve(node, at)
	switch {
	case value == nil:
		return "", false
	case !isText(value):
		r.fault(node, at, notAString+r.value(value))
		return "", false
	}
	return value.Value, true
}

// isText reports whether a scalar is a text. Dates are names as well, and so are 08 and
// 1e3, as the beginning of a commit may be: in YAML 1.1, which the clients' libraries
// read, a number with a fraction or an exponent has a point.
func isText(node *yaml.Node) bool {
	return node.Tag == stringTag || node.Tag == timeTag || node.Tag == floatTag && !strings.Contains(node.Value, ".")
}

// list returns the items of a list; one that is left out is empty.
func (r *reader) list(node *yaml.Node, at string) []*yaml.Node {
	node = r.resolve(node, at)
	if node == nil {
		return nil
	}
	if node.Kind != yaml.SequenceNode {
		r.fault(node, at, notAList+r.value(node))
		return nil
	}
	return node.Content
}

// mapping returns the values of a mapping by their keys, all of which must be
// among known; ok is false when the node is none.
func (r *reader) mapping(node *yaml.Node, at, kind string, known ...string) (fields map[string]*yaml.Node, ok bool) {
	mapping := r.resolve(node, at)
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		if mapping != nil || node == nil {
			r.fault(mapping, at, notAMapping+kind+r.value(mapping))
		}
		return nil, false
	}
	fields = map[string]*yaml.Node{}
	for pair := range slices.Chunk(mapping.Content, 2) {
		key, value := pair[0], pair[1]
		_, twice := fields[key.Value]
		switch {
		case !r.within(value):
			return nil, false
		case key.Kind != yaml.ScalarNode || !slices.Contains(known, key.Value):
			r.fault(key, member(at, cut(key.Value)), "Extra inputs are not permitted"+r.value(value))
		case twice:
			r.fault(key, member(at, key.Value), "Invalid YAML: the key is given twice")
		default:
			fields[key.Value] = value
		}
	}
	return fields, true
}

// resolve follows aliases. What cannot be read is a fault, and nil. An alias that
// stands for something around itself ends with the budget of reads.
func (r *reader) resolve(node *yaml.Node, at string) *yaml.Node {
	for node != nil {
		switch {
		case !r.within(node):
			return nil
		case node.Style&yaml.TaggedStyle != 0:
			r.fault(node, at, "Tags are not supported"+shown(node.Tag))
			return nil
		case node.Kind != yaml.AliasNode:
			return node
		}
		node = node.Alias
	}
	return nil
}

// within spends one of the reads that a template may take, which only aliases can
// use up.
func (r *reader) within(node *yaml.Node) bool {
	r.reads++
	if r.reads == maxReads+1 {
		r.fault(node, "", tooManyParts)
	}
	return r.reads <= maxReads
}

func absent(node *yaml.Node) bool { return node == nil || node.Tag == nullTag }

// value repeats a value that is wrong, when it is a scalar on one line.
func (r *reader) value(node *yaml.Node) string {
	const block = yaml.LiteralStyle | yaml.FoldedStyle
	switch {
	case absent(node):
		return shown("None")
	case node.Kind != yaml.ScalarNode || node.Style&(block|yaml.TaggedStyle) != 0:
		return ""
	default:
		return shown(node.Value)
	}
}

func cut(key string) string {
	if runes := []rune(key); len(runes) > maxShown {
		return string(runes[:maxShown]) + "..."
	}
	return key
}
