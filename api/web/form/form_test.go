package form

import (
	"encoding/json"
	"mime"
	"mime/multipart"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/server"
)

// body is a body with members of all kinds.
func body() *huma.Schema {
	text := &huma.Schema{Type: huma.TypeString}
	return &huma.Schema{Type: huma.TypeObject, Required: []string{"name", "mode"}, Properties: map[string]*huma.Schema{
		"name": text, "note": text, "mode": {Type: huma.TypeString, Enum: []any{"warn", "deny"}},
		"enabled": {Type: huma.TypeBoolean}, "hours": {Type: huma.TypeInteger}, "expires_at": {Type: huma.TypeInteger},
		"namespaces": {Type: huma.TypeArray, Items: text}, "triggers": {Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString, Enum: []any{"A", "B"}}},
		"targets": {Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeObject}},
	}}
}

func operation(content map[string]*huma.MediaType) server.Operation {
	text := &huma.Schema{Type: huma.TypeString}
	return server.Operation{
		Route: server.Route{Method: "PUT", Path: "/things/{org}/{thing}"}, Body: &huma.RequestBody{Content: content},
		Parameters: []*huma.Param{{Name: "org", In: "path", Schema: text}, {Name: "thing", In: "path", Schema: text, Required: true}, {Name: "force", In: "query", Schema: text}},
	}
}

func jsonForm() *Form {
	return New(operation(map[string]*huma.MediaType{"application/json": {Schema: body(), Example: json.RawMessage(`{"name":"x","targets":[{"type":"SLACK"}]}`)}}))
}

func field(t *testing.T, f *Form, name string) *Field {
	t.Helper()
	for _, one := range f.Fields {
		if one.Name == name {
			return one
		}
	}
	t.Fatalf("there is no field %s", name)
	return nil
}

func TestFieldsHaveTheKindOfTheirMembers(t *testing.T) {
	f := jsonForm()
	for name, kind := range map[string]string{
		"thing": kindText, "force": kindText, "name": kindText, "mode": kindChoice, "enabled": kindChoice, "hours": kindNumber,
		"expires_at": kindTime, "namespaces": kindLines, "triggers": kindChoices, "targets": kindJSON,
	} {
		if got := field(t, f, name); got.Kind != kind {
			t.Errorf("%s is a %s, want %s", name, got.Kind, kind)
		}
	}
	if got := f.Fields[2].Name + f.Fields[3].Name; got != "namemode" || !f.Fields[2].Required || len(f.Fields) != 11 {
		t.Errorf("the first members are %s of %d fields", got, len(f.Fields))
	}
	if targets := field(t, f, "targets"); targets.Example != `[{"type":"SLACK"}]` || field(t, f, "name").Example != "" {
		t.Errorf("the example is %s", targets.Example)
	}
}

func TestFormsBecomeTheRequestOfTheirOperation(t *testing.T) {
	for name, row := range map[string]struct {
		filled  url.Values
		emptied []string
		want    string
	}{
		"what is not filled in is left out":       {url.Values{"name": {"a"}, "mode": {"warn"}}, nil, `{"mode":"warn","name":"a"}`},
		"a text that is required may be empty":    {url.Values{"mode": {"warn"}}, nil, `{"mode":"warn","name":""}`},
		"all kinds":                               {url.Values{"name": {"a"}, "enabled": {"true"}, "hours": {"12"}, "expires_at": {"2030-01-02T03:04"}, "namespaces": {"x\r\n\r\n y "}, "triggers": {"A", "B"}, "targets": {`[{"type":"SLACK"}]`}}, nil, `{"enabled":true,"expires_at":1893553440,"hours":12,"name":"a","namespaces":["x","y"],"targets":[{"type":"SLACK"}],"triggers":["A","B"]}`},
		"what cannot be read is sent as a text":   {url.Values{"name": {"a"}, "hours": {"many"}, "expires_at": {"soon"}, "targets": {"{"}}, nil, `{"expires_at":"soon","hours":"many","name":"a","targets":"{"}`},
		"what was filled in and is empty is sent": {url.Values{"name": {"a"}, "note": {""}, "namespaces": {" "}}, []string{"note", "namespaces"}, `{"name":"a","namespaces":[],"note":""}`},
	} {
		t.Run(name, func(t *testing.T) {
			f := jsonForm()
			row.filled["thing"], row.filled["force"], row.filled[".filled"] = []string{"a/b"}, []string{"yes"}, row.emptied
			f.Fill(row.filled)
			query, err := f.Query("acme")
			if err != nil || query.Method != "PUT" || query.Target != "/things/acme/a%2Fb?force=yes" || string(query.Body) != row.want {
				t.Errorf("%s %s %s %v", query.Method, query.Target, query.Body, err)
			}
		})
	}
}

func TestFormsWithFilesBecomeParts(t *testing.T) {
	parts := &huma.Schema{Type: huma.TypeObject, Required: []string{"payload"}, Properties: map[string]*huma.Schema{
		"payload": body(), "policy_file": {Type: huma.TypeString, Format: "binary"}, "other_file": {Type: huma.TypeString, Format: "binary"},
	}}
	f := New(operation(map[string]*huma.MediaType{"multipart/form-data": {Schema: parts}}))
	f.Fill(url.Values{"thing": {"a"}, "name": {"n"}, "policy_file": {"line 1\nline 2\n"}})
	query, err := f.Query("acme")
	if err != nil {
		t.Fatal(err)
	}
	_, parameters, err := mime.ParseMediaType(query.ContentType)
	if err != nil {
		t.Fatal(err)
	}
	sent, err := multipart.NewReader(strings.NewReader(string(query.Body)), parameters["boundary"]).ReadForm(1 << 20)
	if err != nil || !reflect.DeepEqual(sent.Value["payload"], []string{`{"name":"n"}`}) || len(sent.File) != 1 || sent.File["policy_file"][0].Size != 14 {
		t.Errorf("sent %v, %v", sent, err)
	}
}

