package reports_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/storagetest"
	"attestry/tasks/logical"
	"attestry/tasks/reports"
)

// unite creates a logical environment of members and returns its id.
func (s *scene) unite(t testing.TB, members ...string) string {
	t.Helper()
	fresh := evidence.Environment{ID: evidence.NewID(), Org: "org", Type: evidence.LogicalType, Included: members}
	fresh.Name = "logical-" + fresh.ID
	if _, err := s.store.Environments.Put(t.Context(), fresh, evidence.EnvironmentChange{}); err != nil {
		t.Fatal(err)
	}
	s.update(t, fresh.ID)
	return fresh.ID
}

func (s *scene) updater() *logical.Updater { return logical.NewUpdater(s.store, s.clock.Now, quiet()) }

func (s *scene) update(t testing.TB, id string) {
	t.Helper()
	evidencetest.Must(t, s.updater().Update(t.Context(), id))
}

// member creates another environment and returns the scene with that one.
func (s *scene) member(t testing.TB) *scene {
	t.Helper()
	other := *s
	other.env = evidence.NewID()
	s.create(t, other.env)
	return &other
}

// include stores the members of a logical environment, as the API does.
func (s *scene) include(id string, members ...string) error {
	err := s.store.Environments.Modify(context.Background(), id, 1, func(e *evidence.Environment) (bool, error) {
		return e.Apply(evidence.EnvironmentChange{Included: &members}), nil
	})
	if err != nil {
		return err
	}
	return s.updater().Update(context.Background(), id)
}

// archive archives an environment, as the API does.
func (s *scene) archive(id string) error {
	if err := s.store.Environments.Archive(context.Background(), "org", "env-"+id, 1); err != nil {
		return err
	}
	return s.updater().MemberArchived(context.Background(), "org", id)
}

// united returns the snapshots of a logical environment.
func (s *scene) united(t testing.TB, id string) []snapshot.Snapshot {
	t.Helper()
	latest, err := s.store.Snapshots.LastNumber(t.Context(), id)
	evidencetest.Must(t, err)
	var all []snapshot.Snapshot
	for number := range latest {
		one, err := s.store.Snapshots.Get(t.Context(), id, number+1)
		evidencetest.Must(t, err)
		all = append(all, one)
	}
	return all
}

// assertUnited checks the invariants of a logical environment: numbers have no gaps, times increase, each snapshot adds
// the next snapshot of a single member or changes the membership, no snapshot of a member is missing or added twice,
// and the log has the events of the added snapshots.
func (s *scene) assertUnited(t testing.TB, id string) []snapshot.Snapshot {
	t.Helper()
	all := s.united(t, id)
	before := snapshot.Snapshot{}
	for i := range all {
		s.assertFollows(t, &before, &all[i])
		before = all[i]
	}
	s.assertUnitedLog(t, id, all)
	environment, err := s.store.Environments.Membership(t.Context(), id)
	evidencetest.Must(t, err)
	heads, err := s.store.Heads.GetMany(t.Context(), append([]string{id}, environment.Active...))
	evidencetest.Must(t, err)
	if heads[id].Last != before.Number || heads[id].Timestamp != before.Timestamp || heads[id].Events != before.EventsBefore+before.Events {
		t.Errorf("the head has %d at %f with %d events, the last is %+v", heads[id].Last, heads[id].Timestamp, heads[id].Events, before)
	}
	shown := false
	for _, member := range environment.Active {
		shown = shown || heads[member].Last > 0
	}
	if len(all) == 0 {
		if shown {
			t.Error("it has no snapshots although its members have")
		}
		return nil
	}
	if !before.HasMembers(environment.Active) {
		t.Errorf("the last snapshot has the members %+v, the environment %v", before.Members, environment.Active)
	}
	for _, member := range before.Members {
		if member.Number != heads[member.Environment].Last {
			t.Errorf("the last snapshot has snapshot %d of a member that has %d", member.Number, heads[member.Environment].Last)
		}
	}
	return all
}

// assertCount checks the invariants of a logical environment, and the number of its snapshots.
func (s *scene) assertCount(t testing.TB, id string, want int) {
	t.Helper()
	if united := s.assertUnited(t, id); len(united) != want {
		t.Errorf("%d snapshots, want %d", len(united), want)
	}
}

