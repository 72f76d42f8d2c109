package environments

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/cache"
)

// maxCachedBytes bounds the cache of chunks by their size in JSON; in memory they take up two to four times as much. It
// holds an environment of 10,000 artifacts of two flows, all replaced once. Each report looks at all chunks of its
// environment, so those of a larger one are read anew each time.
const maxCachedBytes = 64 << 20

var chunkSchema = &storage.Schema{Name: "chunks", ContentAddressed: true}

// storedChunk is a chunk with its id, which is not part of the content.
type storedChunk struct {
	snapshot.Chunk
	id string
}

// chunks keeps the parts of snapshots by the SHA-256 of their content. They are immutable, so they can be kept in
// memory.
type chunks struct {
	collection storage.Collection[storedChunk]
	cache      cache.LRU[snapshot.Chunk]
}

func newChunks(docs storage.Documents) *chunks {
	return &chunks{
		cache: cache.NewLRU[snapshot.Chunk](maxCachedBytes),
		collection: storage.NewCollection(docs, chunkSchema,
			func(c *storedChunk) string { return c.id }, nil),
	}
}

// addIn adds chunks to a batch unless they exist. Leaves of changes are not kept in memory, as the next report does not
// compare with them. If the batch is not written, no document names the chunks, which does no harm.
func (c *chunks) addIn(batch *storage.Batch, fresh map[string]snapshot.Chunk) {
	for _, id := range slices.Sorted(maps.Keys(fresh)) {
		chunk := fresh[id]
		c.collection.AddEncodedIn(batch, &storedChunk{Chunk: chunk, id: id}, chunk.Encoding())
		if len(chunk.Changes) == 0 {
			c.keep(id, chunk)
		}
	}
}

// fetcher returns chunks by id, from memory or with one command per MaxMany. A missing chunk is an error.
func (c *chunks) fetcher(ctx context.Context) snapshot.Fetch {
	return func(ids []string) ([]snapshot.Chunk, error) {
		found := make([]snapshot.Chunk, len(ids))
		var missing []string
		var places []int
		for i, id := range ids {
			chunk, ok := c.cache.Get(id)
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
			return nil, lostChunks(missing, read)
		}
		for i, chunk := range read {
			found[places[i]] = chunk.Chunk
			c.keep(missing[i], chunk.Chunk)
		}
		return found, nil
	}
}

// lostChunks names the chunks that were not found.
func lostChunks(wanted []string, found []storedChunk) error {
	lost := slices.DeleteFunc(slices.Clone(wanted), func(id string) bool {
		return slices.ContainsFunc(found, func(chunk storedChunk) bool { return chunk.ID() == id })
	})
	return storage.Damaged("A part of a snapshot is lost", fmt.Errorf("no chunks %v", lost))
}

// keep keeps a copy of a chunk in memory: its lists may be parts of those of a whole report.
func (c *chunks) keep(id string, chunk snapshot.Chunk) {
	own := snapshot.Chunk{
		Artifacts: slices.Clone(chunk.Artifacts),
		Changes:   slices.Clone(chunk.Changes),
		Children:  slices.Clone(chunk.Children),
	}
	c.cache.Put(id, own, own.Size())
}
