package evidence

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

func entry(name, id string, at float64) Entry {
	return Entry{Name: name, Type: "generic", ID: id, Time: at, Compliant: true}
}

func entryIDs(entries []Entry) []string {
	ids := Map(entries, func(e Entry) string { return e.ID })
	slices.Sort(ids)
	return ids
}

func TestLatestAttestationOfANameCountsInAnyOrder(t *testing.T) {
	early, late, tie := entry("a", "2", 1), entry("a", "1", 2), entry("a", "3", 2)
	for _, order := range [][]Entry{{early, late, tie}, {tie, late, early}, {late, tie, early}, {tie, early, tie}} {
		var entries []Entry
		for _, e := range order {
			entries = AddEntry(entries, e)
		}
		if got := entryIDs(entries); !slices.Equal(got, []string{"3"}) {
			t.Errorf("of %v, %v counts", order, got)
		}
	}
}

func TestNewestArtifactOfANameCounts(t *testing.T) {
	first := SlotArtifact{Fingerprint: "f", Record: "1", Time: 1}
	second := SlotArtifact{Fingerprint: "g", Record: "2", Time: 2}
	again := SlotArtifact{Fingerprint: "f", Record: "3", Time: 3, Commit: "c"}
	tie := SlotArtifact{Fingerprint: "g", Record: "4", Time: 3}
	for _, c := range []struct {
		reports []SlotArtifact
		current string
		known   int
	}{
		{[]SlotArtifact{first}, "1", 1},
		{[]SlotArtifact{second, first}, "2", 2},
		{[]SlotArtifact{first, second, again}, "3", 2},
		{[]SlotArtifact{again, second, first}, "3", 2},
		{[]SlotArtifact{tie, again, first}, "4", 2},
	} {
		var slot Slot
		for _, artifact := range c.reports {
			slot.Report(artifact)
		}
		if current, ok := slot.Current(); !ok || current.Record != c.current || len(slot.Artifacts) != c.known {
			t.Errorf("after %v the current one is %v of %d", c.reports, current, len(slot.Artifacts))
		}
	}
}

func TestAttestationsAreBoundByFingerprintOrByNameAndCommit(t *testing.T) {
	var slot Slot
	for _, e := range []SlotEntry{
		{Entry: entry("print", "1", 1), Fingerprint: "f"},
		{Entry: entry("other-print", "2", 1), Fingerprint: "g"},
		{Entry: entry("commit", "3", 1), Commit: "c"},
		{Entry: entry("other-commit", "4", 1), Commit: "d"},
		{Entry: entry("bare", "5", 1)},
	} {
		slot.Attest(e)
	}
	for _, c := range []struct {
		artifact SlotArtifact
		bound    []string
	}{
		{SlotArtifact{Fingerprint: "f", Commit: "c"}, []string{"1", "3", "5"}},
		{SlotArtifact{Fingerprint: "g", Commit: "d"}, []string{"2", "4", "5"}},
		{SlotArtifact{Fingerprint: "h"}, []string{"5"}},
	} {
		if got := entryIDs(slot.Bound(c.artifact)); !slices.Equal(got, c.bound) {
			t.Errorf("to %v are bound %v, want %v", c.artifact, got, c.bound)
		}
	}
	if got := len(slot.Shown()); got != 5 {
		t.Errorf("before an artifact is reported, %d of 5 attestations are shown", got)
	}
	slot.Report(SlotArtifact{Fingerprint: "f", Commit: "c", Record: "r", Time: 2})
	if got := entryIDs(slot.Shown()); !slices.Equal(got, []string{"1", "3", "5"}) {
		t.Errorf("of the current artifact %v are shown", got)
	}
}

