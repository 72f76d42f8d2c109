// Package form makes forms of operations of the API. A form has a field for each parameter and each member of the body
// in the OpenAPI description. The API validates what a form sends.
package form

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
)

// Form is the form of an operation.
type Form struct {
	Operation server.Operation
	Fields    []*Field
	// Stored is the SHA-256 of the stored values that the form was filled in with, "" for none.
	Stored string
	// part is the name of the multipart body's JSON part, "" if the body is JSON.
	part string
}

// New makes the empty form of an operation. The organization is not a field, as the page's path has it.
func New(operation server.Operation) *Form {
	f := &Form{Operation: operation}
	for _, parameter := range operation.Parameters {
		if parameter.In == "path" && parameter.Name != "org" || parameter.In == "query" {
			f.add(parameter.In, parameter.Name, parameter.Schema, parameter.Required)
		}
	}
	if operation.Body == nil {
		return f
	}
	if media := operation.Body.Content["application/json"]; media != nil {
		f.addMembers(media.Schema, media.Example)
		return f
	}
	media := operation.Body.Content["multipart/form-data"]
	examples := membersOf(media.Example)
	parts := operation.Resolve(media.Schema)
	for _, name := range sortedNames(parts) {
		if part := operation.Resolve(parts.Properties[name]); part.Type == huma.TypeObject {
			f.part = name
			f.addMembers(part, examples[name])
		}
	}
	for _, name := range sortedNames(parts) {
		if name != f.part {
			f.add(inFile, name, parts.Properties[name], false)
		}
	}
	return f
}

// addMembers adds the members of a body, required ones first.
func (f *Form) addMembers(body *huma.Schema, example any) {
	body = f.Operation.Resolve(body)
	examples := membersOf(example)
	for _, name := range sortedNames(body) {
		field := f.add(inBody, name, body.Properties[name], slices.Contains(body.Required, name))
		if field.Kind == kindJSON {
			field.Example = string(examples[name])
		}
	}
}

// membersOf decodes an example, nil for none.
func membersOf(example any) (members map[string]json.RawMessage) {
	if raw, ok := example.(json.RawMessage); ok && json.Unmarshal(raw, &members) != nil {
		return nil
	}
	return members
}

func (f *Form) add(in, name string, schema *huma.Schema, required bool) *Field {
	field := &Field{Name: name, Required: required, in: in, Help: schema.Description}
	schema = f.Operation.Resolve(schema)
	field.Help = cmp.Or(field.Help, schema.Description)
	field.setKind(schema, f.Operation.Resolve)
	f.Fields = append(f.Fields, field)
	return field
}

// sortedNames are the names of a schema's properties: required ones in the order of the schema, then the others sorted.
func sortedNames(schema *huma.Schema) []string {
	isRequired := func(name string) bool { return slices.Contains(schema.Required, name) }
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(schema.Properties)), isRequired)
	return append(slices.Clone(schema.Required), others...)
}

// newlines replaces all line breaks by LF. Browsers send CRLF for each.
var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// Fill sets the fields that have a value in values. A list may be one value with several lines. The values of a sent
// form also have Stored and the names of the fields with Filled.
func (f *Form) Fill(values url.Values) {
	f.Stored = values.Get(".stored")
	for _, field := range f.Fields {
		field.Filled = slices.Contains(values[".filled"], field.Name)
		if given := values[field.Name]; len(given) > 0 {
			field.Values = resource.Map(given, func(value *string) string { return newlines.Replace(*value) })
		}
	}
}

// Prefill sets empty fields of the body to the members of an answer. If the user then empties one that is not a file,
// the form sends its empty value, which changes what is stored.
func (f *Form) Prefill(answer map[string]any) {
	f.Stored = f.digest(answer)
	for _, field := range f.Fields {
		if value, ok := answer[field.Name]; ok && field.isStored() && len(field.Values) == 0 {
			field.prefill(value)
		}
	}
}

// Outdated reports whether the form was filled in with other values than those of an answer.
func (f *Form) Outdated(answer map[string]any) bool {
	return f.Stored != "" && f.Stored != f.digest(answer)
}

