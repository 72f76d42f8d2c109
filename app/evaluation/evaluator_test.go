package evaluation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/attestation"
	"attestry/evidence/evidencetest"
)

// newEvaluator makes an evaluator with limits, or with productionLimits if they are zero.
func newEvaluator(t *testing.T, limits Limits) *Evaluator {
	e := newWithin(cmp.Or(limits, productionLimits), slog.New(slog.DiscardHandler))
	t.Cleanup(e.Close)
	return e
}

func rules(rules ...string) attestation.Definition { return attestation.Definition{Rules: rules} }

func schema(text string) attestation.Definition {
	return attestation.Definition{Schema: json.RawMessage(text)}
}

// wantFinding fails the test unless err is Invalid with the text at the location.
func wantFinding(t *testing.T, err error, at, text string) {
	t.Helper()
	var refused *evidence.Error
	if !errors.As(err, &refused) || refused.Code != evidence.Invalid || refused.Fields[at] != text {
		t.Errorf("got %v, want Invalid with %s: %s", err, at, text)
	}
}

func TestChildReturnsVerdictsAndErrors(t *testing.T) {
	e := newEvaluator(t, Limits{})
	for _, c := range []struct {
		definition attestation.Definition
		payload    string
		want       string
	}{
		{rules(".n > 1"), `{"n":2}`, "{true [] }"},
		{rules(".n > 1", ".n"), `{"n":1}`, "{false [rule 1 is not true rule 2 gives no boolean] n is 1, the rule asks for .n > 1}"},
		{rules("$ENV == {}"), `{}`, "{true [] }"},
		{schema(`{"required":["n"]}`), `{"n":2}`, "{true [] }"},
		{attestation.Definition{}, `{}`, "{true [] }"},
	} {
		if verdict, err := e.Evaluate(t.Context(), "o", c.definition, json.RawMessage(c.payload)); err != nil || fmt.Sprint(verdict) != c.want {
			t.Errorf("%+v: got %v %v", c, verdict, err)
		}
	}
	_, err := e.Evaluate(t.Context(), "o", schema(`{"required":["n"]}`), json.RawMessage(`{}`))
	wantFinding(t, err, "attestation_data/n", "Field required [input: None]")
	if _, err = e.Evaluate(t.Context(), "o", rules(".a >"), json.RawMessage(`{}`)); evidence.CodeOf(err) != evidence.Internal || !strings.Contains(err.Error(), "compile rule 1") {
		t.Errorf("a stored rule that does not compile: %v", err)
	}
	evidencetest.Check(t, e.Check(t.Context(), "o", rules(".a > 1")))
	wantFinding(t, e.Check(t.Context(), "o", rules(".a >")), "evaluator.rules[0]", "Input should be a valid jq expression: unexpected EOF [input: .a >]")
	wantFinding(t, e.Check(t.Context(), "o", schema("")), "type_schema", "Input should be a valid JSON Schema: not JSON: unexpected end of input [input: type_schema]")
}

func TestLargestPayloadsAreWithinTheLimits(t *testing.T) {
	var b strings.Builder
	for i := 0; b.Len() < attestation.MaxPayload-100; i++ {
		fmt.Fprintf(&b, `,{"id":%d,"ok":true,"level":"low"}`, i)
	}
	payload := json.RawMessage(`{"results":[` + b.String()[1:] + `]}`)
	definition := rules(`all(.results[]; .ok == true and .level != "high")`, `.results | map(.id) | unique | length > 20000`,
		`.results | group_by(.level) | length == 1`, `all(.results[].level; test("^low$"))`, `.results | sort_by(-.id) | .[-1].id == 0`)
	definition.Schema = json.RawMessage(`{"properties":{"results":{"uniqueItems":true,"items":{"required":["id"],"properties":{"level":{"enum":["low","high"]}},"additionalProperties":true}}}}`)
	if verdict, err := newEvaluator(t, Limits{}).Evaluate(t.Context(), "o", definition, payload); err != nil || !verdict.Compliant {
		t.Errorf("got %v %v", verdict, err)
	}
}

func TestRuleThatCopiesAnObjectPerEntryIsWithinTheLimits(t *testing.T) {
	var b strings.Builder
	for i := range 6500 {
		fmt.Fprintf(&b, `,{"id":"%d"}`, i)
	}
	payload := json.RawMessage(`{"results":[` + b.String()[1:] + `]}`)
	verdict, err := newEvaluator(t, Limits{}).Evaluate(t.Context(), "o", rules(`INDEX(.results[]; .id) | length > 1`), payload)
	if err != nil || !verdict.Compliant {
		t.Errorf("got %v %v", verdict, err)
	}
}

func TestBytesOfShortEvaluationsAreCounted(t *testing.T) {
	e := newEvaluator(t, Limits{Bytes: 4 << 20, Memory: 64 << 20, CPU: time.Minute})
	for range 5 {
		_, err := e.Evaluate(t.Context(), "o", rules(`("x" * 5000000) | length > 1`), json.RawMessage(`{}`))
		wantFinding(t, err, "attestation_data", overLimitsText)
		if verdict, err := e.Evaluate(t.Context(), "o", rules(`("x" * 100000) | length > 1`), json.RawMessage(`{}`)); err != nil || !verdict.Compliant {
			t.Errorf("an evaluation within the limits: got %v %v", verdict, err)
		}
	}
}

