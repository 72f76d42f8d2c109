package goroutine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"attestry/goroutine"
)

func panics() error { panic("poison") }

func TestPanicBecomesAnError(t *testing.T) {
	ways := map[string]func() error{
		"recovered": func() error { return goroutine.Recovered(panics) },
		"started": func() error {
			ended := make(chan error)
			goroutine.Start(panics, func(err error) { ended <- err })
			return <-ended
		},
		"in a group": func() error {
			var group goroutine.Group
			group.Go(panics)
			return group.Wait()
		},
		"in a group with a limit": func() error {
			var group goroutine.Group
			group.Limit(1)
			group.Go(func() error { return nil })
			group.Go(panics)
			return group.Wait()
		},
	}
	for name, run := range ways {
		t.Run(name, func(t *testing.T) {
			err := run()
			if !errors.Is(err, goroutine.ErrPanicked) || !strings.Contains(err.Error(), "poison") ||
				!strings.Contains(err.Error(), "goroutine_test.panics") {
				t.Errorf("got %v, want an error with the cause and the stack", err)
			}
		})
	}
}

func TestErrorsOfAFunctionAreKept(t *testing.T) {
	want := errors.New("refused")
	var group goroutine.Group
	group.Go(func() error { return nil })
	group.Go(func() error { return want })
	if err := group.Wait(); err != want {
		t.Errorf("got %v, want %v", err, want)
	}
}

func TestEveryIntervalHasACallUntilItIsStoppedOrFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, want := 0, errors.New("refused")
		ctx, stop := goroutine.Every(t.Context(), time.Minute, func(context.Context) error { calls++; return nil })
		time.Sleep(150 * time.Second)
		stop()
		time.Sleep(time.Hour)
		if err := context.Cause(ctx); calls != 2 || err != context.Canceled {
			t.Errorf("%d calls in 150 seconds, the cause is %v", calls, err)
		}
		ctx, stop = goroutine.Every(t.Context(), time.Minute, func(context.Context) error { return want })
		<-ctx.Done()
		if err := context.Cause(ctx); err != want {
			t.Errorf("the cause is %v, want %v", err, want)
		}
		stop()
	})
}
