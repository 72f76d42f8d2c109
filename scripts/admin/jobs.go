package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/evidence/job"
	"attestry/evidence/notification"
	"attestry/storage/environments"
	"attestry/tasks/reports"
)

// jobCommands are those for durable work of all kinds.
func jobCommands() []command {
	return []command{
		{"jobs list", "[--json]", "list all work that waits, is leased, has failed or is parked, with the last error", parseJobsList, ""},
		{"jobs retry", "KIND KEY", "try parked work again, with all its attempts", func(args []string) (action, error) { return parseJob(args, retryJob) }, ""},
		{"jobs drop", "KIND KEY", "give parked work up for good", func(args []string) (action, error) { return parseJob(args, dropJob) }, ""},
	}
}

// listedJob is a piece of work as it is listed.
type listedJob struct {
	Kind     string `json:"kind"`
	Org      string `json:"org"`
	Key      string `json:"key"`
	State    string `json:"state"`
	Since    string `json:"since"`
	Attempts int    `json:"attempts"`
	Reason   string `json:"reason"`
}

func parseJobsList(args []string) (action, error) {
	args, asJSON, err := listOptions(args)
	if err != nil || len(args) > 0 {
		return nil, errUsage
	}
	return withStores(func(ctx context.Context, s *session) error { return listJobs(ctx, s, asJSON) }), nil
}

func parseJob(args []string, change func(context.Context, *session, *job.Kind, string) error) (action, error) {
	if err := words(args, 2, 2); err != nil {
		return nil, err
	}
	kind := job.Named(args[0])
	if kind == nil {
		return nil, fmt.Errorf("%w: %q is not a kind of work", errUsage, args[0])
	}
	return withStores(func(ctx context.Context, s *session) error { return change(ctx, s, kind, args[1]) }), nil
}

func listJobs(ctx context.Context, s *session, asJSON bool) error {
	orgs, err := s.organizations(ctx, "")
	if err != nil {
		return err
	}
	list := newListing(s.out, asJSON, "KIND", "ORG", "KEY", "STATE", "SINCE", "ATTEMPTS", "REASON")
	for _, page := range s.jobPages() {
		for after := ""; ; {
			entries, next, err := page(ctx, after)
			if err != nil {
				return err
			}
			for _, one := range entries {
				shown := listedJob{one.Kind.Name, cmp.Or(orgs[one.Org], one.Org), one.Key, string(one.Stage), isoTime(one.Since), one.Tried, one.Reason}
				if err := list.add(shown, shown.Kind, shown.Org, shown.Key, shown.State, shown.Since, shown.Attempts, shown.Reason); err != nil {
					return err
				}
			}
			if after = next; next == "" {
				break
			}
		}
	}
	return list.end()
}

// jobPages read the work that is to be done, kind by kind, and then what is parked.
func (s *session) jobPages() []func(ctx context.Context, after string) ([]job.Entry, string, error) {
	now := evidence.Seconds(s.Clock())
	pages := []func(context.Context, string) ([]job.Entry, string, error){
		func(ctx context.Context, after string) ([]job.Entry, string, error) {
			return reports.NewParked(s.Store, s.Clock).Waiting(ctx, now, after)
		},
		s.parkedReports,
	}
	for _, jobs := range []func(context.Context, bool, string) ([]job.Entry, string, error){
		s.Store.Outbox.Jobs, s.Store.Deliveries.Jobs, s.Store.Assemblies.Jobs,
	} {
		for _, parked := range []bool{false, true} {
			pages = append(pages, func(ctx context.Context, after string) ([]job.Entry, string, error) { return jobs(ctx, parked, after) })
		}
	}
	return pages
}

func (s *session) parkedReports(ctx context.Context, after string) ([]job.Entry, string, error) {
	records, next, err := s.Store.Reports.Parked(ctx, "", after)
	entries := make([]job.Entry, 0, len(records))
	for _, record := range records {
		status := job.Status{Parked: record.ParkedAt, Tried: record.Attempts, Reason: record.Failure}
		entries = append(entries, status.Entry(&job.Report, record.Org, record.Environment+"/"+strconv.FormatInt(record.Arrival, 10)))
	}
	return entries, next, err
}

func retryJob(ctx context.Context, s *session, kind *job.Kind, key string) error {
	now := evidence.Seconds(s.Clock())
	parked := false
	err := s.changeJob(ctx, kind, key, jobChange{
		event: func(event *notification.Event) {
			if parked = event.Parked > 0; parked {
				event.Start(now)
			}
		},
		delivery: func(delivery *notification.Delivery) {
			if parked = delivery.Parked > 0; parked {
				delivery.Again(now, 0)
			}
		},
		assembly: func(assembly *audit.Assembly) {
			if parked = assembly.Parked > 0; parked {
				assembly.Retry(now)
			}
		},
		report: func(record *environments.WaitingReport) (err error) {
			if parked = record.Failure != ""; parked {
				_, err = reports.NewParked(s.Store, s.Clock).Retry(ctx, record)
			}
			return advice(err)
		},
	})
	return s.endChange(kind, key, parked, "waits again", err)
}

func dropJob(ctx context.Context, s *session, kind *job.Kind, key string) error {
	parked := false
	drop := func(status *job.Status) {
		if parked = status.Parked > 0; parked {
			status.Complete()
		}
	}
	err := s.changeJob(ctx, kind, key, jobChange{
		event:    func(event *notification.Event) { parked = event.Parked > 0 },
		delivery: func(delivery *notification.Delivery) { drop(&delivery.Status) },
		assembly: func(assembly *audit.Assembly) { drop(&assembly.Status) },
		report: func(record *environments.WaitingReport) error {
			if parked = record.Failure != ""; !parked {
				return nil
			}
			return reports.NewParked(s.Store, s.Clock).Discard(ctx, record)
		},
	})
	if err == nil && parked && kind == &job.Fanout {
		err = s.Store.Outbox.Delete(ctx, key)
	}
	return s.endChange(kind, key, parked, "is dropped", err)
}

// jobChange is what is done to the record of a piece of work, by its kind.
type jobChange struct {
	event    func(*notification.Event)
	delivery func(*notification.Delivery)
	assembly func(*audit.Assembly)
	report   func(*environments.WaitingReport) error
}

func (s *session) changeJob(ctx context.Context, kind *job.Kind, key string, change jobChange) (err error) {
	switch kind {
	case &job.Fanout:
		_, err = s.Store.Outbox.Update(ctx, key, change.event)
	case &job.Send:
		org, id, _ := strings.Cut(key, "/")
		_, err = s.Store.Deliveries.Update(ctx, org, id, change.delivery)
	case &job.Assemble:
		_, err = s.Store.Assemblies.Update(ctx, key, change.assembly)
	default:
		environment, number, _ := strings.Cut(key, "/")
		arrival, _ := strconv.ParseInt(number, 10, 64)
		var record environments.WaitingReport
		if record, err = s.Store.Reports.Get(ctx, environment, arrival); err == nil {
			err = change.report(&record)
		}
	}
	return err
}

// endChange says what was done to a piece of work.
func (s *session) endChange(kind *job.Kind, key string, parked bool, done string, err error) error {
	if err != nil {
		return fmt.Errorf("%s %s: %w", kind.Name, key, err)
	}
	if !parked {
		return fmt.Errorf("%s %s is not parked", kind.Name, key)
	}
	_, err = fmt.Fprintf(s.out, "%s %s %s\n", kind.Name, key, done)
	return err
}
