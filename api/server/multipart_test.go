package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"strings"
	"testing"

	"attestry/evidence"
)

func startForm(t *testing.T) *running {
	return start(t, []Route{{Method: "POST", Path: "/forms/{org}", OperationID: "post_form", Tag: "T", Summary: "S", Least: evidence.Member,
		Serve: withForm("data_json", []string{"attachment_file"}, func(_ context.Context, _ *orgInput, f *form[Thing]) (*textOutput, error) {
			told := f.Data.Name
			err := f.Files(func(file formFile) error {
				n, err := io.Copy(io.Discard, file)
				told += fmt.Sprintf(" %s %s %d", file.Field, file.Filename, n)
				return err
			})
			return &textOutput{Status: 201, Body: told}, err
		})}})
}

// part is a part of a form: a field, or a file when it has a file name.
type part struct{ field, filename, content string }

func (r *running) post(t *testing.T, query string, parts ...part) answer {
	t.Helper()
	var body bytes.Buffer
	writer := multipart.NewWriter(&body)
	for _, p := range parts {
		var to io.Writer
		var err error
		if p.filename == "" {
			to, err = writer.CreateFormField(p.field)
		} else {
			to, err = writer.CreateFormFile(p.field, p.filename)
		}
		if err == nil {
			_, err = io.WriteString(to, p.content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return r.send(t, "POST", prefix+"/forms/acme"+query, "member", body.String(), "Content-Type", writer.FormDataContentType())
}

func TestFormsAreReadPartByPart(t *testing.T) {
	s := startForm(t)
	data := part{"data_json", "", `{"name":"x","count":"1"}`}
	for want, parts := range map[string][]part{
		`"x"`:                                {data},
		`"x attachment_file a.txt 3"`:        {data, {"attachment_file", "a.txt", "abc"}},
		`"x attachment_file b.txt 0"`:        {data, {"other", "o.txt", "zzz"}, {"attachment_file", "b.txt", ""}},
		`"x attachment_file c.bin 10485760"`: {data, {"attachment_file", "c.bin", strings.Repeat("c", fileLimit)}},
	} {
		if got := s.post(t, "", parts...); got.status != 201 || got.body != want {
			t.Errorf("got %d %s, want %s", got.status, got.body, want)
		}
	}
}

func TestWrongFormsAreReported(t *testing.T) {
	s := startForm(t)
	missing := "Field required [input: None]"
	for name, test := range map[string]struct {
		parts []part
		want  string
		at    string
	}{
		"no parts":         {nil, missing, "data_json"},
		"only a file":      {[]part{{"attachment_file", "a", "b"}}, missing, "data_json"},
		"empty data":       {[]part{{"data_json", "", ""}}, missing, "data_json"},
		"null":             {[]part{{"data_json", "", "null"}}, missing, "data_json"},
		"no JSON":          {[]part{{"data_json", "", "{"}}, "Invalid JSON: unexpected end of input [input: {]", "data_json"},
		"no object":        {[]part{{"data_json", "", "[]"}}, "Input should be a valid dictionary or object to extract fields from [input: []]", "data_json"},
		"a missing member": {[]part{{"data_json", "", "{}"}}, missing, "name"},
	} {
		got := s.post(t, "", test.parts...)
		got.expect(t, 400, evidence.ValidationMessage)
		if found := got.decoded(t).Errors; found[test.at] != test.want {
			t.Errorf("%s: %v, want %s: %s", name, found, test.at, test.want)
		}
	}
	for _, contentType := range []string{"", "application/json", "multipart/form-data", "multipart/form-data; boundary="} {
		got := s.send(t, "POST", prefix+"/forms/acme", "member", `{"name":"x"}`, "Content-Type", contentType)
		if got.status != 400 || got.decoded(t).Errors["data_json"] != missing {
			t.Errorf("%q: %d %s", contentType, got.status, got.body)
		}
	}
	s.send(t, "POST", prefix+"/forms/acme", "member", "--x\r\nContent-Disposition: form-data; name=data_json\r\n\r\n{}", "Content-Type", "multipart/form-data; boundary=x").
		expect(t, 400, formBrokenMessage)
}

func TestFormsAboveTheLimitsAreTooLarge(t *testing.T) {
	s := startForm(t)
	data := part{"data_json", "", `{"name":"x"}`}
	s.post(t, "", data, part{"attachment_file", "a", strings.Repeat("c", fileLimit+1)}).expect(t, 413, fileTooLargeMessage)
	s.post(t, "", part{"data_json", "", `{"name":"x"}` + strings.Repeat(" ", jsonLimit)}).expect(t, 413, "data_json exceeds the limit of 1 MiB")
	s.post(t, "", data, part{"other", "o", strings.Repeat("c", 2*fileLimit)}).expect(t, 413, fileTooLargeMessage)
}
