package reports

import (
	"context"
	"errors"

	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/environments"
)

// pending is a report that is being processed.
type pending struct {
	environments.WaitingReport
	// last means that no later report waited when the batch was read.
	last bool
	// content is nil until the report is unpacked.
	content *snapshot.Report
	// announced are the entries of the running set for artifacts that start with it.
	announced []environments.Running
}

// process processes one report: it loads what the decision depends on, decides, and commits the result. If another
// worker has stored a snapshot of the same number, it completes that one first, then compares the report with it.
func (p *Processor) process(ctx context.Context, h *lease, report *pending) error {
	for {
		input, err := p.load(ctx, h.current(), report)
		if err != nil {
			return err
		}
		result, err := snapshot.Decide(input)
		if err != nil {
			return err
		}
		err = p.commitResult(ctx, h, report, &result)
		if !errors.Is(err, storage.ErrExists) {
			return err
		}
		if err := p.withdraw(ctx, report.Environment, report.announced); err != nil {
			return err
		}
		adopted, err := p.adoptCommitted(ctx, h)
		if err != nil {
			return err
		}
		if adopted.Arrival == report.Arrival {
			return p.commitHead(ctx, h, &storage.Batch{}, report, &snapshot.Result{Report: input.Report, Snapshot: &adopted})
		}
	}
}
