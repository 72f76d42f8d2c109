// Package retention keeps objects from deletion for the time of the settings, and tests that the object store does so.
package retention

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"attestry/config"
	"attestry/evidence"
	"attestry/storage"
)

const (
	// probeScope is the scope of the test object. No id of an organization equals it.
	probeScope = "retention-probe"
	// probeRetention is how long the test object is retained. S3 refuses requests whose clock is more than 15 minutes
	// off, so the end is in the future for the store too.
	probeRetention = 20 * time.Minute

	day = 24 * time.Hour
)

// Retention keeps the objects of organizations from deletion.
type Retention struct {
	objects  storage.Objects
	settings config.Retention
	clock    evidence.Clock
	verified time.Time
}

// New makes the retention of an object store. Without settings it retains nothing.
func New(objects storage.Objects, settings config.Retention, clock evidence.Clock) *Retention {
	return &Retention{objects: objects, settings: settings, clock: clock}
}

// Keep keeps an object of an organization, by its name, from deletion, counted from now. It is called after Put and
// before anything refers to the object.
func (r *Retention) Keep(ctx context.Context, org, key string) error {
	return r.KeepAtMost(ctx, org, key, math.MaxInt)
}

// KeepAtMost is Keep for at most a number of days.
func (r *Retention) KeepAtMost(ctx context.Context, org, key string, most int) error {
	days, ok := r.settings.Organizations[org]
	if !ok {
		days = r.settings.Days
	}
	if days = min(days, most); days == 0 {
		return nil
	}
	return r.objects.Retain(ctx, key, r.clock().Add(time.Duration(days)*day))
}

// Verify runs Test if anything is to be retained. Each process calls it before it serves. All use the same object;
// later starts delete its versions whose retention has ended.
func (r *Retention) Verify(ctx context.Context) error {
	if !r.settings.On() {
		return nil
	}
	if err := r.Test(ctx); err != nil {
		return fmt.Errorf("test the retention of the object store: %w", err)
	}
	r.verified = r.clock()
	return nil
}

// Test checks that the store refuses to delete an object under retention. It can be called at any time.
func (r *Retention) Test(ctx context.Context) error {
	// The mode of a running retention stays, so each mode has its own object.
	content := "Attestry asks the object store to keep this object from deletion in " + string(r.settings.Mode) + " mode.\n"
	object, err := r.objects.Put(ctx, probeScope, strings.NewReader(content), int64(len(content)))
	if err != nil {
		return err
	}
	err = r.objects.Retain(ctx, object.Key, r.clock().Add(probeRetention))
	if errors.Is(err, storage.ErrOutage) || ctx.Err() != nil {
		return err
	}
	if err != nil {
		return noRetention(err)
	}
	err = r.objects.Delete(ctx, object.Key)
	if err == nil {
		return noRetention(errors.New("it deleted an object that it was asked to keep"))
	}
	if !errors.Is(err, storage.ErrRetained) {
		return err
	}
	return r.requireContent(ctx, object.Key, content)
}

func noRetention(cause error) error {
	return fmt.Errorf("it does not keep objects from deletion: name a bucket that was created with object lock (docs/operations.md, Retention), "+
		"or set no days of retention: %w", cause)
}

// requireContent reads an object that could not be deleted.
func (r *Retention) requireContent(ctx context.Context, key, want string) error {
	lost := func(cause error) error { return fmt.Errorf("open what could not be deleted: %w", cause) }
	content, err := storage.ReadObject(ctx, r.objects, key, "what could not be deleted", lost)
	if err != nil {
		return err
	}
	if string(content) != want {
		return fmt.Errorf("what could not be deleted has other content: %q", content)
	}
	return nil
}

// State describes the retention for operators.
func (r *Retention) State() string {
	if !r.settings.On() {
		return "off"
	}
	state := "objects are kept from deletion (" + string(r.settings.Mode) + " mode): "
	if r.verified.IsZero() {
		return state + "not verified"
	}
	return state + "verified at " + r.verified.UTC().Format(time.RFC3339)
}
