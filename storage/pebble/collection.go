package pebble

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"attestry/storage"
	"attestry/storage/pebble/ordered"
)

// space is the prefix of all keys of the records or bodies of a collection, or the entries of an index. The catalog
// assigns it.
type space [4]byte

func (s space) key(text string) []byte {
	key := make([]byte, 0, len(s)+len(text))
	return append(append(key, s[:]...), text...)
}

func (s space) clear(batch *pebble.Batch) error {
	return batch.DeleteRange(s[:], ordered.After(s[:]), nil)
}

// collection says where the documents of a collection and the entries of its indexes are.
type collection struct {
	schema *storage.Schema
	// records and bodies have keys that end with the id.
	records, bodies space
	// positions are those of the fields in the schema.
	positions map[string]int
	indexes   []index
}

// index is an index of a collection. Its keys are the encoded values of its fields and the id; its values are empty.
type index struct {
	space     space
	fields    []string
	positions []int
	// required is the position of the field that documents in the index have, or -1.
	required int
	// only is the encoded value of that field, or nil for any.
	only []byte
}

func newCollection(schema *storage.Schema) *collection {
	c := &collection{schema: schema, positions: make(map[string]int, len(schema.Fields))}
	for i, name := range schema.Fields {
		c.positions[name] = i
	}
	for _, declared := range schema.Indexes {
		if c.indexOf(declared) != nil {
			continue
		}
		positions := make([]int, len(declared.Fields))
		for i, name := range declared.Fields {
			positions[i] = c.positions[name]
		}
		c.indexes = append(c.indexes, index{fields: declared.Fields, positions: positions, required: c.requiredBy(declared), only: onlyOf(declared)})
	}
	return c
}

func (c *collection) requiredBy(declared storage.Index) int {
	if declared.Required == "" {
		return -1
	}
	return c.positions[declared.Required]
}

func onlyOf(declared storage.Index) []byte {
	if declared.Only == nil {
		return nil
	}
	return ordered.Append(nil, declared.Only)
}

// indexOf returns the index of a declaration. Names do not count, so that an index whose declaration has changed is
// new.
func (c *collection) indexOf(declared storage.Index) *index {
	for i := range c.indexes {
		one := &c.indexes[i]
		if slices.Equal(one.fields, declared.Fields) && one.required == c.requiredBy(declared) && bytes.Equal(one.only, onlyOf(declared)) {
			return one
		}
	}
	return nil
}

// name identifies the index among those of its collection.
func (i *index) name(schema *storage.Schema) string {
	name := strings.Join(i.fields, ",")
	if i.required >= 0 {
		name += " with " + schema.Fields[i.required]
	}
	if i.only != nil {
		name += " " + hex.EncodeToString(i.only)
	}
	return name
}

// holds reports whether a document is in the index. Its fields are in the order of the schema.
func (i *index) holds(fields []field) bool {
	if i.required < 0 {
		return true
	}
	required := fields[i.required]
	var encoded [16]byte
	return required.kind > ordered.Null && (i.only == nil || bytes.Equal(required.appendOrdered(encoded[:0]), i.only))
}

// appendKey appends the key of the entry of a document, whose fields are in the order of the schema.
func (i *index) appendKey(key []byte, fields []field, id []byte) []byte {
	key = append(key, i.space[:]...)
	for _, position := range i.positions {
		key = fields[position].appendOrdered(key)
	}
	return append(key, id...)
}

// place puts the fields of a head in the order of the schema, without those that are no longer declared.
func (c *collection) place(h head, placed []field) ([]field, error) {
	placed = slices.Grow(placed[:0], len(c.schema.Fields))[:len(c.schema.Fields)]
	clear(placed)
	for rest := []byte(h[headBytes:]); len(rest) > 0; {
		var f field
		var err error
		if f, rest, err = cutField(rest); err != nil {
			return nil, err
		}
		if position, ok := c.positions[string(f.name)]; ok {
			placed[position] = f
		}
	}
	return placed, nil
}
