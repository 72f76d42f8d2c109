package environments

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/cache"
)

var snapshotSchema = storage.NewSchema("snapshots",
	storage.Index{Name: "number", Fields: []string{"environment", "number"}},
	storage.Index{Name: "time", Fields: []string{"environment", "time"}})

// Snapshots keeps the snapshots of environments and the chunks they are made of.
type Snapshots struct {
	storage.Collection[snapshot.Snapshot]
	// chunks are the parts of snapshots by the SHA-256 of their content. They are immutable, so they can be cached.
	chunks storage.Collection[storedChunk]
	cached cache.LRU[snapshot.Chunk]
}

// NewSnapshots binds the repository to an engine.
func NewSnapshots(docs storage.Documents) *Snapshots {
	return &Snapshots{
		chunks: storage.NewCollection(docs, chunkSchema, func(c *storedChunk) string { return c.id }, nil),
		cached: cache.NewLRU[snapshot.Chunk](maxCachedBytes),
		Collection: storage.NewCollection(docs, snapshotSchema,
			func(s *snapshot.Snapshot) string { return numbered(s.Environment, s.Number) },
			func(s *snapshot.Snapshot) map[string]any {
				return map[string]any{"environment": s.Environment, "number": s.Number, "time": s.Timestamp}
			}),
	}
}

// InsertIn adds the snapshot's missing chunks to a batch, and then the snapshot. ErrExists means that its number is
// taken. Leaves of changes are not cached, as the next report does not compare with them. If only the chunks are
// written, no document names them, which does no harm.
func (s *Snapshots) InsertIn(batch *storage.Batch, made *snapshot.Snapshot, chunks map[string]snapshot.Chunk) {
	for _, id := range slices.Sorted(maps.Keys(chunks)) {
		chunk := chunks[id]
		s.chunks.AddEncodedIn(batch, &storedChunk{Chunk: chunk, id: id}, chunk.Encoding())
		if len(chunk.Changes) == 0 {
			s.keep(id, chunk)
		}
	}
	s.Collection.InsertIn(batch, made)
}

// Forget drops from the cache chunks that the next report of an environment does not use.
func (s *Snapshots) Forget(chunks []string) {
	for _, id := range chunks {
		s.cached.Remove(id)
	}
}

// Get returns a snapshot by number, or ErrNotFound.
func (s *Snapshots) Get(ctx context.Context, environment string, number int64) (snapshot.Snapshot, error) {
	return s.Collection.Get(ctx, numbered(environment, number))
}

// GetMany returns the snapshots that exist among numbers, in their order.
func (s *Snapshots) GetMany(ctx context.Context, environment string, numbers []int64) ([]snapshot.Snapshot, error) {
	return s.Collection.GetMany(ctx, evidence.Map(numbers, func(number int64) string { return numbered(environment, number) }))
}

// Of returns the snapshots of members of a logical environment that exist, in their order: one command per MaxMany.
func (s *Snapshots) Of(ctx context.Context, members []snapshot.Member) ([]snapshot.Snapshot, error) {
	return s.Collection.GetMany(ctx, evidence.Map(members, func(m snapshot.Member) string { return numbered(m.Environment, m.Number) }))
}

// Last returns the last snapshot of an environment, a zero one if there is none. It reads the snapshots themselves, as
// the head may be older.
func (s *Snapshots) Last(ctx context.Context, environment string) (snapshot.Snapshot, error) {
	last, err := storage.FindFirst(ctx, s.Collection, storage.Query{
		Index: "number", Equal: []any{environment}, Descending: true, Limit: 1,
	})
	return last, storage.IgnoreMissing(err)
}

// LastNumber returns the number of the last snapshot, 0 if there is none.
func (s *Snapshots) LastNumber(ctx context.Context, environment string) (int64, error) {
	last, err := s.Last(ctx, environment)
	return last.Number, err
}

// NumberAt returns the number of the snapshot that was valid at a point in time, in Unix seconds; 0 before the first.
func (s *Snapshots) NumberAt(ctx context.Context, environment string, at float64) (int64, error) {
	found, err := storage.FindFirst(ctx, s.Collection, storage.Query{
		Index: "time", Equal: []any{environment}, To: &storage.Bound{Value: at}, Descending: true, Limit: 1,
	})
	return found.Number, storage.IgnoreMissing(err)
}

// Tree reads the whole tree of a root: a command per level, and more for levels with more than MaxMany chunks.
func (s *Snapshots) Tree(ctx context.Context, root string) (snapshot.Tree, error) {
	return snapshot.Load(root, s.fetcher(ctx))
}

