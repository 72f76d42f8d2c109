package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/environments"
	"attestry/tasks/reports"
)

// reportCommands are those for parked reports.
func reportCommands() []command {
	return []command{
		{"reports list", "[--json] [ORG [ENVIRONMENT]]", "list parked reports, those parked first at the beginning", parseList, ""},
		{"reports retry", "ORG ENVIRONMENT ARRIVAL|all", "put one parked report, or all, at the end of the environment's queue", parseRetry, ""},
		{"reports discard", "ORG ENVIRONMENT ARRIVAL", "delete a parked report for good", parseDiscard, ""},
	}
}

// parkedReport is a parked report as it is listed.
type parkedReport struct {
	Org           string `json:"org"`
	Environment   string `json:"environment"`
	EnvironmentID string `json:"environment_id"`
	Archived      bool   `json:"environment_archived"`
	Arrival       int64  `json:"arrival"`
	AcceptedAt    string `json:"accepted_at"`
	ParkedAt      string `json:"parked_at"`
	Attempts      int    `json:"attempts"`
	// Size is that of the compressed report in bytes; null when its object is gone.
	Size   *int64 `json:"size"`
	Reason string `json:"reason"`
}

// selection says which parked reports are meant.
type selection struct {
	// org and environment are names, or "" for all. The environment may be an id, or a
	// name that it had.
	org, environment string
	// arrival is 0 for all.
	arrival int64
}

func parseList(args []string) (action, error) {
	chosen := selection{}
	if len(args) > 0 {
		chosen.org = args[0]
	}
	if len(args) > 1 {
		chosen.environment = args[1]
	}
	return withStores(func(ctx context.Context, s *session) error { return listReports(ctx, s, chosen) }), nil
}

func parseRetry(args []string) (action, error) {
	chosen, err := parseSelection(args, args[2] == "all")
	return withStores(func(ctx context.Context, s *session) error { return retryReports(ctx, s, chosen) }), err
}

func parseDiscard(args []string) (action, error) {
	chosen, err := parseSelection(args, false)
	return withStores(func(ctx context.Context, s *session) error { return discardReport(ctx, s, chosen) }), err
}

func parseSelection(args []string, all bool) (selection, error) {
	chosen := selection{org: args[0], environment: args[1]}
	if all {
		return chosen, nil
	}
	arrival, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil || arrival < 1 {
		return selection{}, fmt.Errorf("%w: %q is not an arrival number", errUsage, args[2])
	}
	chosen.arrival = arrival
	return chosen, nil
}

func listReports(ctx context.Context, s *session, chosen selection) error {
	orgs, err := s.organizations(ctx, chosen.org)
	if err != nil {
		return err
	}
	list := s.newListing("ORG", "ENVIRONMENT", "ARRIVAL", "ACCEPTED", "ATTEMPTS", "SIZE", "REASON")
	err = s.eachParked(ctx, chosen, orgs, func(record *environments.WaitingReport, environment *evidence.Environment) error {
		shown, err := s.describe(ctx, record, environment)
		if err != nil {
			return err
		}
		shown.Org = orgs[record.Org]
		return list.add(shown, shown.cells()...)
	})
	if err != nil {
		return err
	}
	return list.end()
}

// cells is the report in the table.
func (r *parkedReport) cells() []any {
	environment, size := r.Environment, "gone"
	if r.Archived {
		environment += " (archived, " + r.EnvironmentID + ")"
	}
	if r.Size != nil {
		size = strconv.FormatInt(*r.Size, 10)
	}
	return []any{r.Org, environment, r.Arrival, r.AcceptedAt, r.Attempts, size, r.Reason}
}

// oneLine keeps a reason, which may quote what a client sent, to its line.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

func (s *session) describe(ctx context.Context, record *environments.WaitingReport, environment *evidence.Environment) (*parkedReport, error) {
	shown := &parkedReport{
		Environment: environment.Name, EnvironmentID: record.Environment, Archived: environment.Archived,
		Arrival: record.Arrival, AcceptedAt: isoTime(record.AcceptedAt), ParkedAt: isoTime(record.ParkedAt),
		Attempts: record.Attempts, Size: new(int64(len(record.Content))), Reason: record.Failure,
	}
	if record.Object == "" {
		return shown, nil
	}
	object, err := s.Store.Objects.Stat(ctx, record.Object)
	if errors.Is(err, storage.ErrNotFound) {
		shown.Size = nil
		return shown, nil
	}
	*shown.Size = object.Size
	return shown, err
}

func isoTime(seconds float64) string {
	return time.UnixMilli(int64(seconds * 1e3)).UTC().Format(time.RFC3339)
}

