package validation

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/memory"
	"attestry/api/validation/validationtest"
)

// Tolerant is a body that tolerates unknown members.
type Tolerant struct {
	_     struct{} `json:"-" additionalProperties:"true"`
	Name  string   `json:"name" pattern:"^[a-z]+$"`
	Kind  string   `json:"kind,omitempty" enum:"a,b"`
	Inner *struct {
		_     struct{} `json:"-" additionalProperties:"true"`
		Count int      `json:"count,omitempty" minimum:"1"`
	} `json:"inner,omitempty"`
	Data any `json:"data,omitempty"`
}

func TestUnknownMembersAreNotMistakenForSimilarNames(t *testing.T) {
	v := NewValidator(huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer))
	schema := v.registry.Schema(reflect.TypeFor[Tolerant](), true, "")
	found := Findings{}
	got := mustDecode[Tolerant](v, schema, []byte(
		`{"name":"x","NAME":"!","Kind":"evil","\u212Aind":5,"inner":{"Count":"-1"},"data":{"Kind":1,"kind":2}}`), found)
	if len(found) > 0 {
		t.Fatalf("findings %v", found)
	}
	data := map[string]any{"Kind": 1.0, "kind": 2.0}
	if got.Name != "x" || got.Kind != "" || got.Inner == nil || got.Inner.Count != 0 || !reflect.DeepEqual(got.Data, data) {
		t.Errorf("got %+v", got)
	}
}

func TestFindingsAreThoseOfTheWrongMembersOfABranch(t *testing.T) {
	type commit struct {
		SHA1      string   `json:"sha1"`
		Timestamp *float64 `json:"timestamp,omitempty" nullable:"true"`
		Parents   int      `json:"parents,omitempty" minimum:"1"`
	}
	v := NewValidator(huma.NewMapRegistry("#/", huma.DefaultSchemaNamer))
	object := v.registry.Schema(reflect.TypeFor[commit](), true, "")
	for _, branches := range [][]*huma.Schema{{object, {Type: TypeNull}}, {{Type: huma.TypeArray, Items: &huma.Schema{}}, object, object}} {
		for sent, want := range map[string][]string{
			`{"sha1":5,"timestamp":1750923680.5,"parents":"2"}`:    {"sha1"},
			`{"sha1":"a","timestamp":1750923680,"parents":0}`:      {"parents"},
			`{"sha1":"a","timestamp":"1750923680","parents":true}`: nil,
		} {
			found := Findings{}
			parsed, _ := ParseJSON([]byte(sent), "body", found)
			v.Check(&huma.Schema{AnyOf: branches}, parsed, "at", found)
			for at := range found {
				wrong := at[strings.LastIndexByte(at, '.')+1:]
				if !slices.Contains(want, wrong) && wrong != "list[any]" {
					t.Errorf("%s: found %v", sent, found)
				}
			}
			if len(found) < len(want) {
				t.Errorf("%s: found %v, want %v", sent, found, want)
			}
		}
	}
}

func TestRepeatedKeysAreFindings(t *testing.T) {
	v := NewValidator(huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer))
	schema := v.registry.Schema(reflect.TypeFor[validationtest.Report](), true, "")
	const digest = `"a":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"`
	for body, want := range map[string]Findings{
		`{"artifacts":[],"artifacts":[]}`:                                                   {"artifacts": "Invalid JSON: the key is given twice [input: artifacts]"},
		`{"type":"things","artifacts":[],"\u0074ype":"things"}`:                             {"type": "Invalid JSON: the key is given twice [input: type]"},
		`{"artifacts":[{"digests":{` + digest + `,` + digest + `},"creationTimestamp":1}]}`: {"artifacts[0].digests.a": "Invalid JSON: the key is given twice [input: a]"},
		`{"artifacts":[{"digests":{` + digest + `},"creationTimestamp":1,"digests":{}}]}`:   {"artifacts[0].digests": "Invalid JSON: the key is given twice [input: digests]"},
		`{"artifacts":[{"digests":{` + digest + `},"creationTimestamp":1}]}`:                {},
		`{"artifacts":[],"Artifacts":[]}`:                                                   {"Artifacts": "Extra inputs are not permitted [input: []]"},
	} {
		found := Findings{}
		mustDecode[validationtest.Report](v, schema, []byte(body), found)
		if !maps.Equal(found, want) {
			t.Errorf("%s:\n got %v\nwant %v", body, found, want)
		}
	}
}

func TestFindingsWithinLongNamesStaySmall(t *testing.T) {
	type link struct {
		Href string `json:"href"`
	}
	v := NewValidator(huma.NewMapRegistry("#/", huma.DefaultSchemaNamer))
	schema := &huma.Schema{Type: huma.TypeObject, AdditionalProperties: v.registry.Schema(reflect.TypeFor[link](), true, "")}
	wrong := map[string]any{}
	for i := range 2 * MaxFindings {
		wrong[fmt.Sprint(i)] = true
	}
	found := Findings{}
	v.Check(schema, map[string]any{strings.Repeat("é", 1<<19): wrong}, "links", found)
	if len(found) != MaxFindings {
		t.Errorf("%d findings", len(found))
	}
	for at := range found {
		if shown := "links." + strings.Repeat("é", MaxShown) + "..."; !strings.HasPrefix(at, shown+".") || len(at) > len(shown)+5 {
			t.Fatalf("a location of %d bytes", len(at))
		}
	}
}

