// Package sequencer gives what is to be logged its places in the transparency logs, and signs checkpoints of them (in a
// worker).
package sequencer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"attestry/evidence"
	"attestry/evidence/translog"
	"attestry/storage"
	"attestry/storage/logs"
)

// signInterval is how long a log is not signed again after a checkpoint.
const signInterval = time.Second

// Sequencer works on the log of one organization at a time. Several may work on the same one: each place is given by the
// insertion of a document, and all else follows from these.
type Sequencer struct {
	logs  *logs.Logs
	keys  translog.Keys
	names Names
	host  string
	clock evidence.Clock
	seen  seen
	// opened are the logs that this process continues: organization → *opened.
	opened sync.Map
}

// Names finds organizations.
type Names interface {
	// OrganizationOf returns the organization of an id, or storage.ErrNotFound.
	OrganizationOf(ctx context.Context, id string) (evidence.Organization, error)
}

// New makes a sequencer that signs with keys. The origin of a log that begins is the host and the organization's name.
func New(of *logs.Logs, keys translog.Keys, names Names, host string, clock evidence.Clock) *Sequencer {
	return &Sequencer{logs: of, keys: keys, names: names, host: host, clock: clock}
}

// Sequence gives places to all leaves of an organization that have none, and signs a checkpoint if one is due. It does nothing
// on a log that must not be continued.
func (s *Sequencer) Sequence(ctx context.Context, org string) error {
	for {
		log, err := s.begin(ctx, org)
		if errors.Is(err, storage.ErrNotFound) {
			return nil // what is to be logged was left behind by the creation of an organization that failed
		}
		if err != nil {
			return err
		}
		if ok, err := s.open(ctx, &log.Value); err != nil || !ok {
			return err
		}
		err = s.work(ctx, &log)
		// Another sequencer was first: this one continues behind what it did.
		if !errors.Is(err, storage.ErrMoved) && !errors.Is(err, storage.ErrExists) {
			return err
		}
	}
}

// begin returns the log of an organization, which is made if need be.
func (s *Sequencer) begin(ctx context.Context, org string) (storage.Versioned[logs.Log], error) {
	log, err := s.logs.GetVersioned(ctx, org)
	if !errors.Is(err, storage.ErrNotFound) {
		return log, err
	}
	named, err := s.names.OrganizationOf(ctx, org)
	if err != nil {
		return log, fmt.Errorf("begin a log: %w", err)
	}
	if err := s.logs.Begin(ctx, org, s.host+"/"+named.Name); err != nil {
		return log, err
	}
	return s.logs.GetVersioned(ctx, org)
}

// work continues a log until nothing is left to do.
func (s *Sequencer) work(ctx context.Context, log *storage.Versioned[logs.Log]) error {
	if err := s.finish(ctx, log); err != nil {
		return err
	}
	if err := s.place(ctx, log); err != nil || log.Value.Signed == log.Value.Tree.Size {
		return err
	}
	if wait := s.untilDue(&log.Value); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err() // the next sequencer signs
		case <-timer.C:
		}
		if err := s.place(ctx, log); err != nil {
			return err
		}
	}
	if log.Value.Signed == log.Value.Tree.Size {
		return nil
	}
	next := log.Value
	return s.commit(ctx, log, &next, &logs.Change{}, true)
}

// finish adds what was given a place already, by another sequencer or one that was killed. Whoever then reads the leaves
// without a place finds none of these.
func (s *Sequencer) finish(ctx context.Context, log *storage.Versioned[logs.Log]) error {
	for {
		leaves, err := s.logs.Placed(ctx, log.Value.Org, log.Value.Tree.Size)
		if err != nil || len(leaves) == 0 {
			return err
		}
		if err := s.add(ctx, log, &logs.Change{Leaves: leaves, Placed: true}); err != nil {
			return err
		}
	}
}

// place gives places to all leaves that had none when it was called.
func (s *Sequencer) place(ctx context.Context, log *storage.Versioned[logs.Log]) error {
	for {
		now := evidence.Seconds(s.clock())
		found, err := s.pending(ctx, log.Value.Org, now)
		if err != nil || len(found) == 0 {
			return err
		}
		leaves, err := s.logs.DropPlaced(ctx, found)
		if err != nil {
			return err
		}
		for len(leaves) > 0 {
			// What is placed with one command is within one bundle.
			room := translog.Width - int(log.Value.Tree.Size%translog.Width)
			placed := leaves[:min(room, len(leaves))]
			if err := s.add(ctx, log, &logs.Change{Leaves: placed}); err != nil {
				return err
			}
			leaves = leaves[len(placed):]
		}
		// By the clock of another process, a leaf may be of the future: leaves before it are still to come.
		s.seen.set(log.Value.Org, min(found[len(found)-1].At, now))
		if len(found) < storage.MaxMany {
			return nil // those that were stored meanwhile wake a sequencer again
		}
	}
}

