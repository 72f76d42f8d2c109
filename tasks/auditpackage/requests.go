package auditpackage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"attestry/app"
	"attestry/app/population"
	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/storage"
	"attestry/trace"
)

const (
	// MaxWait bounds how long a request waits for its package.
	MaxWait = 25 * time.Second
	// firstPoll and pollInterval are when a waiting request polls, as messages that wake it can be lost.
	firstPoll    = 500 * time.Millisecond
	pollInterval = 2 * time.Second
)

// Waiters registers requests that wait for an assembly.
type Waiters interface {
	Register(id string) (wake <-chan struct{}, leave func(), ok bool)
}

// Requests accepts requests for packages, and opens those that are ready.
type Requests struct {
	store      *app.Store
	population *population.Reader
	waiters    Waiters
	clock      evidence.Clock
}

// NewRequests makes a Requests, whose calls waiters wake. release is that of population.Reader, or nil.
func NewRequests(store *app.Store, waiters Waiters, clock evidence.Clock, release func(context.Context)) *Requests {
	return &Requests{store: store, population: newReader(store, release), waiters: waiters, clock: clock}
}

// Answer is the progress of a request.
type Answer struct {
	Progress audit.Progress
	// Package is set if it is ready.
	Package *audit.Assembled
	// Reason says why the assembly failed, or why the last attempt has, in words for clients.
	Reason string
}

// Ask requests the package of a subject as it is now, and waits for it at most wait, not at all if that is zero. A
// ready package is not assembled again while its facts are unchanged. Once Ask returns without an error the package
// will be assembled, even if this process is killed.
func (r *Requests) Ask(ctx context.Context, subject audit.Assembly, wait time.Duration) (Answer, error) {
	now := evidence.Seconds(r.clock())
	state, err := r.stateOf(ctx, &subject)
	if err != nil {
		return Answer{}, err
	}
	known, err := r.store.Assemblies.Get(ctx, subject.ID)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return Answer{}, err
	}
	current, err := r.isCurrent(ctx, &known, state, now)
	if err != nil {
		return Answer{}, err
	}
	if current && now-known.LastRequested() >= audit.RequestedInterval {
		// It may have expired meanwhile.
		known, err = r.store.Assemblies.Update(ctx, subject.ID, func(known *audit.Assembly) {
			known.RequestedAt = max(known.RequestedAt, now)
		})
		if err != nil {
			return Answer{}, err
		}
		current = known.Ready != nil && known.Ready.State == state
	}
	if current {
		return Answer{Progress: audit.Complete, Package: known.Ready}, nil
	}
	if wait <= 0 && known.Failure != nil {
		if answer, failed, err := r.takeFailure(ctx, subject.ID, state); failed || err != nil {
			return answer, err
		}
	}
	wake, leave, _ := r.waiters.Register(subject.ID)
	defer leave()
	var request int64
	requested, err := r.store.Assemblies.Change(ctx, subject, func(assembly *audit.Assembly) {
		request = assembly.Ask(state, subject.OrgName, now)
		assembly.Trace = trace.Reference(ctx)
	})
	if err != nil {
		return Answer{}, err
	}
	if wait <= 0 {
		return answerOf(&requested, request), nil
	}
	return r.await(ctx, wake, subject.ID, request, min(wait, MaxWait))
}

func (r *Requests) stateOf(ctx context.Context, subject *audit.Assembly) (string, error) {
	if subject.Kind != audit.OfPeriod {
		return stateOf(ctx, r.store, subject)
	}
	b, err := loadBundle(ctx, r.store, r.population, subject)
	if err != nil {
		return "", err
	}
	return b.state(ctx, r.store)
}

// isCurrent reports whether the ready package shows the current state.
func (r *Requests) isCurrent(ctx context.Context, known *audit.Assembly, state string, now float64) (bool, error) {
	if known.Ready == nil || known.Ready.State != state {
		return false, nil
	}
	shown, err := shownOf(ctx, r.store, known.Org, known.Ready.Controls, known.Ready.Environments)
	return known.IsCurrent(state, shown, now), err
}

// takeFailure returns a failure of the last request once, to a caller that does not wait. The next request retries.
func (r *Requests) takeFailure(ctx context.Context, id, state string) (answer Answer, failed bool, err error) {
	_, err = r.store.Assemblies.Update(ctx, id, func(assembly *audit.Assembly) { answer.Reason, failed = assembly.TakeFailure(state) })
	answer.Progress = audit.Failed
	return answer, failed, err
}

func answerOf(assembly *audit.Assembly, request int64) Answer {
	answer := Answer{Progress: assembly.ProgressOf(request), Reason: assembly.Reason}
	if answer.Progress == audit.Complete {
		answer.Package, answer.Reason = assembly.Ready, ""
	}
	return answer
}

// await waits until a request is answered, time is up, the process stops, or the client disconnects.
func (r *Requests) await(ctx context.Context, wake <-chan struct{}, id string, request int64, wait time.Duration) (Answer, error) {
	end, poll := time.After(wait), time.After(firstPoll)
	for over := false; ; {
		select {
		case <-ctx.Done():
			return Answer{}, ctx.Err()
		case _, more := <-wake:
			over = !more
		case <-poll:
			poll = time.After(pollInterval)
		case <-end:
			over = true
		}
		assembly, err := r.store.Assemblies.Get(ctx, id)
		if err != nil {
			return Answer{}, err
		}
		if answer := answerOf(&assembly, request); answer.Progress != audit.Pending || over {
			return answer, nil
		}
	}
}

// Open opens a part of a package, or of its report; a length of -1 means to its end. It discards a package that the
// object store has lost or altered, so that the next request assembles it again.
func (r *Requests) Open(ctx context.Context, id string, stored audit.Stored, offset, length int64) (io.ReadCloser, error) {
	content, err := storage.Progressive(r.store.Objects).Get(ctx, stored.Object, offset, length)
	if err != nil {
		return nil, r.discardDamaged(ctx, id, stored.Object, err)
	}
	return &packageReader{ReadCloser: content, ctx: ctx, requests: r, id: id, object: stored.Object}, nil
}

// Check reports whether a package is in the object store.
func (r *Requests) Check(ctx context.Context, id string, stored audit.Stored) error {
	_, err := r.store.Objects.Stat(ctx, stored.Object)
	return r.discardDamaged(ctx, id, stored.Object, err)
}

// discardDamaged discards a package whose object is lost or altered.
func (r *Requests) discardDamaged(ctx context.Context, id, object string, err error) error {
	if !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, storage.ErrDamaged) {
		return err
	}
	_, updateErr := r.store.Assemblies.Update(ctx, id, func(assembly *audit.Assembly) {
		assembly.Lose(object, evidence.Seconds(r.clock()))
	})
	lost := evidence.Busy("The package was altered or lost in the object store and will be assembled anew, please try again.")
	return errors.Join(lost, fmt.Errorf("read the package %s: %w", id, err), updateErr)
}

// packageReader notices damage that shows only while a package is read.
type packageReader struct {
	io.ReadCloser
	ctx      context.Context
	requests *Requests
	id       string
	object   string // key
}

func (p *packageReader) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = p.requests.discardDamaged(p.ctx, p.id, p.object, err)
	}
	return n, err
}
