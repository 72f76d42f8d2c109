package ordered

import (
	"bytes"
	"cmp"
	"math"
	"math/rand/v2"
	"testing"

	"attestry/storage"
)

// edgeValues returns values that encodings are likely to confuse.
func edgeValues() []any {
	values := []any{nil, false, true, "", "a", "a\x01", "ab", "b", "\x01", "ß", "🚀", "\U0010ffff"}
	for _, n := range []int64{0, 1, 2, 255, 256, 1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<53 + 2, 1<<53 + 3, 1<<62 - 1, 1<<62 + 1023, 1<<62 + 1025, math.MaxInt64 - 1024, math.MaxInt64 - 1, math.MaxInt64} {
		values = append(values, n, -n, float64(n), -float64(n))
	}
	values = append(values, int64(math.MinInt64), int64(math.MinInt64+1), -math.MaxFloat64, math.MaxFloat64)
	for _, f := range []float64{math.Copysign(0, -1), 0.5, -0.5, math.SmallestNonzeroFloat64, 1e300, 1763712345.6789012} {
		values = append(values, f, -f)
	}
	return values
}

func randomValue(random *rand.Rand) any {
	switch random.IntN(5) {
	case 0:
		return int64(random.Uint64()) >> random.IntN(64)
	case 1:
		f := math.Float64frombits(random.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return 0.0
		}
		return f
	case 2:
		n := int64(random.Uint64()) >> random.IntN(12)
		return math.Nextafter(float64(n), float64(random.IntN(3)-1)*math.MaxFloat64)
	case 3:
		text := make([]byte, random.IntN(4))
		for i := range text {
			text[i] = 1 + byte(random.IntN(4))
		}
		return string(text)
	}
	edges := edgeValues()
	return edges[random.IntN(len(edges))]
}

func checkOrder(t *testing.T, a, b any) {
	t.Helper()
	x, y := Append(nil, a), Append(nil, b)
	if got, want := bytes.Compare(x, y), storage.CompareValues(a, b); got != want {
		t.Errorf("%T %v is encoded as %x, %T %v as %x: ordered %d, want %d", a, a, x, b, b, y, got, want)
	}
	for _, value := range []any{a, b} {
		key := append(Append(nil, value), "id"...)
		if rest, err := Skip(key, 1); err != nil || string(rest) != "id" {
			t.Errorf("behind %v is %q: %v", value, rest, err)
		}
	}
}

func TestEncodedValuesAreOrderedAsValues(t *testing.T) {
	edges := edgeValues()
	for _, a := range edges {
		for _, b := range edges {
			checkOrder(t, a, b)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		checkOrder(t, randomValue(random), randomValue(random))
	}
}

func FuzzEncodedNumbersAreOrdered(f *testing.F) {
	f.Add(int64(1<<53+1), float64(1<<53), int64(-1))
	f.Fuzz(func(t *testing.T, a int64, b float64, c int64) {
		if math.IsNaN(b) || math.IsInf(b, 0) {
			t.Skip()
		}
		checkOrder(t, a, b)
		checkOrder(t, a, c)
	})
}

// TestEncodedListsAreOrderedFieldByField compares keys of several fields and an id.
func TestEncodedListsAreOrderedFieldByField(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 50_000 {
		var lists [2][3]any
		var keys [2][]byte
		for i := range lists {
			for j := range lists[i] {
				lists[i][j] = randomValue(random)
				if random.IntN(2) == 0 {
					lists[i][j] = lists[0][j]
				}
				keys[i] = Append(keys[i], lists[i][j])
			}
		}
		want := 0
		for j := range lists[0] {
			want = cmp.Or(want, storage.CompareValues(lists[0][j], lists[1][j]))
		}
		if got := bytes.Compare(keys[0], keys[1]); got != want {
			t.Fatalf("%v and %v are ordered %d, want %d", lists[0], lists[1], got, want)
		}
	}
}
