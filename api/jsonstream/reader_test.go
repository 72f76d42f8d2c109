package jsonstream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"attestry/api/jsonstream"
)

type inner struct {
	Name  string          `json:"name"`
	Count *int            `json:"count"`
	Raw   json.RawMessage `json:"raw"`
}

type Embedded struct {
	Page int               `json:"page"`
	Link map[string]string `json:"link"`
}

type sample struct {
	Embedded
	_         struct{} `json:"-" additionalProperties:"true"`
	hidden    int
	Untagged  bool
	Left      string           `json:"left,omitempty"`
	Kept      string           `json:"kept,omitempty"`
	NoItems   []inner          `json:"no_items,omitempty"`
	Nil       []inner          `json:"nil"`
	Empty     []inner          `json:"empty"`
	Items     []inner          `json:"items"`
	Pointers  []*inner         `json:"pointers"`
	Maps      []map[string]any `json:"maps"`
	Lists     [][]string       `json:"lists"`
	Any       []any            `json:"any"`
	Numbers   []float64        `json:"numbers"`
	Bytes     []byte           `json:"bytes"`
	Pointer   *inner           `json:"pointer"`
	NoPointer *inner           `json:"no_pointer"`
	Whatever  any              `json:"whatever"`
	Nothing   any              `json:"nothing"`
	Inner     inner            `json:"inner"`
	Own       shouting         `json:"own"`
	Owns      []shouting       `json:"owns"`
}

type shouting struct{ Text string }

func (s *shouting) MarshalJSON() ([]byte, error) { return json.Marshal(strings.ToUpper(s.Text)) }

// hides has a member that hides an embedded one, and the option string.
type hides struct {
	Embedded
	Page   string `json:"page"`
	Quoted int    `json:"quoted,string"`
}

type recursive struct {
	Children []recursive `json:"children"`
}

func filled() *sample {
	n := 3
	one := inner{Name: `<a href="x">&</a>` + "\u2028", Count: &n, Raw: json.RawMessage(`{"a": [1, 2]}`)}
	return &sample{
		Embedded: Embedded{Page: 2, Link: map[string]string{"b": "2", "a": "1"}},
		hidden:   1, Kept: "k", Empty: []inner{}, Items: []inner{one, {}}, Pointers: []*inner{nil, &one},
		Maps: []map[string]any{nil, {"x": 1.5, "a": nil}}, Lists: [][]string{nil, {}, {"<"}}, Any: []any{nil, 1, "x", one},
		Numbers: []float64{1, 1e21, 1787150398.6166384}, Bytes: []byte("bytes"), Pointer: &one, Whatever: one,
		Inner: one, Own: shouting{"own"}, Owns: []shouting{{"<first>"}, {"second"}},
	}
}

// whole encodes a value with encoding/json.
func whole(t *testing.T, value any, escapeHTML bool) string {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(escapeHTML)
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(text.String(), "\n")
}

func read(t *testing.T, value any) string {
	t.Helper()
	got, err := io.ReadAll(jsonstream.NewReader(t.Context(), value, false))
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

func TestReaderEncodesLikeEncodingJSON(t *testing.T) {
	for name, value := range map[string]any{
		"everything":          filled(),
		"everything by value": *filled(),
		"zero":                sample{},
		"nil":                 nil,
		"text":                "<OK>",
		"list of structs":     []inner{{Name: "a"}, {Name: "b"}},
		"no structs":          []inner{},
		"nil list":            []inner(nil),
		"list of numbers":     []int{1, 2, 3},
		"map":                 map[string][]inner{"b": {{Name: "x"}}, "a": nil},
		"struct without any":  struct{}{},
		"hidden members":      hides{Page: "p", Quoted: 7},
		"type within itself":  recursive{Children: []recursive{{}, {Children: []recursive{{}}}}},
		"raw":                 json.RawMessage(`{ "a" : 1 }`),
	} {
		for _, escapeHTML := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				reader := jsonstream.NewReader(t.Context(), value, escapeHTML)
				got, err := io.ReadAll(iotest.OneByteReader(reader))
				if want := whole(t, value, escapeHTML); err != nil || string(got) != want {
					t.Errorf("got  %s, %v\nwant %s", got, err, want)
				}
				if reader.Reads() {
					t.Error("reads lists though there are none")
				}
			})
		}
	}
}

