package pebble

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"attestry/storage"
)

// layout is the version of the format of keys and values. It is raised if an older version of this package cannot use
// the folder. Version 2 compresses bodies and leaves documents out of indexes.
const layout = 2

var (
	errNewer   = errors.New("it was written by a newer version of Attestry")
	errCatalog = errors.New("malformed catalog")
)

// The names in the catalog, which is the space 0.
const (
	layoutName   = "layout"
	lastName     = "last" // the last assigned space
	groupsName   = "groups"
	recordsNames = "records/"
	bodiesNames  = "bodies/"
	indexNames   = "index/" // followed by the collection and the fields, as in things(org,time)
)

// The states of an index, which follow its space in the catalog.
const (
	building byte = iota
	built
)

// entry is the space of a name and, for an index, its state.
type entry struct {
	space space
	state byte
}

// catalog says which spaces the collections and indexes have. It is used only while the database is opened.
type catalog struct {
	entries map[string]entry
	last    uint32
	layout  uint32
	groups  uint64 // how many groups of commands were written
}

func readCatalog(db *pebble.DB) (*catalog, error) {
	c := &catalog{entries: map[string]entry{}}
	iterator, err := db.NewIter(&pebble.IterOptions{LowerBound: make([]byte, 4), UpperBound: []byte{0, 0, 0, 1}})
	if err != nil {
		return nil, err
	}
	for ok := iterator.First(); ok && err == nil; ok = iterator.Next() {
		var value []byte
		if value, err = iterator.ValueAndErr(); err == nil {
			err = c.decode(string(iterator.Key()[len(space{}):]), value)
		}
	}
	return c, errors.Join(err, iterator.Error(), iterator.Close())
}

func (c *catalog) decode(name string, value []byte) error {
	if len(value) < 4 {
		return fmt.Errorf("%w: %s", errCatalog, name)
	}
	switch name {
	case layoutName:
		c.layout = binary.BigEndian.Uint32(value)
		if c.layout > layout {
			return fmt.Errorf("%w (layout %d, this version knows %d)", errNewer, c.layout, layout)
		}
	case groupsName:
		if len(value) != 8 {
			return fmt.Errorf("%w: %s", errCatalog, name)
		}
		c.groups = binary.BigEndian.Uint64(value)
	case lastName:
		c.last = binary.BigEndian.Uint32(value)
	default:
		one := entry{space: space(value)}
		if len(value) > 4 {
			one.state = value[4]
		}
		c.entries[name] = one
	}
	return nil
}

// spaceOf returns the space of a name and assigns one if it has none.
func (c *catalog) spaceOf(e *edits, name string) entry {
	if found, ok := c.entries[name]; ok {
		return found
	}
	c.last++
	one := entry{state: building}
	binary.BigEndian.PutUint32(one.space[:], c.last)
	e.set(space{}.key(lastName), one.space[:])
	c.put(e, name, one)
	return one
}

func (c *catalog) put(e *edits, name string, one entry) {
	c.entries[name] = one
	e.set(space{}.key(name), append(bytes.Clone(one.space[:]), one.state))
}

func indexName(schema *storage.Schema, i *index) string {
	return indexNames + schema.Name + "(" + i.identity() + ")"
}
