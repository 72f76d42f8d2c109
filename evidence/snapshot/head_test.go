package snapshot

import "testing"

func TestVerdictOfFollowsTheReport(t *testing.T) {
	var head Head
	if head.VerdictOf(1) != Waiting {
		t.Error("a report that is not processed has a verdict")
	}
	head.MarkProcessed(1, Outcome{Snapshot: 1})
	head.MarkProcessed(2, Outcome{})
	head.MarkProcessed(3, Outcome{Failed: true})
	for arrival, want := range map[int64]Verdict{1: Created, 2: NoChange, 3: Failed, 4: Waiting} {
		if got := head.VerdictOf(arrival); got != want {
			t.Errorf("report %d: verdict %d, want %d", arrival, got, want)
		}
	}
}

func TestMarkingAReportProcessedTwiceChangesNothing(t *testing.T) {
	var head Head
	head.MarkProcessed(2, Outcome{Snapshot: 1})
	head.MarkProcessed(2, Outcome{Snapshot: 9})
	head.MarkProcessed(1, Outcome{Failed: true})
	if head.Processed != 2 || len(head.Outcomes) != 1 || head.Outcomes[0].Snapshot != 1 {
		t.Errorf("head is %+v", head)
	}
}

func TestOutcomesAreBoundedAndOldOnesUnknown(t *testing.T) {
	var head Head
	for arrival := range int64(MaxOutcomes + 10) {
		head.MarkProcessed(arrival+1, Outcome{Snapshot: arrival + 1})
	}
	if len(head.Outcomes) != MaxOutcomes {
		t.Errorf("%d outcomes", len(head.Outcomes))
	}
	if head.VerdictOf(1) != Unknown || head.VerdictOf(MaxOutcomes+10) != Created {
		t.Error("an old outcome is guessed or a new one lost")
	}
}

func TestAdvanceNeverGoesBack(t *testing.T) {
	head := Head{Last: 5, Root: "five", Digest: "d5"}
	head.Advance(&Snapshot{Number: 4, Root: "four", Digest: "d4"})
	if head.Last != 5 || head.Root != "five" || head.Digest != "d5" {
		t.Errorf("head is %+v", head)
	}
	head.Advance(&Snapshot{Number: 6, Root: "six", EventsBefore: 3, Events: 2})
	if head.Last != 6 || head.Root != "six" || head.Events != 5 {
		t.Errorf("head is %+v", head)
	}
}

func TestHeadKnowsSinceWhenItHasItsState(t *testing.T) {
	head := Head{}
	for i, step := range []struct {
		state *bool
		since float64
	}{
		{nil, 1}, {nil, 1}, {new(false), 3}, {new(false), 3}, {new(true), 5}, {new(false), 6}, {nil, 7},
	} {
		head.Advance(&Snapshot{Number: int64(i + 1), Timestamp: float64(i + 1), State: step.state})
		if head.StateSince != step.since {
			t.Errorf("after snapshot %d the state is there since %v, want %v", i+1, head.StateSince, step.since)
		}
	}
}
