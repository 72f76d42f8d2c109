package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"attestry/api/access"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/links"
)

func startForm(t *testing.T) *testServer {
	return start(t, []Route{{Method: "POST", Path: "/forms/{org}", OperationID: "post_form", Tag: "T", Summary: "S", Rule: access.Rule{MinRole: evidence.Member},
		Serve: WithForm("data_json", "attachment_file", func(_ context.Context, _ *orgInput, f *Form[Thing]) (*textOutput, error) {
			summary := f.Data.Name
			err := f.File(func(file FormFile) error {
				n, err := io.Copy(io.Discard, file)
				summary += fmt.Sprintf(" %s %s %d", file.Field, file.Filename, n)
				if err != nil {
					return MalformedForm(err)
				}
				return nil
			})
			return &textOutput{Status: 201, Body: summary}, err
		})}})
}

// part is a part of a form: a field, or a file if it has a file name.
type part struct{ field, filename, content string }

func (r *testServer) post(t *testing.T, query string, parts ...part) answer {
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
	return r.send(t, "POST", links.Prefix+"/forms/acme"+query, "member", body.String(), "Content-Type", writer.FormDataContentType())
}

func TestFormsAreReadPartByPart(t *testing.T) {
	s := startForm(t)
	data := part{"data_json", "", `{"name":"x","count":"1"}`}
	for want, parts := range map[string][]part{
		`"x"`:                                {data},
		`"x attachment_file a.txt 3"`:        {data, {"attachment_file", "a.txt", "abc"}},
		`"x attachment_file b.txt 0"`:        {data, {"other", "o.txt", "zzz"}, {"attachment_file", "b.txt", ""}},
		`"x attachment_file c.bin 10485760"`: {data, {"attachment_file", "c.bin", strings.Repeat("c", FileLimit)}},
		`"x attachment_file d.txt 3"`:        {{"attachment_file", "d.txt", "abc"}, data},
		`"x attachment_file e.txt 0"`:        {{"other", "o.txt", "zzz"}, {"attachment_file", "e.txt", ""}, {"other", "", "zzz"}, data},
		`"x attachment_file f.bin 10485760"`: {{"attachment_file", "f.bin", strings.Repeat("f", FileLimit)}, data},
		`"x attachment_file g.txt 1"`:        {{"attachment_file", "", ""}, data, {"attachment_file", "g.txt", "g"}, {"attachment_file", "", ""}},
		`"x attachment_file h.txt 2"`:        {{"attachment_file", "", ""}, {"attachment_file", "h.txt", "hh"}, data},
	} {
		if got := s.post(t, "", parts...); got.status != 201 || got.body != want {
			t.Errorf("got %d %s, want %s", got.status, got.body, want)
		}
	}
}

func TestRepeatedAndMissingPartsOfFormsAreRefused(t *testing.T) {
	s := startForm(t)
	data := part{"data_json", "", `{"name":"x"}`}
	file := func(name string) part { return part{"attachment_file", name, name} }
	for name, test := range map[string]struct {
		parts    []part
		at, want string
	}{
		"data twice":                 {[]part{data, data}, "data_json", `Input should be a single part [input: {"name":"x"}]`},
		"data around a file":         {[]part{data, file("a"), data}, "data_json", `Input should be a single part [input: {"name":"x"}]`},
		"different data":             {[]part{data, {"data_json", "", `{"name":"y"}`}}, "data_json", `Input should be a single part [input: {"name":"y"}]`},
		"two files behind the data":  {[]part{data, file("a"), file("b")}, "attachment_file", "Input should be a single file [input: b]"},
		"two files before the data":  {[]part{file("a"), file("b"), data}, "attachment_file", "Input should be a single file [input: b]"},
		"two files around the data":  {[]part{file("a"), data, file("b")}, "attachment_file", "Input should be a single file [input: b]"},
		"a file without data at all": {[]part{file("a")}, "data_json", "Field required [input: None]"},
		"wrong data behind a file":   {[]part{file("a"), {"data_json", "", `{}`}}, "name", "Field required [input: None]"},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.post(t, "", test.parts...)
			got.expect(t, 400, evidence.ValidationMessage)
			if errors := got.decoded(t).Errors; len(errors) != 1 || errors[test.at] != test.want {
				t.Errorf("got %q, want %s: %s", errors, test.at, test.want)
			}
		})
	}
}

