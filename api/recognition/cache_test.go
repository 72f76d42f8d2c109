package recognition_test

import (
	"slices"
	"strings"
	"testing"

	"attestry/api/recognition"
)

// hashOf returns the hash of a K8S report, which must have one.
func hashOf(t *testing.T, c *recognition.Cache, body string) recognition.BodyHash {
	t.Helper()
	hash, ok := c.Hash("K8S", []byte(body))
	if !ok {
		t.Fatalf("no hash of %s", body)
	}
	return hash
}

const body = `{"type":"K8S","artifacts":[{"a":1},{"b":2},{"a":1},{"c":"{"}]}`

func TestOrderAndSpacingOfElementsDoNotChangeTheHash(t *testing.T) {
	c := recognition.NewCache(1)
	want := hashOf(t, c, body)
	for _, other := range []string{
		`{"type":"K8S","artifacts":[{"c":"{"},{"a":1},{"a":1},{"b":2}]}`,
		"{\"type\":\"K8S\",\"artifacts\":[\n\t{\"b\":2} ,\r{\"a\":1}, {\"c\":\"{\"},{\"a\":1} ]}",
	} {
		if hashOf(t, c, other) != want {
			t.Errorf("%s has another hash", other)
		}
	}
}

func TestAnyOtherDifferenceChangesTheHash(t *testing.T) {
	c := recognition.NewCache(1)
	hashes := []recognition.BodyHash{hashOf(t, c, body)}
	for what, other := range map[string]string{
		"one element less":                 `{"type":"K8S","artifacts":[{"a":1},{"b":2},{"a":1}]}`,
		"a repeated element once":          `{"type":"K8S","artifacts":[{"a":1},{"b":2},{"c":"{"}]}`,
		"a repeated element three times":   `{"type":"K8S","artifacts":[{"a":1},{"b":2},{"a":1},{"a":1},{"c":"{"}]}`,
		"another element repeated":         `{"type":"K8S","artifacts":[{"a":1},{"b":2},{"b":2},{"c":"{"}]}`,
		"no elements":                      `{"type":"K8S","artifacts":[]}`,
		"a byte of an element":             `{"type":"K8S","artifacts":[{"a":1},{"b":3},{"a":1},{"c":"{"}]}`,
		"space in an element":              `{"type":"K8S","artifacts":[{"a":1},{"b": 2},{"a":1},{"c":"{"}]}`,
		"no type":                          `{"artifacts":[{"a":1},{"b":2},{"a":1},{"c":"{"}]}`,
		"a type behind the elements":       `{"artifacts":[{"a":1},{"b":2},{"a":1},{"c":"{"}],"type":"K8S"}`,
		"a second type":                    `{"type":"K8S","artifacts":[{"a":1},{"b":2},{"a":1},{"c":"{"}],"type":"ECS"}`,
		"another type":                     `{"type":"ECS","artifacts":[{"a":1},{"b":2},{"a":1},{"c":"{"}]}`,
		"another member":                   `{"type":"K8S","other":1,"artifacts":[{"a":1},{"b":2},{"a":1},{"c":"{"}]}`,
		"an end of the array that is none": `{"type":"K8S","artifacts":[{"a":1},{"b":2},{"a":1},{"c":"{"}]]`,
		"a body that ends early":           `{"type":"K8S","artifacts":[{"a":1},{"b":2},{"a":1},{"c":"{"}]`,
		"a second value":                   body + `{}`,
		"bytes that are not UTF-8":         body + "\xff",
	} {
		hash := hashOf(t, c, other)
		if slices.Contains(hashes, hash) {
			t.Errorf("%s makes no difference", what)
		}
		hashes = append(hashes, hash)
	}
	if other, ok := c.Hash("ECS", []byte(body)); !ok || slices.Contains(hashes, other) {
		t.Error("the type of the operation makes no difference")
	}
}

func TestHashSeparatesTheTypeFromTheBody(t *testing.T) {
	c := recognition.NewCache(1)
	shorter, ok := c.Hash("K8S ", []byte(body))
	longer, okToo := c.Hash("K8S", []byte(" "+body))
	if !ok || !okToo || shorter == longer {
		t.Error("bytes of the type count as bytes of the body")
	}
}

func TestOnlyTheLatestReportOfAnEnvironmentIsRemembered(t *testing.T) {
	c := recognition.NewCache(10)
	first, second := hashOf(t, c, body), hashOf(t, c, `{"artifacts":[]}`)
	c.Remember("blue", first, "one")
	if digest, ok := c.Digest("blue", first); !ok || digest != "one" {
		t.Errorf("got %q, %v", digest, ok)
	}
	if _, ok := c.Digest("blue", second); ok {
		t.Error("a report is known that was never sent")
	}
	if _, ok := c.Digest("green", first); ok {
		t.Error("another environment's report is known")
	}
	c.Remember("blue", second, "two")
	if digest, ok := c.Digest("blue", second); !ok || digest != "two" {
		t.Errorf("got %q, %v", digest, ok)
	}
	if _, ok := c.Digest("blue", first); ok {
		t.Error("a report is known that is not the last one")
	}
}

func TestLeastRecentlyUsedEnvironmentIsForgotten(t *testing.T) {
	c := recognition.NewCache(2)
	hash := hashOf(t, c, body)
	c.Remember("blue", hash, "one")
	c.Remember("green", hash, "one")
	c.Digest("blue", hash)
	c.Remember("red", hash, "one")
	for environment, want := range map[string]bool{"blue": true, "green": false, "red": true} {
		if _, ok := c.Digest(environment, hash); ok != want {
			t.Errorf("%s is known: %v", environment, ok)
		}
	}
}

func TestEachProcessHashesWithItsOwnKey(t *testing.T) {
	first, second := recognition.NewCache(1), recognition.NewCache(1)
	if hashOf(t, first, body) == hashOf(t, second, body) {
		t.Error("two processes make the same hash")
	}
}

func TestHashingDoesNotAllocatePerElement(t *testing.T) {
	c := recognition.NewCache(1)
	large := []byte(`{"artifacts":[{}` + strings.Repeat(`,{"a":"b"}`, 10_000) + `]}`)
	if allocations := testing.AllocsPerRun(10, func() { c.Hash("K8S", large) }); allocations > 4 {
		t.Errorf("%v allocations", allocations)
	}
}

func BenchmarkHash(b *testing.B) {
	pod := `{"podName":"service-0001-0123456789-abcde","namespace":"team-01","digests":{"registry.example.com/team-01/component-00001:1.4.2":"` +
		strings.Repeat("0a", 32) + `"},"creationTimestamp":1789000000,"owners":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"service-0001-0123456789",` +
		`"uid":"01234567-0123-0123-0123-0123456789ab","controller":true,"blockOwnerDeletion":true}]}`
	report := []byte(`{"type":"K8S","artifacts":[` + pod + strings.Repeat(","+pod, 999) + `]}`)
	c := recognition.NewCache(1)
	b.SetBytes(int64(len(report)))
	for b.Loop() {
		c.Hash("K8S", report)
	}
}
