// Package logical numbers the snapshots of logical environments. A logical environment
// gets one for each snapshot of a member, and one for each change of its membership,
// when that happens; none is ever renumbered.
//
// A snapshot is committed by inserting its number, so that any number of processes may
// update the same environment at once. Two rules keep snapshots from being missed
// without a lock: the worker commits the member's snapshot and then looks which logical
// environments include the member; whoever changes a membership stores it and then
// looks at the members' snapshots.
package logical

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
)

// Updater adds snapshots to logical environments. All it does can be repeated: it
// finishes what a killed process has begun.
type Updater struct {
	store *storage.Store
	clock evidence.Clock
	log   *slog.Logger
}

// NewUpdater makes an updater.
func NewUpdater(store *storage.Store, clock evidence.Clock, log *slog.Logger) *Updater {
	return &Updater{store: store, clock: clock, log: log}
}

// Follow adds a member's snapshot to the logical environments that include the member:
// one command when none does. The events of the snapshot must be stored. A logical
// environment that cannot be updated does not hold up its members, unless a store is
// away: the error is logged, and the next update adds what is missing.
func (u *Updater) Follow(ctx context.Context, made *snapshot.Snapshot) error {
	ids, err := u.store.Environments.Including(ctx, made.Org, made.Environment)
	if err != nil {
		return err
	}
	for _, id := range ids {
		err := u.update(ctx, id, made)
		if err == nil {
			continue
		}
		if ctx.Err() != nil || evidence.CodeOf(err) == evidence.Unavailable {
			return err
		}
		u.log.Error("could not add a snapshot to a logical environment", "org", made.Org, "environment", id,
			"member", made.Environment, "snapshot", made.Number, "error", err.Error())
	}
	return nil
}

// Update brings the snapshots of a logical environment up to its membership and to its
// members' snapshots. Other environments are left alone.
func (u *Updater) Update(ctx context.Context, id string) error { return u.update(ctx, id, nil) }

// MemberArchived updates the logical environments that include an archived environment.
func (u *Updater) MemberArchived(ctx context.Context, org, member string) error {
	ids, err := u.store.Environments.Including(ctx, org, member)
	return u.updateAll(ctx, ids, err)
}

// Named updates the logical environments that include an archived environment whose
// name another environment has now: that one takes its place.
func (u *Updater) Named(ctx context.Context, org, name string) error {
	ids, err := u.store.Environments.IncludingArchived(ctx, org, name)
	return u.updateAll(ctx, ids, err)
}

func (u *Updater) updateAll(ctx context.Context, ids []string, err error) error {
	for _, id := range ids {
		err = errors.Join(err, u.Update(ctx, id))
	}
	return err
}

// UpToDate tells whether nothing is to be added to a logical environment, given its
// last snapshot: one command.
func (u *Updater) UpToDate(ctx context.Context, environment *evidence.Environment, last *snapshot.Snapshot) (bool, error) {
	heads, err := u.store.Heads.GetMany(ctx, environment.Active)
	if err != nil {
		return false, err
	}
	s := &state{environment: *environment, last: *last, heads: heads}
	return !s.membershipChanged() && len(s.behind(nil)) == 0, nil
}

// update adds snapshots until the last one is up to date. made is a snapshot of a
// member that its head does not know of yet; nil if there is none.
func (u *Updater) update(ctx context.Context, id string, made *snapshot.Snapshot) error {
	for indexed := false; ; {
		s, err := u.read(ctx, id)
		if err != nil || !s.environment.Logical() || s.environment.Archived {
			return err
		}
		if !indexed && s.begins() {
			// Versions before this numbering have stored environments that workers do
			// not find. The members are read again after this write, by the second
			// rule of the package.
			if err := u.store.Environments.Reindex(ctx, id); err != nil {
				return err
			}
			indexed = true
			continue
		}
		err = u.extend(ctx, s, made)
		if !errors.Is(err, storage.ErrExists) {
			return err
		}
	}
}

// read reads the last snapshot first: a snapshot is never made of an older membership
// than the one before it.
func (u *Updater) read(ctx context.Context, id string) (*state, error) {
	last, err := u.store.Snapshots.Last(ctx, id)
	if err != nil {
		return nil, err
	}
	environment, err := u.store.Environments.Membership(ctx, id)
	if err != nil {
		return nil, err
	}
	last.Org, last.Environment = environment.Org, id
	heads, err := u.store.Heads.GetMany(ctx, append([]string{id}, environment.Active...))
	return &state{environment: environment, last: last, heads: heads}, err
}

// extend finishes the last snapshot, and adds what is missing behind it.
// storage.ErrExists tells that another process was first.
func (u *Updater) extend(ctx context.Context, s *state, made *snapshot.Snapshot) error {
	if s.heads[s.environment.ID].Last < s.last.Number {
		if err := u.finish(ctx, &s.last); err != nil {
			return err
		}
	}
	for {
		next, err := u.next(ctx, s, made)
		if err != nil || next == nil {
			return err
		}
		if err := u.store.Snapshots.Insert(ctx, *next); err != nil {
			return err
		}
		if err := u.finish(ctx, next); err != nil {
			return err
		}
		s.last = *next
	}
}

// next makes the snapshot behind the last one, nil when nothing is missing.
func (u *Updater) next(ctx context.Context, s *state, made *snapshot.Snapshot) (*snapshot.Snapshot, error) {
	if s.membershipChanged() {
		next := s.last.WithMembers(s.members(), evidence.Seconds(u.clock()))
		return &next, nil
	}
	behind := s.behind(made)
	if len(behind) == 0 {
		return nil, nil
	}
	earliest, err := u.earliest(ctx, behind, made)
	if err != nil {
		return nil, err
	}
	last := s.last
	last.Members = s.members()
	next := last.WithSnapshot(earliest)
	return &next, nil
}

// earliest reads the member snapshots that are missing and returns the one that was
// made first. Nearly always only made is missing, and nothing has to be read.
func (u *Updater) earliest(ctx context.Context, behind []snapshot.Member, made *snapshot.Snapshot) (*snapshot.Snapshot, error) {
	if len(behind) == 1 && made != nil && behind[0].Environment == made.Environment && behind[0].Number == made.Number {
		return made, nil
	}
	found, err := u.store.Snapshots.Of(ctx, behind)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: snapshot %d of environment %s is gone", storage.ErrDamaged, behind[0].Number, behind[0].Environment)
	}
	earliest := slices.MinFunc(found, func(a, b snapshot.Snapshot) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
	return &earliest, nil
}

// finish copies the events of a snapshot into the log, then brings the head to it:
// the log ends where the head says. The next snapshot is added only after that, so
// that ordinals have no gaps.
func (u *Updater) finish(ctx context.Context, s *snapshot.Snapshot) error {
	for done := int64(0); done < s.Events; done += storage.MaxMany {
		first := s.Cause.EventsBefore + done + 1
		last := s.Cause.EventsBefore + min(done+storage.MaxMany, s.Events)
		events, err := u.store.Events.Between(ctx, s.Cause.Environment, first, last, false)
		if err != nil {
			return err
		}
		if err := u.store.Events.Record(ctx, s.EventsOfMember(events)); err != nil {
			return err
		}
	}
	_, err := u.store.Heads.Update(ctx, s.Environment, func(head *snapshot.Head) error {
		head.Advance(s)
		return nil
	})
	return err
}
