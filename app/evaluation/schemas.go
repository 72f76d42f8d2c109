package evaluation

import (
	"bytes"
	"encoding/json"
	"slices"

	"attestry/evidence/attestation"
)

// schemas keeps the schemas that were used last compiled. Their size is taken to be
// what compiling them allocated, which is several times what they occupy: a short
// source can compile to a large schema.
type schemas struct {
	room uint64 // bytes
	size uint64
	kept []compiledSchema // the one used last is the last
}

type compiledSchema struct {
	source json.RawMessage
	schema *attestation.Schema
	size   uint64
}

// get returns nil if the schema is not kept.
func (s *schemas) get(source json.RawMessage) *attestation.Schema {
	i := slices.IndexFunc(s.kept, func(c compiledSchema) bool { return bytes.Equal(c.source, source) })
	if i < 0 {
		return nil
	}
	found := s.kept[i]
	s.kept = append(slices.Delete(s.kept, i, i+1), found)
	return found.schema
}

// put keeps a schema if there is room for it, instead of those used longest ago.
func (s *schemas) put(source json.RawMessage, schema *attestation.Schema, allocated uint64) {
	c := compiledSchema{source: source, schema: schema, size: allocated + uint64(len(source))}
	if c.size > s.room {
		return
	}
	s.kept = append(s.kept, c)
	for s.size += c.size; s.size > s.room; s.kept = slices.Delete(s.kept, 0, 1) {
		s.size -= s.kept[0].size
	}
}