func TestManyEvaluationsRunAtOnce(t *testing.T) {
	e := newEvaluator(t, Limits{})
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			verdict, err := e.Evaluate(t.Context(), fmt.Sprint("org", i%7), rules(".n > 10"), fmt.Appendf(nil, `{"n":%d}`, i))
			if err != nil || verdict.Compliant != (i > 10) {
				t.Errorf("%d: %v %v", i, verdict, err)
			}
		})
	}
	group.Wait()
}

func TestEvaluationEndsWithItsContext(t *testing.T) {
	e := newEvaluator(t, Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	evaluate := e.evaluate
	e.evaluate = func(ctx context.Context, r request) (answer, error) {
		cancel()
		return evaluate(ctx, r)
	}
	if _, err := e.Evaluate(ctx, "o", rules(endless), json.RawMessage(`{}`)); evidence.CodeOf(err) != evidence.Unavailable {
		t.Errorf("got %v, want Unavailable", err)
	}
	e.evaluate = evaluate
	if verdict, err := e.Evaluate(t.Context(), "o", rules("true"), json.RawMessage(`{}`)); err != nil || !verdict.Compliant {
		t.Errorf("the next evaluation: %v %v", verdict, err)
	}
}

func TestIdleChildThatDiedIsReplaced(t *testing.T) {
	c := &children{limits: testLimits}
	t.Cleanup(c.close)
	r := request{Definition: rules("true"), Payload: json.RawMessage(`{}`)}
	if _, err := c.evaluate(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	idle := c.idle[0].command.Process
	evidencetest.Must(t, idle.Kill())
	if _, err := idle.Wait(); err != nil {
		t.Fatal(err)
	}
	if a, err := c.evaluate(t.Context(), r); err != nil || !a.Verdict.Compliant {
		t.Errorf("got %v %v", a, err)
	}
}

func TestOnlyExitsByTheLimitsCountAsExceedingThem(t *testing.T) {
	for _, c := range []struct {
		name, diagnosis string
		status          int
		want            bool
	}{
		{"limit", "it allocates too many bytes", overLimitsStatus, true},
		{"memory", "fatal error: runtime: out of memory\n", 2, true},
		{"memory of the runtime", "fatal error: runtime: cannot allocate memory\n", 2, true},
		{"stack", "runtime: goroutine stack exceeds 67108864-byte limit\nfatal error: stack overflow\n", 2, true},
		{"memory, race detector", "==1==ERROR: ThreadSanitizer failed to allocate 0x1 bytes\n", 66, true},
		{"quit", "SIGQUIT: quit\n", 2, false},
		{"threads", "runtime: failed to create new OS thread (have 5 already; errno=11)\n", 2, false},
		{"panic", "panic: runtime error: index out of range [1] with length 1\n", 2, false},
		{"no program", "", 127, false},
		{"killed", "", -1, false},
		{"broken", "read a request: unexpected EOF", brokenStatus, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ended := child{diagnosis: &diagnosis{kept: []byte(c.diagnosis)}}
			if got := ended.exceeded(c.status); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestChildRunsTheSameProgramAfterAnUpgrade(t *testing.T) {
	const upgraded = "TEST_UPGRADED"
	program, err := os.Executable()
	evidencetest.Must(t, err)
	if os.Getenv(upgraded) != "" {
		evidencetest.Must(t, errors.Join(os.Remove(program), os.WriteFile(program, []byte("#!/bin/sh\nexit 1\n"), 0o700)))
		if verdict, err := newEvaluator(t, Limits{}).Evaluate(t.Context(), "o", rules("true"), json.RawMessage(`{}`)); err != nil || !verdict.Compliant {
			t.Errorf("got %v %v", verdict, err)
		}
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can start a program whose file was removed")
	}
	content, err := os.ReadFile(program)
	evidencetest.Must(t, err)
	old := filepath.Join(t.TempDir(), "program")
	evidencetest.Must(t, os.WriteFile(old, content, 0o700))
	command := exec.Command(old, "-test.run=^"+t.Name()+"$")
	command.Env = append(os.Environ(), upgraded+"=1")
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, output)
	}
}

func TestChildGetsNoSettings(t *testing.T) {
	t.Setenv("ATTESTRY_DATABASE_URL", "mongodb://user:secret@host")
	c, err := startChild(testLimits)
	evidencetest.Must(t, err)
	t.Cleanup(func() { c.end() })
	for _, variable := range c.command.Env {
		if strings.Contains(variable, "secret") {
			t.Errorf("the child gets %s", variable)
		}
	}
	if content, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", c.command.Process.Pid)); err == nil && strings.Contains(string(content), "secret") {
		t.Errorf("the child's environment is %q", content)
	}
}

func TestChildStartsNoChildren(t *testing.T) {
	t.Setenv(childVariable, "1")
	if _, err := startChild(testLimits); err == nil {
		t.Error("a program that does not call ServeChild would start itself again and again")
	}
}

// TestVerifierEvaluatesWhatCostsNearlyTheLimits has a rule that allocates some 6 MiB. Unlike the memory in use and the time,
// allocations do not vary.
func TestVerifierEvaluatesWhatCostsNearlyTheLimits(t *testing.T) {
	limits := Limits{Bytes: 4 << 20, Memory: 64 << 20, CPU: time.Minute}
	closeToLimits := rules(`("x" * 6000000) | length > 1`)
	_, err := newEvaluator(t, limits).Evaluate(t.Context(), "org", closeToLimits, json.RawMessage("{}"))
	wantFinding(t, err, "attestation_data", overLimitsText)
	if verdict, err := newEvaluator(t, limits.ofVerifier()).Evaluate(t.Context(), "org", closeToLimits, json.RawMessage("{}")); err != nil {
		t.Errorf("the verdict is %+v, %v", verdict, err)
	}
}