func retryReports(ctx context.Context, s *session, chosen selection) error {
	arrivals, environment, err := s.choose(ctx, chosen)
	if err != nil {
		return err
	}
	parked := reports.NewParked(s.Store, s.Clock)
	if len(arrivals) == 0 {
		fmt.Fprintf(s.out, "environment %s has no parked reports\n", chosen.environment)
	}
	var faults []error
	for _, arrival := range arrivals {
		record, err := s.Store.Reports.Get(ctx, environment, arrival)
		if err == nil {
			record.Arrival, err = parked.Retry(ctx, &record)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("report %d was not retried: %w", arrival, advice(err)))
			continue
		}
		fmt.Fprintf(s.out, "report %d waits as report %d\n", arrival, record.Arrival)
	}
	return errors.Join(faults...)
}

// advice says what can be done about an error.
func advice(err error) error {
	switch {
	case errors.Is(err, storage.ErrDamaged):
		return fmt.Errorf("%w; unless it can be restored from a backup, discard it", err)
	case errors.Is(err, storage.ErrArchived):
		return errors.New("its environment is archived; discard it")
	}
	return err
}

func discardReport(ctx context.Context, s *session, chosen selection) error {
	arrivals, environment, err := s.choose(ctx, chosen)
	if err != nil {
		return err
	}
	record, err := s.Store.Reports.Get(ctx, environment, arrivals[0])
	if errors.Is(err, storage.ErrDamaged) {
		record, err = environments.WaitingReport{Environment: environment, Arrival: arrivals[0]}, nil
	}
	if err != nil {
		return err
	}
	if err := reports.NewParked(s.Store, s.Clock).Discard(ctx, &record); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "report %d is deleted\n", record.Arrival)
	return err
}

// choose finds the arrival numbers of the parked reports that are meant, in order, and
// the id of their environment. It is an error when a single one is meant and not there.
func (s *session) choose(ctx context.Context, chosen selection) (arrivals []int64, environment string, err error) {
	orgs, err := s.organizations(ctx, chosen.org)
	if err != nil {
		return nil, "", err
	}
	seen := map[string]bool{}
	err = s.eachParked(ctx, chosen, orgs, func(record *environments.WaitingReport, _ *evidence.Environment) error {
		if chosen.arrival == 0 || chosen.arrival == record.Arrival {
			seen[record.Environment], environment = true, record.Environment
			arrivals = append(arrivals, record.Arrival)
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	if len(seen) > 1 {
		return nil, "", fmt.Errorf("several environments have had the name %s, give the id of one instead: %s",
			chosen.environment, strings.Join(slices.Sorted(maps.Keys(seen)), ", "))
	}
	if len(arrivals) == 0 && chosen.arrival > 0 {
		return nil, "", fmt.Errorf("environment %s of organization %s has no parked report %d", chosen.environment, chosen.org, chosen.arrival)
	}
	slices.Sort(arrivals)
	return arrivals, environment, nil
}

// organizations are the names of organizations by id: of the one that is named, or of
// all.
func (s *session) organizations(ctx context.Context, name string) (map[string]string, error) {
	names := map[string]string{}
	if name == "" {
		err := s.Store.Tenancy.EachOrganization(ctx, func(org *evidence.Organization) error {
			names[org.ID] = org.Name
			return nil
		})
		return names, err
	}
	org, err := organization(ctx, s.Store.Tenancy, name)
	names[org.ID] = org.Name
	return names, err
}

// eachParked calls yield for the parked reports of a selection, whatever their arrival,
// with their environments. orgs are the organizations that are meant.
func (s *session) eachParked(ctx context.Context, chosen selection, orgs map[string]string, yield func(*environments.WaitingReport, *evidence.Environment) error) error {
	only := ""
	if chosen.org != "" {
		for id := range orgs {
			only = id
		}
	}
	id, err := s.environmentID(ctx, only, chosen)
	if err != nil {
		return err
	}
	known := map[string]evidence.Environment{}
	return reports.NewParked(s.Store, s.Clock).Each(ctx, only, func(record *environments.WaitingReport) error {
		environment, ok := known[record.Environment]
		if !ok {
			found, err := s.Store.Environments.Get(ctx, record.Environment)
			if err != nil && !errors.Is(err, storage.ErrNotFound) {
				return err
			}
			environment, known[record.Environment] = found, found
		}
		// Archived environments have their names still, beside those that have them now.
		if chosen.environment != "" && environment.Name != chosen.environment && record.Environment != id {
			return nil
		}
		return yield(record, &environment)
	})
}

// environmentID finds the id of the environment that is chosen, so that a wrong name is
// told from one without parked reports; "" when none is chosen or it is archived.
func (s *session) environmentID(ctx context.Context, org string, chosen selection) (string, error) {
	if chosen.environment == "" {
		return "", nil
	}
	ref, err := s.Store.Environments.Resolve(ctx, org, chosen.environment)
	if err == nil || errors.Is(err, storage.ErrArchived) {
		return ref.ID, nil
	}
	if !errors.Is(err, storage.ErrNotFound) {
		return "", err
	}
	found, err := s.Store.Environments.Get(ctx, chosen.environment)
	if errors.Is(err, storage.ErrNotFound) || err == nil && found.Org != org {
		return "", fmt.Errorf("organization %s has no environment %s", chosen.org, chosen.environment)
	}
	return found.ID, err
}
