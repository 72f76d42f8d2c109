// Package logical numbers the snapshots of logical environments. A logical environment gets one for each snapshot of a
// member and for each change of its membership, when that happens; none is ever renumbered.
//
// A snapshot is committed by inserting its number, so that several processes may update an environment at once. Two
// rules keep snapshots from being missed without a lock. A worker commits the member's snapshot before it looks up
// which logical environments include the member. A change of a membership is stored before it reads the members' heads.
// A committed snapshot that its head lacks is added by the next update or the next reader.
package logical

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/notification"
	"attestry/evidence/snapshot"
	"attestry/storage"
)

// Updater adds snapshots to logical environments. Updates can be repeated, and complete those of killed processes.
type Updater struct {
	store *app.Store
	clock evidence.Clock
	log   *slog.Logger
}

// NewUpdater makes an updater.
func NewUpdater(store *app.Store, clock evidence.Clock, log *slog.Logger) *Updater {
	return &Updater{store: store, clock: clock, log: log}
}

// Follow adds a member's snapshot, whose events are stored, to the logical environments: one command if there are none.
func (u *Updater) Follow(ctx context.Context, made *snapshot.Snapshot) error {
	log := u.log.With("org", made.Org, "member", made.Environment, "snapshot", made.Number)
	ids, err := u.store.Environments.Including(ctx, made.Org, made.Environment)
	if err != nil {
		return logFailure(ctx, log, err)
	}
	for _, id := range ids {
		if err := logFailure(ctx, log.With("environment", id), u.update(ctx, id, made)); err != nil {
			return err
		}
	}
	return nil
}

// Update adds the snapshots that an environment lacks. It ignores physical and archived environments.
func (u *Updater) Update(ctx context.Context, id string) error {
	return logFailure(ctx, u.log.With("environment", id), u.update(ctx, id, nil))
}

// MemberArchived updates the logical environments that include an archived environment.
func (u *Updater) MemberArchived(ctx context.Context, org, member string) error {
	ids, err := u.store.Environments.Including(ctx, org, member)
	return u.updateAll(ctx, u.log.With("org", org, "member", member), ids, err)
}

// UpdateIncludingArchived updates the logical environments that include an archived environment whose name a new one has taken.
func (u *Updater) UpdateIncludingArchived(ctx context.Context, org, name string) error {
	ids, err := u.store.Environments.IncludingArchived(ctx, org, name)
	return u.updateAll(ctx, u.log.With("org", org, "member", name), ids, err)
}

// updateAll updates environments that were looked up for a member, unless that ended with err.
func (u *Updater) updateAll(ctx context.Context, log *slog.Logger, ids []string, err error) error {
	err = logFailure(ctx, log, err)
	for _, id := range ids {
		err = errors.Join(err, u.Update(ctx, id))
	}
	return err
}

// CatchUp adds the snapshots that a logical environment lacks before it is read: those of an unfinished change of
// membership. If none is missing, it takes two commands.
func (u *Updater) CatchUp(ctx context.Context, environment *evidence.Environment) error {
	upToDate, err := u.upToDate(ctx, environment)
	if err == nil && !upToDate {
		err = u.update(ctx, environment.ID, nil)
	}
	return logFailure(ctx, u.log.With("org", environment.Org, "environment", environment.ID), err)
}

// upToDate reports whether nothing is to be added to a logical environment, and its last snapshot is finished.
func (u *Updater) upToDate(ctx context.Context, environment *evidence.Environment) (bool, error) {
	last, err := u.store.Snapshots.Last(ctx, environment.ID)
	if err != nil {
		return false, err
	}
	heads, err := u.heads(ctx, environment)
	if err != nil {
		return false, err
	}
	s := &state{environment: *environment, last: last, heads: heads}
	return s.finished() && !s.membershipChanged() && len(s.missing(nil)) == 0, nil
}

// logFailure logs that a logical environment could not be updated, and returns nil: the next update adds what is
// missing, and neither members nor readers wait for it. An outage, and a context that has ended, are returned.
func logFailure(ctx context.Context, log *slog.Logger, err error) error {
	if err == nil || ctx.Err() != nil || evidence.CodeOf(err) == evidence.Unavailable {
		return err
	}
	log.ErrorContext(ctx, "could not add a snapshot to a logical environment", "error", err.Error())
	return nil
}

// update adds snapshots until the last one is up to date. made, if any, is not in its member's head yet.
func (u *Updater) update(ctx context.Context, id string, made *snapshot.Snapshot) error {
	for {
		s, err := u.read(ctx, id)
		if err != nil || !s.environment.Logical() || s.environment.Archived {
			return err
		}
		err = u.extend(ctx, s, made)
		if !errors.Is(err, storage.ErrExists) {
			return err
		}
	}
}