func TestStoredValuesAreFilledIn(t *testing.T) {
	f := jsonForm()
	f.Fill(url.Values{"name": {"mine"}})
	var stored map[string]any
	if err := json.Unmarshal([]byte(`{"name":"theirs","thing":"other","mode":"deny","enabled":false,"hours":2.5,"expires_at":1893553440,"namespaces":["x","y"],"triggers":["B"],"targets":[{"a":1}],"note":null}`), &stored); err != nil {
		t.Fatal(err)
	}
	f.Prefill(stored)
	for name, want := range map[string]string{
		"name": "mine", "thing": "", "mode": "deny", "enabled": "false", "hours": "2.5", "expires_at": "2030-01-02T03:04",
		"namespaces": "x\ny", "triggers": "B", "targets": `[{"a":1}]`, "note": "",
	} {
		if got := field(t, f, name).Value(); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if triggers := field(t, f, "triggers"); !triggers.Has("B") || triggers.Has("A") || !triggers.Filled || field(t, f, "name").Filled {
		t.Errorf("filled in are %+v", triggers)
	}
}

func TestFormsAreOutdatedOnceWhatTheyChangeIsChanged(t *testing.T) {
	opened := jsonForm()
	opened.Prefill(map[string]any{"note": "a", "last_changed": 1.0})
	sent := jsonForm()
	sent.Fill(url.Values{".stored": {opened.Stored}, "note": {"b"}})
	for name, row := range map[string]struct {
		form   *Form
		stored map[string]any
		want   bool
	}{
		"the same":                  {sent, map[string]any{"note": "a", "last_changed": 1.0}, false},
		"what the form cannot send": {sent, map[string]any{"note": "a", "last_changed": 2.0}, false},
		"another value":             {sent, map[string]any{"note": "c", "last_changed": 1.0}, true},
		"nothing any more":          {sent, nil, true},
		"a form that began empty":   {jsonForm(), map[string]any{"note": "c"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := row.form.Outdated(row.stored); got != row.want {
				t.Errorf("outdated is %t", got)
			}
		})
	}
}

func TestStoredListWithoutElementsIsSent(t *testing.T) {
	f := jsonForm()
	f.Prefill(map[string]any{"namespaces": []any{}, "triggers": nil})
	if !field(t, f, "namespaces").Filled || field(t, f, "triggers").Filled {
		t.Errorf("filled in are %+v", f.Fields)
	}
}

func TestLineBreaksAreLFUnlessOthersAreStored(t *testing.T) {
	for name, row := range map[string]struct {
		stored any
		sent   string
		want   string
	}{
		"nothing is stored":    {nil, "a\r\nb\r\n", "a\nb\n"},
		"the same is stored":   {"a\r\nb\nc\rd", "a\r\nb\r\nc\r\nd", "a\r\nb\nc\rd"},
		"another is stored":    {"a\r\nb", "a\r\nc", "a\nc"},
		"a text of one line":   {"a", " b ", "b"},
		"a number is no text":  {1.5, "1.5", "1.5"},
		"the stored has an LF": {"a\nb", "a\r\nb", "a\nb"},
	} {
		t.Run(name, func(t *testing.T) {
			f := jsonForm()
			f.Fill(url.Values{"note": {row.sent}})
			f.Restore(map[string]any{"note": row.stored})
			if got := field(t, f, "note").value(); got != row.want {
				t.Errorf("sent is %q, want %q", got, row.want)
			}
		})
	}
}

func TestFaultsAreAssignedToTheirFields(t *testing.T) {
	f := jsonForm()
	others := f.Fault(map[string]string{"name": "is empty", "targets[0].name": "is unknown", "somewhere": "is wrong"})
	if !reflect.DeepEqual(others, map[string]string{"somewhere": "is wrong"}) ||
		!reflect.DeepEqual(field(t, f, "name").Faults, []string{"is empty"}) || !reflect.DeepEqual(field(t, f, "targets").Faults, []string{"is unknown"}) {
		t.Errorf("others are %v", others)
	}
}

func TestTargetNeedsAllNamesOfThePath(t *testing.T) {
	f := jsonForm()
	if _, ok := f.Target("acme"); ok || !f.HasPathNames() || len(f.Choices()) != 1 {
		t.Error("the path is whole without the thing")
	}
	f.Fill(url.Values{"thing": {"a"}})
	if target, ok := f.Target("acme"); !ok || target != "/things/acme/a" || f.PathNames() != "a" {
		t.Errorf("the target is %s", target)
	}
}

func TestBlanksOfAStoredTextAreSent(t *testing.T) {
	f := New(server.Operation{Body: &huma.RequestBody{Content: map[string]*huma.MediaType{"application/json": {Schema: body()}}}})
	f.Fill(url.Values{"name": {" x "}, "note": {" stored "}})
	f.Restore(map[string]any{"note": " stored "})
	query, err := f.Query("acme")
	if err != nil || !strings.Contains(string(query.Body), `"note":" stored "`) || !strings.Contains(string(query.Body), `"name":"x"`) {
		t.Errorf("sent %s, %v", query.Body, err)
	}
}
