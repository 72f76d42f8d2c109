package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/memory"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/storage/spool"
)

const (
	formBrokenMessage = "The form is malformed or breaks off"
	// formOverhead bounds the rest of a form, apart from its data and files: headers, boundaries, unknown parts.
	formOverhead = Mebibyte
	// maxHeldInMemory bounds a file that is held in memory until the data are read; larger ones are held on disk.
	maxHeldInMemory = 64 << 10
	// maxSentFilename bounds the name of a file, in characters.
	maxSentFilename = 1024
)

// errNotBuffered is the error if a file that comes before the data cannot be written to the temporary folder.
var errNotBuffered = evidence.Busy("The file could not be held, please try again.")

// FormFile is a file of a form that is being received. It must be read before the next one. Reading more than 10 MiB
// of it returns an *http.MaxBytesError, which is answered 413.
type FormFile struct {
	Field, Filename, ContentType string
	io.Reader
}

// Form is a multipart body whose JSON part has been read. It may have one file, before or after the JSON part.
type Form[T any] struct {
	Data   *T
	memory *memory.Account
	// contentType is that of the body.
	contentType string
	parts       *multipart.Reader
	// name is that of the JSON part.
	name string
	// field is the name of the file, and received reports whether it was received.
	field    string
	received bool
	// held is the file if it came before the JSON part, and spool its content.
	held  *FormFile
	spool *spool.Spool
}

// File calls take with the file of the form, if it has one, and returns its error. Parts with other names are skipped,
// and so are those without a filename and content, which browsers send if no file was chosen.
func (f *Form[T]) File(take func(FormFile) error) error {
	if f.held != nil {
		if err := take(*f.held); err != nil {
			return err
		}
	}
	for {
		part, err := f.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if part.FormName() == f.name {
			return repeatedData(part)
		}
		file, err := f.file(part)
		if err == nil && file != nil {
			err = take(*file)
		}
		if err != nil {
			return err
		}
	}
}

// next returns the next part whose name the operation has, or io.EOF.
func (f *Form[T]) next() (*multipart.Part, error) {
	for {
		part, err := f.parts.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		case err != nil:
			return nil, MalformedForm(err)
		case part.FormName() == "" || !utf8.ValidString(part.FormName()):
			// Skipping a part without a readable name could lose a file silently.
			return nil, evidence.NewError(evidence.Invalid, formBrokenMessage)
		}
		if name := part.FormName(); name == f.field || name == f.name {
			return part, nil
		}
	}
}

// file returns the file of a part, nil for one without a filename and content.
func (f *Form[T]) file(part *multipart.Part) (*FormFile, error) {
	filename := part.FileName()
	if err := checkFilename(f.field, filename); err != nil {
		return nil, err
	}
	content, err := sentContent(filename, http.MaxBytesReader(nil, part, FileLimit))
	if err != nil || content == nil {
		return nil, err
	}
	if f.received {
		return nil, validation.Fault(f.field, "Input should be a single file", filename)
	}
	f.received = true
	return &FormFile{Field: f.field, Filename: filename, ContentType: part.Header.Get("Content-Type"), Reader: content}, nil
}

func checkFilename(field, filename string) error {
	switch at := field + ".filename"; {
	case !utf8.ValidString(filename):
		return validation.Fault(at, validation.UnreadableText, filename)
	case utf8.RuneCountInString(filename) > maxSentFilename:
		return validation.Fault(at, validation.TooLongText(maxSentFilename), filename)
	}
	return nil
}

// sentContent is the content of a file part, nil for one without a filename and content.
func sentContent(filename string, part io.Reader) (io.Reader, error) {
	if filename != "" {
		return part, nil
	}
	beginning := make([]byte, 1)
	_, err := io.ReadFull(part, beginning)
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, MalformedForm(err)
	}
	return io.MultiReader(bytes.NewReader(beginning), part), nil
}

// repeatedData refuses a second JSON part.
func repeatedData(part *multipart.Part) error {
	beginning, err := io.ReadAll(io.LimitReader(part, utf8.UTFMax*validation.MaxShown))
	if err != nil {
		return MalformedForm(err)
	}
	return validation.Fault(part.FormName(), "Input should be a single part", string(beginning))
}

// hold stores a file that comes before the JSON part.
func (f *Form[T]) hold(part *multipart.Part) error {
	file, err := f.file(part)
	if err != nil || file == nil {
		return err
	}
	content, err := spool.New(file.Reader, maxHeldInMemory)
	if _, refused := errors.AsType[*spool.FileError](err); refused {
		return fmt.Errorf("hold a file of a form: %w: %w", err, errNotBuffered)
	}
	if err != nil {
		return MalformedForm(err)
	}
	file.Reader = content
	f.held, f.spool = file, content
	return nil
}

// close closes a file that is held. Its content was only read, so that an error loses nothing.
func (f *Form[T]) close() {
	if f.spool != nil {
		_ = f.spool.Close()
	}
}

// WithForm makes an operation of a handler that takes a form: a part with JSON for T, and a file in a field.
func WithForm[I, T, O any](part, file string, handler func(context.Context, *I, *Form[T]) (*O, error)) Binder {
	return func(s *Server, route Route) error {
		schema := s.registry.Schema(reflect.TypeFor[T](), true, route.OperationID)
		return register(s, route, s.formBody(route, part, file, schema), func(ctx context.Context, in *I) (*O, error) {
			found := RequestOf(ctx).findings
			f, err := newForm[T](RequestOf(ctx), part, file)
			if err != nil {
				return nil, err
			}
			defer f.close()
			if err := f.readData(s.validator, schema, found); err != nil {
				return nil, err
			}
			if err := validation.Invalid(found); err != nil {
				return nil, err
			}
			return handler(ctx, in, f)
		})
	}
}

