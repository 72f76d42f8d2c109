// Package guard wraps the engines for the repositories. It verifies content-addressed content whenever it is read, so
// that altered content is an error, and records which store refuses writes, for the readiness of a process.
package guard

import (
	"context"
	"errors"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"attestry/evidence"
	"attestry/storage"
	"attestry/trace"
)

// Guard is shared by the guarded stores of a process.
type Guard struct {
	log     *slog.Logger
	clock   evidence.Clock
	damaged *prometheus.CounterVec
}

// New makes a Guard that logs and counts what it finds. metrics must be fresh.
func New(clock evidence.Clock, log *slog.Logger, metrics prometheus.Registerer) *Guard {
	g := &Guard{
		log:   log,
		clock: clock,
		damaged: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "attestry_damaged_reads_total",
			Help: "Reads that met content which was altered, truncated or lost, by store.",
		}, []string{"store"}),
	}
	for _, store := range []string{storage.Database, storage.ObjectStore} {
		g.damaged.WithLabelValues(store)
	}
	metrics.MustRegister(g.damaged)
	return g
}

// report logs and counts content of a store that is damaged or lost.
func (g *Guard) report(store, id string, reason error) {
	g.damaged.WithLabelValues(store).Inc()
	g.log.Error("stored content is damaged or lost", "store", store, "id", id, "reason", reason.Error())
}

// Documents guards a database.
func (g *Guard) Documents(docs storage.Documents) storage.Documents {
	return &documents{Documents: docs, guard: g, refusal: refusal{store: storage.Database, log: g.log, clock: g.clock}}
}

// Objects guards an object store.
func (g *Guard) Objects(objects storage.Objects) storage.Objects {
	return &guardedObjects{Objects: objects, guard: g, refusal: refusal{store: storage.ObjectStore, log: g.log, clock: g.clock}}
}

type command struct {
	span       trace.Span
	attributes []slog.Attr
}

func begin(ctx context.Context, name string, attributes ...slog.Attr) (context.Context, command) {
	ctx, span := trace.Start(ctx, trace.Client, name)
	return ctx, command{span, attributes}
}

func collectionAttr(schema *storage.Schema) slog.Attr {
	return slog.String("db.collection.name", schema.Name)
}

// end ends the span and returns the error of the command. An outcome that callers expect is no failure of the store.
func (c command) end(err error) error {
	expected := errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrExists) || errors.Is(err, storage.ErrMoved)
	c.span.End(err != nil && !expected, c.attributes...)
	return err
}
