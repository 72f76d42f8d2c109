package evaluation

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"
)

// maxDelay is how long evaluations of one organization may delay that of another.
const maxDelay = 500 * time.Millisecond

func TestBombsOfOneOrganizationDoNotDelayAnother(t *testing.T) {
	e := newEvaluator(t, Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan struct{})
	var once sync.Once
	evaluate := e.evaluate
	e.evaluate = func(ctx context.Context, r request) (answer, error) {
		if r.Definition.Rules[0] == endless {
			once.Do(func() { close(started) })
		}
		return evaluate(ctx, r)
	}
	ended := make(chan error, 10)
	for range cap(ended) {
		go func() {
			_, err := e.Evaluate(ctx, "bomber", rules(endless), json.RawMessage(`{}`))
			ended <- err
		}()
	}
	<-started
	began := time.Now()
	verdict, err := e.Evaluate(t.Context(), "honest", rules(".a == 1"), json.RawMessage(`{"a":1}`))
	took := time.Since(began)
	if err != nil || !verdict.Compliant {
		t.Errorf("got %v %v", verdict, err)
	}
	if len(ended) > 0 {
		t.Errorf("%d bombs ended before the honest evaluation: %v", len(ended), <-ended)
	}
	if !testing.Short() && took > maxDelay {
		t.Errorf("the honest evaluation took %s", took)
	}
	cancel()
	for range cap(ended) {
		<-ended
	}
}

func TestChildThatEndedIsReplacedBeforeItIsNeeded(t *testing.T) {
	c := &children{limits: testLimits}
	t.Cleanup(c.close)
	if _, err := c.evaluate(t.Context(), request{Definition: rules(`"x"*1e9|length>0`), Payload: json.RawMessage(`{}`)}); err == nil {
		t.Fatal("the bomb was evaluated")
	}
	if len(c.idle) != 1 {
		t.Fatalf("%d children are ready", len(c.idle))
	}
	if a, err := c.evaluate(t.Context(), request{Definition: rules("true"), Payload: json.RawMessage(`{}`)}); err != nil || !a.Verdict.Compliant {
		t.Errorf("got %v %v", a, err)
	}
}
