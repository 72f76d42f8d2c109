// Package resource has what the operations on several kinds of resource share: look-ups of
// what a path names, inputs, and the parts of answers.
package resource

import (
	"log/slog"

	"attestry/api/recognition"
	"attestry/app"
	"attestry/app/evaluation"
	"attestry/evidence"
	"attestry/evidence/signing"
	"attestry/links"
	"attestry/tasks/logical"
	"attestry/tasks/reports"
)

// Base is what the handlers of every kind of resource need.
type Base struct {
	*app.Store
	Clock  evidence.Clock
	Links  links.Links
	Intake *reports.Intake
	// Recognition recognizes reports that were accepted before.
	Recognition *recognition.Cache
	// Evaluator judges payloads of custom attestation types.
	Evaluator *evaluation.Evaluator
	// Logical numbers the snapshots of logical environments.
	Logical *logical.Updater
	// SigningKey signs verdicts, nil if the operator has set none.
	SigningKey *signing.Key
	Log        *slog.Logger
	// BatchBytes is how much a list reads at a time, in bytes.
	BatchBytes int
}
