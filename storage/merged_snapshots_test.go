package storage_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"attestry/evidence/snapshot"
	"attestry/storage"
)

// timeline is environments whose snapshots were made at random times, many of them at
// the same ones.
type timeline struct {
	store *storage.Store
	// environments has one without snapshots, too.
	environments []string
	places       []snapshot.Place
}

func newTimeline(t *testing.T, random *rand.Rand) *timeline {
	t.Helper()
	line := &timeline{store: newFlowScene(t).Store, environments: []string{"none"}}
	for e := range 4 {
		environment := fmt.Sprint("env-", e)
		line.environments = append(line.environments, environment)
		at := 0.0
		for number := int64(1); number <= 15; number++ {
			at += float64(1 + random.IntN(3))
			line.add(t, environment, number, at)
		}
	}
	line.add(t, "elsewhere", 1, 5)
	slices.SortFunc(line.places, func(a, b snapshot.Place) int {
		return cmp.Or(cmp.Compare(a.Timestamp, b.Timestamp), cmp.Compare(a.ID, b.ID))
	})
	return line
}

func (l *timeline) add(t *testing.T, environment string, number int64, at float64) {
	t.Helper()
	made := snapshot.Snapshot{Environment: environment, Number: number, Timestamp: at}
	if err := l.store.Snapshots.Insert(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	l.places = append(l.places, snapshot.Place{Environment: environment, Number: number, Timestamp: at, ID: fmt.Sprint(environment, "/", number)})
}

// of are the places of environments in order, up to a point in time.
func (l *timeline) of(environments []string, until float64) []snapshot.Place {
	return slices.DeleteFunc(slices.Clone(l.places), func(p snapshot.Place) bool {
		return p.Timestamp > until || !slices.Contains(environments, p.Environment)
	})
}

// some picks environments.
func (l *timeline) some(random *rand.Rand) []string {
	return slices.DeleteFunc(slices.Clone(l.environments), func(string) bool { return random.IntN(3) == 0 })
}

// TestMergedSnapshotsAreInTheOrderOfTime compares pages of random environments with
// what sorting all places gives.
func TestMergedSnapshotsAreInTheOrderOfTime(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	line := newTimeline(t, random)
	for range 400 {
		environments, descending := line.some(random), random.IntN(2) == 0
		until := []float64{math.MaxFloat64, float64(random.IntN(40))}[random.IntN(2)]
		offset, limit := random.IntN(70), random.IntN(70)
		want := line.of(environments, until)
		if descending {
			slices.Reverse(want)
		}
		want = want[min(offset, len(want)):]
		want = want[:min(limit, len(want))]
		got, err := line.store.Snapshots.Merged(t.Context(), environments, until, offset, limit, descending)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v until %v from %d, %d, descending %v:\n%v, want\n%v; %v", environments, until, offset, limit, descending, got, want, err)
		}
	}
}

// TestSnapshotsInForceAreTheLastOfEachEnvironment asks at each place, and before all.
func TestSnapshotsInForceAreTheLastOfEachEnvironment(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	line := newTimeline(t, random)
	for _, at := range append(line.places, snapshot.Place{Timestamp: -1}, snapshot.Place{Timestamp: 5}, snapshot.Place{Timestamp: math.MaxFloat64}) {
		environments := line.some(random)
		want := map[string]snapshot.Place{}
		for _, place := range line.of(environments, at.Timestamp) {
			if place.Timestamp < at.Timestamp || place.ID <= at.ID {
				want[place.Environment] = place
			}
		}
		got, err := line.store.Snapshots.InForce(t.Context(), environments, at)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%v at %v:\n%v, want\n%v; %v", environments, at, got, want, err)
		}
	}
}

// TestSnapshotsInForceAreFoundBehindManyOfOthers has one environment whose snapshot
// lies behind more of another one than a page has.
func TestSnapshotsInForceAreFoundBehindManyOfOthers(t *testing.T) {
	line := &timeline{store: newFlowScene(t).Store}
	line.add(t, "quiet", 1, 1)
	for number := range int64(storage.MaxMany + 10) {
		line.add(t, "busy", number+1, float64(number+2))
	}
	got, err := line.store.Snapshots.InForce(t.Context(), []string{"busy", "quiet", "none"}, snapshot.Place{Timestamp: math.MaxFloat64})
	if err != nil || len(got) != 2 || got["quiet"].Number != 1 || got["busy"].Number != storage.MaxMany+10 {
		t.Errorf("got %v, %v", got, err)
	}
	places, err := line.store.Snapshots.Merged(t.Context(), []string{"busy", "quiet"}, math.MaxFloat64, 0, 2*storage.MaxMany, false)
	if err != nil || len(places) != storage.MaxMany+11 || places[0].Environment != "quiet" {
		t.Errorf("%d places, %v", len(places), err)
	}
}
