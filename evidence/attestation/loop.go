package attestation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"attestry/evidence"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// checkLoops refuses a schema that applies itself to the same value, as {"$ref":"#"} does: its evaluation would not
// end. A schema may refer to itself for members or items, since values are finite.
func checkLoops(root *jsonschema.Schema) error {
	var path []*jsonschema.Schema
	finished := map[*jsonschema.Schema]bool{nil: true} // no loop can be reached from these
	// find returns the schemas of a reachable loop, with the first one again at the end; nil if there is none.
	var find func(part *jsonschema.Schema) []*jsonschema.Schema
	find = func(part *jsonschema.Schema) []*jsonschema.Schema {
		if finished[part] {
			return nil
		}
		if i := slices.Index(path, part); i >= 0 {
			return append(slices.Clone(path[i:]), part)
		}
		path = append(path, part)
		for _, next := range appliedToSame(part) {
			if loop := find(next); loop != nil {
				return loop
			}
		}
		path = path[:len(path)-1]
		finished[part] = true
		return nil
	}
	for _, part := range reachable(root) {
		if loop := find(part); loop != nil {
			steps := evidence.Map(loop[1:], func(part *jsonschema.Schema) string { return "'" + locationOf(part) + "'" })
			return fmt.Errorf("at '%s': it applies itself to the same value without end, by way of %s", locationOf(loop[0]), cut(strings.Join(steps, ", ")))
		}
	}
	return nil
}

// locationOf is the location of a schema within the type's schema, in the form of references.
func locationOf(part *jsonschema.Schema) string {
	return cut(strings.TrimPrefix(part.Location, schemaURL))
}

// reachable returns a schema with all its subschemas and those that it refers to, sorted by location.
func reachable(root *jsonschema.Schema) []*jsonschema.Schema {
	var found []*jsonschema.Schema
	seen := map[*jsonschema.Schema]bool{nil: true}
	queue := []*jsonschema.Schema{root}
	for len(queue) > 0 {
		part := queue[0]
		queue = queue[1:]
		if seen[part] {
			continue
		}
		seen[part] = true
		found = append(found, part)
		queue = slices.Concat(queue, appliedToSame(part), appliedToEach(part), itemsOf(part))
		queue = slices.AppendSeq(append(queue, part.ContentSchema), maps.Values(part.Properties))
	}
	slices.SortFunc(found, func(a, b *jsonschema.Schema) int { return strings.Compare(a.Location, b.Location) })
	return found
}

// appliedToSame returns the schemas that a schema applies to the same value; absent keywords are nil. For a $dynamicRef
// it is the static target: others depend on the path of evaluation. The library treats a loop through another target as
// a violation, which a "not" or an alternative can turn into a match.
func appliedToSame(part *jsonschema.Schema) []*jsonschema.Schema {
	parts := []*jsonschema.Schema{part.Ref, part.RecursiveRef, part.Not, part.If, part.Then, part.Else}
	if part.DynamicRef != nil {
		parts = append(parts, part.DynamicRef.Ref)
	}
	parts = slices.Concat(parts, part.AllOf, part.AnyOf, part.OneOf)
	parts = slices.AppendSeq(parts, maps.Values(part.DependentSchemas))
	for _, dependency := range part.Dependencies {
		if schema, ok := dependency.(*jsonschema.Schema); ok {
			parts = append(parts, schema)
		}
	}
	return parts
}

// appliedToEach returns the schemas that a schema may apply to every member, every name of a member, or every item;
// absent keywords are nil.
func appliedToEach(part *jsonschema.Schema) []*jsonschema.Schema {
	parts := []*jsonschema.Schema{part.PropertyNames, part.UnevaluatedProperties, part.Contains, part.Items2020, part.UnevaluatedItems}
	parts = slices.AppendSeq(parts, maps.Values(part.PatternProperties))
	for _, keyword := range []any{part.AdditionalProperties, part.Items, part.AdditionalItems} {
		if schema, ok := keyword.(*jsonschema.Schema); ok {
			parts = append(parts, schema)
		}
	}
	return parts
}

// itemsOf returns the schemas that a schema applies to the first items, one to each.
func itemsOf(part *jsonschema.Schema) []*jsonschema.Schema {
	if items, ok := part.Items.([]*jsonschema.Schema); ok {
		return items
	}
	return part.PrefixItems
}
