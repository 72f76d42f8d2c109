package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// maxQuotedKey is the most characters of an unknown key that a fault repeats. A
// longer one might be a secret in the wrong place.
const maxQuotedKey = 15

// yamlReader takes plain values from a YAML tree and collects what is wrong with
// them. A fault never repeats a value. Absent nodes give zero values.
type yamlReader struct {
	file   string
	faults []yamlFault
}

type yamlFault struct {
	line   int
	reason string
}

func (r *yamlReader) fault(node ast.Node, format string, values ...any) {
	r.faults = append(r.faults, yamlFault{line: lineOf(node), reason: fmt.Sprintf(format, values...)})
}

// all lists the faults by line.
func (r *yamlReader) all() error {
	slices.SortStableFunc(r.faults, func(a, b yamlFault) int { return cmp.Compare(a.line, b.line) })
	var faults Faults
	for _, one := range r.faults {
		faults = append(faults, fmt.Sprintf("%s:%d: %s", r.file, one.line, one.reason))
	}
	return faults.orNil()
}

func lineOf(node ast.Node) int {
	token := node.GetToken()
	if token == nil || token.Position == nil {
		return 1
	}
	return token.Position.Line
}

// mapping returns the values of a mapping by their keys, all of which must be
// among known, or nil when the node is no mapping.
func (r *yamlReader) mapping(node ast.Node, known ...string) map[string]ast.Node {
	entries, ok := r.entries(node)
	if !ok {
		return nil
	}
	fields := map[string]ast.Node{}
	for _, entry := range entries {
		key := entry.Key.GetToken().Value
		switch {
		case !slices.Contains(known, key):
			r.fault(entry.Key, "unknown key%s: there are %s", quoted(key), strings.Join(known, ", "))
		case fields[key] != nil:
			r.fault(entry.Key, "the key %s is given twice", key)
		default:
			fields[key] = entry.Value
		}
	}
	return fields
}

func quoted(key string) string {
	if len(key) > maxQuotedKey {
		return ""
	}
	return fmt.Sprintf(" %q", key)
}

// entries returns the pairs of a mapping; null is an empty one. ok is false when
// the node is something else.
func (r *yamlReader) entries(node ast.Node) (entries []*ast.MappingValueNode, ok bool) {
	if isAbsent(node) {
		return nil, true
	}
	mapping, ok := node.(ast.MapNode)
	if !ok {
		r.fault(node, "must be a mapping of keys to values")
		return nil, false
	}
	for pairs := mapping.MapRange(); pairs.Next(); {
		entries = append(entries, pairs.KeyValue())
	}
	return entries, true
}

// sequence returns the items of a list; null is an empty one.
func (r *yamlReader) sequence(node ast.Node) []ast.Node {
	if isAbsent(node) {
		return nil
	}
	sequence, ok := node.(*ast.SequenceNode)
	if !ok {
		r.fault(node, "must be a list")
		return nil
	}
	return sequence.Values
}

func isAbsent(node ast.Node) bool {
	_, null := node.(*ast.NullNode)
	return node == nil || null
}

// text reads a text; ok is false when there is none.
func (r *yamlReader) text(node ast.Node) (text string, ok bool) {
	switch node := node.(type) {
	case nil:
		return "", false
	case *ast.StringNode:
		return node.Value, true
	case *ast.LiteralNode:
		return node.Value.Value, true
	}
	r.fault(node, "must be a text; numbers and words such as true or null need quotes")
	return "", false
}

func (r *yamlReader) boolean(node ast.Node) bool {
	value, ok := node.(*ast.BoolNode)
	if !ok {
		r.fault(node, "must be true or false")
		return false
	}
	return value.Value
}

// integer reads a whole number between 0 and most.
func (r *yamlReader) integer(node ast.Node, most int64) int64 {
	if node == nil {
		return 0
	}
	if number, ok := node.(*ast.IntegerNode); ok {
		switch value := number.Value.(type) {
		case int64:
			if value >= 0 && value <= most {
				return value
			}
		case uint64:
			if value <= uint64(most) {
				return int64(value)
			}
		}
	}
	r.fault(node, "must be a whole number between 0 and %d", most)
	return 0
}
