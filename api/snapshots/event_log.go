package snapshots

import (
	"context"

	"attestry/evidence"
	"attestry/evidence/timeline"
	"attestry/storage/environments"
)

// eventLog is the log of an environment.
type eventLog struct {
	org         evidence.OrgAccess
	environment evidence.Environment
	// bounds is the part that is asked for.
	bounds environments.EventRange
	// latest is the number of the last snapshot.
	latest int64
}

// eventLogNamed finds the log of the environment of a name. It ends with the last
// snapshot that the head knows of, as that one's events are all stored: a snapshot
// that is just being made has yet to write its own.
func (h *handlers) eventLogNamed(ctx context.Context, org evidence.OrgAccess, name string) (*eventLog, error) {
	environment, err := h.LoadEnvironment(ctx, org, name)
	if err != nil {
		return nil, err
	}
	if err := h.catchUp(ctx, &environment); err != nil {
		return nil, err
	}
	head, err := h.Heads.Get(ctx, environment.ID)
	return &eventLog{
		org: org, environment: environment,
		bounds: environments.EventRange{Environment: environment.ID, To: head.Timestamp},
		latest: head.Last,
	}, err
}

// limitRange narrows a log down to what lies between two ends. Times in the wrong order have
// nothing between them.
func (h *handlers) limitRange(ctx context.Context, log *eventLog, start, end timeline.Moment) error {
	if start.IsBeginning() && end.IsEnd() {
		return nil
	}
	timeline := h.timelineUntil(ctx, log.org, log.environment, log.latest)
	first, last, err := timeline.Ends(start, end)
	if err != nil {
		return err
	}
	log.bounds.From = start.At
	if start.Snapshot != nil {
		if log.bounds.From, err = h.snapshotTime(ctx, log, first); err != nil {
			return err
		}
	}
	until := end.At
	if end.Snapshot != nil {
		if until, err = h.snapshotTime(ctx, log, last); err != nil {
			return err
		}
	}
	log.bounds.To = min(log.bounds.To, until)
	return nil
}

// snapshotTime is the timestamp of a snapshot of the log's environment; 0 when it has none.
func (h *handlers) snapshotTime(ctx context.Context, log *eventLog, number int64) (float64, error) {
	if number == 0 {
		return 0, nil
	}
	found, err := h.Snapshots.GetMany(ctx, log.environment.ID, []int64{number})
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return found[0].Timestamp, nil
}
