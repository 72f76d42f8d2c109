package yamlfile

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"attestry/evidence"
	"attestry/evidence/attestation"
)

const (
	// maxReads bounds the nodes of a file after the expansion of aliases.
	maxReads = 500_000

	// FieldRequired is the finding for a missing member of a mapping.
	FieldRequired = "Field required"
)

// Format is a kind of file.
type Format struct {
	// Name begins with a capital letter, such as Template.
	Name string
	// Columns is true if errors have columns.
	Columns bool
}

func (f Format) tooManyParts() string {
	return "The " + strings.ToLower(f.Name) + " has too many parts"
}

// faults collects the faults of a file's values.
type faults struct {
	found Error
	reads int
}

// Value is a value of a file, with its location.
type Value struct {
	// Node is nil if the value is absent.
	Node   *yaml.Node
	parent *yaml.Node
	at     string
	faults *faults
}

// err is an *Error with the faults, or nil.
func (f *faults) err() error {
	if f.found.Count == 0 {
		return nil
	}
	slices.SortStableFunc(f.found.Findings, func(a, b Finding) int {
		if a.Line != b.Line || !f.found.Format.Columns {
			return cmp.Compare(a.Line, b.Line)
		}
		return cmp.Compare(a.Column, b.Column)
	})
	return &f.found
}

func (f *faults) add(node *yaml.Node, at, text string) {
	f.found.Count++
	if len(f.found.Findings) == maxFindings {
		return
	}
	finding := Finding{Location: at, Line: 1, Text: text}
	if node != nil {
		finding.Line, finding.Column = node.Line, node.Column
	}
	f.found.Findings = append(f.found.Findings, finding)
}

// countRead counts the read of a node and reports whether the number is within maxReads. Only aliases can exceed it.
func (f *faults) countRead(node *yaml.Node) bool {
	f.reads++
	if f.reads == maxReads+1 {
		f.add(node, "", f.found.Format.tooManyParts())
	}
	return f.reads <= maxReads
}

// Fault adds a fault of a value. The fault of an absent value is at its parent.
func (v Value) Fault(text string) {
	if v.Node == nil {
		v.Node = v.parent
	}
	v.faults.add(v.Node, v.at, text)
}

// Text reads a required text. Numbers and words such as true need quotes.
func (v Value) Text() (string, bool) {
	if v.Node == nil {
		v.Fault(FieldRequired)
		return "", false
	}
	value := v.Resolve()
	switch {
	case value.Node == nil:
		return "", false
	case !isText(value.Node):
		v.Fault("Input should be a valid string" + value.Shown())
		return "", false
	}
	return value.Node.Value, true
}

// BoundedText reads a required text of 1 to most characters.
func (v Value) BoundedText(most int) string {
	text, ok := v.Text()
	switch {
	case ok && text == "":
		v.Fault("String should have at least 1 character" + Shown(text))
	case utf8.RuneCountInString(text) > most:
		v.TooLong(text, most)
	}
	return text
}

// TooLong adds the fault of a text with more than most characters.
func (v Value) TooLong(text string, most int) {
	v.Fault(fmt.Sprintf("String should have at most %d characters", most) + Shown(text))
}

// attestationTypes are the types in files other than custom:<name>; * matches any.
var attestationTypes = append(attestation.Names(), "*")

// AttestationType reads a required type of attestations. most bounds its name, in characters.
func (v Value) AttestationType(most int) string {
	kind, ok := v.Text()
	name, custom := strings.CutPrefix(kind, evidence.CustomPrefix)
	switch {
	case !ok:
	case utf8.RuneCountInString(name) > most:
		v.TooLong(kind, most)
	case (!custom || strings.Contains(kind, "\n")) && !slices.Contains(attestationTypes, kind):
		v.Fault("Input should be '" + strings.Join(attestationTypes, "', '") + "' or match pattern '^custom:.*$'" + Shown(kind))
	}
	return kind
}