func TestNamesOfFilesAreShortUnicodeText(t *testing.T) {
	s := startForm(t)
	data := part{"data_json", "", `{"name":"x"}`}
	longest := strings.Repeat("ü", maxSentFilename)
	for name, test := range map[string]struct{ filename, want string }{
		"no UTF-8":    {"a\xff", validation.UnreadableText + " [input: a\uFFFD]"},
		"too long":    {longest + "x", "String should have at most 1024 characters [input: " + strings.Repeat("ü", validation.MaxShown) + "...]"},
		"the longest": {longest, ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := part{"attachment_file", test.filename, "content"}
			for _, parts := range [][]part{{data, file}, {file, data}} {
				got := s.post(t, "", parts...)
				if test.want == "" {
					if got.status != 201 || !strings.Contains(got.body, longest) {
						t.Errorf("%d %s", got.status, got.body)
					}
					continue
				}
				got.expect(t, 400, evidence.ValidationMessage)
				if text := got.decoded(t).Errors["attachment_file.filename"]; text != test.want {
					t.Errorf("got %s", got.body)
				}
			}
		})
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
		"empty data":       {[]part{{"data_json", "", ""}}, missing, "data_json"},
		"null":             {[]part{{"data_json", "", "null"}}, missing, "data_json"},
		"no JSON":          {[]part{{"data_json", "", "{"}}, "Invalid JSON: unexpected end of input [input: {]", "data_json"},
		"no object":        {[]part{{"data_json", "", "[]"}}, "Input should be a valid dictionary or object to extract fields from [input: []]", "data_json"},
		"no UTF-8":         {[]part{{"data_json", "", "{\"name\":\"\xff\"}"}}, validation.UnreadableText + " [input: \uFFFD]", "name"},
		"a lone surrogate": {[]part{{"data_json", "", `{"name":"\ud83d"}`}}, validation.UnreadableText + " [input: \uFFFD]", "name"},
		"no text at all":   {[]part{{"data_json", "", "\"\xff\""}}, validation.UnreadableText + " [input: \uFFFD]", "data_json"},
		"a missing member": {[]part{{"data_json", "", "{}"}}, missing, "name"},
	} {
		got := s.post(t, "", test.parts...)
		got.expect(t, 400, evidence.ValidationMessage)
		if found := got.decoded(t).Errors; found[test.at] != test.want {
			t.Errorf("%s: %v, want %s: %s", name, found, test.at, test.want)
		}
	}
	for _, contentType := range []string{"", "application/json", "multipart/form-data", "multipart/form-data; boundary="} {
		got := s.send(t, "POST", links.Prefix+"/forms/acme", "member", `{"name":"x"}`, "Content-Type", contentType)
		if got.status != 400 || got.decoded(t).Errors["data_json"] != missing {
			t.Errorf("%q: %d %s", contentType, got.status, got.body)
		}
	}
}

func TestFormsThatBreakOffAreRefused(t *testing.T) {
	s := startForm(t)
	for end, complete := range map[string]bool{
		"\r\n--x--": true, "\r\n--x--\r\n": true, "\r\n--x--\r\nepilogue": true,
		"": false, "\r\n": false, "\r\n--x": false, "\r\n--x\r\n": false, "\r\n--x-": false,
		"\r\n--x\r\nContent-Disposition: form-data; name=attachment_file; filename=a":                false,
		"\r\n--x\r\nContent-Disposition: form-data; name=attachment_file; filename=a\r\n":            false,
		"\r\n--x\r\nContent-Disposition: form-data; name=attachment_file; filename=a\r\n\r\nabc\r\n": false,
		"\r\n--x\r\nContent-Disposition: form-data; name=unknown; filename=a\r\n\r\nabc":             false,
	} {
		t.Run(strconv.Quote(end), func(t *testing.T) {
			body := "--x\r\nContent-Disposition: form-data; name=data_json\r\n\r\n{\"name\":\"x\"}" + end
			got := s.send(t, "POST", links.Prefix+"/forms/acme", "member", body, "Content-Type", "multipart/form-data; boundary=x")
			if complete && got.status != 201 {
				t.Errorf("got %d %s", got.status, got.body)
			}
			if !complete {
				got.expect(t, 400, formBrokenMessage)
			}
		})
	}
}

func TestPartsWhoseNamesAreNotTextAreRefused(t *testing.T) {
	s := startForm(t)
	data := part{"data_json", "", `{"name":"x"}`}
	file := part{"attachment_file\xff", "a.txt", "abc"}
	s.post(t, "", data, file).expect(t, 400, formBrokenMessage)
	s.post(t, "", file, data).expect(t, 400, formBrokenMessage)
}

func TestFormsAreUnavailableIfFilesCannotBeBuffered(t *testing.T) {
	s := startForm(t)
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	file := part{"attachment_file", "a.txt", strings.Repeat("x", 100<<10)}
	got := s.post(t, "", file, part{"data_json", "", `{"name":"x"}`})
	got.expect(t, 503, "The file could not be held, please try again.")
	if after := got.header.Get("Retry-After"); after != "1" {
		t.Errorf("retry after %q", after)
	}
}

func TestFormsAboveTheLimitsAreTooLarge(t *testing.T) {
	s := startForm(t)
	data := part{"data_json", "", `{"name":"x"}`}
	s.post(t, "", data, part{"attachment_file", "a", strings.Repeat("c", FileLimit+1)}).expect(t, 413, fileTooLargeMessage)
	s.post(t, "", part{"data_json", "", `{"name":"x"}` + strings.Repeat(" ", jsonLimit)}).expect(t, 413, "data_json exceeds the limit of 1 MiB")
	s.post(t, "", data, part{"other", "o", strings.Repeat("c", 2*FileLimit)}).expect(t, 413, fileTooLargeMessage)
	s.post(t, "", part{"attachment_file", "a", strings.Repeat("c", FileLimit+1)}, data).expect(t, 413, fileTooLargeMessage)
	s.post(t, "", part{"other", "o", strings.Repeat("c", 2*FileLimit)}, data).expect(t, 413, fileTooLargeMessage)
}
