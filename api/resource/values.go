package resource

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"attestry/api/server"
	"attestry/evidence"
)

// SortUnique sorts texts in place and removes duplicates.
func SortUnique(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// UniqueOf returns the texts of items, sorted and without duplicates.
func UniqueOf[T any](items []T, text func(*T) string) []string { return SortUnique(Map(items, text)) }

// Map converts each item. Its result is never nil, so that JSON has an empty list and not null.
func Map[S, T any](items []S, convert func(*S) T) []T {
	converted := make([]T, 0, len(items))
	for i := range items {
		converted = append(converted, convert(&items[i]))
	}
	return converted
}

// Tag is a tag of a resource.
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

// NilIfEmpty returns nil for an empty text or a zero, else a pointer to the value.
func NilIfEmpty[T comparable](value T) *T {
	var empty T
	if value == empty {
		return nil
	}
	return &value
}

// EmptyIfNil returns an empty map for nil.
func EmptyIfNil(tags map[string]string) map[string]string {
	if tags == nil {
		return map[string]string{}
	}
	return tags
}

// TagQuery is a filter by tags. It is exported because huma ignores unexported embedded types.
type TagQuery struct {
	Tag []string `query:"tag,explode" doc:"key or key:value"`
}

// Matches reports whether tags have at least one tag of the query, or the query has no parameter tag. An empty
// parameter matches nothing (docs/semantics.md 1.12).
func (q TagQuery) Matches(ctx context.Context, tags map[string]string) bool {
	return !server.QueryHas(ctx, "tag") || slices.ContainsFunc(q.Tag, func(wanted string) bool {
		key, value, withValue := strings.Cut(wanted, ":")
		have, ok := tags[key]
		return ok && (!withValue || have == value)
	})
}

// ISOTime formats Unix seconds as ISO 8601 in UTC. It returns nil for 0 and less, which mean that it is unknown.
func ISOTime(seconds float64) *string {
	if seconds <= 0 {
		return nil
	}
	return new(evidence.ISOTime(seconds))
}

// ObjectIfNil returns an empty object for data that was not sent.
func ObjectIfNil(data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return json.RawMessage("{}")
	}
	return data
}

// MapValues converts each value of a map. It returns nil for nil.
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