// isText reports whether a scalar is a text. Dates can be names, and so can 08 and 1e3, which may be the beginning of a
// commit: clients use YAML 1.1, where a number with a fraction or an exponent has a point.
func isText(node *yaml.Node) bool {
	return node.Tag == "!!str" || node.Tag == "!!timestamp" || node.Tag == "!!float" && !strings.Contains(node.Value, ".")
}

// Bool reads a boolean. absent is the default.
func (v Value) Bool(absent bool) (result bool) {
	value := v.Resolve()
	if value.Node == nil {
		return absent
	}
	if value.Node.Tag != "!!bool" || value.Node.Decode(&result) != nil {
		v.Fault("Input should be a valid boolean" + value.Shown())
	}
	return result
}

// Int reads a whole number from least to most. absent is the default.
func (v Value) Int(absent, least, most int) (result int) {
	value := v.Resolve()
	if value.Node == nil {
		return absent
	}
	if value.Node.Tag != "!!int" || value.Node.Decode(&result) != nil || result < least || result > most {
		v.Fault(fmt.Sprintf("Input should be a whole number from %d to %d", least, most) + value.Shown())
		return absent
	}
	return result
}

// IsMapping reports whether the value is a mapping.
func (v Value) IsMapping() bool {
	resolved := v.Resolve()
	return resolved.Node != nil && resolved.Node.Kind == yaml.MappingNode
}

// List returns the items of a list. An absent list is empty.
func (v Value) List() []Value {
	v = v.Resolve()
	if v.Node == nil {
		return nil
	}
	if v.Node.Kind != yaml.SequenceNode {
		v.Fault("Input should be a valid list" + v.Shown())
		return nil
	}
	items := make([]Value, 0, len(v.Node.Content))
	for i, node := range v.Node.Content {
		items = append(items, Value{Node: node, at: member(v.at, strconv.Itoa(i)), faults: v.faults})
	}
	return items
}

// Mapping returns a mapping's values by key. Other keys than known are faults. ok is false for other nodes.
func (v Value) Mapping(kind string, known ...string) (fields map[string]Value, ok bool) {
	mapping := v.Resolve()
	if mapping.Node == nil || mapping.Node.Kind != yaml.MappingNode {
		if mapping.Node != nil || v.Node == nil {
			mapping.Fault("Input should be a valid dictionary or instance of " + kind + mapping.Shown())
		}
		return nil, false
	}
	fields = map[string]Value{}
	for _, key := range known {
		fields[key] = Value{parent: v.Node, at: member(v.at, key), faults: v.faults}
	}
	for pair := range slices.Chunk(mapping.Node.Content, 2) {
		key, value := pair[0].Value, Value{Node: pair[1]}
		field, isKnown := fields[key]
		switch {
		case !v.faults.countRead(value.Node):
			return nil, false
		case pair[0].Kind != yaml.ScalarNode || !isKnown:
			v.faults.add(pair[0], member(v.at, cut(key)), "Extra inputs are not permitted"+value.Shown())
		case field.Node != nil:
			v.faults.add(pair[0], field.at, "Invalid YAML: the key is given twice")
		default:
			field.Node = value.Node
			fields[key] = field
		}
	}
	return fields, true
}

// Resolve follows aliases, within maxReads. A value that cannot be read is a fault and becomes absent.
func (v Value) Resolve() Value {
	for v.Node != nil {
		switch {
		case !v.faults.countRead(v.Node):
			v.Node = nil
			return v
		case v.Node.Style&yaml.TaggedStyle != 0:
			v.Fault("Tags are not supported" + Shown(v.Node.Tag))
			v.Node = nil
			return v
		case v.Node.Kind != yaml.AliasNode:
			return v
		}
		v.Node = v.Node.Alias
	}
	return v
}

// IsAbsent reports whether a value is absent or null.
func (v Value) IsAbsent() bool { return v.Node == nil || v.Node.Tag == "!!null" }

// Shown is the end of a finding about the value, if that is a scalar on one line.
func (v Value) Shown() string {
	switch {
	case v.IsAbsent():
		return Shown("None")
	case v.Node.Kind != yaml.ScalarNode || v.Node.Style&(yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) != 0:
		return ""
	default:
		return Shown(v.Node.Value)
	}
}
