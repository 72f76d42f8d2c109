package server

import (
	"context"
	"math"

	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
)

// eventLog is the log of an environment, or those of a logical environment's members
// seen together.
type eventLog struct {
	org         evidence.OrgAccess
	environment evidence.Environment
	// names are those that the environments of the log have now, by id.
	names map[string]string
	// bounds is the part that is asked for.
	bounds storage.EventRange
	// latest is the number of the last snapshot; 0 in a logical environment.
	latest int64
	// whole tells that the part is all of the log of a logical environment, and
	// recorded how many events that has.
	whole    bool
	recorded int64
}

// eventLogNamed finds the log of the environment of a name. It ends with the last
// snapshot that the head knows of, as that one's events are all stored: a snapshot
// that is just being made has yet to write its own.
func (h *handlers) eventLogNamed(ctx context.Context, org evidence.OrgAccess, name string) (*eventLog, error) {
	environment, err := h.environmentOf(ctx, org, name)
	if err != nil {
		return nil, err
	}
	if environment.Logical() {
		return h.unitedLog(ctx, org, environment)
	}
	if err := h.intake.CatchUp(ctx, environment.ID, catchUpSpan); err != nil {
		return nil, err
	}
	head, err := h.store.Heads.Get(ctx, environment.ID)
	return &eventLog{
		org: org, environment: environment, names: map[string]string{environment.ID: environment.Name},
		bounds: storage.EventRange{Environments: []string{environment.ID}, To: head.Timestamp},
		latest: head.Last,
	}, err
}

// unitedLog is that of a logical environment: two commands, however many members.
func (h *handlers) unitedLog(ctx context.Context, org evidence.OrgAccess, environment evidence.Environment) (*eventLog, error) {
	members, err := h.store.Environments.Names(ctx, org.OrgID, environment.Included)
	if err != nil {
		return nil, err
	}
	heads, err := h.store.Heads.GetMany(ctx, environment.Included)
	log := &eventLog{
		org: org, environment: environment, names: make(map[string]string, len(members)),
		bounds: storage.EventRange{Environments: environment.Included, To: math.MaxFloat64}, whole: true,
	}
	for _, id := range environment.Included {
		log.names[id] = members[id].Name
		log.recorded += heads[id].Events
	}
	return log, err
}

// bound narrows a log down to what lies between two ends. Times in the wrong order have
// nothing between them.
func (h *handlers) bound(ctx context.Context, log *eventLog, start, end snapshot.Moment) error {
	if start.IsBeginning() && end.IsEnd() {
		return nil
	}
	timeline := h.timelineUntil(ctx, log.org, log.environment, log.latest)
	if log.environment.Logical() {
		united, err := h.unitedTimeline(ctx, log.org, log.environment)
		if err != nil {
			return err
		}
		timeline, log.whole = united, false
	}
	first, last, err := timeline.Ends(start, end)
	if err != nil {
		return err
	}
	log.bounds.From = start.At
	if start.Snapshot != nil {
		if log.bounds.From, err = h.timeOf(ctx, log, first); err != nil {
			return err
		}
	}
	until := end.At
	if end.Snapshot != nil {
		if until, err = h.timeOf(ctx, log, last); err != nil {
			return err
		}
	}
	log.bounds.To = min(log.bounds.To, until)
	return nil
}

// timeOf is the timestamp of a snapshot of the log's environment; 0 when it has none.
func (h *handlers) timeOf(ctx context.Context, log *eventLog, number int64) (float64, error) {
	if number == 0 {
		return 0, nil
	}
	found, err := h.snapshotsBetween(ctx, log.environment, number, number)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return found[0].Timestamp, nil
}