// assertFollows checks a snapshot against the previous one.
func (s *scene) assertFollows(t testing.TB, before, next *snapshot.Snapshot) {
	t.Helper()
	if next.Number != before.Number+1 || next.Timestamp <= before.Timestamp || next.EventsBefore != before.EventsBefore+before.Events {
		t.Errorf("snapshot %d at %f after %d events follows %d at %f with %d", next.Number, next.Timestamp, next.EventsBefore,
			before.Number, before.Timestamp, before.EventsBefore+before.Events)
	}
	var moved []string
	for _, member := range next.Members {
		former, was := before.Member(member.Environment)
		if (was || next.Cause != nil) && member.Number != former.Number {
			moved = append(moved, fmt.Sprintf("%s/%d", member.Environment, former.Number+1))
		}
	}
	if next.Cause == nil {
		same := len(before.Members) == len(next.Members) && !slices.ContainsFunc(next.Members, func(m snapshot.Member) bool {
			_, was := before.Member(m.Environment)
			return !was
		})
		if same || len(moved) > 0 || next.Events != 0 {
			t.Errorf("snapshot %d is a change of membership that moves %v: %+v", next.Number, moved, next)
		}
		return
	}
	cause := fmt.Sprintf("%s/%d", next.Cause.Environment, next.Cause.Number)
	if len(moved) != 1 || moved[0] != cause || before.Number > 0 && len(before.Members) != len(next.Members) {
		t.Errorf("snapshot %d is of %s and moves %v: from %+v to %+v", next.Number, cause, moved, before.Members, next.Members)
	}
	made, err := s.store.Snapshots.Get(t.Context(), next.Cause.Environment, next.Cause.Number)
	evidencetest.Must(t, err)
	if made.Events != next.Events || made.EventsBefore != next.Cause.EventsBefore || next.Timestamp < made.Timestamp {
		t.Errorf("snapshot %d at %f is of %+v", next.Number, next.Timestamp, made)
	}
}

// assertUnitedLog compares the log with the events of the added snapshots.
func (s *scene) assertUnitedLog(t testing.TB, id string, all []snapshot.Snapshot) {
	t.Helper()
	got, err := s.store.Events.Between(t.Context(), id, 1, storage.MaxMany, false)
	evidencetest.Must(t, err)
	var want []snapshot.Event
	for i := range all {
		if all[i].Cause == nil || all[i].Events == 0 {
			continue
		}
		cause := all[i].Cause
		events, err := s.store.Events.Between(t.Context(), cause.Environment, cause.EventsBefore+1, cause.EventsBefore+all[i].Events, false)
		evidencetest.Must(t, err)
		for _, event := range events {
			event.Environment, event.Member, event.Snapshot, event.Timestamp = id, event.Environment, all[i].Number, all[i].Timestamp
			event.Ordinal = int64(len(want)) + 1
			want = append(want, event)
		}
	}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("the log is\n%+v, want\n%+v", got, want)
	}
}

func TestLogicalSnapshotsAreNumberedInTheOrderOfCreation(t *testing.T) {
	one := newScene(t, nil)
	two := one.member(t)
	all := one.unite(t, one.env, two.env)
	both := one.unite(t, two.env, one.env)
	two.accept(t, running("late"))
	one.accept(t, running("early"))
	one.drain(t)
	first := one.assertUnited(t, all)
	two.drain(t)
	second := one.assertUnited(t, all)
	if len(first) != 1 || len(second) != 2 || !reflect.DeepEqual(first[0], second[0]) {
		t.Errorf("a report that is processed late changes\n%+v to\n%+v", first, second)
	}
	if gap := second[1].Timestamp - second[0].Timestamp; gap <= 0 || gap > 2e-6 {
		t.Errorf("the late snapshot is %g s after the first one", gap)
	}
	one.clock.Advance(minute)
	one.accept(t, running("early", "third"))
	one.drain(t)
	third := one.assertUnited(t, all)
	made, _, _ := one.artifacts(t, 2)
	if len(third) != 3 || third[2].Timestamp != made.Timestamp {
		t.Errorf("the third is %+v, made at %f", third[2], made.Timestamp)
	}
	one.assertCount(t, both, 3)
}

