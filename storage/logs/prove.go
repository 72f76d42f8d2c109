package logs

import (
	"context"

	"golang.org/x/mod/sumdb/tlog"

	"attestry/evidence/translog"
)

// Prove proves that the last checkpoint of a log covers the entry at an index, which must be below its size.
func (l *Logs) Prove(ctx context.Context, log *Log, index int64) (translog.Proof, error) {
	reader, err := l.hashReader(ctx, log)
	if err != nil {
		return translog.Proof{}, err
	}
	hashes, err := tlog.ProveRecord(log.Signed, index, reader)
	return translog.Proof{Index: index, Hashes: hashes, Checkpoint: log.Checkpoint}, err
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
func (t *tiles) ReadTiles(asked []tlog.Tile) ([][]byte, error) {
	read := make([][]byte, 0, len(asked))
	for _, tile := range asked {
		content, err := t.logs.Part(t.ctx, t.log, translog.Part{Level: tile.L, Number: tile.N, Width: tile.W})
		if err != nil {
			return nil, err
		}
		read = append(read, content)
	}
	return read, nil
}

// SaveTiles does nothing: full tiles are kept by who reads them.
func (*tiles) SaveTiles([]tlog.Tile, [][]byte) {}
