package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxQuotedKey is the longest unknown key that a fault quotes. A longer one might be a misplaced secret.
const maxQuotedKey = 15

// The tags of scalars, which the library derives from their values.
const (
	nullTag    = "!!null"
	textTag    = "!!str"
	timeTag    = "!!timestamp"
	boolTag    = "!!bool"
	integerTag = "!!int"
)

// yamlReader reads values from a YAML tree, zero for missing nodes, and collects faults, which never quote a value.
type yamlReader struct {
	file   string
	faults []yamlFault
}

type yamlFault struct {
	line   int
	reason string
}

func (r *yamlReader) fault(node *yaml.Node, format string, values ...any) {
	r.faults = append(r.faults, yamlFault{line: lineOf(node), reason: fmt.Sprintf(format, values...)})
}

// err returns all faults, by line.
func (r *yamlReader) err() error {
	slices.SortStableFunc(r.faults, func(a, b yamlFault) int { return cmp.Compare(a.line, b.line) })
	var faults Faults
	for _, one := range r.faults {
		faults = append(faults, fmt.Sprintf("%s:%d: %s", r.file, one.line, one.reason))
	}
	return faults.orNil()
}

// lineOf returns the line of a node, 1 for a missing one.
func lineOf(node *yaml.Node) int {
	if node == nil {
		return 1
	}
	return max(1, node.Line)
}

func isPlain(node *yaml.Node) bool { return node.Anchor == "" && node.Style&yaml.TaggedStyle == 0 }

func isScalar(node *yaml.Node, tags ...string) bool {
	return node != nil && node.Kind == yaml.ScalarNode && isPlain(node) && slices.Contains(tags, node.Tag)
}

// mapping returns the values of a mapping by their keys, which must be in known. Nil means that it is not a mapping.
func (r *yamlReader) mapping(node *yaml.Node, known ...string) map[string]*yaml.Node {
	entries, ok := r.entries(node)
	if !ok {
		return nil
	}
	fields := map[string]*yaml.Node{}
	for _, one := range entries {
		key := one.key.Value
		switch {
		case !slices.Contains(known, key):
			r.fault(one.key, "unknown key%s: there are %s", quoted(key), strings.Join(known, ", "))
		case fields[key] != nil:
			r.fault(one.key, "the key %s is given twice", key)
		default:
			fields[key] = one.value
		}
	}
	return fields
}

func quoted(key string) string {
	if key == "" || len(key) > maxQuotedKey {
		return ""
	}
	return fmt.Sprintf(" %q", key)
}

type entry struct{ key, value *yaml.Node }

// entries returns the pairs of a mapping, none for null. ok is false if the node is something else.
func (r *yamlReader) entries(node *yaml.Node) (entries []entry, ok bool) {
	if isAbsent(node) {
		return nil, true
	}
	if node.Kind != yaml.MappingNode || !isPlain(node) {
		r.fault(node, "must be a mapping of keys to values")
		return nil, false
	}
	for pair := range slices.Chunk(node.Content, 2) {
		entries = append(entries, entry{pair[0], pair[1]})
	}
	return entries, true
}

// sequence returns the items of a list, none for null.
func (r *yamlReader) sequence(node *yaml.Node) []*yaml.Node {
	if isAbsent(node) {
		return nil
	}
	if node.Kind != yaml.SequenceNode || !isPlain(node) {
		r.fault(node, "must be a list")
		return nil
	}
	return node.Content
}

func isAbsent(node *yaml.Node) bool { return node == nil || isScalar(node, nullTag) }

// text reads a string. ok is false if there is none.
func (r *yamlReader) text(node *yaml.Node) (text string, ok bool) {
	switch {
	case node == nil:
		return "", false
	case isScalar(node, textTag, timeTag):
		return node.Value, true
	}
	r.fault(node, "must be a text; numbers and words such as true or null need quotes")
	return "", false
}

func (r *yamlReader) boolean(node *yaml.Node) bool {
	var value bool
	if !isScalar(node, boolTag) || node.Decode(&value) != nil {
		r.fault(node, "must be true or false")
		return false
	}
	return value
}

// integer reads a whole number between 0 and most.
func (r *yamlReader) integer(node *yaml.Node, most int64) int64 {
	if node == nil {
		return 0
	}
	var value int64
	if isScalar(node, integerTag) && node.Decode(&value) == nil && value >= 0 && value <= most {
		return value
	}
	r.fault(node, "must be a whole number between 0 and %d", most)
	return 0
}
