package storage

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"attestry/evidence/evidencetest"
)

func TestValuesSurviveEncodingWithTheirTypes(t *testing.T) {
	values := []any{
		true, false, int64(0), int64(math.MinInt64), int64(math.MaxInt64), 0.0, 3.0, -2.5, 1e21, 5e-324, math.MaxFloat64,
		"", "a<b>&c", "\u2028\x01\"\\", "🚀", "3",
	}
	for range 1000 {
		if f := math.Float64frombits(rand.Uint64()); CheckValue(f) == nil {
			values = append(values, f)
		}
	}
	for _, value := range values {
		encoded, err := encodeValue(value)
		evidencetest.Must(t, err)
		var decoded any
		evidencetest.Must(t, decodeExact(string(encoded), &decoded))
		if got, err := exactValue(decoded); err != nil || got != value {
			t.Errorf("%#v came back as %#v: %v", value, got, err)
		}
	}
}

func TestCompareValuesOrdersKindsThenExactValues(t *testing.T) {
	ordered := []any{
		nil, -math.MaxFloat64, int64(math.MinInt64), int64(-2), -1.5, int64(-1), 0.5, int64(1), 1.5,
		float64(1 << 53), int64(1<<53 + 1), int64(math.MaxInt64), float64(1 << 63), "", "A", "a", "ä", false, true,
	}
	for i, a := range ordered {
		for j, b := range ordered {
			got := CompareValues(a, b)
			if (i < j && got >= 0) || (i > j && got <= 0) || (i == j && got != 0) {
				t.Errorf("%v and %v compare as %d", a, b, got)
			}
		}
	}
	if CompareValues(int64(1), 1.0) != 0 {
		t.Error("1 and 1.0 differ")
	}
}

func FuzzCursor(f *testing.F) {
	schema := &Schema{Name: "s", Fields: []string{"a"}, Indexes: []Index{{Name: "a", Fields: []string{"a"}}}}
	text, err := json.Marshal(cursor{Collection: "s", Index: "a", Values: nil, ID: "x"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(base64.RawURLEncoding.EncodeToString(text))
	f.Add("eyJjIjoicyIsIngiOiJhIiwidiI6WzEuNV0sImkiOiJ4In0")
	f.Fuzz(func(t *testing.T, after string) {
		scan, err := NewScan(schema, Query{Index: "a", Limit: 1, After: after})
		if err != nil {
			return
		}
		if after != "" && CheckValue(scan.After.Values[0]) != nil {
			t.Errorf("the cursor %q holds %#v", after, scan.After.Values[0])
		}
	})
}