// formBody describes a form by a component that is named after its operation (docs/semantics.md 1.6).
func (s *Server) formBody(route Route, part, file string, schema *huma.Schema) *huma.RequestBody {
	component := "Body_" + route.OperationID
	s.registry.Map()[component] = &huma.Schema{Type: huma.TypeObject, Required: []string{part}, Properties: map[string]*huma.Schema{
		part: schema, file: {Type: huma.TypeString, Format: "binary"},
	}}
	return &huma.RequestBody{
		Required: true,
		Content: map[string]*huma.MediaType{"multipart/form-data": {
			Schema:   &huma.Schema{Ref: componentPrefix + component},
			Encoding: map[string]*huma.Encoding{part: {ContentType: "application/json"}},
		}},
	}
}

// newForm makes the form of a request. One of another content type has no parts.
func newForm[T any](r *Request, name, field string) (*Form[T], error) {
	if err := checkEncoding(r.header); err != nil {
		return nil, err
	}
	const limit = jsonLimit + FileLimit + formOverhead
	if r.Body != nil && int64(r.Body.Length) > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	f := &Form[T]{memory: r.Memory, contentType: r.header("Content-Type"), name: name, field: field}
	kind, parameters, err := mime.ParseMediaType(f.contentType)
	if err == nil && kind == "multipart/form-data" && parameters["boundary"] != "" {
		// The whole body is bounded, as skipped parts have no limit of their own.
		whole := http.MaxBytesReader(nil, io.NopCloser(r.Body), limit)
		// The last boundary needs no line break. Anything else at the end of the body is a form that breaks off.
		f.parts = multipart.NewReader(io.MultiReader(whole, strings.NewReader("\r\n"), truncated{}), parameters["boundary"])
	}
	return f, nil
}

type truncated struct{}

func (truncated) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// readData reads the form up to the end of its JSON part, and holds a file before it.
func (f *Form[T]) readData(v *validation.Validator, schema *huma.Schema, found validation.Findings) error {
	if f.parts == nil {
		found.Add(f.name, validation.MissingText, nil)
		found.Add("body", "Input should be multipart/form-data with a boundary", f.contentType)
		return nil
	}
	for {
		part, err := f.next()
		switch {
		case errors.Is(err, io.EOF):
			found.Add(f.name, validation.MissingText, nil)
			return nil
		case err != nil:
			return err
		case part.FormName() == f.name:
			if err := checkEncoding(part.Header.Get); err != nil {
				return err
			}
			return f.decode(part, v, schema, found)
		}
		if err := f.hold(part); err != nil {
			return err
		}
	}
}

// decode reads the JSON part.
func (f *Form[T]) decode(part io.Reader, v *validation.Validator, schema *huma.Schema, found validation.Findings) error {
	raw, err := io.ReadAll(io.LimitReader(part, jsonLimit+1))
	switch {
	case err != nil:
		return MalformedForm(err)
	case len(raw) > jsonLimit:
		return tooLarge(f.name, jsonLimit)
	}
	if err := f.memory.Take(int64(len(raw)) + validation.ParsedSize(raw)); err != nil {
		return err
	}
	parsed, ok := validation.ParseJSON(raw, f.name, found)
	if !ok {
		return nil
	}
	if _, ok := parsed.(map[string]any); !ok {
		// The finding is located at the part, as a form has no other body.
		v.Check(schema, parsed, f.name, found)
		return nil
	}
	f.Data = validation.DecodeParsed[T](v, schema, parsed, "", found)
	return nil
}

// documentMultiple bounds the memory for parsing a document, in bytes for each byte of it.
const documentMultiple = 32

// ReadFile calls take with the content of the YAML or JSON file of a form, of at most limit bytes, after reserving the
// memory to parse it. A larger file is read to its end, as one that exceeds FileLimit has another error.
func ReadFile(ctx context.Context, file func(func(FormFile) error) error, limit int, take func([]byte) error) error {
	m := RequestOf(ctx).Memory
	return file(func(sent FormFile) error {
		content, err := m.ReadAll(sent, limit+1)
		if err == nil && len(content) > limit {
			if _, err = io.Copy(io.Discard, sent); err == nil {
				return tooLarge(sent.Field, int64(limit))
			}
		}
		if err != nil {
			return MalformedForm(err)
		}
		if err := m.Take(documentMultiple * int64(len(content))); err != nil {
			return err
		}
		return take(content)
	})
}

// MalformedForm turns an error of reading a form into the answer.
func MalformedForm(err error) error {
	if ours, ok := errors.AsType[*evidence.Error](err); ok {
		return ours
	}
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return err
	}
	broken := bodyBroken(err)
	if late, ok := errors.AsType[*problem](broken); ok && late.status == http.StatusRequestTimeout {
		return broken
	}
	return evidence.NewError(evidence.Invalid, formBrokenMessage)
}

// FailingReader keeps the error of its Reader in Err, so that callers can tell it from an error of writing.
type FailingReader struct {
	Reader io.Reader
	Err    error
}

func (f *FailingReader) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.Err = err
	}
	return n, err
}
