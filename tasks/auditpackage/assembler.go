// Package auditpackage assembles audit packages: Requests accepts requests (in the api), Assembler assembles them and
// Cleaner deletes them (in a worker). The format is in evidence/audit.
package auditpackage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/evidence/job"
	"attestry/evidence/translog"
	"attestry/goroutine"
	"attestry/links"
	"attestry/storage"
	"attestry/storage/packages"
)

// errTaken ends an attempt whose assembly another worker has taken over.
var errTaken = errors.New("another worker assembles the package")

// Publisher wakes the requests that wait for a package.
type Publisher interface {
	// PublishChange publishes that the assembly of an id has changed.
	PublishChange(ctx context.Context, id string)
}

// Options of an assembler.
type Options struct {
	Links     links.Links
	Publisher Publisher
	Clock     evidence.Clock
	// Generator names this program and its version in the packages.
	Generator string
	// LogKeys sign the packages of organizations that have a transparency log. Without any, packages do not contain it.
	LogKeys translog.Keys
}

// Assembler assembles packages.
type Assembler struct {
	store *app.Store
	Options
}

// NewAssembler makes an assembler.
func NewAssembler(store *app.Store, options Options) *Assembler {
	return &Assembler{store: store, Options: options}
}

// Assemble attempts to assemble the requested package, by the id of its assembly. It does nothing if none is requested,
// or if another worker assembles it. Requests that come meanwhile are answered by another attempt.
func (a *Assembler) Assemble(ctx context.Context, id string) error {
	for {
		request, err := a.attempt(ctx, id)
		if err != nil || request == 0 {
			return err
		}
	}
}

// attempt makes one attempt, and returns the number of the request that it answered, or 0.
func (a *Assembler) attempt(ctx context.Context, id string) (int64, error) {
	holder, now := evidence.NewID(), evidence.Seconds(a.Clock())
	var request int64
	begun := false
	assembly, err := a.store.Assemblies.Update(ctx, id, func(assembly *audit.Assembly) {
		request, begun = assembly.Begin(holder, now)
	})
	if err != nil {
		return 0, storage.IgnoreMissing(err)
	}
	if !begun {
		a.Publisher.PublishChange(ctx, id) // its last attempt may have failed just now
		return 0, nil
	}
	fresh, err := a.hold(ctx, &assembly, holder)
	if errors.Is(err, errTaken) {
		return 0, nil
	}
	if err != nil {
		return 0, a.fail(ctx, &assembly, holder, request, err)
	}
	fresh.Request = request
	held := false
	_, err = a.store.Assemblies.Update(ctx, id, func(assembly *audit.Assembly) { held = assembly.Succeed(holder, fresh) })
	if err != nil || !held {
		return 0, err
	}
	a.Publisher.PublishChange(ctx, id)
	return request, nil
}

// hold assembles while it renews the lease on the assembly, and stops if another worker takes the lease over.
func (a *Assembler) hold(ctx context.Context, assembly *audit.Assembly, holder string) (audit.Assembled, error) {
	ctx, stop := goroutine.Every(ctx, job.Assemble.RenewEvery(), func(ctx context.Context) error { return a.renew(ctx, assembly.ID, holder) })
	defer stop()
	var assembled audit.Assembled
	err := goroutine.Recovered(func() (err error) {
		assembled, err = a.assemble(ctx, assembly)
		return err
	})
	if err != nil && errors.Is(context.Cause(ctx), errTaken) {
		err = errTaken
	}
	return assembled, err
}

// renew renews the lease, and fails if the assembly has another holder by now. It ignores errors of the store.
func (a *Assembler) renew(ctx context.Context, id, holder string) error {
	held := true
	_, err := a.store.Assemblies.Update(ctx, id, func(assembly *audit.Assembly) {
		held = assembly.Renew(&job.Assemble, holder, evidence.Seconds(a.Clock()))
	})
	if err == nil && !held {
		return errTaken
	}
	return nil
}