func TestLaterAttestationCountsWhetherByNameOrByFingerprint(t *testing.T) {
	artifact := SlotArtifact{Fingerprint: "f", Commit: "c"}
	for _, c := range []struct {
		entries []SlotEntry
		counts  string
	}{
		{[]SlotEntry{{Entry: entry("a", "1", 1), Fingerprint: "f"}, {Entry: entry("a", "2", 2), Commit: "c"}}, "2"},
		{[]SlotEntry{{Entry: entry("a", "1", 2), Fingerprint: "f"}, {Entry: entry("a", "2", 1)}}, "1"},
		{[]SlotEntry{{Entry: entry("a", "1", 2), Fingerprint: "f"}, {Entry: entry("a", "2", 3), Commit: "d"}}, "1"},
	} {
		var slot Slot
		for _, e := range c.entries {
			slot.Attest(e)
		}
		if got := entryIDs(slot.Bound(artifact)); !slices.Equal(got, []string{c.counts}) {
			t.Errorf("of %v, %v counts", c.entries, got)
		}
	}
}

func TestBoundFingerprintsAreThoseOfAllBoundArtifacts(t *testing.T) {
	var slot Slot
	slot.Report(SlotArtifact{Fingerprint: "f", Commit: "c", Record: "1", Time: 1})
	slot.Report(SlotArtifact{Fingerprint: "g", Commit: "d", Record: "2", Time: 2})
	slot.Report(SlotArtifact{Fingerprint: "h", Commit: "c", Record: "3", Time: 3})
	for _, c := range []struct {
		entry SlotEntry
		want  []string
	}{
		{SlotEntry{Commit: "c"}, []string{"f", "h"}},
		{SlotEntry{Fingerprint: "g"}, []string{"g"}},
		{SlotEntry{}, []string{"f", "g", "h"}},
		{SlotEntry{Commit: "e"}, nil},
	} {
		if got := slot.BoundFingerprints(c.entry); !slices.Equal(got, c.want) {
			t.Errorf("%v concerns %v, want %v", c.entry, got, c.want)
		}
	}
}

func TestPrunedSlotIsCompleteOnlyForItsCurrentArtifact(t *testing.T) {
	whole := Slot{Artifacts: []SlotArtifact{{Fingerprint: "f", Time: 1}, {Fingerprint: "g", Time: 2}}}
	pruned := whole
	pruned.Pruned = true
	for name, c := range map[string]struct {
		slot        Slot
		fingerprint string
		want        bool
	}{
		"older artifact":                    {whole, "f", true},
		"current artifact":                  {whole, "g", true},
		"unknown artifact":                  {whole, "h", false},
		"older artifact of a pruned slot":   {pruned, "f", false},
		"current artifact of a pruned slot": {pruned, "g", true},
		"unknown artifact of a pruned slot": {pruned, "h", false},
		"empty slot":                        {Slot{}, "f", false},
	} {
		t.Run(name, func(t *testing.T) {
			artifact, ok := c.slot.Complete(c.fingerprint)
			if ok != c.want || ok && artifact.Fingerprint != c.fingerprint {
				t.Errorf("got %+v, %v", artifact, ok)
			}
		})
	}
}

