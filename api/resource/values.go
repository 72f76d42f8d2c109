package resource

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"attestry/api/server"
	"attestry/evidence"
)

// SortUnique sorts texts and leaves out repetitions.
func SortUnique(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// UniqueOf returns the texts of items, sorted and without repetitions.
func UniqueOf[T any](items []T, text func(*T) string) []string { return SortUnique(Map(items, text)) }

// Map returns what convert makes of each item. No items are an empty list, not null.
func Map[S, T any](items []S, convert func(*S) T) []T {
	converted := make([]T, 0, len(items))
	for i := range items {
		converted = append(converted, convert(&items[i]))
	}
	return converted
}

// Tag is a tag that something has.
type Tag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// TagChoices returns the distinct tags of items by key, then by value.
func TagChoices[T any](items []T, tagsOf func(*T) map[string]string) []Tag {
	var choices []Tag
	for i := range items {
		for key, value := range tagsOf(&items[i]) {
			choices = append(choices, Tag{Key: key, Value: value})
		}
	}
	slices.SortFunc(choices, func(a, b Tag) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value)) })
	return slices.Compact(choices)
}

// NilIfEmpty is null for an empty text, and for a number that is zero.
func NilIfEmpty[T comparable](value T) *T {
	var empty T
	if value == empty {
		return nil
	}
	return &value
}

// EmptyIfNil is an empty map for a nil one.
func EmptyIfNil(tags map[string]string) map[string]string {
	if tags == nil {
		return map[string]string{}
	}
	return tags
}

// ZeroIfNil is the value of a pointer, zero for nil.
func ZeroIfNil[T any](value *T) (zero T) {
	if value == nil {
		return zero
	}
	return *value
}

// TagQuery is a filter by tags. It is exported because huma passes over embedded types that are not.
type TagQuery struct {
	Tag []string `query:"tag,explode" doc:"key or key:value"`
}

// Matches reports whether tags have one of the query. An empty one matches nothing (docs/semantics.md 1.12).
func (q TagQuery) Matches(ctx context.Context, tags map[string]string) bool {
	return !server.QueryHas(ctx, "tag") || slices.ContainsFunc(q.Tag, func(wanted string) bool {
		key, value, withValue := strings.Cut(wanted, ":")
		have, ok := tags[key]
		return ok && (!withValue || have == value)
	})
}

// ISOTime writes Unix seconds as ISO 8601 in UTC, null when there is no time.
func ISOTime(seconds float64) *string {
	if seconds <= 0 {
		return nil
	}
	return new(time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC().Format(time.RFC3339Nano))
}

// ObjectIfNil shows data that was not sent as an empty object.
func ObjectIfNil(data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return json.RawMessage("{}")
	}
	return data
}

// MapValues returns what convert makes of each value of a map; nil stays nil.
func MapValues[S, T any](values map[string]S, convert func(S) T) map[string]T {
	if values == nil {
		return nil
	}
	converted := make(map[string]T, len(values))
	for key, value := range values {
		converted[key] = convert(value)
	}
	return converted
}

// ShowURLs shows external URLs.
func ShowURLs(urls map[string]evidence.ExternalURL) map[string]ExternalAttachmentUrl {
	return MapValues(urls, func(url evidence.ExternalURL) ExternalAttachmentUrl { return ExternalAttachmentUrl(url) })
}