// TestChangesOfMembershipMakeSnapshots has members join, leave, be archived and be revived.
func TestChangesOfMembershipMakeSnapshots(t *testing.T) {
	one := newScene(t, nil)
	two, three := one.member(t), one.member(t)
	for i, s := range []*scene{one, two} {
		s.accept(t, running(fmt.Sprint("file-", i)))
		s.drain(t)
	}
	all := one.unite(t, one.env)
	for _, step := range []struct {
		what string
		do   func() error
		want string
	}{
		{"created", func() error { return nil }, "[1]"},
		{"joined", func() error { return one.include(all, one.env, two.env) }, "[1 1]"},
		{"joined without a snapshot", func() error { return one.include(all, one.env, two.env, three.env) }, "[1 1 0]"},
		{"left", func() error { return one.include(all, two.env, three.env) }, "[1 0]"},
		{"archived", func() error { return one.archive(two.env) }, "[0]"},
		{"revived", func() error {
			_, err := one.store.Environments.Put(t.Context(), evidence.Environment{
				ID: evidence.NewID(), Org: "org", Name: "env-" + two.env, Type: evidence.Server,
			}, evidence.EnvironmentChange{})
			return errors.Join(err, one.updater().UpdateIncludingArchived(t.Context(), "org", "env-"+two.env))
		}, "[0 0]"},
		{"emptied", func() error { return one.include(all) }, "[]"},
		{"joined again", func() error { return one.include(all, one.env) }, "[1]"},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		numbers := []int64{}
		united := one.assertUnited(t, all)
		for _, member := range united[len(united)-1].Members {
			numbers = append(numbers, member.Number)
		}
		if fmt.Sprint(numbers) != step.want {
			t.Errorf("%s: the members are at %v, want %s", step.what, numbers, step.want)
		}
		one.update(t, all)
		if again := one.united(t, all); len(again) != len(united) {
			t.Errorf("%s: a second update makes snapshot %d", step.what, len(again))
		}
	}
	if united := one.united(t, all); len(united) != 8 {
		t.Errorf("%d snapshots, want one for each step", len(united))
	}
	evidencetest.Must(t, one.include(all, three.env, one.env))
	evidencetest.Must(t, one.include(all, one.env, three.env))
	one.assertCount(t, all, 9)
}

// TestRecreatedMemberIsFollowed has an environment report that was created with the name of an archived member.
func TestRecreatedMemberIsFollowed(t *testing.T) {
	one := newScene(t, nil)
	all := one.unite(t, one.env)
	evidencetest.Must(t, one.archive(one.env))
	fresh := *one
	fresh.env = evidence.NewID()
	_, err := one.store.Environments.Put(t.Context(), evidence.Environment{ID: fresh.env, Org: "org", Name: "env-" + one.env, Type: evidence.Server}, evidence.EnvironmentChange{})
	evidencetest.Must(t, errors.Join(err, one.updater().UpdateIncludingArchived(t.Context(), "org", "env-"+one.env)))
	fresh.accept(t, running("a"))
	fresh.drain(t)
	if united := one.assertUnited(t, all); len(united) != 1 || united[0].Members[0].Environment != fresh.env {
		t.Errorf("got %+v", united)
	}
}

// watcher is a worker of another process, whose commands are run by around.
type watcher struct {
	*scene
	around func(write bool, run func() error) error
}

func (s *scene) watcher(t testing.TB) *watcher {
	t.Helper()
	w := &watcher{}
	w.scene = s.another(t, func(docs storage.Documents) storage.Documents {
		return watch(docs, func(write bool, run func() error) error { return w.around(write, run) })
	})
	return w
}

var errKilled = errors.New("the process was killed")

// TestLogicalSnapshotsSurviveAWorkerKilledAtAnyWrite fails all commands of a worker before or after a write, and lets
// another worker continue.
func TestLogicalSnapshotsSurviveAWorkerKilledAtAnyWrite(t *testing.T) {
	killed, shared := true, newScene(t, nil)
	worker := shared.watcher(t)
	for write := 1; killed; write++ {
		killed = false // for -failfast, which skips the tests below after a failure
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("write %d after %v", write, after), func(t *testing.T) {
				one, two := shared.member(t), shared.member(t)
				all, both := one.unite(t, one.env, two.env), one.unite(t, two.env, one.env)
				one.accept(t, running("a"))
				one.accept(t, running("a", "b"))
				two.accept(t, running("c"))
				two.drain(t)
				writes := 0
				worker.around = func(isWrite bool, run func() error) error {
					if isWrite {
						writes++
					}
					if writes > write || writes == write && !after {
						return errKilled
					}
					return run()
				}
				err := worker.processor.Drain(t.Context(), one.env)
				if killed = writes >= write; killed && !after && err == nil {
					t.Error("the drain of the killed worker returned no error")
				}
				one.clock.Advance(minute)
				one.drain(t)
				two.accept(t, running())
				two.drain(t)
				for _, id := range []string{all, both} {
					one.assertCount(t, id, 4)
				}
			})
		}
	}
}

