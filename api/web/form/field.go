package form

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/resource"
)

// The location of a field in the request.
const (
	inPath  = "path"
	inQuery = "query"
	inBody  = "body"
	inFile  = "file"
)

// The kinds of fields, which select their HTML.
const (
	kindText    = "text"
	kindLong    = "long"    // a text of several lines
	kindLines   = "lines"   // a list with one element a line
	kindChoice  = "choice"  // one of Choices
	kindChoices = "choices" // any of Choices
	kindTime    = "time"    // a time in UTC, Unix seconds in the API
	kindNumber  = "number"
	kindJSON    = "json"
)

// Field is a parameter, a member of the body, or a file.
type Field struct {
	Name, Help, Kind string
	Required         bool
	Choices          []string
	// Example is a value in JSON, "" for none.
	Example string
	// Values are the field's values. All kinds but choices have one, with several lines for a list.
	Values []string
	// Filled is set if the form was filled in with the stored value. An emptied one is sent.
	Filled bool
	// Faults are the API's errors about the value.
	Faults []string
	in     string
	flag   bool // a choice of true and false
	// restored is set if the value is the stored one, which is sent with its blanks.
	restored bool
}

// InPath reports whether the field is a parameter of the path.
func (f *Field) InPath() bool { return f.in == inPath }

// Identifies reports whether the field names the object of the operation.
func (f *Field) Identifies() bool { return f.InPath() || f.in == inBody && f.Name == "name" }

// isStored reports whether the operation stores the value of the field.
func (f *Field) isStored() bool { return f.in == inBody || f.in == inFile }

// Value is the field's value as text.
func (f *Field) Value() string { return strings.Join(f.Values, "\n") }

// IsLine reports whether an input can hold the value: browsers delete the line breaks in inputs.
func (f *Field) IsLine() bool {
	return (f.Kind == kindText || f.Kind == kindNumber) && !strings.ContainsAny(f.Value(), "\r\n")
}

// Has reports whether a choice is selected.
func (f *Field) Has(choice string) bool { return slices.Contains(f.Values, choice) }

func (f *Field) setKind(schema *huma.Schema, resolve func(*huma.Schema) *huma.Schema) {
	switch {
	case f.in == inFile || f.Name == "content":
		f.Kind = kindLong
	case len(schema.Enum) > 0:
		f.Kind, f.Choices = kindChoice, texts(schema.Enum)
		if f.InPath() && len(f.Choices) == 1 {
			f.Values = f.Choices // so that the stored values of the only object are shown
		}
	case schema.Type == huma.TypeBoolean:
		f.Kind, f.Choices, f.flag = kindChoice, []string{"true", "false"}, true
	case schema.Type == huma.TypeInteger && strings.HasSuffix(f.Name, "_at") || strings.HasSuffix(f.Name, "_timestamp"):
		f.Kind = kindTime
	case schema.Type == huma.TypeInteger || schema.Type == huma.TypeNumber:
		f.Kind = kindNumber
	case schema.Type == huma.TypeArray:
		items := resolve(schema.Items)
		switch {
		case len(items.Enum) > 0:
			f.Kind, f.Choices = kindChoices, texts(items.Enum)
		case items.Type == huma.TypeString:
			f.Kind = kindLines
		default:
			f.Kind = kindJSON
		}
	case schema.Type == huma.TypeString:
		f.Kind = kindText
	default:
		f.Kind = kindJSON
	}
}

func texts(values []any) []string {
	return resource.Map(values, func(value *any) string { return fmt.Sprint(*value) })
}

func (f *Field) prefill(value any) {
	switch value := value.(type) {
	case nil:
		return
	case string:
		f.Values = []string{value}
	case bool:
		f.Values = []string{strconv.FormatBool(value)}
	case float64:
		f.Values = []string{strconv.FormatFloat(value, 'f', -1, 64)}
		if f.Kind == kindTime {
			f.Values = []string{time.Unix(int64(value), 0).UTC().Format(TimeLayout)}
		}
	default:
		list, ok := value.([]any)
		if ok && (f.Kind == kindLines || f.Kind == kindChoices) {
			f.Values, f.Filled = texts(list), true // an empty list may not be the default
			return
		}
		if encoded, err := json.Marshal(value); err == nil {
			f.Values = []string{string(encoded)}
		}
	}
	f.Filled = f.text() != ""
}

// TimeLayout is the format of times from browsers.
const TimeLayout = "2006-01-02T15:04"

// mayBeEmpty reports whether an empty text is sent to the API, which accepts it or answers with an error.
func (f *Field) mayBeEmpty() bool { return f.Required && f.Kind == kindText }

func (f *Field) text() string { return strings.TrimSpace(f.Value()) }

// list is the value as a list of lines. A time is one element in Unix seconds.
func (f *Field) list() []string {
	list := []string{}
	if at, err := time.Parse(TimeLayout, f.text()); err == nil && f.Kind == kindTime {
		return []string{strconv.FormatInt(at.Unix(), 10)}
	}
	for line := range strings.Lines(f.text()) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// value is the JSON value for the API. A text that cannot be parsed is sent as it is; the API answers the error.
func (f *Field) value() any {
	text := f.text()
	switch {
	case f.Kind == kindLines || f.Kind == kindChoices:
		return f.list()
	case f.restored || f.Kind == kindLong || f.Kind == kindText && !f.IsLine():
		return f.Value()
	case f.Kind == kindTime:
		if at, err := time.Parse(TimeLayout, text); err == nil {
			return at.Unix()
		}
	case f.Kind == kindNumber || f.Kind == kindJSON || f.flag:
		if json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
	}
	return text
}