// counted is a list of these batches. read counts the ones that were read.
func counted(read *int, batches ...[]inner) jsonstream.List[inner] {
	return jsonstream.NewList(func(context.Context) ([]inner, bool, error) {
		*read++
		return batches[*read-1], *read < len(batches), nil
	})
}

type listed struct {
	Data  jsonstream.List[inner] `json:"data"`
	Links jsonstream.Map[string] `json:"links"`
}

// linked is an object with one member, whose value is made when it is encoded.
func linked(value func() string) jsonstream.Map[string] {
	return jsonstream.NewMap(func(yield func(string, string) bool) { yield("at", value()) })
}

func TestListIsReadBatchByBatch(t *testing.T) {
	batches := 0
	big := inner{Name: strings.Repeat("x", 10_000)}
	reader := jsonstream.NewReader(t.Context(), listed{
		Data:  counted(&batches, []inner{big, big}, nil, []inner{big}),
		Links: linked(func() string { return strings.Repeat("i", batches) }),
	}, false)
	p := make([]byte, 10_000)
	if n, err := reader.Read(p); n != 10_000 || err != nil || batches != 1 || !reader.Reads() {
		t.Fatalf("read %d bytes of %d batches, %v", n, batches, err)
	}
	rest, err := io.ReadAll(reader)
	element := whole(t, big, false)
	if want := `{"data":[` + element + "," + element + "," + element + `],"links":{"at":"iii"}}`; err != nil || string(p)+string(rest) != want || reader.Reads() {
		t.Errorf("got %d bytes, want %d: %v", len(p)+len(rest), len(want), err)
	}
}

func TestListsWithoutElementsAreEmptyArrays(t *testing.T) {
	batches := 0
	for name, list := range map[string]jsonstream.List[inner]{
		"the zero list": {}, "empty batches": counted(&batches, nil, []inner{}),
	} {
		if got := read(t, listed{Data: list, Links: linked(func() string { return "" })}); got != `{"data":[],"links":{"at":""}}` {
			t.Errorf("%s: %s", name, got)
		}
	}
}

type nested struct {
	Name     string                 `json:"name"`
	Versions jsonstream.List[inner] `json:"versions"`
}

func TestListsMayHoldLists(t *testing.T) {
	read1, read2 := 0, 0
	value := []nested{{"a", counted(&read1, []inner{{Name: "1"}}, []inner{{Name: "2"}})}, {"b", counted(&read2, nil)}}
	want := `[{"name":"a","versions":[{"name":"1","count":null,"raw":null},{"name":"2","count":null,"raw":null}]},{"name":"b","versions":[]}]`
	if got := read(t, value); got != want {
		t.Errorf("got %s", got)
	}
	read1, read2 = 0, 0
	outer := jsonstream.NewList(func(context.Context) ([]nested, bool, error) { return value, false, nil })
	if got := read(t, outer); got != want {
		t.Errorf("as a list: %s", got)
	}
}

func TestListsMayHoldAnyValues(t *testing.T) {
	elements := []map[string]any{{"a": 1.5, "b": []any{nil, "x"}}, nil}
	if got, want := read(t, &struct {
		List jsonstream.List[map[string]any]
	}{jsonstream.ListOf(elements)}), `{"List":`+whole(t, elements, false)+"}"; got != want {
		t.Errorf("got %s", got)
	}
}

type eitherForm struct{ value any }

func (e eitherForm) JSONForm() any { return e.value }

