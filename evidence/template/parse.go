package template

import (
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// builtin are the types that an attestation can be required to have, beside
// AnyType and custom:<name>.
var builtin = []string{"generic", "junit", "snyk", "pull_request", "jira", "sonar", "decision"}

const (
	customPrefix = "custom:"
	namePattern  = `^[a-zA-Z0-9\-_]+$`
	// maxReads bounds what aliases may blow a file up to.
	maxReads = 2 * maxTokens

	fieldRequired = "Field required"
	notAMapping   = "Input should be a valid dictionary or instance of "
	notAList      = "Input should be a valid list"
	notAString    = "Input should be a valid string"
)

var validName = regexp.MustCompile(namePattern)

// Parse reads a template: YAML in the grammar of contract/semantics.md 2.2, at
// most 10 MiB of it. What is wrong with the file is an *Error, which is meant for
// whoever wrote it. The lists of a parsed template are never nil.
func Parse(content []byte) (Template, error) {
	body, err := document(content)
	if err != nil {
		return Template{}, err
	}
	known := &anchors{named: map[string]*ast.AnchorNode{}}
	if body != nil {
		ast.Walk(known, body)
	}
	if known.again != nil {
		return Template{}, unreadable(lineOf(known.again), "Invalid YAML: the anchor is defined twice"+shown(nameOf(known.again.Name)))
	}
	r := &reader{anchors: known.named}
	parsed := r.template(body)
	if err := r.faults.orNil(); err != nil {
		return Template{}, err
	}
	return parsed, nil
}

// reader takes a template from a YAML tree and collects what is wrong with it.
type reader struct {
	anchors map[string]*ast.AnchorNode
	faults  Error
	reads   int
}

func (r *reader) fault(node ast.Node, at, text string) {
	r.faults.add(Finding{Location: at, Line: lineOf(node), Text: text})
}

func (r *reader) template(node ast.Node) Template {
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
func (r *reader) version(node ast.Node) {
	node = r.resolve(node, "version")
	if node == nil {
		return
	}
	if number, ok := node.(*ast.IntegerNode); ok && (number.Value == uint64(1) || number.Value == int64(1)) {
		return
	}
	r.fault(node, "version", "Input should be 1"+r.value(node))
}

func (r *reader) trail(node ast.Node) Trail {
	fields, _ := r.mapping(node, "trail", "Trail", "attestations", "artifacts")
	return Trail{
		Attestations: r.attestations(fields["attestations"], "trail.attestations"),
		Artifacts:    r.artifacts(fields["artifacts"]),
	}
}

func (r *reader) artifacts(node ast.Node) []Artifact {
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

func (r *reader) attestations(node ast.Node, at string) []Attestation {
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
func (r *reader) name(entry, node ast.Node, at string, taken names) string {
	name, ok := r.text(entry, node, at)
	switch {
	case !ok:
	case !validName.MatchString(name):
		r.fault(node, at, "String should match pattern '"+namePattern+"'"+shown(name))
	case taken[name]:
		r.fault(node, at, "Value error, names must be unique within their list"+shown(name))
	}
	taken[name] = true
	return name
}

// kind reads the type that an attestation is required to have.
func (r *reader) kind(entry, node ast.Node, at string) string {
	kind, ok := r.text(entry, node, at)
	if ok && kind != AnyType && !slices.Contains(builtin, kind) && !isCustom(kind) {
		r.fault(node, at, "Input should be '"+strings.Join(builtin, "', '")+"', '"+AnyType+"' or match pattern '^custom:.*$'"+shown(kind))
	}
	return kind
}

// isCustom tells whether the type is custom:<name>, on one line.
func isCustom(kind string) bool {
	return strings.HasPrefix(kind, customPrefix) && !strings.Contains(kind, "\n")
}

// text reads a required text. Numbers and words such as true are none: they need
// quotes.
func (r *reader) text(entry, node ast.Node, at string) (string, bool) {
	if node == nil {
		r.fault(entry, at, fieldRequired)
		return "", false
	}
	switch value := r.resolve(node, at).(type) {
	case *ast.StringNode:
		return value.Value, true
	case *ast.LiteralNode:
		return value.Value.Value, true
	case nil:
		return "", false
	default:
		r.fault(node, at, notAString+r.value(value))
		return "", false
	}
}

// list returns the items of a list; one that is left out is empty.
func (r *reader) list(node ast.Node, at string) []ast.Node {
	node = r.resolve(node, at)
	if node == nil {
		return nil
	}
	sequence, ok := node.(*ast.SequenceNode)
	if !ok {
		r.fault(node, at, notAList+r.value(node))
		return nil
	}
	return sequence.Values
}

// mapping returns the values of a mapping by their keys, all of which must be
// among known; ok is false when the node is none.
func (r *reader) mapping(node ast.Node, at, kind string, known ...string) (fields map[string]ast.Node, ok bool) {
	resolved := r.resolve(node, at)
	mapping, ok := resolved.(ast.MapNode)
	if !ok {
		if resolved != nil || node == nil {
			r.fault(resolved, at, notAMapping+kind+r.value(resolved))
		}
		return nil, false
	}
	fields = map[string]ast.Node{}
	for pairs := mapping.MapRange(); pairs.Next(); {
		pair := pairs.KeyValue()
		key := nameOf(pair.Key)
		_, twice := fields[key]
		switch {
		case !r.within(pair):
			return nil, false
		case !slices.Contains(known, key):
			r.fault(pair.Key, member(at, cut(key)), "Extra inputs are not permitted"+r.value(pair.Value))
		case twice:
			r.fault(pair.Key, member(at, key), "Invalid YAML: the key is given twice")
		default:
			fields[key] = pair.Value
		}
	}
	return fields, true
}

// resolve looks behind anchors and aliases. What cannot be resolved is a fault,
// and nil.
func (r *reader) resolve(node ast.Node, at string) ast.Node {
	for node != nil {
		if !r.within(node) {
			return nil
		}
		switch wrapped := node.(type) {
		case *ast.AnchorNode:
			node = wrapped.Value
		case *ast.AliasNode:
			anchor := r.anchors[nameOf(wrapped.Value)]
			if anchor == nil || !behind(wrapped, anchor) {
				r.fault(wrapped, at, "Invalid YAML: the alias stands for nothing"+shown(nameOf(wrapped.Value)))
				return nil
			}
			node = anchor.Value
		case *ast.TagNode:
			r.fault(wrapped, at, "Tags are not supported"+shown(wrapped.Start.Value))
			return nil
		default:
			return node
		}
	}
	return nil
}

// behind tells whether an alias comes behind its anchor. One that stands for
// something around itself ends with the budget of reads.
func behind(alias *ast.AliasNode, anchor *ast.AnchorNode) bool {
	return alias.Start.Position.Offset > anchor.Start.Position.Offset
}

// within spends one of the reads that a template may take, which only aliases can
// use up.
func (r *reader) within(node ast.Node) bool {
	r.reads++
	if r.reads == maxReads+1 {
		r.fault(node, "", tooManyParts)
	}
	return r.reads <= maxReads
}

func absent(node ast.Node) bool {
	_, null := node.(*ast.NullNode)
	return node == nil || null
}

// value repeats a value that is wrong, when it is a plain one.
func (r *reader) value(node ast.Node) string {
	switch value := node.(type) {
	case nil, *ast.NullNode:
		return shown("None")
	case *ast.StringNode:
		return shown(value.Value)
	case *ast.MappingNode, *ast.MappingValueNode, *ast.SequenceNode, *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.LiteralNode:
		return ""
	default:
		return shown(nameOf(value))
	}
}

func cut(key string) string {
	if runes := []rune(key); len(runes) > maxShown {
		return string(runes[:maxShown]) + "..."
	}
	return key
}