// Comparison compares the artifacts of two snapshots: one command for each level of the second one's tree, and one for
// each level at which the first one's differs.
func (s *Snapshots) Comparison(ctx context.Context, first, second *snapshot.Snapshot) (snapshot.Comparison, error) {
	tree, err := s.Tree(ctx, second.Root)
	if err != nil {
		return snapshot.Comparison{}, fmt.Errorf("read the artifacts of snapshot %d of %s: %w", second.Number, second.Environment, err)
	}
	return snapshot.CompareTree(first.Root, &tree, s.fetcher(ctx))
}

// Artifacts reads all artifacts of a snapshot, sorted by fingerprint.
func (s *Snapshots) Artifacts(ctx context.Context, of *snapshot.Snapshot) ([]snapshot.Artifact, error) {
	tree, err := s.Tree(ctx, of.Root)
	if err != nil {
		return nil, fmt.Errorf("read the artifacts of snapshot %d of %s: %w", of.Number, of.Environment, err)
	}
	return tree.Artifacts(), nil
}

// ArtifactsOf is Artifacts for several snapshots, in their order: one command for each level of the highest tree, and
// more for levels with more than MaxMany chunks.
func (s *Snapshots) ArtifactsOf(ctx context.Context, of []snapshot.Snapshot) ([][]snapshot.Artifact, error) {
	roots := evidence.Map(of, func(one snapshot.Snapshot) string { return one.Root })
	trees, err := snapshot.LoadAll(roots, s.fetcher(ctx))
	if err != nil {
		return nil, fmt.Errorf("read the artifacts of %d snapshots: %w", len(of), err)
	}
	return evidence.Map(trees, func(tree snapshot.Tree) []snapshot.Artifact { return tree.Artifacts() }), nil
}

// Changes reads all changes of a snapshot.
func (s *Snapshots) Changes(ctx context.Context, of *snapshot.Snapshot) ([]snapshot.Change, error) {
	if of.ChangesRoot == "" {
		return of.Changes, nil
	}
	tree, err := s.Tree(ctx, of.ChangesRoot)
	if err != nil {
		return nil, fmt.Errorf("read the changes of snapshot %d of %s: %w", of.Number, of.Environment, err)
	}
	return tree.Changes(), nil
}

// maxCachedBytes bounds the cache of chunks by their size in JSON; in memory they take up two to four times as much. It
// holds an environment of 10,000 artifacts of two flows, all replaced once. Each report looks at all chunks of its
// environment, so those of a larger one are read again each time.
const maxCachedBytes = 64 << 20

var chunkSchema = &storage.Schema{Name: "chunks", ContentAddressed: true}

// storedChunk is a chunk with its id, which is not part of the content.
type storedChunk struct {
	snapshot.Chunk
	id string
}

// fetcher returns chunks by id, from the cache or with one command per MaxMany. A missing chunk is an error.
func (s *Snapshots) fetcher(ctx context.Context) snapshot.Fetch {
	return func(ids []string) ([]snapshot.Chunk, error) {
		found := make([]snapshot.Chunk, len(ids))
		var missing []string
		var positions []int
		for i, id := range ids {
			chunk, ok := s.cached.Get(id)
			if !ok {
				missing, positions = append(missing, id), append(positions, i)
				continue
			}
			found[i] = chunk
		}
		read, err := s.chunks.GetMany(ctx, missing)
		if err != nil {
			return nil, err
		}
		if len(read) != len(missing) {
			return nil, lostChunks(missing, read)
		}
		for i, chunk := range read {
			found[positions[i]] = chunk.Chunk
			s.keep(missing[i], chunk.Chunk)
		}
		return found, nil
	}
}

func lostChunks(wanted []string, found []storedChunk) error {
	lost := slices.DeleteFunc(slices.Clone(wanted), func(id string) bool {
		return slices.ContainsFunc(found, func(chunk storedChunk) bool { return chunk.ID() == id })
	})
	return storage.Damaged("A part of a snapshot is lost", fmt.Errorf("no chunks %v", lost))
}

// keep caches a copy of a chunk: its lists may share the memory of a whole report.
func (s *Snapshots) keep(id string, chunk snapshot.Chunk) {
	own := snapshot.Chunk{
		Artifacts: slices.Clone(chunk.Artifacts),
		Changes:   slices.Clone(chunk.Changes),
		Children:  slices.Clone(chunk.Children),
	}
	s.cached.Put(id, own, own.Size())
}
