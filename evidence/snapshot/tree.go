package snapshot

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"attestry/evidence"
)

const (
	// chunkDivisor makes chunks of 32 entries on average.
	chunkDivisor = 32
	// maxChunk bounds the entries of a chunk.
	maxChunk = 128
	// maxChunkSize bounds a chunk in bytes, but for its last entry: artifacts may run in many pods.
	maxChunkSize = 48 << 10
	// minInner makes each level of inner chunks at most half as long as the level below, so that there is one root.
	minInner = 2
)

// Chunk is an immutable part of a snapshot, stored under the SHA-256 of its encoding. A leaf has artifacts or changes,
// an inner chunk the ids of its children. Snapshots share equal chunks, as git shares trees.
type Chunk struct {
	Artifacts []Artifact `json:"artifacts,omitempty"`
	Changes   []Change   `json:"changes,omitempty"`
	Children  []string   `json:"children,omitempty"`

	encoding []byte // cached when the chunk was made for a tree
}

// ID is the SHA-256 of the chunk's content, in hex.
func (c *Chunk) ID() string { return evidence.SHA256(c.Encoding()) }

// ChunkIDs returns the ids of the chunk's children.
func (c *Chunk) ChunkIDs() []string { return c.Children }

// Encoding is the chunk's content as JSON. It must not be modified.
func (c *Chunk) Encoding() []byte {
	if c.encoding != nil {
		return c.encoding
	}
	return encode(c)
}

// Tree is a list of entries in content-defined chunks: a chunk ends after an entry whose key hashes to a certain first
// byte. An entry that is added or removed therefore changes one leaf and the chunks above it.
type Tree struct {
	// Root is the id of the root chunk, "" for an empty list.
	Root string
	// Chunks holds every chunk of the tree by id.
	Chunks map[string]Chunk
}

// Next is the tree of the next snapshot's artifacts, which are sorted by fingerprint. Leaves that do not differ from
// this tree's are reused: they are neither measured nor encoded again.
func (t *Tree) Next(artifacts []Artifact) Tree {
	known, last := t.leaves()
	var leaves []Chunk
	var ids []string
	for len(artifacts) > 0 {
		id := known[artifacts[0].Fingerprint]
		part := t.Chunks[id].Artifacts
		n := len(part)
		// The last leaf ended with the list, and may be longer now.
		differs := id == "" || n > len(artifacts) || id == last && n < len(artifacts)
		if differs || !slices.EqualFunc(artifacts[:n], part, isUnchanged) {
			id, n = "", cutLength(artifacts, 1, describeArtifact)
		}
		leaves, ids = append(leaves, Chunk{Artifacts: artifacts[:n]}), append(ids, id)
		artifacts = artifacts[n:]
	}
	return newTree(leaves, ids)
}

// leaves returns the ids of the leaves with artifacts, by their first fingerprints, and the id of the last leaf.
func (t *Tree) leaves() (ids map[string]string, last string) {
	ids = make(map[string]string, len(t.Chunks))
	greatest := ""
	for id, chunk := range t.Chunks {
		if len(chunk.Artifacts) == 0 {
			continue
		}
		first := chunk.Artifacts[0].Fingerprint
		ids[first] = id
		if last == "" || first > greatest {
			greatest, last = first, id
		}
	}
	return ids, last
}

func describeArtifact(a *Artifact) (key string, size int) { return a.Fingerprint, a.size() }

// isUnchanged reports whether an artifact keeps running without any difference. Origins and decisions are compared by
// address, which is cheap: an artifact that was not evaluated again shares them.
func isUnchanged(after, before Artifact) bool {
	return after.Fingerprint == before.Fingerprint && after.Name == before.Name && after.Since == before.Since &&
		after.StartedAt == before.StartedAt && after.FirstAt == before.FirstAt && after.Allowed == before.Allowed &&
		evidence.Equal(after.Compliant, before.Compliant) &&
		isSameList(after.Origins, before.Origins) && isSameList(after.Decisions, before.Decisions) &&
		slices.Equal(after.Names, before.Names) && (after.CreatedAt == nil) == (before.CreatedAt == nil) &&
		slices.Equal(after.CreatedAt, before.CreatedAt) && maps.EqualFunc(after.Pods, before.Pods, isSamePod) &&
		reflect.DeepEqual(after.Context, before.Context)
}

