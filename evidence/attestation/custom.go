package attestation

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"attestry/evidence"
)

const (
	// maxRules bounds the rules of a type, and its summary.
	maxRules = 100
	// maxRuns is how many payloads are judged at once in a process. Each takes a
	// core, and up to a few hundred MiB if it is up to no good.
	maxRuns = 2
)

// Definition is what a version of a custom type consists of.
type Definition struct {
	// Schema is the JSON Schema of payloads; nil when there is none.
	Schema json.RawMessage
	// Rules are jq expressions, each of which must give true.
	Rules []string
	// Summary is compiled only to find out whether it can be.
	Summary []evidence.SummaryItem
}

// Compiled is a definition that can judge. It is safe for concurrent use; judging
// by one definition is done one after the other.
type Compiled struct {
	schema *payloadSchema
	rules  []*rule
	free   chan struct{} // holds one token
}

// Verdict is what a definition says about a payload.
type Verdict struct {
	Compliant bool
	// Reasons name the rules that are not true, and why, for the log: they hold
	// nothing of the payload.
	Reasons []string
}

// Compile compiles a definition, or returns an Invalid error that says which part
// of it is wrong, and how.
func Compile(definition Definition) (*Compiled, error) {
	c := &Compiled{free: make(chan struct{}, 1)}
	c.free <- struct{}{}
	found := map[string]string{}
	if len(definition.Rules) > maxRules {
		found["evaluator.rules"] = fmt.Sprintf("List should have at most %d items [input: %d]", maxRules, len(definition.Rules))
	} else {
		for i, source := range definition.Rules {
			compiled, err := compileRule(source)
			if err != nil {
				found[fmt.Sprintf("evaluator.rules[%d]", i)] = notJQ(source, err)
			}
			c.rules = append(c.rules, compiled)
		}
	}
	if len(definition.Summary) > maxRules {
		found["summary"] = fmt.Sprintf("List should have at most %d items [input: %d]", maxRules, len(definition.Summary))
	} else {
		for i, item := range definition.Summary {
			if _, err := compileRule(item.Expression); err != nil {
				found[fmt.Sprintf("summary[%d].expression", i)] = notJQ(item.Expression, err)
			}
		}
	}
	if definition.Schema != nil {
		schema, err := compileSchema(definition.Schema)
		if err != nil {
			found["type_schema"] = "Input should be a valid JSON Schema: " + cut(err.Error()) + " [input: type_schema]"
		}
		c.schema = schema
	}
	if len(found) > 0 {
		return nil, evidence.ValidationError(found)
	}
	return c, nil
}

func notJQ(source string, err error) string {
	return "Input should be a valid jq expression: " + cut(err.Error()) + " [input: " + cut(source) + "]"
}

// errBusy is for a payload whose judging did not come to its end for reasons that
// are not its own.
var errBusy = &evidence.Error{
	Code:       evidence.Unavailable,
	Message:    "The attestation could not be evaluated in time, please try again.",
	RetryAfter: time.Second,
}

// Judge judges a payload. One that does not fit the schema is an Invalid error
// naming the places, as attestation_data.<path>. A rule counts as true only when
// it gives true and nothing else, without an error and within the work that a
// payload is allowed. Unavailable means that the machine is too busy to tell.
func (c *Compiled) Judge(ctx context.Context, data json.RawMessage) (Verdict, error) {
	payload, err := decode(data)
	if err != nil {
		return Verdict{}, err
	}
	if c.schema == nil && len(c.rules) == 0 {
		return Verdict{Compliant: true}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	release, err := c.enter(ctx)
	if err != nil {
		return Verdict{}, err
	}
	m := newMeter(ctx)
	done := make(chan outcome, 1)
	// In the background, so that a client whose time is up need not wait for what
	// cannot be stopped at once; the place is given back when it ends.
	go func() {
		defer release()
		done <- c.judge(m, payload)
	}()
	select {
	case result := <-done:
		return result.verdict, result.err
	case <-ctx.Done():
		return Verdict{}, errBusy
	}
}

type outcome struct {
	verdict Verdict
	err     error
}

func (c *Compiled) judge(m *meter, payload any) outcome {
	finished := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { m.watch(finished) })
	defer watching.Wait()
	defer close(finished)
	if c.schema != nil {
		if err := c.schema.check(m, payload); err != nil {
			return c.settle(m, outcome{err: err})
		}
	}
	m.renew()
	input := normalize(payload)
	verdict := Verdict{Compliant: true}
	for i, rule := range c.rules {
		if fits, reason := rule.run(m, input); !fits {
			verdict.Compliant = false
			verdict.Reasons = append(verdict.Reasons, fmt.Sprintf("rule %d %s", i+1, reason))
		}
	}
	return c.settle(m, outcome{verdict: verdict})
}

// settle drops what came of a run that was stopped before its work was done.
func (c *Compiled) settle(m *meter, result outcome) outcome {
	if m.stopped.Load() && m.left > 0 {
		return outcome{err: errBusy}
	}
	return result
}

// places are shared by all definitions, since what they bound is the process.
var places = make(chan struct{}, maxRuns)

// enter waits for the definition to be free and for a place to run.
func (c *Compiled) enter(ctx context.Context) (release func(), err error) {
	select {
	case <-c.free:
	case <-ctx.Done():
		return nil, errBusy
	}
	select {
	case places <- struct{}{}:
	case <-ctx.Done():
		c.free <- struct{}{}
		return nil, errBusy
	}
	return func() {
		<-places
		c.free <- struct{}{}
	}, nil
}
