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
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/spool"
	"attestry/evidence"
)

const (
	fileTooLargeMessage = "File size exceeds 10MB limit"
	formBrokenMessage   = "The form is malformed or breaks off"
	// formOverhead is what a form may hold beside its data and one file: headers,
	// boundaries, parts that nobody asked for.
	formOverhead = mebibyte
	// maxSentFilename bounds the name of a file, in characters.
	maxSentFilename = 1024
)

// errNotHeld answers a form whose early file finds no room in the folder for temporary
// files.
var errNotHeld = &evidence.Error{
	Code: evidence.Unavailable, Message: "The file could not be held, please try again.", RetryAfter: time.Second,
}

// formFile is a file of a form while it is on its way in. It must be read before
// the next one; reading more than 10 MiB of it is a TooLarge error.
type formFile struct {
	Field, Filename, ContentType string
	io.Reader
}

// form is a multipart body whose JSON part has been read. Its files may come before
// that part or behind it, in any order, each at most once.
type form[T any] struct {
	Data   *T
	memory *memory
	parts  *multipart.Reader
	// name is that of the JSON part.
	name string
	// fields are the names of files, true for those that have come.
	fields map[string]bool
	// held are the files that came before the JSON part.
	held []heldFile
}

// heldFile is a file that is held until the data of its form are known.
type heldFile struct {
	formFile
	content *spool.Spool
}

// Files hands the files of the form to take, one after the other, and returns its
// error. Parts of other names are skipped, and so are those without a name and
// content, which is how forms send no file.
func (f *form[T]) Files(take func(formFile) error) error {
	for _, file := range f.held {
		if err := take(file.formFile); err != nil {
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
		if err != nil {
			return err
		}
		if file == nil {
			continue
		}
		if err := take(*file); err != nil {
			return err
		}
	}
}

// next returns the next part that the operation knows, or io.EOF.
func (f *form[T]) next() (*multipart.Part, error) {
	for {
		part, err := f.parts.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		case err != nil:
			return nil, formBroken(err)
		case part.FormName() == "" || !utf8.ValidString(part.FormName()):
			// The name of the part cannot be read. Skipping it could lose a file silently.
			return nil, evidence.NewError(evidence.Invalid, formBrokenMessage)
		}
		if _, known := f.fields[part.FormName()]; known || part.FormName() == f.name {
			return part, nil
		}
	}
}

// file returns the file of a part, nil for one without a name and content.
func (f *form[T]) file(part *multipart.Part) (*formFile, error) {
	field, filename := part.FormName(), part.FileName()
	if err := checkFilename(field, filename); err != nil {
		return nil, err
	}
	content, err := sentContent(filename, &limitedFile{reader: part, left: fileLimit})
	if err != nil || content == nil {
		return nil, err
	}
	if f.fields[field] {
		found := findings{}
		found.add(field, "Input should be a single file", filename)
		return nil, invalid(found)
	}
	f.fields[field] = true
	return &formFile{Field: field, Filename: filename, ContentType: part.Header.Get("Content-Type"), Reader: content}, nil
}

func checkFilename(field, filename string) error {
	found := findings{}
	at := field + ".filename"
	if !utf8.ValidString(filename) {
		found.add(at, unreadableText, filename)
	} else if utf8.RuneCountInString(filename) > maxSentFilename {
		found.add(at, tooLongText(maxSentFilename), filename)
	}
	return invalid(found)
}

// sentContent is the content of a file part; nil for one without name and content.
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
		return nil, formBroken(err)
	}
	return io.MultiReader(bytes.NewReader(beginning), part), nil
}

// repeatedData refuses a second JSON part.
func repeatedData(part *multipart.Part) error {
	beginning, err := io.ReadAll(io.LimitReader(part, utf8.UTFMax*maxShown))
	if err != nil {
		return formBroken(err)
	}
	found := findings{}
	found.add(part.FormName(), "Input should be a single part", string(beginning))
	return invalid(found)
}

// hold keeps a file that comes before the JSON part.
func (f *form[T]) hold(part *multipart.Part) error {
	file, err := f.file(part)
	if err != nil || file == nil {
		return err
	}
	reader := &failingReader{reader: file.Reader}
	content, err := spool.New(reader)
	if reader.err != nil {
		return formBroken(reader.err)
	}
	if err != nil {
		return fmt.Errorf("hold a file of a form: %w: %w", err, errNotHeld)
	}
	file.Reader = content
	f.held = append(f.held, heldFile{formFile: *file, content: content})
	return nil
}

// close frees the files that are held. They were only read, so that an error loses
// nothing.
func (f *form[T]) close() {
	for _, file := range f.held {
		_ = file.content.Close()
	}
}

// withForm makes an operation of a handler that takes a form: the named part with
// JSON for T, and files of the given fields.
func withForm[I, T, O any](part string, files []string, handler func(context.Context, *I, *form[T]) (*O, error)) binder {
	return func(s *Server, route Route) error {
		schema := s.registry.Schema(reflect.TypeFor[T](), true, route.OperationID)
		return register(s, route, s.formBody(route, part, files, schema), func(ctx context.Context, in *I) (*O, error) {
			found := requestOf(ctx).findings
			f := newForm[T](requestOf(ctx), part, files)
			defer f.close()
			if err := f.readData(s.validator, schema, found); err != nil {
				return nil, err
			}
			if err := invalid(found); err != nil {
				return nil, err
			}
			return handler(ctx, in, f)
		})
	}
}