// TestOriginalIsWhatWasReportedFirst tests docs/semantics.md 6.4.
func TestOriginalIsWhatWasReportedFirst(t *testing.T) {
	for name, c := range map[string]struct {
		entry Entry
		want  string
	}{
		"a plain report":                  {Entry{ID: "1"}, "1"},
		"an override":                     {Entry{ID: "2", Override: true, Overridden: "1"}, "1"},
		"an override of a missing report": {Entry{ID: "2", Override: true}, ""},
		"nothing":                         {Entry{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.entry.Original(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestLacksReportsBoundAttestationsThatNoLaterOneReplaced(t *testing.T) {
	artifact := SlotArtifact{Fingerprint: "f", Commit: "c"}
	var slot Slot
	slot.Attest(SlotEntry{Entry: entry("a", "2", 2), Commit: "c"})
	for _, c := range []struct {
		entry SlotEntry
		lacks bool
	}{
		{SlotEntry{Entry: entry("a", "2", 2), Commit: "c"}, false},
		{SlotEntry{Entry: entry("a", "1", 1), Commit: "c"}, false},
		{SlotEntry{Entry: entry("a", "3", 3), Commit: "c"}, true},
		{SlotEntry{Entry: entry("a", "1", 1), Fingerprint: "f"}, true},
		{SlotEntry{Entry: entry("a", "1", 1), Fingerprint: "g"}, false},
		{SlotEntry{Entry: entry("a", "3", 3), Commit: "d"}, false},
	} {
		if got := slot.Lacks(c.entry, artifact); got != c.lacks {
			t.Errorf("lacks %v: %v", c.entry, got)
		}
	}
}

// TestPruningKeepsWhatIsShown fills slots beyond their limits in random order. They must show what a slot without
// limits shows.
func TestPruningKeepsWhatIsShown(t *testing.T) {
	seeds := uint64(9)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 1))
		var limited, whole Slot
		reports := int(seed%3) * 40
		for i := range reports {
			artifact := SlotArtifact{
				Fingerprint: fmt.Sprint("f", random.IntN(60)), Commit: fmt.Sprint("c", random.IntN(3)),
				Record: fmt.Sprint("r", i), Time: float64(random.IntN(20)),
			}
			limited.Report(artifact)
			limited.Prune()
			whole.Report(artifact)
		}
		for i := range 1500 {
			e := SlotEntry{Entry: entry(fmt.Sprint("n", random.IntN(30)), fmt.Sprint("e", i), float64(random.IntN(20)))}
			switch random.IntN(3) {
			case 0:
				e.Fingerprint = fmt.Sprint("f", random.IntN(60))
			case 1:
				e.Commit = fmt.Sprint("c", random.IntN(40))
			}
			limited.Attest(e)
			limited.Prune()
			whole.Attest(e)
		}
		if got, want := entryIDs(limited.Shown()), entryIDs(whole.Shown()); !reflect.DeepEqual(got, want) {
			t.Errorf("seed %d, %d artifacts: shown %v, want %v", seed, reports, got, want)
		}
		if len(limited.Artifacts) > maxSlotArtifacts || len(limited.Entries) > maxSlotEntries || !limited.Pruned {
			t.Errorf("seed %d: %d artifacts, %d entries, pruned %v", seed, len(limited.Artifacts), len(limited.Entries), limited.Pruned)
		}
	}
}

func TestSlotWithinItsLimitsIsNotPruned(t *testing.T) {
	var slot Slot
	for i := range maxSlotArtifacts {
		slot.Report(SlotArtifact{Fingerprint: fmt.Sprint(i), Record: fmt.Sprint(i), Time: float64(i)})
	}
	for i := range maxSlotEntries {
		slot.Attest(SlotEntry{Entry: entry("a", fmt.Sprint(i), 1), Commit: fmt.Sprint(i)})
	}
	slot.Prune()
	if slot.Pruned || len(slot.Artifacts) != maxSlotArtifacts || len(slot.Entries) != maxSlotEntries {
		t.Errorf("pruned %v to %d artifacts and %d entries", slot.Pruned, len(slot.Artifacts), len(slot.Entries))
	}
}

func TestDroppedAttestationThatIsReportedAgainIsDroppedAgain(t *testing.T) {
	var slot Slot
	slot.Report(SlotArtifact{Fingerprint: "f", Record: "r", Time: 9})
	for i := range maxSlotEntries + 1 {
		slot.Attest(SlotEntry{Entry: entry("a", fmt.Sprint(i), float64(i)), Commit: fmt.Sprint("c", i)})
	}
	slot.Prune()
	before := slices.Clone(slot.Entries)
	slot.Attest(SlotEntry{Entry: entry("a", "0", 0), Commit: "c0"})
	slot.Prune()
	if !slices.Equal(slot.Entries, before) {
		t.Error("the slot has changed")
	}
}
