package translog

import (
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// Part is a tile of hashes or a bundle of entries, or the beginning of one.
type Part struct {
	// Level is that of the hashes; Entries for a bundle.
	Level  int
	Number int64
	// Width is how many hashes or entries are meant.
	Width int
}

// Entries is the level of bundles.
const Entries = -1

// ParsePart reads the path of a part behind "tile/", such as "0/x001/067", "1/000.p/5" or "entries/000". ok is false if
// it is none.
func ParsePart(path string) (part Part, ok bool) {
	if strings.HasPrefix(path, "data/") {
		return Part{}, false // what the library calls bundles
	}
	if rest, bundle := strings.CutPrefix(path, "entries/"); bundle {
		path = "data/" + rest
	}
	tile, err := tlog.ParseTilePath("tile/8/" + path)
	return Part{Level: tile.L, Number: tile.N, Width: tile.W}, err == nil
}

// Path is the path of the part behind "tile/".
func (p Part) Path() string {
	path := strings.TrimPrefix(tlog.Tile{H: Height, L: p.Level, N: p.Number, W: p.Width}.Path(), "tile/8/")
	if rest, bundle := strings.CutPrefix(path, "data/"); bundle {
		return "entries/" + rest
	}
	return path
}

// Full is the full tile or bundle that begins with the part.
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
