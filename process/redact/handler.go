package redact

import (
	"context"
	"encoding/json"
	"log/slog"

	"attestry/evidence"
	"attestry/trace"
)

// NewHandler returns a handler that hides keys in messages and attributes before next writes them.
func NewHandler(next slog.Handler) slog.Handler { return handler{next} }

type handler struct{ next slog.Handler }

// Enabled calls Enabled of the next handler.
func (h handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle hides keys in a record, adds its trace id, and passes it to the next handler.
func (h handler) Handle(ctx context.Context, record slog.Record) error {
	clean := slog.NewRecord(record.Time, record.Level, Text(ctx, record.Message), record.PC)
	record.Attrs(func(attr slog.Attr) bool {
		clean.AddAttrs(cleanAttr(ctx, attr))
		return true
	})
	if id := trace.ID(ctx); id != "" {
		clean.AddAttrs(slog.String("trace_id", id))
	}
	return h.next.Handle(ctx, clean)
}

// WithAttrs hides keys in the attributes of all records.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.next.WithAttrs(cleanAttrs(context.Background(), attrs))}
}

// WithGroup calls WithGroup of the next handler.
func (h handler) WithGroup(name string) slog.Handler { return handler{h.next.WithGroup(name)} }

func cleanAttrs(ctx context.Context, attrs []slog.Attr) []slog.Attr {
	return evidence.Map(attrs, func(attr slog.Attr) slog.Attr { return cleanAttr(ctx, attr) })
}

func cleanAttr(ctx context.Context, attr slog.Attr) slog.Attr {
	value := attr.Value.Resolve()
	switch value.Kind() {
	case slog.KindString:
		value = slog.StringValue(Text(ctx, value.String()))
	case slog.KindGroup:
		value = slog.GroupValue(cleanAttrs(ctx, value.Group())...)
	case slog.KindAny:
		value = cleanAny(ctx, value)
	}
	return slog.Attr{Key: attr.Key, Value: value}
}

// cleanAny hides keys in a value that is logged as JSON. It does not change one without keys, or one that has no JSON.
func cleanAny(ctx context.Context, value slog.Value) slog.Value {
	if err, ok := value.Any().(error); ok {
		return slog.StringValue(Text(ctx, err.Error()))
	}
	encoded, err := json.Marshal(value.Any())
	if err != nil {
		return value
	}
	clean := Text(ctx, string(encoded))
	if clean == string(encoded) {
		return value
	}
	return slog.AnyValue(json.RawMessage(clean))
}
