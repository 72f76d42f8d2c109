package logs

import (
	"context"
	"errors"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"attestry/evidence/translog"
	"attestry/storage"
)

// cosignIndex finds the logs that witnesses are to cosign.
var cosignIndex = storage.Index{Name: "cosign", Fields: []string{"cosign"}, Required: "cosign"}

// Witness is the state of a witness of a log.
type Witness struct {
	// Size is that of the last checkpoint that it cosigned.
	Size int64 `json:"size"`
	// Failed counts the failed requests since, and Retry is when it is to be asked again, in Unix seconds.
	Failed int     `json:"failed,omitempty"`
	Retry  float64 `json:"retry,omitempty"`
}

// Consistency proves that a log's last checkpoint has all entries of an earlier one of a size; 0 needs no proof.
func (l *Logs) Consistency(ctx context.Context, log *Log, size int64) ([]tlog.Hash, error) {
	checkpoint, err := translog.ParseCheckpoint(log.Checkpoint)
	if err != nil || size == 0 {
		return nil, err
	}
	return tlog.ProveTree(checkpoint.Size, size, l.hashReader(ctx, log, tlog.Tree{N: checkpoint.Size, Hash: checkpoint.Root}))
}

// RecordCosignature records that a witness was asked to cosign the checkpoint of a size: its new state, and the line of
// its signature, "" if it gave none. The line is appended to the checkpoint in the log and to the published one. all
// are the names of all witnesses, which determine the next time to ask.
func (l *Logs) RecordCosignature(ctx context.Context, org string, size int64, name string, state Witness, signature string, all []string) error {
	if signature != "" {
		_, err := l.checkpoints.Update(ctx, numbered(org, size), func(c *Checkpoint) error {
			c.Note = withSignature(c.Note, name, signature)
			return nil
		})
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
	}
	_, err := l.Collection.Update(ctx, org, func(log *Log) error {
		if log.Witnesses == nil {
			log.Witnesses = map[string]Witness{}
		}
		if state.Size >= log.Witnesses[name].Size {
			log.Witnesses[name] = state
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

// nextCosign is when the next witness that has not cosigned the last checkpoint is to be asked, 0 if all have.
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