// isSamePod reports whether two pods are equal in JSON, where a nil list differs from an empty one.
func isSamePod(a, b Pod) bool {
	return a.Namespace == b.Namespace && a.CreatedAt == b.CreatedAt && (a.Owners == nil) == (b.Owners == nil) &&
		slices.EqualFunc(a.Owners, b.Owners, isSameOwner)
}

func isSameOwner(a, b Owner) bool {
	same := evidence.Equal(a.Controller, b.Controller) && evidence.Equal(a.BlockOwnerDeletion, b.BlockOwnerDeletion)
	a.Controller, a.BlockOwnerDeletion, b.Controller, b.BlockOwnerDeletion = nil, nil, nil, nil
	return same && a == b
}

// isSameList reports whether two lists share their memory.
func isSameList[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// NewChangeTree makes the tree of changes, which must be sorted by fingerprint.
func NewChangeTree(changes []Change) Tree {
	parts := cut(changes, 1, func(c *Change) (string, int) { return c.Fingerprint, c.size() })
	return newTree(evidence.Map(parts, func(part []Change) Chunk { return Chunk{Changes: part} }), nil)
}

// newTree builds a tree over its leaves. ids are those of reused leaves, by index; the others are encoded.
func newTree(level []Chunk, ids []string) Tree {
	tree := Tree{Chunks: map[string]Chunk{}}
	for len(level) > 0 {
		above := make([]string, 0, len(level))
		for i, chunk := range level {
			id := ""
			if i < len(ids) {
				id = ids[i]
			}
			if id == "" {
				chunk.encoding = encode(&chunk)
				id = chunk.ID()
			}
			above = append(above, id)
			tree.Chunks[id] = chunk
		}
		if len(above) == 1 {
			tree.Root = above[0]
			return tree
		}
		level, ids = level[:0], nil
		for _, part := range cut(above, minInner, func(id *string) (string, int) { return *id, textSize(*id) }) {
			level = append(level, Chunk{Children: part})
		}
	}
	return tree
}

// cut splits entries into parts of at least minimum entries, except the last. describe returns key and size in bytes.
func cut[T any](entries []T, minimum int, describe func(*T) (key string, size int)) [][]T {
	var parts [][]T
	for len(entries) > 0 {
		n := cutLength(entries, minimum, describe)
		parts = append(parts, entries[:n])
		entries = entries[n:]
	}
	return parts
}

// cutLength is the length of the first part. It ends after an entry whose key's SHA-256 begins with a multiple of
// chunkDivisor, or where it would become too long.
func cutLength[T any](entries []T, minimum int, describe func(*T) (key string, size int)) int {
	filled := 0
	for i := range entries {
		key, size := describe(&entries[i])
		sum := sha256.Sum256([]byte(key))
		filled += size
		ends := sum[0]%chunkDivisor == 0 || i+1 == maxChunk || filled >= maxChunkSize
		if ends && i+1 >= minimum {
			return i + 1
		}
	}
	return len(entries)
}

// Fetch returns the chunks of the ids, in the same order.
type Fetch func(ids []string) ([]Chunk, error)

// Difference is the content that two trees of artifacts do not share.
type Difference struct {
	Before []Artifact // in chunks of the old tree only, sorted by fingerprint
	After  []Artifact // in chunks of the new tree only, sorted by fingerprint
	// Chunks are those of the new tree only.
	Chunks map[string]Chunk
	// Superseded are the ids of the chunks of the old tree only.
	Superseded []string
}

// Compare returns the difference from the old tree with the given root to this tree. It fetches only chunks of the old
// tree that this tree does not have, with one fetch per level.
func (t *Tree) Compare(root string, fetch Fetch) (Difference, error) {
	var before []Artifact
	var superseded, frontier []string
	if root != "" {
		frontier = []string{root}
	}
	shared := map[string]bool{}
	for len(frontier) > 0 {
		var missing []string
		for _, id := range frontier {
			if _, ok := t.Chunks[id]; ok {
				shared[id] = true
			} else {
				missing = append(missing, id)
			}
		}
		frontier = nil
		if len(missing) == 0 {
			break
		}
		chunks, err := fetch(missing)
		if err != nil {
			return Difference{}, err
		}
		superseded = append(superseded, missing...)
		for _, chunk := range chunks {
			before = append(before, chunk.Artifacts...)
			frontier = append(frontier, chunk.Children...)
		}
	}
	rest := t.without(shared)
	sortByFingerprint(before)
	return Difference{Before: before, After: artifactsOf(rest), Chunks: rest, Superseded: superseded}, nil
}

// Fetch returns chunks of the tree, as a Fetch function does.
func (t *Tree) Fetch(ids []string) ([]Chunk, error) {
	chunks := make([]Chunk, 0, len(ids))
	for _, id := range ids {
		chunk, ok := t.Chunks[id]
		if !ok {
			return nil, fmt.Errorf("chunk %s is not part of the tree", id)
		}
		chunks = append(chunks, chunk)
	}
	return chunks, nil
}

// Artifacts are those of the tree, sorted by fingerprint.
func (t *Tree) Artifacts() []Artifact { return artifactsOf(t.Chunks) }

func artifactsOf(chunks map[string]Chunk) []Artifact {
	var artifacts []Artifact
	for _, chunk := range chunks {
		artifacts = append(artifacts, chunk.Artifacts...)
	}
	sortByFingerprint(artifacts)
	return artifacts
}

// without returns the tree's chunks except the shared ones and those below them.
func (t *Tree) without(shared map[string]bool) map[string]Chunk {
	rest := map[string]Chunk{}
	var walk func(id string)
	walk = func(id string) {
		if shared[id] || id == "" {
			return
		}
		chunk := t.Chunks[id]
		rest[id] = chunk
		for _, child := range chunk.Children {
			walk(child)
		}
	}
	walk(t.Root)
	return rest
}

// Load reads a whole tree, with one fetch per level.
func Load(root string, fetch Fetch) (Tree, error) {
	tree := Tree{Root: root, Chunks: map[string]Chunk{}}
	return tree, tree.load([]string{root}, fetch)
}

// load adds the chunks of the ids and all chunks below them. A shared chunk is read once.
func (t *Tree) load(ids []string, fetch Fetch) error {
	for {
		slices.Sort(ids)
		ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool {
			_, known := t.Chunks[id]
			return known || id == ""
		})
		if len(ids) == 0 {
			return nil
		}
		chunks, err := fetch(ids)
		if err != nil {
			return err
		}
		var below []string
		for i, chunk := range chunks {
			t.Chunks[ids[i]] = chunk
			below = append(below, chunk.Children...)
		}
		ids = below
	}
}

// LoadAll reads whole trees together, with one fetch per level of the highest tree.
func LoadAll(roots []string, fetch Fetch) ([]Tree, error) {
	all := Tree{Chunks: map[string]Chunk{}}
	if err := all.load(slices.Clone(roots), fetch); err != nil {
		return nil, err
	}
	trees := make([]Tree, len(roots))
	for i, root := range roots {
		var err error
		if trees[i], err = Load(root, all.Fetch); err != nil {
			return nil, err
		}
	}
	return trees, nil
}

// Changes are those of the tree, sorted by fingerprint.
func (t *Tree) Changes() []Change {
	var changes []Change
	for _, chunk := range t.Chunks {
		changes = append(changes, chunk.Changes...)
	}
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(a.Fingerprint, b.Fingerprint) })
	return changes
}

func sortByFingerprint(artifacts []Artifact) {
	slices.SortFunc(artifacts, func(a, b Artifact) int { return cmp.Compare(a.Fingerprint, b.Fingerprint) })
}