// formBody describes a form, by a component that is named for its operation
// (contract/requests.md).
func (s *Server) formBody(route Route, part string, files []string, schema *huma.Schema) *huma.RequestBody {
	whole := &huma.Schema{Type: huma.TypeObject, Required: []string{part}, Properties: map[string]*huma.Schema{part: schema}}
	for _, field := range files {
		whole.Properties[field] = &huma.Schema{Type: huma.TypeString, Format: "binary"}
	}
	component := "Body_" + route.OperationID
	s.registry.Map()[component] = whole
	return &huma.RequestBody{
		Required: true,
		Content: map[string]*huma.MediaType{"multipart/form-data": {
			Schema:   &huma.Schema{Ref: componentPrefix + component},
			Encoding: map[string]*huma.Encoding{part: {ContentType: "application/json"}},
		}},
	}
}

// newForm makes the form of a request. One of another content type has no parts.
func newForm[T any](r *request, name string, files []string) *form[T] {
	f := &form[T]{memory: r.memory, name: name, fields: map[string]bool{}}
	for _, field := range files {
		f.fields[field] = false
	}
	kind, parameters, err := mime.ParseMediaType(r.header("Content-Type"))
	if err == nil && kind == "multipart/form-data" && parameters["boundary"] != "" {
		f.parts = multipart.NewReader(boundedForm(r.body, len(files)), parameters["boundary"])
	}
	return f
}

// readData reads the form up to the end of its JSON part, and holds the files before
// it.
func (f *form[T]) readData(v *validator, schema *huma.Schema, found findings) error {
	if f.parts == nil {
		found.add(f.name, missingText, nil)
		return nil
	}
	for {
		part, err := f.next()
		switch {
		case errors.Is(err, io.EOF):
			found.add(f.name, missingText, nil)
			return nil
		case err != nil:
			return err
		case part.FormName() == f.name:
			return f.decode(part, v, schema, found)
		}
		if err := f.hold(part); err != nil {
			return err
		}
	}
}

// decode reads the JSON part.
func (f *form[T]) decode(part io.Reader, v *validator, schema *huma.Schema, found findings) error {
	raw, err := io.ReadAll(io.LimitReader(part, jsonLimit+1))
	switch {
	case err != nil:
		return formBroken(err)
	case len(raw) > jsonLimit:
		return partTooLarge(f.name, jsonLimit)
	}
	if err := f.memory.take(int64(len(raw)) + parsedSize(raw)); err != nil {
		return err
	}
	parsed, ok := parseJSON(raw, f.name, found)
	if !ok {
		return nil
	}
	if _, ok := parsed.(map[string]any); !ok {
		// Named for its part, as there is no other body to be wrong.
		v.check(schema, parsed, f.name, found)
		return nil
	}
	f.Data = decodeParsed[T](v, schema, parsed, found)
	return nil
}

func partTooLarge(name string, limit int64) error {
	return evidence.NewError(evidence.TooLarge, fmt.Sprintf("%s exceeds the limit of %d MiB", name, limit/mebibyte))
}

// boundedForm bounds a form as a whole, so that parts that are passed over cost
// no more than those that are asked for.
func boundedForm(body io.Reader, files int) io.Reader {
	return &limitedFile{reader: body, left: jsonLimit + int64(files)*fileLimit + formOverhead}
}

// limitedFile is a reader that fails, rather than ends, beyond its limit.
type limitedFile struct {
	reader io.Reader
	left   int64
}

func (l *limitedFile) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.reader.Read(p)
	if int64(n) > l.left {
		n, err = int(l.left), evidence.NewError(evidence.TooLarge, fileTooLargeMessage)
	}
	l.left -= int64(n)
	return n, err
}

// documentMultiple is what each byte of a document becomes, at most, while it is parsed.
const documentMultiple = 32

// readFile reads a file that is a document to be parsed, if there is memory for it.
func readFile(ctx context.Context, file io.Reader) ([]byte, error) {
	m := requestOf(ctx).memory
	text, err := m.readAll(file, fileLimit+1)
	if err != nil {
		return nil, formBroken(err)
	}
	return text, m.take(documentMultiple * int64(len(text)))
}

// formBroken words what goes wrong between the parts of a form.
func formBroken(err error) error {
	var ours *evidence.Error
	if errors.As(err, &ours) {
		return ours
	}
	broken := bodyBroken(err)
	var late *problem
	if errors.As(broken, &late) && late.status == http.StatusRequestTimeout {
		return broken
	}
	return evidence.NewError(evidence.Invalid, formBrokenMessage)
}

// failingReader remembers what went wrong with reading.
type failingReader struct {
	reader io.Reader
	err    error
}

func (f *failingReader) Read(p []byte) (int, error) {
	n, err := f.reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}
