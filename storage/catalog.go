package storage

import (
	"encoding/json"
	"errors"
	"fmt"

	"attestry/evidence"
)

// References are what a document names and what must exist with it.
type References struct {
	Objects []string // keys
	Chunks  []string // ids of chunks of snapshots
}

func referencesOf(value any) References {
	var r References
	if names, ok := value.(interface{ ObjectKeys() []string }); ok {
		r.Objects = evidence.WithoutEmpty(names.ObjectKeys())
	}
	if names, ok := value.(interface{ ChunkIDs() []string }); ok {
		r.Chunks = evidence.WithoutEmpty(names.ChunkIDs())
	}
	return r
}

type decoder func(Record) (References, error)

// Catalog wraps a database. The repositories that are made over it register how their documents are decoded.
type Catalog struct {
	Documents
	decoders map[string][]decoder
}

// NewCatalog makes a catalog over a database.
func NewCatalog(docs Documents) *Catalog {
	return &Catalog{Documents: docs, decoders: map[string][]decoder{}}
}

// catalogOf returns the catalog that a database wraps, nil if there is none.
func catalogOf(docs Documents) *Catalog {
	for {
		if catalog, ok := docs.(*Catalog); ok {
			return catalog
		}
		wrapper, ok := docs.(interface{ Unwrap() Documents })
		if !ok {
			return nil
		}
		docs = wrapper.Unwrap()
	}
}

func (c *Catalog) register(schema *Schema, decode decoder) {
	c.decoders[schema.Name] = append(c.decoders[schema.Name], decode)
}

// References decodes a document as its repository does, and returns its references. If a collection has documents of
// several types, one of them must fit. The error says why the document is damaged.
func (c *Catalog) References(schema *Schema, record Record) (References, error) {
	if schema.ContentAddressed {
		if found := evidence.SHA256(record.Body); found != record.ID {
			return References{}, fmt.Errorf("%w: the SHA-256 of its content is %s", ErrDamaged, found)
		}
	}
	if schema.Opaque {
		return References{}, nil
	}
	decoders := c.decoders[schema.Name]
	if len(decoders) == 0 && !json.Valid(record.Body) {
		return References{}, fmt.Errorf("%w: it is no JSON", ErrDamaged)
	}
	var faults []error
	for _, decode := range decoders {
		references, err := decode(record)
		if err == nil {
			return references, nil
		}
		faults = append(faults, err)
	}
	return References{}, errors.Join(faults...)
}
