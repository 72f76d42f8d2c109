package server

import (
	"attestry/evidence"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"
)

// once sorts texts and leaves out repetitions.
func once(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func orEmpty(tags map[string]string) map[string]string {
	if tags == nil {
		return map[string]string{}
	}
	return tags
}

func orZero[T any](value *T) (zero T) {
	if value == nil {
		return zero
	}
	return *value
}

func positive(value float64) *float64 {
	if value <= 0 {
		return nil
	}
	return &value
}

// tagged tells whether tags match `key` or `key:value`.
func tagged(tags map[string]string, wanted string) bool {
	key, value, withValue := strings.Cut(wanted, ":")
	have, ok := tags[key]
	return ok && (!withValue || have == value)
}

// isoTime writes Unix seconds as ISO 8601 in UTC, null when there is no time.
func isoTime(seconds float64) *string {
	if seconds <= 0 {
		return nil
	}
	return new(time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC().Format(time.RFC3339Nano))
}

// orObject shows data that was not sent as an empty object.
func orObject(data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return json.RawMessage("{}")
	}
	return data
}

func showURLs(urls map[string]evidence.ExternalURL) map[string]ExternalAttachmentUrl {
	if urls == nil {
		return nil
	}
	shown := make(map[string]ExternalAttachmentUrl, len(urls))
	for label, url := range urls {
		shown[label] = ExternalAttachmentUrl(url)
	}
	return shown
}
