package logs

import (
	"context"

	"golang.org/x/mod/sumdb/tlog"

	"attestry/evidence/translog"
)

// Prove proves that the last checkpoint of a log covers the entry at an index, which must be below its size.
func (l *Logs) Prove(ctx context.Context, log *Log, index int64) (translog.Proof, error) {
	checkpoint, err := translog.ParseCheckpoint(log.Checkpoint)
	if err != nil {
		return translog.Proof{}, err
	}
	hashes, err := tlog.ProveRecord(checkpoint.Size, index, l.hashReader(ctx, log, tlog.Tree{N: checkpoint.Size, Hash: checkpoint.Root}))
	return translog.Proof{Index: index, Hashes: hashes, Checkpoint: log.Checkpoint}, err
}

// hashReader reads the hashes of a tree of a log, and verifies them.
func (l *Logs) hashReader(ctx context.Context, log *Log, tree tlog.Tree) tlog.HashReader {
	return tlog.TileHashReader(tree, &tiles{ctx: ctx, logs: l, log: log})
}

// tiles reads the tiles of a log for the library, which verifies them.
type tiles struct {
	ctx  context.Context
	logs *Logs
	log  *Log
}

// Height is how many levels of the tree a tile spans.
func (*tiles) Height() int { return translog.Height }

// ReadTiles reads tiles.
func (t *tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	read := make([][]byte, 0, len(wanted))
	for _, tile := range wanted {
		content, err := t.logs.Part(t.ctx, t.log, translog.Part{Level: tile.L, Number: tile.N, Width: tile.W})
		if err != nil {
			return nil, err
		}
		read = append(read, content)
	}
	return read, nil
}

// SaveTiles does nothing, as Logs caches full tiles.
func (*tiles) SaveTiles([]tlog.Tile, [][]byte) {}