// read reads the last snapshot first: a snapshot is never made of an older membership than the one before it.
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
	heads, err := u.heads(ctx, &environment)
	return &state{environment: environment, last: last, heads: heads}, err
}

// heads reads the heads of a logical environment and of its active members with one command.
func (u *Updater) heads(ctx context.Context, environment *evidence.Environment) (map[string]snapshot.Head, error) {
	return u.store.Heads.GetMany(ctx, append([]string{environment.ID}, environment.Active...))
}

// extend finishes the last snapshot and adds the missing ones, or returns storage.ErrExists if another process did.
func (u *Updater) extend(ctx context.Context, s *state, made *snapshot.Snapshot) error {
	if !s.finished() {
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

// next makes the snapshot after the last one. It returns nil if nothing is missing.
func (u *Updater) next(ctx context.Context, s *state, made *snapshot.Snapshot) (*snapshot.Snapshot, error) {
	if s.membershipChanged() {
		return new(s.last.WithMembers(s.members(), evidence.Seconds(u.clock()))), nil
	}
	missing := s.missing(made)
	if len(missing) == 0 {
		return nil, nil
	}
	earliest, err := u.earliest(ctx, missing, made)
	if err != nil {
		return nil, err
	}
	last := s.last
	last.Members = s.members()
	return new(last.WithSnapshot(earliest)), nil
}

// earliest returns the first of the missing member snapshots. Nearly always that is made.
func (u *Updater) earliest(ctx context.Context, missing []snapshot.Member, made *snapshot.Snapshot) (*snapshot.Snapshot, error) {
	if len(missing) == 1 && made != nil && missing[0].Environment == made.Environment && missing[0].Number == made.Number {
		return made, nil
	}
	found, err := u.store.Snapshots.Of(ctx, missing)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: snapshot %d of environment %s is gone", storage.ErrDamaged, missing[0].Number, missing[0].Environment)
	}
	return new(slices.MinFunc(found, func(a, b snapshot.Snapshot) int { return cmp.Compare(a.Timestamp, b.Timestamp) })), nil
}

// finish copies the events of a snapshot into the log, stores the event for actions, then advances the head. Readers
// stop at the head, and the next snapshot is added after it, so that ordinals have no gaps.
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
	batch := &storage.Batch{}
	if err := u.store.Outbox.EnqueueIn(ctx, batch, notification.SnapshotEvent(s.Org, s.Environment, s.Number, s.Timestamp)); err != nil {
		return err
	}
	if err := batch.Write(ctx, u.store.Documents); err != nil {
		return err
	}
	_, err := u.store.Heads.Update(ctx, s.Environment, func(head *snapshot.Head) error {
		head.Advance(s)
		return nil
	})
	return err
}

// state is what an update has read.
type state struct {
	environment evidence.Environment
	// last is the last snapshot, without a number when there is none.
	last snapshot.Snapshot
	// heads are those of the environment and of its active members, by id.
	heads map[string]snapshot.Head
}

// finished reports whether the events of the last snapshot are in the log: the head is written after them.
func (s *state) finished() bool { return s.heads[s.environment.ID].Last >= s.last.Number }

// membershipChanged reports whether members have joined or left since the last snapshot.
// Before the first one, members count only once one has a snapshot.
func (s *state) membershipChanged() bool {
	if s.last.Number > 0 {
		return !s.last.HasMembers(s.environment.Active)
	}
	return slices.ContainsFunc(s.environment.Active, func(id string) bool { return s.heads[id].Last > 0 })
}

// members returns the active members as in the last snapshot. Members not in it have the snapshot of their head.
func (s *state) members() []snapshot.Member {
	members := make([]snapshot.Member, 0, len(s.environment.Active))
	for _, id := range s.environment.Active {
		member, ok := s.last.Member(id)
		if !ok {
			head := s.heads[id]
			member = snapshot.Member{Environment: id, Number: head.Last, State: head.State}
		}
		members = append(members, member)
	}
	return members
}

// missing returns the next snapshot of each member that has a newer one. made, if any, is not in its head yet.
func (s *state) missing(made *snapshot.Snapshot) []snapshot.Member {
	var missing []snapshot.Member
	for _, member := range s.members() {
		latest := s.heads[member.Environment].Last
		if made != nil && made.Environment == member.Environment {
			latest = max(latest, made.Number)
		}
		if member.Number < latest {
			missing = append(missing, snapshot.Member{Environment: member.Environment, Number: member.Number + 1})
		}
	}
	return missing
}
