package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"attestry/evidence"
)

const (
	fileTooLargeMessage = "File size exceeds 10MB limit"
	formBrokenMessage   = "The form is malformed or breaks off"
	// formOverhead is what a form may hold beside its data and one file: headers,
	// boundaries, parts that nobody asked for.
	formOverhead = mebibyte
)

// formFile is a file of a form while it is on its way in. It must be read before
// the next one; reading more than 10 MiB of it is a TooLarge error.
type formFile struct {
	Field, Filename, ContentType string
	io.Reader
}

// form is a multipart body whose JSON part has been read, and whose files, which
// follow it, have not.
type form[T any] struct {
	Data   *T
	parts  *multipart.Reader
	fields map[string]bool
}

// Files hands the files of the form to take, one after the other, and returns its
// error. Parts of other names are passed over.
func (f *form[T]) Files(take func(formFile) error) error {
	for {
		part, err := f.parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return formBroken(err)
		}
		if part.FormName() == "" {
			// Its head cannot be read; passed over, a file would be lost in silence.
			return evidence.NewError(evidence.Invalid, formBrokenMessage)
		}
		if !f.fields[part.FormName()] {
			continue
		}
		file := formFile{
			Field:       part.FormName(),
			Filename:    part.FileName(),
			ContentType: part.Header.Get("Content-Type"),
			Reader:      &limitedFile{reader: part, left: fileLimit},
		}
		if err := take(file); err != nil {
			return err
		}
	}
}

// withForm makes an operation of a handler that takes a form: the named part with
// JSON for T first, then files of the given fields.
func withForm[I, T, O any](part string, files []string, handler func(context.Context, *I, *form[T]) (*O, error)) binder {
	return func(s *Server, route Route) error {
		schema := s.registry.Schema(reflect.TypeFor[T](), true, route.OperationID)
		return register(s, route, s.formBody(route, part, files, schema), func(ctx context.Context, in *I) (*O, error) {
			found := requestOf(ctx).findings
			f, err := openForm[T](ctx, s.validator, schema, part, files, found)
			if err != nil {
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

// openForm reads a form up to the end of its JSON part.
func openForm[T any](ctx context.Context, v *validator, schema *huma.Schema, name string, files []string, found findings) (*form[T], error) {
	r := requestOf(ctx)
	kind, parameters, err := mime.ParseMediaType(r.header("Content-Type"))
	if err != nil || kind != "multipart/form-data" || parameters["boundary"] == "" {
		found.add(name, missingText, nil)
		return nil, nil
	}
	f := &form[T]{parts: multipart.NewReader(boundedForm(r.body, len(files)), parameters["boundary"]), fields: map[string]bool{}}
	for _, field := range files {
		f.fields[field] = true
	}
	part, err := f.parts.NextPart()
	switch {
	case errors.Is(err, io.EOF) || err == nil && part.FormName() != name:
		found.add(name, missingText, nil)
		return nil, nil
	case err != nil:
		return nil, formBroken(err)
	}
	raw, err := io.ReadAll(io.LimitReader(part, jsonLimit+1))
	switch {
	case err != nil:
		return nil, formBroken(err)
	case len(raw) > jsonLimit:
		return nil, evidence.NewError(evidence.TooLarge, fmt.Sprintf("%s exceeds the limit of %d MiB", name, jsonLimit/mebibyte))
	}
	parsed, ok := parseJSON(raw, name, found)
	if !ok {
		return f, nil
	}
	if _, ok := parsed.(map[string]any); !ok {
		// Named for its part, as there is no other body to be wrong.
		v.check(schema, parsed, name, found)
		return f, nil
	}
	f.Data = decodeParsed[T](v, schema, parsed, found)
	return f, nil
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
