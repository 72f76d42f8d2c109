package logical_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"attestry/app"
	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/storagetest"
	"attestry/tasks/logical"
)

// newUpdater returns the updater of a process with an engine, and what it logs.
func newUpdater(t *testing.T, docs storage.Documents) (*logical.Updater, *bytes.Buffer) {
	logged := &bytes.Buffer{}
	log, clock := slog.New(slog.NewTextHandler(logged, nil)), func() time.Time { return time.Unix(5_000, 0) }
	store := app.NewStore(docs, nil, clock, log)
	t.Cleanup(store.Tenancy.Close)
	return logical.NewUpdater(store, clock, log), logged
}

// newEnvironments makes the environments "first", which has a snapshot, and "second", and "all", which shows both.
func newEnvironments(t *testing.T) (*app.Store, *storagetest.CountingDocuments, *logical.Updater) {
	t.Helper()
	store, docs, _ := apptest.NewStore(t)
	for _, e := range []evidence.Environment{
		{ID: "first", Type: evidence.Server}, {ID: "second", Type: evidence.Server}, {ID: "all", Type: evidence.LogicalType, Included: []string{"first", "second"}},
	} {
		e.Org, e.Name = "org", e.ID
		_, err := store.Environments.Put(t.Context(), e, evidence.EnvironmentChange{})
		evidencetest.Must(t, err)
	}
	makeSnapshot(t, store, 1, true)
	updater, _ := newUpdater(t, docs)
	evidencetest.Must(t, updater.Update(t.Context(), "all"))
	return store, docs, updater
}

// makeSnapshot stores a snapshot of the environment "first" with two events, and advances the head if headed.
func makeSnapshot(t *testing.T, store *app.Store, number int64, headed bool) *snapshot.Snapshot {
	t.Helper()
	made := &snapshot.Snapshot{Org: "org", Environment: "first", Number: number, Timestamp: float64(number), EventsBefore: 2 * (number - 1), Events: 2}
	evidencetest.Must(t, store.Snapshots.Insert(t.Context(), *made))
	evidencetest.Must(t, store.Events.Record(t.Context(), []snapshot.Event{{Environment: "first", Ordinal: 2*number - 1}, {Environment: "first", Ordinal: 2 * number}}))
	if headed {
		_, err := store.Heads.Update(t.Context(), "first", func(head *snapshot.Head) error { head.Advance(made); return nil })
		evidencetest.Must(t, err)
	}
	return made
}

// describe returns the members of each snapshot of the environment "all", its events by snapshot, and its head.
func describe(t *testing.T, store *app.Store) string {
	t.Helper()
	text := ""
	for number := int64(1); ; number++ {
		made, err := store.Snapshots.Get(t.Context(), "all", number)
		if errors.Is(err, storage.ErrNotFound) {
			break
		}
		evidencetest.Must(t, err)
		for _, member := range made.Members {
			text += fmt.Sprintf("%s/%d ", member.Environment, member.Number)
		}
		text += "; "
	}
	events, err := store.Events.Between(t.Context(), "all", 1, 100, false)
	evidencetest.Must(t, err)
	for _, event := range events {
		text += fmt.Sprintf("%d of %d, ", event.Ordinal, event.Snapshot)
	}
	heads, err := store.Heads.GetMany(t.Context(), []string{"all"})
	evidencetest.Must(t, err)
	return text + fmt.Sprintf("head %d", heads["all"].Last)
}

// TestUpdateThatFailsIsCompletedByTheNext has each command of an update fail once. An outage is returned. Another error
// is only logged, as neither members nor readers wait for a logical environment.
func TestUpdateThatFailsIsCompletedByTheNext(t *testing.T) {
	errFault := errors.New("a fault of a test")
	followed := "first/1 second/0 ; first/2 second/0 ; 1 of 2, 2 of 2, head 2"
	for name, c := range map[string]struct {
		headed bool // the head of the member has the snapshot
		update func(ctx context.Context, u *logical.Updater, made *snapshot.Snapshot, all *evidence.Environment) error
		want   string
	}{
		"a snapshot is followed": {false, func(ctx context.Context, u *logical.Updater, made *snapshot.Snapshot, _ *evidence.Environment) error {
			return u.Follow(ctx, made)
		}, followed},
		"a reader finds a snapshot": {true, func(ctx context.Context, u *logical.Updater, _ *snapshot.Snapshot, all *evidence.Environment) error {
			return u.CatchUp(ctx, all)
		}, followed},
		"a member has left": {true, func(ctx context.Context, u *logical.Updater, _ *snapshot.Snapshot, _ *evidence.Environment) error {
			return u.MemberArchived(ctx, "org", "second")
		}, "first/1 second/0 ; first/1 ; first/2 ; 1 of 3, 2 of 3, head 3"},
	} {
		for fault, err := range map[string]error{"outage": storage.Outage(storage.Database, errFault), "error": errFault} {
			reached := true
			for at := 1; reached; at++ {
				reached = false // for -failfast, which skips the test below after a failure
				t.Run(fmt.Sprintf("%s, %s of command %d", name, fault, at), func(t *testing.T) {
					ctx := t.Context()
					store, docs, sound := newEnvironments(t)
					made := makeSnapshot(t, store, 2, c.headed)
					if name == "a member has left" {
						evidencetest.Must(t, store.Environments.Archive(ctx, "org", "second", 1))
					}
					all, readErr := store.Environments.Membership(ctx, "all")
					evidencetest.Must(t, readErr)

					faulty := storagetest.NewFaultInjector(docs, storagetest.Fault{At: at, Err: err})
					updater, logged := newUpdater(t, faulty)
					got := c.update(ctx, updater, made, &all)
					reached = faulty.Reached.Load()
					if (got != nil) != (reached && fault == "outage") || (logged.Len() > 0) != (reached && fault == "error") {
						t.Errorf("it returns %v and logs %q", got, logged)
					}
					if reached {
						evidencetest.Must(t, c.update(ctx, sound, made, &all))
					}
					if shown := describe(t, store); shown != c.want {
						t.Errorf("it shows %s, want %s", shown, c.want)
					}
				})
			}
		}
	}
}

func TestReaderOfAnUpToDateEnvironmentTakesTwoCommands(t *testing.T) {
	store, docs, updater := newEnvironments(t)
	all, err := store.Environments.Membership(t.Context(), "all")
	evidencetest.Must(t, err)
	docs.Reset()
	evidencetest.Must(t, updater.CatchUp(t.Context(), &all))
	if costs := docs.Snapshot(); costs.Commands() != 2 {
		t.Errorf("%+v", costs)
	}
}
