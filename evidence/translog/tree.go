package translog

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

const (
	// Width is the number of hashes in a full tile, and of entries in a full bundle.
	Width = 1 << Height
	// Height is the number of levels of the tree that a tile spans.
	Height = 8
	// HashSize is the size of a hash, in bytes.
	HashSize = tlog.HashSize
)

// Tree is the state of a log that is needed to append to it: its size and the hashes of the tiles that are not full.
type Tree struct {
	Size int64 `json:"size"`
	// Edge has the concatenated hashes of the last tile of each level.
	Edge [][]byte `json:"edge"`
}

// Tile is a full tile: concatenated hashes of a level of the tree.
type Tile struct {
	Level  int
	Number int64
	Hashes []byte
}

// Append adds an entry, and returns the tiles that it fills.
func (t *Tree) Append(text []byte) (full []Tile) {
	hash := tlog.RecordHash(text)
	t.Size++
	for level := 0; ; level++ {
		if level == len(t.Edge) {
			t.Edge = append(t.Edge, nil)
		}
		t.Edge[level] = append(t.Edge[level], hash[:]...)
		if len(t.Edge[level]) < Width*tlog.HashSize {
			return full
		}
		hashes := t.Edge[level]
		full = append(full, Tile{Level: level, Number: t.Size>>(Height*(level+1)) - 1, Hashes: hashes})
		hash = subtree(hashes)
		t.Edge[level] = nil
	}
}

// Root is the root of the tree (RFC 6962, 2.1).
func (t *Tree) Root() tlog.Hash {
	if t.Size == 0 {
		return sha256.Sum256(nil)
	}
	var root tlog.Hash
	empty := true
	for _, hashes := range t.Edge {
		// The complete subtrees of a level, from the smallest, which is the last one.
		for count := len(hashes) / tlog.HashSize; count > 0; count &= count - 1 {
			first := count & (count - 1)
			part := subtree(hashes[first*tlog.HashSize : count*tlog.HashSize])
			if empty {
				root, empty = part, false
				continue
			}
			root = tlog.NodeHash(part, root)
		}
	}
	return root
}

// Clone is a copy that shares no memory.
func (t *Tree) Clone() Tree {
	edge := make([][]byte, len(t.Edge))
	for level, hashes := range t.Edge {
		edge[level] = append([]byte(nil), hashes...)
	}
	return Tree{Size: t.Size, Edge: edge}
}

// subtree is the root of a number of hashes that is a power of two.
func subtree(hashes []byte) tlog.Hash {
	if len(hashes) == tlog.HashSize {
		return tlog.Hash(hashes)
	}
	middle := len(hashes) / 2
	return tlog.NodeHash(subtree(hashes[:middle]), subtree(hashes[middle:]))
}

// Bundle encodes entries as tlog-tiles does: each after its size in two bytes.
func Bundle(texts [][]byte) []byte {
	var bundle []byte
	for _, text := range texts {
		bundle = binary.BigEndian.AppendUint16(bundle, uint16(len(text)))
		bundle = append(bundle, text...)
	}
	return bundle
}

// ReadBundle reads the first entries of a bundle.
func ReadBundle(bundle []byte, count int) ([][]byte, error) {
	texts := make([][]byte, 0, count)
	for range count {
		if len(bundle) < 2 || len(bundle)-2 < int(binary.BigEndian.Uint16(bundle)) {
			return nil, fmt.Errorf("a bundle ends behind %d of %d entries", len(texts), count)
		}
		end := 2 + int(binary.BigEndian.Uint16(bundle))
		texts = append(texts, bundle[2:end])
		bundle = bundle[end:]
	}
	return texts, nil
}

// Part is a tile of hashes or a bundle of entries, full or partial.
type Part struct {
	// Level is that of the hashes; Entries for a bundle.
	Level  int
	Number int64
	// Width is the number of hashes or entries.
	Width int
}

// Entries is the level of bundles.
const Entries = -1

// ParsePart reads the path of a part after "tile/", such as "0/x001/067", "1/000.p/5" or "entries/000". Others are not
// ok.
func ParsePart(path string) (part Part, ok bool) {
	if strings.HasPrefix(path, "data/") {
		return Part{}, false // the library's name of bundles
	}
	if rest, bundle := strings.CutPrefix(path, "entries/"); bundle {
		path = "data/" + rest
	}
	tile, err := tlog.ParseTilePath("tile/8/" + path)
	return Part{Level: tile.L, Number: tile.N, Width: tile.W}, err == nil
}

// Path is the path of the part after "tile/".
func (p Part) Path() string {
	path := strings.TrimPrefix(tlog.Tile{H: Height, L: p.Level, N: p.Number, W: p.Width}.Path(), "tile/8/")
	if rest, bundle := strings.CutPrefix(path, "data/"); bundle {
		return "entries/" + rest
	}
	return path
}

// Full is the full tile or bundle of the part.
func (p Part) Full() Part {
	p.Width = Width
	return p
}

// Within reports whether a tree of a size has the part.
func (p Part) Within(size int64) bool {
	level := max(p.Level, 0)
	if level > 7 {
		return false // a tree with such a tile has 2^64 entries
	}
	have := size >> (Height * level)
	return p.Number <= have>>Height && p.Number<<Height+int64(p.Width) <= have
}