// TestLogicalSnapshotsAreConsistentAfterAWorkerWasPaused pauses a worker before each of its writes, lets others make
// snapshots, and then lets the first one continue.
func TestLogicalSnapshotsAreConsistentAfterAWorkerWasPaused(t *testing.T) {
	paused, shared := true, newScene(t, nil)
	worker := shared.watcher(t)
	for write := int64(1); paused; write++ {
		t.Run(fmt.Sprint("write ", write), func(t *testing.T) {
			one, two := shared.member(t), shared.member(t)
			all := one.unite(t, one.env, two.env)
			one.accept(t, running("a"))
			reached, resume, done := make(chan struct{}), make(chan struct{}), make(chan error)
			pause := &interruption{at: write, onlyWrites: true, happen: func() {
				close(reached)
				<-resume
			}}
			worker.around = pause.around
			go func() { done <- worker.processor.Drain(t.Context(), one.env) }()
			select {
			case err := <-done:
				evidencetest.Must(t, err)
			case <-reached:
			}
			one.clock.Advance(minute)
			for i, s := range []*scene{one, two, one, two} {
				s.accept(t, running(fmt.Sprint("file-", i)))
				s.drain(t)
			}
			close(resume)
			if paused = pause.happened(); paused {
				evidencetest.Check(t, <-done)
			}
			one.accept(t, running("last"))
			one.drain(t)
			one.assertCount(t, all, 6)
		})
	}
}

// TestLogicalSnapshotsAreConsistentAfterChangesBetweenCommands changes the membership, or has another member make a
// snapshot, before each command of a worker.
func TestLogicalSnapshotsAreConsistentAfterChangesBetweenCommands(t *testing.T) {
	for what, event := range map[string]func(t *testing.T, one, two *scene, all, other string) error{
		"the member joins another": func(_ *testing.T, one, two *scene, _, other string) error {
			return one.include(other, two.env, one.env)
		},
		"the member leaves":      func(_ *testing.T, one, two *scene, all, _ string) error { return one.include(all, two.env) },
		"the member is archived": func(_ *testing.T, one, _ *scene, _, _ string) error { return one.archive(one.env) },
		"the other is archived":  func(_ *testing.T, one, two *scene, _, _ string) error { return one.archive(two.env) },
		"the member leaves and joins": func(_ *testing.T, one, two *scene, all, _ string) error {
			return errors.Join(one.include(all, two.env), one.include(all, two.env, one.env))
		},
		"the other makes a snapshot": func(t *testing.T, _, two *scene, _, _ string) error {
			two.accept(t, running("two"))
			return two.processor.Drain(t.Context(), two.env)
		},
	} {
		t.Run(what, func(t *testing.T) {
			happened, shared := true, newScene(t, nil)
			worker := shared.watcher(t)
			for command := int64(1); happened; command++ {
				one, two := shared.member(t), shared.member(t)
				for _, s := range []*scene{one, two} {
					s.accept(t, running("before"))
					s.drain(t)
				}
				all, other := one.unite(t, one.env, two.env), one.unite(t, two.env)
				one.accept(t, running("one"))
				var err error
				between := &interruption{at: command, happen: func() { err = event(t, one, two, all, other) }}
				worker.around, worker.env = between.around, one.env
				worker.drain(t)
				if happened = between.happened(); err != nil {
					t.Fatalf("command %d: %v", command, err)
				}
				for _, id := range []string{all, other} {
					// If the membership changes between the worker's commit and the write of its head, the logical
					// snapshot has the previous snapshot of the member, until the next snapshot of any member or the
					// next reader.
					if what != "the other makes a snapshot" {
						one.update(t, id)
					}
					if one.assertUnited(t, id); t.Failed() {
						t.Fatalf("command %d", command)
					}
				}
			}
		})
	}
}

