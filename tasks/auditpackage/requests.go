package auditpackage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/storage"
	"attestry/trace"
)

const (
	// MaxWait is the longest that a request waits for its package.
	MaxWait = 25 * time.Second
	// firstLook and lookInterval are when a request that waits looks by itself, as messages that wake it can be lost.
	firstLook    = 500 * time.Millisecond
	lookInterval = 2 * time.Second
)

// Waiters registers who waits for an assembly.
type Waiters interface {
	Register(id string) (wake <-chan struct{}, leave func(), ok bool)
}

// Requests asks for packages, and opens those that are ready.
type Requests struct {
	store   *app.Store
	waiters Waiters
	clock   evidence.Clock
}

// NewRequests makes what the api asks for packages.
func NewRequests(store *app.Store, waiters Waiters, clock evidence.Clock) *Requests {
	return &Requests{store: store, waiters: waiters, clock: clock}
}

// Answer is how far a request has come.
type Answer struct {
	Progress audit.Progress
	// Package is set if it is ready.
	Package *audit.Assembled
	// Reason says why the assembly failed, or why the last attempt has, in words for clients.
	Reason string
}

// Ask asks for the package of a subject as it is now, and waits for it at most wait, not at all if
// that is zero. What is ready is not assembled again as long as nothing has changed. Once it returns
// without an error the package will be assembled, whatever happens to this process.
func (r *Requests) Ask(ctx context.Context, subject audit.Assembly, wait time.Duration) (Answer, error) {
	now := evidence.Seconds(r.clock())
	state, err := stateOf(ctx, r.store, &subject)
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
	if current && now-known.LastAsked() >= audit.AskedInterval {
		// It may have expired meanwhile.
		known, err = r.store.Assemblies.Update(ctx, subject.ID, func(known *audit.Assembly) {
			known.AskedAt = max(known.AskedAt, now)
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
	asked, err := r.store.Assemblies.Change(ctx, subject, func(assembly *audit.Assembly) {
		request = assembly.Ask(state, subject.OrgName, now)
		assembly.Trace = trace.Reference(ctx)
	})
	if err != nil {
		return Answer{}, err
	}
	if wait <= 0 {
		return answerOf(&asked, request), nil
	}
	return r.await(ctx, wake, subject.ID, request, min(wait, MaxWait))
}

// isCurrent reports whether the package that is ready shows everything as it is now.
func (r *Requests) isCurrent(ctx context.Context, known *audit.Assembly, state string, now float64) (bool, error) {
	if known.Ready == nil || known.Ready.State != state {
		return false, nil
	}
	shown, err := shownOf(ctx, r.store, known.Org, known.Ready.Controls, known.Ready.Environments)
	return known.IsCurrent(state, shown, now), err
}

// takeFailure tells those who do not wait that the last request has failed, once. Whoever asks again
// has the package assembled again.
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

// await waits until a request is answered, time is up, the process stops, or the client is gone.
func (r *Requests) await(ctx context.Context, wake <-chan struct{}, id string, request int64, wait time.Duration) (Answer, error) {
	end, look := time.After(wait), time.After(firstLook)
	for over := false; ; {
		select {
		case <-ctx.Done():
			return Answer{}, ctx.Err()
		case _, more := <-wake:
			over = !more
		case <-look:
			look = time.After(lookInterval)
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

// Open opens a part of a package, or of its report; a length of -1 means to its end. A package that
// the object store has lost or altered is forgotten, so that the next request has it assembled anew.
func (r *Requests) Open(ctx context.Context, id string, stored audit.Stored, offset, length int64) (io.ReadCloser, error) {
	content, err := storage.Progressive(r.store.Objects).Get(ctx, stored.Object, offset, length)
	if err != nil {
		return nil, r.noteDamage(ctx, id, stored.Object, err)
	}
	return &packageReader{ReadCloser: content, ctx: ctx, requests: r, id: id, object: stored.Object}, nil
}

// Check reports whether a package is in the object store.
func (r *Requests) Check(ctx context.Context, id string, stored audit.Stored) error {
	_, err := r.store.Objects.Stat(ctx, stored.Object)
	return r.noteDamage(ctx, id, stored.Object, err)
}

// noteDamage forgets a package whose object is lost or altered.
func (r *Requests) noteDamage(ctx context.Context, id, object string, err error) error {
	if !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, storage.ErrDamaged) {
		return err
	}
	_, forgotten := r.store.Assemblies.Update(ctx, id, func(assembly *audit.Assembly) {
		assembly.Lose(object, evidence.Seconds(r.clock()))
	})
	lost := evidence.Busy("The package was altered or lost in the object store and will be assembled anew, please try again.")
	return errors.Join(lost, fmt.Errorf("read the package %s: %w", id, err), forgotten)
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
		err = p.requests.noteDamage(p.ctx, p.id, p.object, err)
	}
	return n, err
}
