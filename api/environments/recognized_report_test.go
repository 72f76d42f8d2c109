package environments

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/recognition"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/evidence/snapshot"
)

// decoder decodes bodies like the operation.
type decoder[T any] struct {
	validator *validation.Validator
	schema    *huma.Schema
}

func newDecoder[T any]() *decoder[T] {
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	schema := registry.Schema(reflect.TypeFor[T](), true, "")
	return &decoder[T]{validation.NewValidator(registry), schema}
}

// digest returns the digest of a report, or false if the report is refused.
func (d *decoder[T]) digest(body []byte) (string, bool) {
	found := validation.Findings{}
	value := decodeReport[T](d.validator, d.schema, body, found)
	if len(found) > 0 {
		return "", false
	}
	report := snapshot.Canonical(evidence.K8S, any(value).(reportBody).instances())
	if _, err := report.Size(); err != nil {
		return "", false
	}
	return report.Digest(), true
}

// edited exchanges two ranges of a body, and may insert a space between them, for each 5 bytes of edits.
func edited(body []byte, edits []byte) []byte {
	body = slices.Clone(body)
	for len(edits) >= 5 && len(body) > 0 {
		at, to := int(edits[0])%len(body), int(edits[1])%len(body)
		if at > to {
			at, to = to, at
		}
		first := body[at : at+min(int(edits[2]), to-at)]
		second := body[to : to+min(int(edits[3]), len(body)-to)]
		between := body[at+len(first) : to]
		space := bytes.Repeat([]byte(" "), int(edits[4]%2))
		body = slices.Concat(body[:at], second, space, between, first, body[to+len(second):])
		edits = edits[5:]
	}
	return body
}

// shuffled changes the order of the elements of a body. It returns false if the body cannot be read.
func shuffled(body []byte, seed uint64) ([]byte, bool) {
	var parsed struct{ Artifacts []json.RawMessage }
	if err := json.Unmarshal(body, &parsed); err != nil {
		return nil, false
	}
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(parsed.Artifacts), func(i, j int) {
		parsed.Artifacts[i], parsed.Artifacts[j] = parsed.Artifacts[j], parsed.Artifacts[i]
	})
	begin, end := bytes.IndexByte(body, '['), bytes.LastIndexByte(body, ']')
	if begin < 0 || end < begin {
		return nil, false
	}
	elements := make([][]byte, 0, len(parsed.Artifacts))
	for _, element := range parsed.Artifacts {
		elements = append(elements, element)
	}
	return slices.Concat(body[:begin+1], bytes.Join(elements, []byte(" ,\n")), body[end:]), true
}

// FuzzRecognizedReportsAreAcceptedWithTheSameDigest looks for a body that is recognized as equal to another one, though
// the operation would refuse it or read it differently. Such a body nearly always consists of the elements of the first
// one, so the second body is made from them.
func FuzzRecognizedReportsAreAcceptedWithTheSameDigest(f *testing.F) {
	one := `{"podName":"a","namespace":"n","digests":{"x":"` + goodDigest + `"},"creationTimestamp":1,"owners":[]}`
	two := `{"podName":"b","namespace":"n","digests":{"y":"` + goodDigest + `"},"creationTimestamp":2}`
	coerced := `{"podName":"c\"}","namespace":"n","digests":{},"digests":{"z":"` + goodDigest + `"},"creationTimestamp":"3"}`
	for _, body := range []string{
		`{"artifacts":[]}`, `{"type":"K8S","artifacts":[` + one + `,` + two + `]}`, `{"artifacts":[` + two + `,` + coerced + `,` + two + `],"type":"K8S"}`,
		`{"artifacts":[` + one + `],"artifacts":[` + two + `]}`, `{"artifacts":[` + one + `],"artifacts":null}`, `{"artifacts":null,"artifacts":[` + one + `]}`,
	} {
		f.Add([]byte(body), []byte{28, 200, 1, 1, 1}, uint64(1))
	}
	full := newDecoder[K8SReport]()
	f.Fuzz(func(t *testing.T, body, edits []byte, seed uint64) {
		digest, accepted := full.digest(body)
		if !accepted {
			return
		}
		known := recognition.NewCache(1)
		hash, hashed := known.Hash("K8S", body)
		if !hashed {
			return
		}
		others := [][]byte{edited(body, edits)}
		if other, ok := shuffled(body, seed); ok {
			others = append(others, other, edited(other, edits))
			if same, ok := known.Hash("K8S", other); !ok || same != hash {
				t.Errorf("another order is not recognized:\n%q\n%q", body, other)
			}
		}
		for _, other := range others {
			if same, ok := known.Hash("K8S", other); !ok || same != hash {
				continue
			}
			if got, ok := full.digest(other); !ok || got != digest {
				t.Errorf("recognized, but accepted %v with digest %s instead of %s:\n%q\n%q", ok, got, digest, body, other)
			}
		}
	})
}
