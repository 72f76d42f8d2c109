// Package evaluation checks and applies the definitions of custom attestation types, users' jq rules and JSON Schemas.
// The libraries that evaluate them are unbounded, so they run in child processes of the same program, within limits
// that the process and the operating system enforce. Programs with an Evaluator call ServeChild first in main.
package evaluation

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime"

	"attestry/evidence"
	"attestry/evidence/attestation"
)

var (
	// errTimeout is for an evaluation whose context ended.
	errTimeout = evidence.Busy("The evaluation could not be finished in time, please try again.")
	// errFailed is for an evaluation that failed for internal reasons.
	errFailed = evidence.Busy("The evaluation failed, please try again.")
	// errOverLimits is for an evaluation that exceeded its limits.
	errOverLimits = errors.New("the evaluation exceeds its limits")
)

// overLimitsText is errOverLimits for clients.
const overLimitsText = "The type's schema and rules take more CPU time or memory to evaluate than is allowed"

const (
	// minSlots and maxSlots bound how many evaluations run at once.
	minSlots = 2
	maxSlots = 8
	// maxWaiting bounds the evaluations of one organization that wait. Each keeps the body of a request in memory.
	maxWaiting = 64
)

// Evaluator evaluates definitions. It shares its slots fairly between organizations, none of which takes all of them.
type Evaluator struct {
	log      *slog.Logger
	queue    *queue
	evaluate func(ctx context.Context, r request) (answer, error)
	close    func()
}

// request is a request to a child process. HasSchema is there as gob does not distinguish empty from nil.
type request struct {
	Definition attestation.Definition
	HasSchema  bool
	// Payload is evaluated; if it is empty, the definition is checked.
	Payload json.RawMessage
}

type answer struct {
	Verdict attestation.Verdict
	// Invalid holds the findings of an Invalid error, by location.
	Invalid map[string]string
	// OverLimits means that the evaluation takes more counted work than is allowed.
	OverLimits bool
	// Fault is any other error.
	Fault string
}

func (a answer) err() error {
	switch {
	case a.OverLimits:
		return errOverLimits
	case a.Fault != "":
		return errors.New(a.Fault)
	case len(a.Invalid) > 0:
		return evidence.ValidationError(a.Invalid)
	}
	return nil
}

// New makes an Evaluator with a slot, and later a child process, per processor: at least 2 and at most 8.
func New(log *slog.Logger) *Evaluator { return newWithin(productionLimits, log) }

// NewVerifier is New for payloads that a service has accepted.
func NewVerifier(log *slog.Logger) *Evaluator { return newWithin(productionLimits.ofVerifier(), log) }

func newWithin(limits Limits, log *slog.Logger) *Evaluator {
	children := &children{limits: limits}
	slots := min(max(runtime.GOMAXPROCS(0), minSlots), maxSlots)
	return &Evaluator{log: log, queue: newQueue(slots, slots-1, maxWaiting), evaluate: children.evaluate, close: children.close}
}

// Check is attestation.Check within the limits. It returns Invalid beyond them, and Unavailable if a retry may help.
func (e *Evaluator) Check(ctx context.Context, org string, definition attestation.Definition) error {
	_, err := e.do(ctx, org, definition, nil)
	if errors.Is(err, errOverLimits) {
		field := "type_schema" // a rule that is compiled costs next to nothing
		if definition.Schema == nil {
			field = "evaluator"
		}
		return evidence.ValidationError(map[string]string{field: overLimitsText})
	}
	return err
}

// Evaluate evaluates a payload by a definition, in a child process. Beyond the limits it is Invalid. Unavailable means
// that ctx ended, that too many evaluations of the organization wait, or that the child failed.
func (e *Evaluator) Evaluate(ctx context.Context, org string, definition attestation.Definition, payload json.RawMessage) (attestation.Verdict, error) {
	if definition.Schema == nil && len(definition.Rules) == 0 {
		return attestation.Verdict{Compliant: true}, nil
	}
	verdict, err := e.do(ctx, org, definition, payload)
	if errors.Is(err, errOverLimits) {
		return attestation.Verdict{}, evidence.ValidationError(map[string]string{"attestation_data": overLimitsText})
	}
	return verdict, err
}

func (e *Evaluator) do(ctx context.Context, org string, definition attestation.Definition, payload json.RawMessage) (attestation.Verdict, error) {
	if err := e.queue.acquire(ctx, org); err != nil {
		return attestation.Verdict{}, err
	}
	defer e.queue.release(org)
	a, err := e.evaluate(ctx, request{Definition: definition, HasSchema: definition.Schema != nil, Payload: payload})
	switch {
	case err == nil:
		return a.Verdict, a.err()
	case ctx.Err() != nil:
		return attestation.Verdict{}, errTimeout
	case errors.Is(err, errOverLimits):
		e.log.WarnContext(ctx, "an evaluation exceeded its limits", "org", org, "cause", err.Error())
		return attestation.Verdict{}, err
	}
	e.log.ErrorContext(ctx, "an evaluation failed", "org", org, "error", err.Error())
	return attestation.Verdict{}, errFailed
}

// Close ends the child processes. The evaluator must not be used after it.
func (e *Evaluator) Close() { e.close() }
