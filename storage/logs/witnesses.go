package logs

import (
	"context"
	"errors"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"attestry/evidence/translog"
	"attestry/storage"
)

// cosignIndex finds the logs whose witnesses are to be asked.
var cosignIndex = storage.Index{Name: "cosign", Fields: []string{"cosign"}, Required: "cosign"}

// Witness is what is known of a witness of a log.
type Witness struct {
	// Size is that of the last checkpoint that it cosigned.
	Size int64 `json:"size"`
	// Failed is how often it was asked in vain since, and Retry when it is to be asked again, in Unix seconds.
	Failed int     `json:"failed,omitempty"`
	Retry  float64 `json:"retry,omitempty"`
}

// Consistency proves that the last checkpoint of a log has all entries of an earlier one of a size. That of 0 needs no proof.
func (l *Logs) Consistency(ctx context.Context, log *Log, size int64) ([]tlog.Hash, error) {
	checkpoint, err := translog.ParseCheckpoint(log.Checkpoint)
	if err != nil || size == 0 {
		return nil, err
	}
	return tlog.ProveTree(checkpoint.Size, size, l.hashReader(ctx, log, tlog.Tree{N: checkpoint.Size, Hash: checkpoint.Root}))
}

// Witnessed records what became of asking a witness for a cosignature of the checkpoint of a size: what is known of it now,
// and the line of its signature, "" if it gave none. The line is appended to that checkpoint, also where it is published.
// The next time at which witnesses are asked follows from all that there are, by their names.
func (l *Logs) Witnessed(ctx context.Context, org string, size int64, name string, known Witness, signature string, all []string) error {
	if signature != "" {
		_, err := l.checkpoints.Update(ctx, numbered(org, size), func(c *Checkpoint) error {
			c.Note = withSignature(c.Note, name, signature)
			return nil
		})
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
	}
	_, err := l.logs.Update(ctx, org, func(log *Log) error {
		if log.Witnesses == nil {
			log.Witnesses = map[string]Witness{}
		}
		if known.Size >= log.Witnesses[name].Size {
			log.Witnesses[name] = known
		}
		if log.Signed == size {
			log.Checkpoint = withSignature(log.Checkpoint, name, signature)
			log.CosignAt = log.nextCosign(all)
		}
		return nil
	})
	return err
}

// withSignature appends the line of a signature, unless the note has one of that name.
func withSignature(note, name, signature string) string {
	if strings.Contains(note, "\n— "+name+" ") {
		return note
	}
	return note + signature
}

// nextCosign is when the first of those witnesses that have not cosigned the last checkpoint is to be asked, 0 if all have.
func (l *Log) nextCosign(all []string) (next float64) {
	for _, name := range all {
		witness := l.Witnesses[name]
		if witness.Size >= l.Signed {
			continue
		}
		if at := max(witness.Retry, l.SignedAt); next == 0 || at < next {
			next = at
		}
	}
	return next
}