// digest is the SHA-256 of the members of an answer that the form can change, "" without an answer.
func (f *Form) digest(answer map[string]any) string {
	if answer == nil {
		return ""
	}
	members := map[string]any{}
	for _, field := range f.Fields {
		if field.isStored() {
			members[field.Name] = answer[field.Name]
		}
	}
	encoded, _ := json.Marshal(members) // what was read from JSON always has a form in JSON
	return evidence.SHA256(encoded)
}

// Restore replaces values that differ from the members of an answer only in line breaks by these members.
func (f *Form) Restore(answer map[string]any) {
	for _, field := range f.Fields {
		if stored, ok := answer[field.Name].(string); ok && newlines.Replace(stored) == field.Value() {
			field.Values, field.restored = []string{stored}, true
		}
	}
}

// Fault adds faults, by their location in the request, to their fields, and returns those without a field.
func (f *Form) Fault(faults map[string]string) map[string]string {
	others := map[string]string{}
	for place, text := range faults {
		if field := f.at(place); field != nil {
			field.Faults = append(field.Faults, text)
		} else {
			others[place] = text
		}
	}
	return others
}

// at returns the field at a location: that of the first name which a field has, nil for none.
func (f *Form) at(place string) *Field {
	for name := range strings.FieldsFuncSeq(place, isSeparator) {
		if field, ok := evidence.First(f.Fields, func(field *Field) bool { return field.Name == name }); ok {
			return field
		}
	}
	return nil
}

func isSeparator(char rune) bool { return strings.ContainsRune(".[]/ ", char) }

// Choices are the fields that filter a list: the query parameters except those of pages.
func (f *Form) Choices() []*Field {
	return slices.DeleteFunc(slices.Clone(f.Fields), func(field *Field) bool {
		return field.in != inQuery || slices.Contains([]string{"page", "per_page", "after"}, field.Name)
	})
}

// HasPathNames reports whether the path names one object, which the API may also read there.
func (f *Form) HasPathNames() bool {
	return slices.ContainsFunc(f.Fields, func(field *Field) bool { return field.in == inPath })
}

// PathNames are the values of the names in the path.
func (f *Form) PathNames() string {
	var names []string
	for _, field := range f.Fields {
		if field.in == inPath {
			names = append(names, field.text())
		}
	}
	return strings.Join(names, ", ")
}

// LacksPathNames reports whether a name in the path is missing, and adds a fault to its field.
func (f *Form) LacksPathNames() (missing bool) {
	for _, field := range f.Fields {
		if field.in == inPath && field.text() == "" {
			field.Faults = append(field.Faults, "Field required")
			missing = true
		}
	}
	return missing
}

// Target is the address of the operation in an organization, below /api/v2, with the values of its parameters. ok is
// false if a name in the path is missing.
func (f *Form) Target(org string) (target string, ok bool) {
	target = strings.ReplaceAll(f.Operation.Path, "{org}", url.PathEscape(org))
	query := url.Values{}
	for _, field := range f.Fields {
		switch value := field.text(); {
		case field.in == inPath && value == "":
			return "", false
		case field.in == inPath:
			target = strings.ReplaceAll(target, "{"+field.Name+"}", url.PathEscape(value))
		case field.in == inQuery && value != "":
			query[field.Name] = field.list()
		}
	}
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	return target, true
}

// Query is the request of the operation with the form's values. Path names must not be missing (LacksPathNames).
func (f *Form) Query(org string) (server.PageQuery, error) {
	target, _ := f.Target(org)
	query := server.PageQuery{Method: f.Operation.Method, Target: target}
	if f.Operation.Body == nil {
		return query, nil
	}
	members := map[string]any{}
	for _, field := range f.Fields {
		if field.in == inBody && (field.text() != "" || field.mayBeEmpty() || field.Filled) {
			members[field.Name] = field.value()
		}
	}
	body, _ := json.Marshal(members) // texts, numbers, lists of texts and valid JSON
	query.ContentType, query.Body = "application/json", body
	if f.part == "" {
		return query, nil
	}
	var files []File
	for _, field := range f.Fields {
		if field.in == inFile && field.text() != "" {
			files = append(files, File{field.Name, field.Name + ".yml", strings.NewReader(field.Value())})
		}
	}
	var err error
	query.ContentType, query.Body, err = Multipart(f.part, body, files...)
	return query, err
}
