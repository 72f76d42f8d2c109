package yamlfile

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

const (
	// maxReads bounds what aliases may expand a file to, in nodes.
	maxReads = 500_000

	// The tags of scalars that are resolved by their value.
	boolTag   = "!!bool"
	IntTag    = "!!int"
	NullTag   = "!!null"
	StringTag = "!!str"
	floatTag  = "!!float"
	timeTag   = "!!timestamp"

	// FieldRequired is the fault of a mapping without one of its members.
	FieldRequired = "Field required"
	notAMapping   = "Input should be a valid dictionary or instance of "
	notAList      = "Input should be a valid list"
	notAString    = "Input should be a valid string"
)

// Format is a kind of file.
type Format struct {
	// Name begins with a capital letter, such as Template.
	Name string
	// Columns makes errors name columns beside lines.
	Columns bool
}

func (f Format) tooManyParts() string {
	return "The " + strings.ToLower(f.Name) + " has too many parts"
}

// Reader takes values from a YAML tree and collects what is wrong with them.
type Reader struct {
	faults Error
	reads  int
}

// NewReader returns a reader of one file.
func (f Format) NewReader() *Reader { return &Reader{faults: Error{Format: f}} }

// Err is an *Error with what was found, nil when nothing was.
func (r *Reader) Err() error { return r.faults.orNil() }

// Fault notes what is wrong with a node; nil for the whole file.
func (r *Reader) Fault(node *yaml.Node, at, text string) {
	finding := Finding{Location: at, Line: 1, Text: text}
	if node != nil {
		finding.Line, finding.Column = node.Line, node.Column
	}
	r.faults.add(finding)
}

// Text reads a required text. Numbers and words such as true are none: they need quotes.
func (r *Reader) Text(entry, node *yaml.Node, at string) (string, bool) {
	if node == nil {
		r.Fault(entry, at, FieldRequired)
		return "", false
	}
	value := r.Resolve(node, at)
	switch {
	case value == nil:
		return "", false
	case !isText(value):
		r.Fault(node, at, notAString+r.Value(value))
		return "", false
	}
	return value.Value, true
}

// isText reports whether a scalar is a text. Dates are names as well, and so are 08 and 1e3, which may begin a
// commit: in YAML 1.1, as clients read it, a number with fraction or exponent has a point.
func isText(node *yaml.Node) bool {
	return node.Tag == StringTag || node.Tag == timeTag || node.Tag == floatTag && !strings.Contains(node.Value, ".")
}

// List returns the items of a list; one that is left out is empty.
func (r *Reader) List(node *yaml.Node, at string) []*yaml.Node {
	node = r.Resolve(node, at)
	if node == nil {
		return nil
	}
	if node.Kind != yaml.SequenceNode {
		r.Fault(node, at, notAList+r.Value(node))
		return nil
	}
	return node.Content
}

// Mapping returns a mapping's values by key, all of which must be known; ok is false for other nodes.
func (r *Reader) Mapping(node *yaml.Node, at, kind string, known ...string) (fields map[string]*yaml.Node, ok bool) {
	mapping := r.Resolve(node, at)
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		if mapping != nil || node == nil {
			r.Fault(mapping, at, notAMapping+kind+r.Value(mapping))
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
			r.Fault(key, Member(at, cut(key.Value)), "Extra inputs are not permitted"+r.Value(value))
		case twice:
			r.Fault(key, Member(at, key.Value), "Invalid YAML: the key is given twice")
		default:
			fields[key.Value] = value
		}
	}
	return fields, true
}

// Resolve follows aliases, within the budget of reads. What cannot be read is a fault, and nil.
func (r *Reader) Resolve(node *yaml.Node, at string) *yaml.Node {
	for node != nil {
		switch {
		case !r.within(node):
			return nil
		case node.Style&yaml.TaggedStyle != 0:
			r.Fault(node, at, "Tags are not supported"+Shown(node.Tag))
			return nil
		case node.Kind != yaml.AliasNode:
			return node
		}
		node = node.Alias
	}
	return nil
}

// within spends one of the reads that a file may take, which only aliases can use up.
func (r *Reader) within(node *yaml.Node) bool {
	r.reads++
	if r.reads == maxReads+1 {
		r.Fault(node, "", r.faults.Format.tooManyParts())
	}
	return r.reads <= maxReads
}

// Absent reports whether a node is left out or null.
func Absent(node *yaml.Node) bool { return node == nil || node.Tag == NullTag }

// Value repeats a value that is wrong, when it is a scalar on one line.
func (r *Reader) Value(node *yaml.Node) string {
	const block = yaml.LiteralStyle | yaml.FoldedStyle
	switch {
	case Absent(node):
		return Shown("None")
	case node.Kind != yaml.ScalarNode || node.Style&(block|yaml.TaggedStyle) != 0:
		return ""
	default:
		return Shown(node.Value)
	}
}

func cut(key string) string {
	if runes := []rune(key); len(runes) > MaxShown {
		return string(runes[:MaxShown]) + "..."
	}
	return key
}

// Bool reads a boolean; one that is left out is absent.
func (r *Reader) Bool(node *yaml.Node, at string, absent bool) bool {
	if node == nil {
		return absent
	}
	var result bool
	value := r.Resolve(node, at)
	if value == nil {
		return absent
	}
	if value.Tag != boolTag || value.Decode(&result) != nil {
		r.Fault(node, at, "Input should be a valid boolean"+r.Value(value))
	}
	return result
}