// TestManyWorkersShareALogicalEnvironment has members report, join, leave and be archived at the same time.
func TestManyWorkersShareALogicalEnvironment(t *testing.T) {
	const count = 6
	one := newScene(t, nil)
	scenes, ids := []*scene{one}, []string{one.env}
	for range 5 {
		scenes = append(scenes, one.member(t))
		ids = append(ids, scenes[len(scenes)-1].env)
	}
	fixed, moving := one.unite(t, ids...), one.unite(t, ids[0])
	var group sync.WaitGroup
	for i, s := range scenes {
		for range 2 {
			group.Go(func() {
				worker := reports.NewProcessor(s.store, silent{}, s.clock.Now, quiet(), func(string) {})
				for r := range count {
					_, err := s.intake.Accept(t.Context(), reports.Submission{Org: "org", Environment: s.env, Report: running(fmt.Sprint(i, "-", r))})
					evidencetest.Check(t, errors.Join(err, worker.Drain(t.Context(), s.env)))
				}
			})
		}
	}
	for i := range ids {
		group.Go(func() {
			evidencetest.Check(t, one.include(moving, ids[i:]...))
		})
	}
	group.Go(func() {
		evidencetest.Check(t, one.archive(ids[5]))
	})
	group.Wait()
	for _, s := range scenes {
		s.drain(t)
	}
	for _, id := range []string{fixed, moving} {
		one.update(t, id)
		one.assertUnited(t, id)
	}
	added := map[string]int64{}
	for _, united := range one.united(t, fixed) {
		if united.Cause != nil {
			added[united.Cause.Environment]++
		}
	}
	for _, id := range ids[:5] {
		if head, err := one.store.Heads.Get(t.Context(), id); err != nil || added[id] != head.Last || head.Last == 0 {
			t.Errorf("%d of %d snapshots of a member were added, %v", added[id], head.Last, err)
		}
	}
}

// resisting returns the scene in another process, which gets an error when it writes snapshots of an environment.
func (s *scene) resisting(t testing.TB, environment string, fault error) *scene {
	t.Helper()
	return s.refusing(t, fault, func(write storage.Write) bool {
		return write.Schema.Name == "snapshots" && strings.HasPrefix(write.Record.ID, environment+"/")
	})
}

// refusing returns the scene in another process, which gets an error instead of commands with certain writes.
func (s *scene) refusing(t testing.TB, fault error, refused func(write storage.Write) bool) *scene {
	t.Helper()
	return s.another(t, func(docs storage.Documents) storage.Documents {
		return storagetest.BeforeWrites(docs, func(write storage.Write) error {
			if refused(write) {
				return fault
			}
			return nil
		})
	})
}

func TestLogicalEnvironmentThatCannotBeUpdatedDoesNotBlockItsMembers(t *testing.T) {
	for what, c := range map[string]struct {
		fault error
		drain bool
	}{
		"refused": {evidence.NewError(evidence.TooLarge, "too large"), true},
		"damaged": {storage.ErrDamaged, true},
		"outage":  {storage.Outage("database", errors.New("no answer")), false},
	} {
		t.Run(what, func(t *testing.T) {
			one := newScene(t, nil)
			all := one.unite(t, one.env)
			one.accept(t, running("a"))
			one.drain(t)
			worker := one.resisting(t, all, c.fault)
			one.accept(t, running("b"))
			if err := worker.processor.Drain(t.Context(), one.env); (err == nil) != c.drain {
				t.Fatalf("the worker ended with %v", err)
			}
			one.accept(t, running("c"))
			one.drain(t)
			one.assertCount(t, all, 3)
		})
	}
}

// TestDamagedLogicalEnvironmentDoesNotBlockOthers has a damaged and a sound logical environment with the same member.
func TestDamagedLogicalEnvironmentDoesNotBlockOthers(t *testing.T) {
	one := newScene(t, nil)
	damaged, sound := one.unite(t, one.env), one.unite(t, one.env)
	worker := one.spoiling(t, "environments", damaged)
	one.accept(t, running("a"))
	worker.drain(t)
	one.assertCount(t, sound, 1)
	if err := worker.archive(one.env); err != nil {
		t.Errorf("the member was not archived: %v", err)
	}
	one.assertCount(t, sound, 2)
	one.update(t, damaged)
	if united := one.assertUnited(t, damaged); len(united) > 1 {
		t.Errorf("the damaged one has %d snapshots after it is restored", len(united))
	}
}

