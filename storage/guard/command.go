package guard

import (
	"context"
	"errors"
	"log/slog"

	"attestry/storage"
	"attestry/trace"
)

// command is a command of a store under way.
type command struct {
	span  trace.Span
	about []slog.Attr
}

// begin begins a command. about are the attributes of its span.
func begin(ctx context.Context, name string, about ...slog.Attr) (context.Context, command) {
	ctx, span := trace.Start(ctx, trace.Client, name)
	return ctx, command{span, about}
}

// on is the attribute of commands on a collection.
func on(schema *storage.Schema) slog.Attr { return slog.String("db.collection.name", schema.Name) }

// end ends the command and returns its error. An outcome that callers expect is no failure of the store.
func (c command) end(err error) error {
	expected := errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrExists) || errors.Is(err, storage.ErrMoved)
	c.span.End(err != nil && !expected, c.about...)
	return err
}