// assemble stores the package of the current facts and its report. After an error tasks/orphans deletes what was stored.
func (a *Assembler) assemble(ctx context.Context, assembly *audit.Assembly) (audit.Assembled, error) {
	if assembly.Kind == audit.OfPeriod {
		return a.assembleBundle(ctx, assembly)
	}
	state, err := stateOf(ctx, a.store, assembly)
	if err != nil {
		return audit.Assembled{}, err
	}
	d := &draft{Assembler: a, objects: storage.Progressive(a.store.Objects)}
	if err := d.load(ctx, assembly); err != nil {
		return audit.Assembled{}, err
	}
	if d.proofs != nil {
		// To verifiers, a fact that the checkpoint covers and the package lacks was omitted. So check for new facts.
		now, err := stateOf(ctx, a.store, assembly)
		if err == nil && now != state {
			err = errNotCovered
		}
		if err != nil {
			return audit.Assembled{}, err
		}
	}
	assembled := audit.Assembled{State: state}
	if err := d.setShown(&assembled); err != nil {
		return audit.Assembled{}, err
	}
	var report []byte
	if assembled.Archive, err = a.storeArchive(ctx, d.org, func(w io.Writer) (err error) {
		report, err = d.write(ctx, w)
		return err
	}); err != nil {
		return audit.Assembled{}, err
	}
	assembled.Lost, assembled.At = len(d.lost), evidence.Seconds(a.Clock())
	if err := a.storeReport(ctx, &assembled, assembly, report); err != nil {
		return audit.Assembled{}, err
	}
	return assembled, nil
}

// scopeOf returns the scope of an organization's packages in the object store. It is not that of its evidence: a
// package that is attached as evidence is stored once more. Earlier versions used `<org>-packages`.
func scopeOf(org string) string { return packages.Objects + org }

// storeReport stores the report of a trail, if there is one, and sets the retention of both objects.
func (a *Assembler) storeReport(ctx context.Context, assembled *audit.Assembled, assembly *audit.Assembly, report []byte) error {
	if report != nil {
		stored, err := a.store.Objects.Put(ctx, scopeOf(assembly.Org), bytes.NewReader(report), int64(len(report)))
		if err != nil {
			return fmt.Errorf("store the report of a package: %w", err)
		}
		assembled.Report = new(newStored(stored))
		if err := a.store.Retention.Keep(ctx, assembly.OrgName, stored.Key); err != nil {
			return err
		}
	}
	return a.store.Retention.Keep(ctx, assembly.OrgName, assembled.Archive.Object)
}

func newStored(object storage.Object) audit.Stored {
	return audit.Stored{Object: object.Key, Size: object.Size, SHA256: object.SHA256}
}

// storeArchive streams an archive into the object store. Nothing is there until it is complete.
func (a *Assembler) storeArchive(ctx context.Context, org string, write func(io.Writer) error) (audit.Stored, error) {
	content, w := io.Pipe()
	var writing goroutine.Group
	writing.Go(func() error {
		return w.CloseWithError(goroutine.Recovered(func() error { return write(w) }))
	})
	object, err := a.store.Objects.Put(ctx, scopeOf(org), content, -1)
	content.CloseWithError(err)
	if err = errors.Join(err, writing.Wait()); err != nil {
		return audit.Stored{}, fmt.Errorf("store a package: %w", err)
	}
	return newStored(object), nil
}

// fail stores why an attempt failed. An outage, a stopping worker, or a log that does not cover all facts yet does not
// count as an attempt; a store that refuses writes, or the task's timeout, does.
func (a *Assembler) fail(ctx context.Context, assembly *audit.Assembly, holder string, request int64, cause error) error {
	away := errors.Is(cause, storage.ErrOutage) && !errors.Is(cause, storage.ErrWriteRefused)
	outage := away || errors.Is(ctx.Err(), context.Canceled)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), job.Assemble.Lease)
	defer cancel()
	reason := evidence.MessageOf(cause, "An internal error occurred while the package was assembled.")
	now := evidence.Seconds(a.Clock())
	_, err := a.store.Assemblies.Update(ctx, assembly.ID, func(assembly *audit.Assembly) {
		switch {
		case assembly.Holder != holder:
		case errors.Is(cause, errNotCovered):
			assembly.Postpone(now+CoverPause.Seconds(), reason)
		case outage:
			assembly.Postpone(now, reason)
		default:
			assembly.FailAttempt(request, reason, !errors.Is(cause, storage.ErrDamaged), now)
		}
	})
	a.Publisher.PublishChange(ctx, assembly.ID)
	if errors.Is(cause, errNotCovered) {
		return err
	}
	return errors.Join(fmt.Errorf("assemble %s: %w", assembly.ID, cause), err)
}
