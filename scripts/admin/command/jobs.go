package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/evidence/job"
	"attestry/evidence/notification"
	"attestry/storage"
	"attestry/storage/environments"
	"attestry/tasks/reports"
)

type listedJob struct {
	Kind        string `json:"kind"`
	Org         string `json:"org"`
	Environment string `json:"environment,omitempty"` // of a report
	Key         string `json:"key"`
	State       string `json:"state"`
	Since       string `json:"since"`
	Attempts    int    `json:"attempts"`
	Reason      string `json:"reason"`
}

func parseJob(args []string, drop bool) (action, error) {
	kind := job.Named(args[0])
	if kind == nil {
		return nil, fmt.Errorf("%w: %q is not a kind of work", errUsage, args[0])
	}
	return withStores(func(ctx context.Context, s *session, args []string) error {
		if args[1] == "all" && !drop {
			return s.retryAll(ctx, kind)
		}
		return s.changeJob(ctx, kind, args[1], drop)
	})(args)
}

func listJobs(ctx context.Context, s *session, _ []string) error {
	orgs := map[string]string{}
	err := s.Store.Tenancy.EachOrganization(ctx, func(org *evidence.Organization) error {
		orgs[org.ID] = org.Name
		return nil
	})
	if err != nil {
		return err
	}
	names := map[string]string{}
	list := s.newListing("KIND", "ORG", "ENVIRONMENT", "KEY", "STATE", "SINCE", "ATTEMPTS", "REASON")
	err = s.eachJob(ctx, func(one *job.Entry) error {
		environment, err := s.environmentOf(ctx, one, names)
		if err != nil {
			return err
		}
		shown := listedJob{
			one.Kind.Name, cmp.Or(orgs[one.Org], one.Org), environment, one.Key, string(one.Stage), isoTime(one.Since), one.Tried, one.Reason,
		}
		return list.add(shown, shown.Kind, shown.Org, cmp.Or(environment, "-"), shown.Key, shown.State, shown.Since, shown.Attempts, shown.Reason)
	})
	if err != nil {
		return err
	}
	return list.end()
}

// environmentOf returns the name of the environment of a report, "" for other work. names is its cache.
func (s *session) environmentOf(ctx context.Context, one *job.Entry, names map[string]string) (string, error) {
	if one.Kind != &job.Report && one.Kind != &job.Evaluate {
		return "", nil
	}
	id, _, _ := strings.Cut(one.Key, "/")
	if name, cached := names[id]; cached {
		return name, nil
	}
	environment, err := s.Store.Environments.Get(ctx, id)
	if errors.Is(err, storage.ErrNotFound) {
		environment.Name, err = id, nil
	}
	if environment.Archived {
		environment.Name += " (archived)"
	}
	names[id] = environment.Name
	return environment.Name, err
}

// eachJob calls pass for all work, in the order of JobPages.
func (s *session) eachJob(ctx context.Context, pass func(*job.Entry) error) error {
	for _, page := range s.JobPages() {
		for after := ""; ; {
			entries, next, err := page(ctx, after)
			if err != nil {
				return err
			}
			for i := range entries {
				if err := pass(&entries[i]); err != nil {
					return err
				}
			}
			if after = next; next == "" {
				break
			}
		}
	}
	return nil
}

// retryAll retries all parked work of a kind, in the order in which it was parked.
func (s *session) retryAll(ctx context.Context, kind *job.Kind) error {
	var keys []string
	err := s.eachJob(ctx, func(one *job.Entry) error {
		if one.Kind == kind && one.Stage == job.Parked {
			keys = append(keys, one.Key)
		}
		return nil
	})
	faults := []error{err}
	for _, key := range keys {
		faults = append(faults, s.changeJob(ctx, kind, key, false))
	}
	return errors.Join(faults...)
}

// changeJob retries or drops parked work.
func (s *session) changeJob(ctx context.Context, kind *job.Kind, key string, drop bool) (err error) {
	now, parked := evidence.Seconds(s.Clock()), false
	switch kind {
	case &job.Fanout:
		_, err = s.Store.Outbox.Update(ctx, key, func(event *notification.Event) {
			if parked = event.Parked > 0; parked && !drop {
				event.Start(now)
			}
		})
		if err == nil && parked && drop {
			err = s.Store.Outbox.Delete(ctx, key)
		}
	case &job.Send:
		org, id, _ := strings.Cut(key, "/")
		_, err = s.Store.Deliveries.Update(ctx, org, id, func(delivery *notification.Delivery) {
			switch parked = delivery.Parked > 0; {
			case parked && drop:
				delivery.Complete()
			case parked:
				delivery.Again(now, 0)
			}
		})
	case &job.Assemble:
		_, err = s.Store.Assemblies.Update(ctx, key, func(assembly *audit.Assembly) {
			switch parked = assembly.Parked > 0; {
			case parked && drop:
				assembly.Complete()
			case parked:
				assembly.Retry(now)
			}
		})
	default:
		parked, err = s.changeReport(ctx, key, drop)
	}
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("%s %s: %w", kind.Name, key, err)
	}
	if err != nil || !parked {
		return fmt.Errorf("%s %s is not parked", kind.Name, key)
	}
	_, err = fmt.Fprintf(s.out, "%s %s %s\n", kind.Name, key, map[bool]string{true: "is dropped", false: "waits again"}[drop])
	return err
}

func (s *session) changeReport(ctx context.Context, key string, drop bool) (parked bool, err error) {
	environment, number, _ := strings.Cut(key, "/")
	arrival, _ := strconv.ParseInt(number, 10, 64)
	record, err := s.Store.Reports.Get(ctx, environment, arrival)
	if drop && errors.Is(err, storage.ErrDamaged) {
		record, err = environments.WaitingReport{Failure: "damaged"}, nil
		record.Environment, record.Arrival = environment, arrival
	}
	switch {
	case err != nil:
		return false, advice(err)
	case record.Failure == "":
		return false, nil
	case drop:
		return true, reports.NewParked(s.Store, s.Clock).Discard(ctx, &record)
	}
	_, err = reports.NewParked(s.Store, s.Clock).Retry(ctx, &record)
	return true, advice(err)
}

// advice adds what the operator can do to an error.
func advice(err error) error {
	switch {
	case errors.Is(err, storage.ErrDamaged):
		return fmt.Errorf("%w; unless it can be restored from a backup, drop it", err)
	case errors.Is(err, storage.ErrArchived):
		return errors.New("its environment is archived; drop it")
	}
	return err
}