// pending returns the oldest leaves of an organization without a place. Databases keep what was deleted for a while, so that it
// takes long to look at all times: this is done every searchInterval, and recent times are looked at otherwise.
func (s *Sequencer) pending(ctx context.Context, org string, now float64) ([]logs.Leaf, error) {
	since := s.seen.since(org, now)
	leaves, err := s.logs.Pending(ctx, org, since, storage.MaxMany)
	if err == nil && since == 0 && len(leaves) < storage.MaxMany {
		s.seen.searched(org, now)
	}
	return leaves, err
}

// add gives leaves the next places, adds them to the tree, and stores the tiles and the bundle that they make full.
func (s *Sequencer) add(ctx context.Context, log *storage.Versioned[logs.Log], change *logs.Change) error {
	next := log.Value
	next.Tree = log.Value.Tree.Clone()
	texts := make([][]byte, 0, len(change.Leaves))
	for i := range change.Leaves {
		text := change.Leaves[i].Entry(next.Secret).Text()
		texts = append(texts, text)
		for _, tile := range next.Tree.Append(text) {
			part := translog.Part{Level: tile.Level, Number: tile.Number, Width: translog.Width}
			stored, err := s.logs.PutPart(ctx, next.Org, part, tile.Hashes)
			if err != nil {
				return err
			}
			change.Parts = append(change.Parts, stored)
		}
	}
	if next.Tree.Size%translog.Width == 0 {
		stored, err := s.putBundle(ctx, &next, texts)
		if err != nil {
			return err
		}
		change.Parts = append(change.Parts, stored)
	}
	return s.commit(ctx, log, &next, change, s.untilDue(&next) == 0)
}

// putBundle stores the bundle that ends with the texts.
func (s *Sequencer) putBundle(ctx context.Context, log *logs.Log, texts [][]byte) (logs.Object, error) {
	from, before := log.Tree.Size-translog.Width, log.Tree.Size-int64(len(texts))
	if from < before {
		earlier, err := s.logs.Entries(ctx, log, from, before)
		if err != nil {
			return logs.Object{}, err
		}
		texts = append(earlier, texts...)
	}
	part := translog.Part{Level: translog.Entries, Number: from / translog.Width, Width: translog.Width}
	return s.logs.PutPart(ctx, log.Org, part, translog.Bundle(texts))
}

// commit replaces a log by its next state, and signs that if it is to.
func (s *Sequencer) commit(ctx context.Context, log *storage.Versioned[logs.Log], next *logs.Log, change *logs.Change, sign bool) error {
	if sign {
		signed, err := s.keys.Sign(next.Origin, &next.Tree)
		if err != nil {
			return fmt.Errorf("sign a checkpoint: %w", err)
		}
		if next.Verifiers, err = s.keys.Verifiers(next.Origin); err != nil {
			return err
		}
		next.Checkpoint, next.Signed, next.SignedAt = signed, next.Tree.Size, evidence.Seconds(s.clock())
		change.Checkpoint = &logs.Checkpoint{Org: next.Org, Size: next.Signed, Note: signed, At: next.SignedAt}
		next.Due, next.CosignAt = 0, next.SignedAt
	} else {
		next.Due = evidence.RoundSeconds(next.SignedAt + signInterval.Seconds())
	}
	revision, err := s.logs.Commit(ctx, next, log.Revision, change)
	if err == nil {
		log.Value, log.Revision = *next, revision
	}
	if err == nil && sign {
		s.signed(next)
	}
	return err
}

// untilDue is how long a log is not to be signed yet. The clock may have been set back since it was.
func (s *Sequencer) untilDue(log *logs.Log) time.Duration {
	since := evidence.Seconds(s.clock()) - log.SignedAt
	if since < 0 || since >= signInterval.Seconds() {
		return 0
	}
	return signInterval - time.Duration(since*float64(time.Second))
}
