// Package doctor examines a service: stores, clocks, keys, certificates, work, logs, settings, memory and disk space.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"attestry/config"
	"attestry/goroutine"
	"attestry/process"
	"attestry/storage"
	"attestry/storage/mongodb"
	"attestry/tasks"
)

// timeout bounds each check and the opening of each store. The client of MongoDB must have time to say why no server
// answers.
const timeout = mongodb.SelectionTimeout + 2*time.Second

// State is the severity of a finding.
type State string

// The states.
const (
	OK      State = "ok"
	Warning State = "warning"
	Error   State = "error"
)

// Finding is a result of a check.
type Finding struct {
	Check    string `json:"check"`
	State    State  `json:"state"`
	Measured string `json:"measured"`
	// Advice is what the operator should do, "" if nothing is wrong.
	Advice string `json:"advice,omitempty"`
}

// Subject is the service that is examined.
type Subject struct {
	*process.Process
	// Running means that the service runs in this process.
	Running bool
	// Failed has the errors of stores and of checks, by their names.
	Failed map[string]error
}

// Open opens each store of a service that can be opened. It creates no folders, buckets or indexes: an address may be
// mistyped.
func (s *Subject) Open(ctx context.Context, settings config.Settings, log *slog.Logger) (*process.Process, error) {
	roots, err := settings.Process.Roots()
	if err != nil {
		return nil, err
	}
	stores := settings.Stores
	stores.Database.LeaveIndexes, stores.Objects.LeaveBucket = true, true
	docs := open(ctx, s, storage.Database, stores.Database.Path, func(ctx context.Context) (storage.Documents, error) {
		return process.OpenDocuments(ctx, stores.Database, roots)
	})
	objects := open(ctx, s, storage.ObjectStore, stores.Objects.Path, func(ctx context.Context) (storage.Objects, error) {
		return process.OpenObjects(ctx, stores.Objects, settings.Retention, roots)
	})
	redis, err := tasks.NewRedis(cmp.Or(stores.Redis.URL.Reveal(), "redis://localhost"), roots)
	if err != nil {
		return nil, err
	}
	return process.Assemble(settings, log, time.Now, redis, docs, objects, nil), nil
}

// open returns nil if a store cannot be opened. The folder of an embedded store must exist.
func open[S any](ctx context.Context, s *Subject, name, folder string, run func(context.Context) (S, error)) (none S) {
	_, err := os.Stat(cmp.Or(folder, "/"))
	if err == nil {
		var store S
		if store, err = withTimeout(ctx, run); err == nil {
			return store
		}
	}
	s.Failed[name] = err
	return none
}

// withTimeout returns after the timeout even if run does not: calls of a file system that hangs ignore the context.
func withTimeout[T any](ctx context.Context, run func(context.Context) (T, error)) (none T, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var result T
	done := make(chan error, 1)
	goroutine.Start(func() (err error) { result, err = run(ctx); return err }, func(err error) { done <- err })
	select {
	case err := <-done:
		return result, err
	case <-ctx.Done():
		return none, fmt.Errorf("no answer within %v", timeout)
	}
}

// check is a check of the service. run returns no findings if it does not apply.
type check struct {
	name string
	// needs are the stores that the check requires. It is skipped if one of them has failed.
	needs []string
	// advice is the advice for an error of run.
	advice string
	run    func(ctx context.Context, s *Subject) ([]Finding, error)
}

// checks returns all checks. Those of stores come first, as other checks are skipped if a store does not answer.
func checks() []check {
	database, both := []string{storage.Database}, []string{storage.Database, storage.ObjectStore}
	const damaged = "run admin verify, and restore what is damaged from a backup"
	return []check{
		{storage.Database, nil, "start or mend it, or correct ATTESTRY_DATABASE_URL", examineDatabase},
		{storage.ObjectStore, nil, "start or mend it, or correct ATTESTRY_OBJECTS_URL", examineObjects},
		{"redis", nil, "start it, or correct ATTESTRY_REDIS_URL; reports are stored until then, but not processed", examineRedis},
		{"settings", database, damaged, examineSettings},
		{"certificates", nil, "correct the files: the service does not start with them, and goes on with those that it has read", examineCertificates},
		{"indexes", database, damaged, examineIndexes},
		{"retention", both[1:], `see "Retention" in docs/operations.md`, examineRetention},
		{"clock", both, damaged, examineClocks},
		{"keys", database, damaged, examineKeys},
		{"work", database, damaged, examineWork},
		{"log", both, damaged, examineLogs},
		{"memory", nil, damaged, examineMemory},
		{"disk", both, "see that the folders of the data are there and can be read", examineDisk},
	}
}

// Examine runs all checks, passes each finding, and returns how many findings are not OK.
func (s *Subject) Examine(ctx context.Context, pass func(Finding) error) (wrong int, err error) {
	for _, c := range checks() {
		for _, found := range s.examine(ctx, &c) {
			found.Check = c.name
			if found.State != OK {
				wrong++
			}
			if err := errors.Join(ctx.Err(), pass(found)); err != nil {
				return wrong, err
			}
		}
	}
	return wrong, nil
}

func (s *Subject) examine(ctx context.Context, c *check) (found []Finding) {
	if slices.ContainsFunc(c.needs, func(store string) bool { return s.Failed[store] != nil }) {
		return nil
	}
	err := s.Failed[c.name]
	if err == nil {
		found, err = withTimeout(ctx, func(ctx context.Context) ([]Finding, error) { return c.run(ctx, s) })
	}
	if err != nil {
		s.Failed[c.name] = err
		found = []Finding{{State: Error, Measured: err.Error(), Advice: c.advice}}
	}
	return found
}

func warning(advice, format string, values ...any) Finding {
	return Finding{State: Warning, Measured: fmt.Sprintf(format, values...), Advice: advice}
}

// measured returns a finding with a measured value: a warning if it is wrong, else OK.
func measured(wrong bool, advice, format string, values ...any) []Finding {
	found := warning(advice, format, values...)
	if !wrong {
		found.State, found.Advice = OK, ""
	}
	return []Finding{found}
}

// orOK returns the findings, or one that is OK if there are none.
func orOK(found []Finding, format string, values ...any) []Finding {
	if len(found) > 0 {
		return found
	}
	return measured(false, "", format, values...)
}
