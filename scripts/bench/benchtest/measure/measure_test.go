package measure

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"attestry/evidence/evidencetest"
)

func TestServiceAndBaselineAlternate(t *testing.T) {
	var order []string
	call := func(side string) Operation {
		return func() error { order = append(order, side); return nil }
	}
	got, err := Run(t.Context(), []Client{{Service: call("service"), Baseline: call("baseline"), AnswerBytes: 7}}, time.Nanosecond)
	evidencetest.Must(t, err)
	if want := slices.Repeat([]string{"service", "baseline"}, Rounds); !slices.Equal(order, want) {
		t.Errorf("called %v", order)
	}
	if got.Clients != 1 || got.AnswerBytes != 7 || got.Service.Count != Rounds || got.Baseline.Count != Rounds {
		t.Errorf("got %+v", got)
	}
}

func TestClientsCallConcurrently(t *testing.T) {
	const clients = 3
	together := make(chan struct{})
	var arrived atomic.Int32
	meet := func() error {
		if arrived.Add(1) == clients {
			close(together)
		}
		<-together
		return nil
	}
	nothing := func() error { return nil }
	got, err := Run(t.Context(), slices.Repeat([]Client{{Service: meet, Baseline: nothing}}, clients), time.Nanosecond)
	if err != nil || got.Clients != clients || got.Service.Count != clients*Rounds {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestServiceIsMeasuredUntilBesideReturns(t *testing.T) {
	calls := 0
	var memory []byte
	got, err := Run(t.Context(), []Client{{
		Service:  func() error { calls++; time.Sleep(time.Millisecond); return nil },
		Baseline: func() error { return nil },
		Bytes:    3,
		Beside: func() error {
			memory = make([]byte, 20<<20)
			time.Sleep(50 * time.Millisecond)
			return nil
		},
	}}, time.Nanosecond)
	evidencetest.Must(t, err)
	if got.Service.Count != calls || calls <= Rounds || got.Baseline.Count != Rounds || got.Bytes != 3 {
		t.Errorf("%d calls, got %+v", calls, got)
	}
	if got.Beside < 50 || got.Service.Memory < float64(len(memory)>>20) || got.Baseline.Memory >= 20 {
		t.Errorf("got %+v", got)
	}
}

func TestFailureOfBesideEndsTheRun(t *testing.T) {
	fault := errors.New("wrong answer")
	nothing := func() error { return nil }
	_, err := Run(t.Context(), []Client{{Service: nothing, Baseline: nothing, Beside: func() error { return fault }}}, time.Nanosecond)
	evidencetest.Is(t, err, fault)
}

func TestFailedOperationEndsTheRun(t *testing.T) {
	fault := errors.New("wrong answer")
	calls := 0
	_, err := Run(t.Context(), []Client{{
		Service:  func() error { calls++; return nil },
		Baseline: func() error { return fault },
	}}, time.Nanosecond)
	if !errors.Is(err, fault) || calls != 1 {
		t.Errorf("got %v after %d calls", err, calls)
	}
}

func TestInterruptedRunFails(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	operation := func() error { cancel(); return nil }
	_, err := Run(ctx, []Client{{Service: operation, Baseline: operation}}, time.Hour)
	evidencetest.Is(t, err, context.Canceled)
}