func TestValuesAfterTheLastFindingAreNotChecked(t *testing.T) {
	v := NewValidator(huma.NewMapRegistry("#/", huma.DefaultSchemaNamer))
	items := slices.Repeat([]any{"wrong"}, MaxFindings)
	found := Findings{}
	v.Check(&huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeBoolean}}, append(items, "true"), "list", found)
	if len(found) != MaxFindings {
		t.Errorf("%d findings", len(found))
	}
	if got := v.Check(&huma.Schema{Type: huma.TypeBoolean}, "true", "last", found); got != "true" {
		t.Errorf("the value after them is converted to %v", got)
	}
}

func TestUnionsTakeTheFirstBranchThatFits(t *testing.T) {
	v := NewValidator(huma.NewMapRegistry("#/", huma.DefaultSchemaNamer))
	object := &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
	list := &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{}}
	null := &huma.Schema{Type: TypeNull}
	for _, test := range []struct {
		schema *huma.Schema
		value  any
		want   Findings
	}{
		{&huma.Schema{AnyOf: []*huma.Schema{object, list, null}}, map[string]any{}, Findings{}},
		{&huma.Schema{AnyOf: []*huma.Schema{object, list, null}}, nil, Findings{}},
		{&huma.Schema{AnyOf: []*huma.Schema{object, null}}, "", Findings{"at": "Input should be a valid dictionary [input: ]"}},
		{&huma.Schema{OneOf: []*huma.Schema{object, list}}, "", Findings{
			"at.dict[any,any]": "Input should be a valid dictionary [input: ]", "at.list[any]": "Input should be a valid list [input: ]"}},
	} {
		found := Findings{}
		v.Check(test.schema, test.value, "at", found)
		if !maps.Equal(found, test.want) {
			t.Errorf("%v: got %v, want %v", test.value, found, test.want)
		}
	}
}

func TestInputsAreShownAsPythonDoes(t *testing.T) {
	for _, test := range []struct {
		value any
		want  string
	}{
		{nil, "None"}, {true, "True"}, {"", ""}, {"k8s", "k8s"}, {json.Number("1.50"), "1.50"}, {[]any{}, "[]"}, {map[string]any{}, "{}"},
		{[]any{"a", nil, false}, "['a', None, False]"}, {map[string]any{"b": "x'y", "a": `"'`}, `{'a': '"\'', 'b': "x'y"}`},
		{strings.Repeat("é", 201), strings.Repeat("é", 200) + "..."}, {[]any{"a\nb\\"}, `['a\nb\\']`},
	} {
		if got := showInput(test.value); got != test.want {
			t.Errorf("%v is shown as %s, want %s", test.value, got, test.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"", "null", "{}", `{"artifacts":[]}`, `{"artifacts":[{"digests":{"a":"b"},"creationTimestamp":"1"}]}`, `[[[[`, `{"a":"\ud800\u0000"}`, "\xff", `{"artifacts":[]}x`,
		`{"artifacts":[{"digests":{"a":"` + strings.Repeat("0", 64) + `"},"creationTimestamp":1}]}`,
	} {
		f.Add([]byte(seed))
	}
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	schema := registry.Schema(reflect.TypeFor[validationtest.Report](), true, "")
	v := NewValidator(registry)
	f.Fuzz(func(t *testing.T, body []byte) {
		found := Findings{}
		value := mustDecode[validationtest.Report](v, schema, body, found)
		if (value == nil) != (len(found) > 0) {
			t.Fatalf("%q gave %v and %v", body, value, found)
		}
		for at, text := range found {
			if !utf8.ValidString(at) || !utf8.ValidString(text) || len(text) > 8*MaxShown {
				t.Errorf("finding %q: %q", at, text)
			}
		}
		// The schema accepts all that the fast path accepts.
		if fast, ok := DecodeFast[validationtest.Report](body); ok {
			parsed, _ := ParseJSON(body, "body", found)
			slow := DecodeParsed[validationtest.Report](v, schema, parsed, "", found)
			if len(found) > 0 || len(slow.Artifacts) != len(fast.Artifacts) {
				t.Errorf("%q: fast %v, slow %v with %v", body, fast, slow, found)
			}
		}
	})
}

func BenchmarkDecodeReport(b *testing.B) {
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	schema := registry.Schema(reflect.TypeFor[validationtest.Report](), true, "")
	v := NewValidator(registry)
	report := validationtest.Report{Artifacts: []validationtest.Artifact{}}
	for i := range 100 {
		report.Artifacts = append(report.Artifacts, validationtest.Artifact{
			Digests: map[string]validationtest.Digest{fmt.Sprintf("registry.example.com/app-%d:1.2.3", i): validationtest.Digest(strings.Repeat("ab", 32))}, CreatedAt: 1_700_000_000})
	}
	body, err := json.Marshal(report)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("fast", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			if _, ok := DecodeFast[validationtest.Report](body); !ok {
				b.Fatal("refused")
			}
		}
	})
	b.Run("slow", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			parsed, _ := ParseJSON(body, "body", Findings{})
			if DecodeParsed[validationtest.Report](v, schema, parsed, "", Findings{}) == nil {
				b.Fatal("refused")
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			var value validationtest.Report
			if err := json.Unmarshal(body, &value); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// mustDecode decodes a body without a limit of memory.
func mustDecode[T any](v *Validator, s *huma.Schema, body []byte, found Findings) *T {
	value, err := DecodeStrict[T](memory.Unlimited(), v, s, body, found)
	if err != nil {
		panic(err)
	}
	return value
}
