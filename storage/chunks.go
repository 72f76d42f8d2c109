package storage

import (
	"container/list"
	"context"
	"fmt"
	"slices"
	"sync"

	"attestry/evidence/snapshot"
)

// maxCachedBytes bounds the cache of chunks by their size in JSON; in memory they
// take up about twice as much.
const maxCachedBytes = 32 << 20

var chunkSchema = &Schema{Name: "chunks"}

// identified is a chunk with its id, which is not part of the content.
type identified struct {
	snapshot.Chunk
	id string
}

// chunks keeps the pieces of snapshots by the SHA-256 of their content. They are
// immutable, so what was read or written once can be kept in memory.
type chunks struct {
	collection *Collection[identified]
	cache      *chunkCache
}

func newChunks(docs Documents) *chunks {
	return &chunks{
		cache: &chunkCache{order: list.New(), entries: map[string]*list.Element{}},
		collection: NewCollection(docs, chunkSchema,
			func(c *identified) string { return c.id }, nil),
	}
}

// store stores chunks by id; those that are there already are left alone. Leaves of
// changes are not kept in memory, as the next report does not compare with them.
func (c *chunks) store(ctx context.Context, fresh map[string]snapshot.Chunk) error {
	if len(fresh) == 0 {
		return nil
	}
	values := make([]identified, 0, len(fresh))
	for id, chunk := range fresh {
		values = append(values, identified{Chunk: chunk, id: id})
	}
	if _, err := c.collection.InsertMany(ctx, values); err != nil {
		return err
	}
	for id, chunk := range fresh {
		if len(chunk.Changes) == 0 {
			c.cache.put(id, chunk)
		}
	}
	return nil
}

// fetcher returns the chunks of given ids, from memory or with one command per
// MaxMany. A chunk that is not there is damage and an error.
func (c *chunks) fetcher(ctx context.Context) snapshot.Fetch {
	return func(ids []string) ([]snapshot.Chunk, error) {
		found := make([]snapshot.Chunk, len(ids))
		var missing []string
		var places []int
		for i, id := range ids {
			chunk, ok := c.cache.get(id)
			if !ok {
				missing, places = append(missing, id), append(places, i)
				continue
			}
			found[i] = chunk
		}
		read, err := c.collection.GetMany(ctx, missing)
		if err != nil {
			return nil, err
		}
		if len(read) != len(missing) {
			return nil, fmt.Errorf("%d of %d chunks are missing", len(missing)-len(read), len(missing))
		}
		for i, chunk := range read {
			found[places[i]] = chunk.Chunk
			c.cache.put(missing[i], chunk.Chunk)
		}
		return found, nil
	}
}

// chunkCache keeps the chunks used last.
type chunkCache struct {
	mu      sync.Mutex
	order   *list.List // of *cachedChunk, used last in front
	entries map[string]*list.Element
	size    int // bytes
}

type cachedChunk struct {
	id    string
	chunk snapshot.Chunk
	size  int // bytes
}

func (c *chunkCache) get(id string) (snapshot.Chunk, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.entries[id]
	if !ok {
		return snapshot.Chunk{}, false
	}
	c.order.MoveToFront(element)
	return element.Value.(*cachedChunk).chunk, true
}

// put keeps a copy of the chunk: its lists may be parts of those of a whole
// report, which would stay in memory with them.
func (c *chunkCache) put(id string, chunk snapshot.Chunk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.entries[id]; ok {
		return
	}
	own := snapshot.Chunk{
		Artifacts: slices.Clone(chunk.Artifacts),
		Changes:   slices.Clone(chunk.Changes),
		Children:  slices.Clone(chunk.Children),
	}
	entry := &cachedChunk{id: id, chunk: own, size: own.Size()}
	c.entries[id] = c.order.PushFront(entry)
	c.size += entry.size
	for c.size > maxCachedBytes {
		oldest := c.order.Remove(c.order.Back()).(*cachedChunk)
		delete(c.entries, oldest.id)
		c.size -= oldest.size
	}
}
