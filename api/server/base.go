package server

import (
	"attestry/app"
	"attestry/app/evaluation"
	"attestry/evidence"
	"attestry/tasks/logical"
	"attestry/tasks/snapshot"
	"log/slog"
)

// Base is what the handlers of every kind of resource need.
type Base struct {
	clock  evidence.Clock
	links  Links
	store  *app.Store
	intake *snapshot.Intake
	// evaluator judges payloads of custom attestation types.
	evaluator *evaluation.Evaluator
	// logical numbers the snapshots of logical environments.
	logical *logical.Updater
	log     *slog.Logger
	// batchBytes is how much a list reads at a time, in bytes.
	batchBytes int
}