// read brings a logical environment up to date, as the API does before it reads one.
func (s *scene) read(t testing.TB, id string) {
	t.Helper()
	environment, err := s.store.Environments.Membership(t.Context(), id)
	evidencetest.Must(t, err)
	evidencetest.Must(t, s.updater().CatchUp(t.Context(), &environment))
}

// assertFinished checks that the head and the log of a logical environment are those of its last snapshot, which must
// have the given number.
func (s *scene) assertFinished(t testing.TB, id string, number int) {
	t.Helper()
	all := s.united(t, id)
	head, err := s.store.Heads.Get(t.Context(), id)
	if err != nil || len(all) != number || head.Last != int64(number) {
		t.Errorf("the head says %d of %d snapshots, want %d, %v", head.Last, len(all), number, err)
	}
	s.assertUnitedLog(t, id, all)
}

// TestReaderFinishesALogicalSnapshotOfAKilledWorker fails all commands of a worker from a write on, and then reads
// before any other worker runs.
func TestReaderFinishesALogicalSnapshotOfAKilledWorker(t *testing.T) {
	killed, unfinished, shared := true, 0, newScene(t, nil)
	worker := shared.watcher(t)
	for write := 1; killed; write++ {
		killed = false // for -failfast, which skips the tests below after a failure
		t.Run(fmt.Sprint("write ", write), func(t *testing.T) {
			one := shared.member(t)
			all := one.unite(t, one.env)
			one.accept(t, running("a"))
			one.drain(t)
			one.accept(t, running("b"))
			writes := 0
			worker.around = func(isWrite bool, run func() error) error {
				if isWrite {
					writes++
				}
				if writes >= write {
					return errKilled
				}
				return run()
			}
			_ = worker.processor.Drain(t.Context(), one.env)
			killed = writes >= write
			number := len(one.united(t, all))
			if head, err := one.store.Heads.Get(t.Context(), all); err != nil || head.Last < int64(number) {
				unfinished++
			}
			one.read(t, all)
			one.assertFinished(t, all, number)
		})
	}
	if unfinished < 2 { // before the events, and before the head
		t.Errorf("%d snapshots were left unfinished", unfinished)
	}
}

func TestReaderFinishesALogicalSnapshotWhoseHeadWasRefused(t *testing.T) {
	one := newScene(t, nil)
	all := one.unite(t, one.env)
	worker := one.refusing(t, evidence.NewError(evidence.TooLarge, "too large"), func(write storage.Write) bool {
		return write.Kind == storage.WriteReplace && write.Schema.Name == "heads" && write.Record.ID == all
	})
	one.accept(t, running("a"))
	worker.drain(t)
	one.read(t, all)
	one.assertFinished(t, all, 1)
	one.assertUnited(t, all)
}

// TestReaderIsServedWhenASnapshotOfAMemberIsLost reads a logical environment while the next member snapshot to add is
// damaged or missing. An outage, however, is returned.
func TestReaderIsServedWhenASnapshotOfAMemberIsLost(t *testing.T) {
	one := newScene(t, nil)
	all := one.unite(t, one.env)
	one.accept(t, running("a"))
	one.drain(t)
	worker := one.resisting(t, all, storage.ErrDamaged)
	one.accept(t, running("b"))
	worker.drain(t)
	environment, err := one.store.Environments.Membership(t.Context(), all)
	evidencetest.Must(t, err)
	lost := one.env + "/2"
	one.spoiling(t, "snapshots", lost).read(t, all)
	one.assertFinished(t, all, 1)
	outage := one.watcher(t)
	outage.around = func(bool, func() error) error { return errUnreachable }
	evidencetest.Is(t, outage.updater().CatchUp(t.Context(), &environment), storage.ErrOutage)
	evidencetest.Must(t, storagetest.Delete(t.Context(), one.docs, apptest.Schema(t, "snapshots"), lost))
	one.read(t, all)
	one.assertFinished(t, all, 1)
}
