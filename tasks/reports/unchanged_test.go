package reports_test

import (
	"testing"
	"time"

	"attestry/evidence/evidencetest"
)

// unchanged reports whether a report with a digest changes nothing.
func (s *scene) unchanged(t *testing.T, digest string) bool {
	t.Helper()
	same, err := s.intake.Unchanged(t.Context(), s.env, digest)
	evidencetest.Must(t, err)
	return same
}

func TestOnlyTheDigestOfTheLastReportIsUnchanged(t *testing.T) {
	s := newScene(t, nil)
	first, second := running("a"), running("b")
	if s.unchanged(t, first.Digest()) {
		t.Error("a report is unchanged before the first one")
	}
	s.accept(t, first)
	if s.unchanged(t, first.Digest()) {
		t.Error("a report that waits counts as processed")
	}
	s.drain(t)
	if !s.unchanged(t, first.Digest()) || s.unchanged(t, second.Digest()) {
		t.Error("only the last report must be unchanged")
	}
	s.accept(t, second)
	if s.unchanged(t, first.Digest()) {
		t.Error("a report is unchanged while another one waits")
	}
	s.drain(t)
	if s.unchanged(t, first.Digest()) || !s.unchanged(t, second.Digest()) {
		t.Error("only the second report must be unchanged")
	}
	evidencetest.Must(t, s.store.Generations.Bump(t.Context(), "org"))
	if s.unchanged(t, second.Digest()) {
		t.Error("a report is unchanged although facts have changed")
	}
}

func TestUnchangedReportUpdatesTheReportTimeAtMostOnceASecond(t *testing.T) {
	s := newScene(t, nil)
	report := running("a")
	s.accept(t, report)
	s.drain(t)
	for _, row := range []struct {
		span    time.Duration
		updates bool
	}{{minute, true}, {time.Second / 2, false}, {time.Second, true}} {
		s.clock.Advance(row.span)
		before := s.head(t).LastReportedAt
		if !s.unchanged(t, report.Digest()) {
			t.Error("the report is not unchanged")
		}
		if after := s.head(t).LastReportedAt; (after > before) != row.updates {
			t.Errorf("after %s the time of the last report changed from %f to %f", row.span, before, after)
		}
	}
}

func TestUnchangedReportCostsFourCommands(t *testing.T) {
	s, counting := newCountedScene(t)
	report := fleet(10)
	s.accept(t, report)
	s.drain(t)
	s.clock.Advance(minute)
	counting.Reset()
	if !s.unchanged(t, report.Digest()) {
		t.Error("the report is not unchanged")
	}
	if costs := counting.Snapshot(); costs.Commands() > 4 {
		t.Errorf("%d commands: %+v", costs.Commands(), costs)
	}
}
