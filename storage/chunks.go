package storage

import (
	"container/list"
	"context"
	"fmt"
	"sync"

	"attestry/evidence/snapshot"
)

// maxCachedEntries bounds the cache of chunks by the entries they hold: about
// 64 MiB of artifacts with their pods.
const maxCachedEntries = 100_000

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
		c.cache.put(id, chunk)
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
	size    int
}

type cachedChunk struct {
	id    string
	chunk snapshot.Chunk
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

func (c *chunkCache) put(id string, chunk snapshot.Chunk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.entries[id]; ok {
		return
	}
	c.entries[id] = c.order.PushFront(&cachedChunk{id: id, chunk: chunk})
	c.size += weight(chunk)
	for c.size > maxCachedEntries {
		oldest := c.order.Remove(c.order.Back()).(*cachedChunk)
		delete(c.entries, oldest.id)
		c.size -= weight(oldest.chunk)
	}
}

func weight(chunk snapshot.Chunk) int {
	return 1 + len(chunk.Artifacts) + len(chunk.Changes) + len(chunk.Children)
}