func TestFormsAndMapsAreSentAsTheirContent(t *testing.T) {
	if got := read(t, eitherForm{eitherForm{[]inner{}}}); got != "[]" {
		t.Errorf("got %s", got)
	}
	keys := ""
	object := jsonstream.NewMap(func(yield func(string, jsonstream.List[inner]) bool) {
		for _, key := range []string{"b", "a<"} {
			keys += key
			yield(key, jsonstream.List[inner]{})
		}
	})
	if got := read(t, object); got != `{"b":[],"a<":[]}` || keys != "ba<" {
		t.Errorf("got %s, asked for %s", got, keys)
	}
}

func TestErrorOfABatchEndsTheReader(t *testing.T) {
	broken := errors.New("disk on fire")
	batches := 0
	reader := jsonstream.NewReader(t.Context(), jsonstream.NewList(func(context.Context) ([]inner, bool, error) {
		if batches++; batches == 2 {
			return nil, true, broken
		}
		return []inner{{}}, true, nil
	}), false)
	for range 2 {
		if _, err := io.ReadAll(reader); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	}
	if batches != 2 {
		t.Errorf("%d batches were read", batches)
	}
}

func TestListIsReadWithTheLatestContext(t *testing.T) {
	type key struct{}
	var seen []any
	reader := jsonstream.NewReader(t.Context(), jsonstream.NewList(func(ctx context.Context) ([]inner, bool, error) {
		seen = append(seen, ctx.Value(key{}))
		return []inner{{Name: strings.Repeat("x", 10_000)}}, len(seen) < 2, nil
	}), false)
	if _, err := reader.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	reader.SetContext(context.WithValue(t.Context(), key{}, "later"))
	if _, err := io.ReadAll(reader); err != nil || len(seen) != 2 || seen[0] != nil || seen[1] != "later" {
		t.Errorf("read with %v, %v", seen, err)
	}
}

func TestListsAreNotEncodedAsAWhole(t *testing.T) {
	for _, value := range []any{
		jsonstream.List[inner]{}, linked(func() string { return "" }),
	} {
		if text, err := json.Marshal(value); err == nil {
			t.Errorf("%T became %s", value, text)
		}
	}
}

func TestItemsAreConvertedAsTheyAreSent(t *testing.T) {
	items := make([]int, 10_000)
	for i := range items {
		items[i] = i
	}
	shown := 0
	reader := jsonstream.NewReader(t.Context(), jsonstream.Show(items, func(i *int) inner {
		shown++
		return inner{Count: i}
	}), false)
	if _, err := reader.Read(make([]byte, 100)); err != nil || shown > 1000 {
		t.Fatalf("%d are shown at once, %v", shown, err)
	}
	if _, err := io.ReadAll(reader); err != nil || shown != len(items) {
		t.Errorf("%d are shown, %v", shown, err)
	}
}

func TestElementsAreAppendedToAList(t *testing.T) {
	batches := 0
	last := inner{Name: "last"}
	for name, row := range map[string]struct {
		list jsonstream.List[inner]
		want []inner
	}{
		"of batches":   {counted(&batches, []inner{{Name: "a"}}, []inner{{Name: "b"}}).Append(last), []inner{{Name: "a"}, {Name: "b"}, last}},
		"that is zero": {jsonstream.List[inner]{}.Append(last), []inner{last}},
		"none":         {jsonstream.ListOf([]inner{last}).Append(), []inner{last}},
	} {
		if got, want := read(t, row.list), whole(t, row.want, false); got != want {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

func TestReaderThatIsClosedEndsItsLists(t *testing.T) {
	batches := 0
	reader := jsonstream.NewReader(t.Context(), jsonstream.NewList(func(context.Context) ([]inner, bool, error) {
		batches++
		return []inner{{}}, true, nil
	}), false)
	if _, err := reader.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	read := batches
	if err := reader.Close(); err != nil || batches != read {
		t.Errorf("%d more batches were read: %v", batches-read, err)
	}
	if text, err := io.ReadAll(reader); err == nil {
		t.Errorf("it was read on: %.100s", text)
	}
}
