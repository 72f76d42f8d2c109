package pebble

import (
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"attestry/storage"
	"attestry/storage/pebble/ordered"
)

// space is the prefix of all keys of a collection's records or bodies, or an index's entries. The catalog assigns it.
type space [4]byte

func (s space) key(text string) []byte {
	key := make([]byte, 0, len(s)+len(text))
	return append(append(key, s[:]...), text...)
}

// edits are changes in a batch. They must not be applied if one of them has failed.
type edits struct {
	batch *pebble.Batch
	err   error
}

func (e *edits) set(key, value []byte) { e.err = errors.Join(e.err, e.batch.Set(key, value, nil)) }

func (e *edits) delete(key []byte) { e.err = errors.Join(e.err, e.batch.Delete(key, nil)) }

func (e *edits) clear(s space) {
	e.err = errors.Join(e.err, e.batch.DeleteRange(s[:], ordered.After(s[:]), nil))
}

// collection says where the documents of a collection and the entries of its indexes are.
type collection struct {
	schema *storage.Schema
	// records and bodies have keys that end with the id.
	records, bodies space
	indexes         []index
}

// index is an index of a collection. Its keys are the encoded values of its fields and the id; its values are empty.
type index struct {
	storage.Index
	space space
}

func newCollection(schema *storage.Schema) *collection {
	c := &collection{schema: schema}
	for _, declared := range schema.Indexes {
		if c.indexOf(declared) == nil {
			c.indexes = append(c.indexes, index{Index: declared})
		}
	}
	return c
}

// indexOf returns the index of a declaration. It ignores the name: a changed declaration is a new index.
func (c *collection) indexOf(declared storage.Index) *index {
	for i := range c.indexes {
		one := &c.indexes[i]
		if slices.Equal(one.Fields, declared.Fields) && one.Required == declared.Required && one.Only == declared.Only {
			return one
		}
	}
	return nil
}

// identity is unique among the indexes of the collection.
func (i *index) identity() string {
	identity := strings.Join(i.Fields, ",")
	if i.Required != "" {
		identity += " with " + i.Required
	}
	if i.Only != nil {
		identity += " " + hex.EncodeToString(ordered.Append(nil, i.Only))
	}
	return identity
}

// holds reports whether a document with these fields is in the index.
func (i *index) holds(fields map[string]any) bool {
	if i.Required == "" {
		return true
	}
	required := fields[i.Required]
	return required != nil && (i.Only == nil || required == i.Only)
}

// appendKey appends the key of the entry of a document with these fields.
func (i *index) appendKey(key []byte, fields map[string]any, id []byte) []byte {
	key = append(key, i.space[:]...)
	for _, name := range i.Fields {
		key = ordered.Append(key, fields[name])
	}
	return append(key, id...)
}
