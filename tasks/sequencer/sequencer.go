// Package sequencer gives leaves their indexes in the transparency logs, and signs checkpoints (in a worker).
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
	"attestry/storage/retention"
)

// signInterval is how long a log is not signed again after a checkpoint.
const signInterval = time.Second

// Sequencer continues the logs of organizations. Several may continue the same log: the insertion of a document gives
// its leaves their indexes, and everything else is computed from these documents.
type Sequencer struct {
	logs  *logs.Logs
	keys  translog.Keys
	names Names
	host  string
	clock evidence.Clock
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

// Sequence gives indexes to an organization's leaves without one. It signs a checkpoint if the last one lacks entries,
// after a wait if that was signed within signInterval. It does nothing to a log that must not be continued.
func (s *Sequencer) Sequence(ctx context.Context, org string) error {
	for {
		log, err := s.begin(ctx, org)
		if err != nil {
			// The creation of an organization may have failed and left leaves.
			return storage.IgnoreMissing(err)
		}
		state, err := s.open(ctx, &log.Value)
		if err != nil || state == nil {
			return err
		}
		r := &run{Sequencer: s, state: state, log: log}
		err = r.work(ctx)
		// Another sequencer was first: this one continues after it.
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

type run struct {
	*Sequencer
	state *opened
	log   storage.Versioned[logs.Log]
}

// work works until nothing is left to do.
func (r *run) work(ctx context.Context) error {
	if err := r.finish(ctx); err != nil {
		return err
	}
	if err := r.index(ctx); err != nil || r.signed() {
		return err
	}
	if wait := r.untilDue(); wait > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err() // the next sequencer signs
		case <-time.After(wait):
		}
		if err := r.index(ctx); err != nil || r.signed() {
			return err
		}
	}
	next := r.log.Value
	return r.commit(ctx, &next, &logs.Change{}, true)
}

// signed reports whether the last checkpoint has all entries.
func (r *run) signed() bool { return r.log.Value.Signed == r.log.Value.Tree.Size }

// finish adds to the tree the leaves that another sequencer has indexed. Then pending does not return them.
func (r *run) finish(ctx context.Context) error {
	for {
		leaves, err := r.logs.Block(ctx, r.log.Value.Org, r.log.Value.Tree.Size)
		if err != nil || len(leaves) == 0 {
			return err
		}
		if err := r.add(ctx, &logs.Change{Leaves: leaves, BlockStored: true}); err != nil {
			return err
		}
	}
}

// index gives indexes to the leaves that pending returns.
func (r *run) index(ctx context.Context) error {
	for {
		now := evidence.Seconds(r.clock())
		found, err := r.pending(ctx, now)
		if err != nil || len(found) == 0 {
			return err
		}
		leaves, err := r.logs.DropIndexed(ctx, found)
		if err != nil {
			return err
		}
		for len(leaves) > 0 {
			// The leaves of one command are within one bundle.
			room := translog.Width - int(r.log.Value.Tree.Size%translog.Width)
			some := leaves[:min(room, len(leaves))]
			if err := r.add(ctx, &logs.Change{Leaves: some}); err != nil {
				return err
			}
			leaves = leaves[len(some):]
		}
		// A leaf's time may be ahead of this clock, as clocks differ. Leaves of earlier times may still come.
		r.state.setIndexed(min(found[len(found)-1].At, now))
		if len(found) < storage.MaxMany {
			return nil // those that were stored meanwhile wake a sequencer again
		}
	}
}

// pending returns the oldest leaves without an index. It searches all times every searchInterval, and else only recent
// ones: databases keep deleted entries for a while, which makes a search of all times slow.
func (r *run) pending(ctx context.Context, now float64) ([]logs.Leaf, error) {
	since := r.state.since(now)
	leaves, err := r.logs.Pending(ctx, r.log.Value.Org, since, storage.MaxMany)
	if err == nil && since == 0 && len(leaves) < storage.MaxMany {
		r.state.setSearched(now)
	}
	return leaves, err
}

// add gives leaves the next indexes, adds them to the tree, and stores the tiles and the bundle that they complete.
func (r *run) add(ctx context.Context, change *logs.Change) error {
	next := r.log.Value
	next.Tree = next.Tree.Clone()
	texts := make([][]byte, 0, len(change.Leaves))
	for i := range change.Leaves {
		text := change.Leaves[i].Entry(next.Secret).Text()
		texts = append(texts, text)
		for _, tile := range next.Tree.Append(text) {
			part := translog.Part{Level: tile.Level, Number: tile.Number, Width: translog.Width}
			stored, err := r.logs.PutPart(ctx, next.Org, part, tile.Hashes)
			if err != nil {
				return err
			}
			change.Parts = append(change.Parts, stored)
		}
	}
	if next.Tree.Size%translog.Width == 0 {
		stored, err := r.putBundle(ctx, &next, texts)
		if err != nil {
			return err
		}
		change.Parts = append(change.Parts, stored)
	}
	return r.commit(ctx, &next, change, r.untilDue() == 0)
}

// putBundle stores the bundle that ends with the texts.
func (s *Sequencer) putBundle(ctx context.Context, log *logs.Log, texts [][]byte) (logs.Part, error) {
	from, before := log.Tree.Size-translog.Width, log.Tree.Size-int64(len(texts))
	if from < before {
		earlier, err := s.logs.Entries(ctx, log, from, before)
		if err != nil {
			return logs.Part{}, err
		}
		texts = append(earlier, texts...)
	}
	part := translog.Part{Level: translog.Entries, Number: from / translog.Width, Width: translog.Width}
	return s.logs.PutPart(ctx, log.Org, part, translog.Bundle(texts))
}

// commit replaces the log by its next state, signed if sign is set.
func (r *run) commit(ctx context.Context, next *logs.Log, change *logs.Change, sign bool) error {
	if sign {
		signed, err := r.keys.Sign(next.Origin, &next.Tree)
		if err != nil {
			return fmt.Errorf("sign a checkpoint: %w", err)
		}
		next.Verifiers = r.keys.Verifiers(next.Origin)
		next.Checkpoint, next.Signed, next.SignedAt = signed, next.Tree.Size, evidence.Seconds(r.clock())
		change.Checkpoint = &logs.Checkpoint{Org: next.Org, Size: next.Signed, Note: signed, At: next.SignedAt}
		next.Due, next.CosignAt = 0, next.SignedAt
	} else {
		next.Due = evidence.RoundSeconds(next.SignedAt + signInterval.Seconds())
	}
	revision, err := r.logs.Commit(ctx, next, r.log.Revision, change)
	if err != nil {
		return err
	}
	r.log.Value, r.log.Revision = *next, revision
	if sign {
		r.state.next.Store(&logs.Kept{Generation: next.Generation, Size: next.Signed, Note: next.Checkpoint})
	}
	return nil
}

// untilDue returns the time until the next signature is due. The clock may have been set back since the last one.
func (r *run) untilDue() time.Duration {
	since := evidence.Seconds(r.clock()) - r.log.Value.SignedAt
	if since < 0 || since >= signInterval.Seconds() {
		return 0
	}
	return signInterval - time.Duration(since*float64(time.Second))
}

const (
	// KeepInterval is how often the last checkpoints of logs are stored in the object store.
	KeepInterval = 5 * time.Second
	// retainInterval is how often one is put under retention, for at most retainDays, and all others are deleted.
	retainInterval = 24 * time.Hour
	retainDays     = 30
)

// Keep stores the last checkpoints of newly signed logs in the object store. One goroutine calls it. An error of one
// organization does not stop the others, unless it is an outage.
func (s *Sequencer) Keep(ctx context.Context, retention *retention.Retention) error {
	var faults []error
	s.opened.Range(func(org, log any) bool {
		err := s.keep(ctx, org.(string), log.(*opened), retention)
		if err != nil {
			faults = append(faults, fmt.Errorf("keep a checkpoint of the log of organization %v: %w", org, err))
		}
		return ctx.Err() == nil && !errors.Is(err, storage.ErrOutage)
	})
	return errors.Join(faults...)
}

func (s *Sequencer) keep(ctx context.Context, org string, log *opened, retention *retention.Retention) error {
	next := log.next.Load()
	if next == nil {
		return nil
	}
	// The checkpoint before is deleted with the next one: another process that has listed it may be about to read it.
	key, err := s.logs.Keep(ctx, org, next, log.replaced)
	if err != nil {
		return err
	}
	if key != log.key {
		log.replaced, log.key = log.key, key
	}
	if now := s.clock(); now.Sub(log.retained) >= retainInterval {
		named, err := s.names.OrganizationOf(ctx, org)
		if err != nil {
			return err
		}
		// Delete those that could not be deleted when they were replaced: they were retained, or a backup was made.
		_, last, err := s.logs.LastKept(ctx, org)
		if err == nil {
			err = retention.KeepAtMost(ctx, named.Name, last, retainDays)
		}
		if err != nil {
			return err
		}
		log.retained = now
	}
	log.next.CompareAndSwap(next, nil)
	return nil
}
