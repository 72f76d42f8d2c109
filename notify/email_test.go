package notify_test

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"

	"attestry/evidence/evidencetest"
	"attestry/evidence/notification"
)

// email is a received e-mail.
type email struct {
	header     mail.Header
	subject    string
	text, html string
}

// mailOf sends a notice by e-mail and parses it like a mail program.
func mailOf(t *testing.T, m *mailServer, notice notification.Notice, to ...string) email {
	t.Helper()
	if attempt := sendMail(t, m.settings(), notice, to...); attempt.Reason != "" {
		t.Fatalf("got %+v", attempt)
	}
	letters := m.letters()
	return readMail(t, letters[len(letters)-1].content)
}

func readMail(t *testing.T, content []byte) email {
	t.Helper()
	message, err := mail.ReadMessage(bytes.NewReader(content))
	evidencetest.Must(t, err)
	read := email{header: message.Header}
	if read.subject, err = new(mime.WordDecoder).DecodeHeader(message.Header.Get("Subject")); err != nil {
		t.Fatal(err)
	}
	kind, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		t.Fatalf("the e-mail is %s, %v", kind, err)
	}
	parts := multipart.NewReader(message.Body, parameters["boundary"])
	for {
		part, err := parts.NextRawPart()
		if err == io.EOF {
			return read
		}
		evidencetest.Must(t, err)
		decoded, err := io.ReadAll(quotedprintable.NewReader(part))
		evidencetest.Must(t, err)
		text := strings.ReplaceAll(string(decoded), "\r\n", "\n")
		switch part.Header.Get("Content-Type") {
		case "text/plain; charset=UTF-8":
			read.text = text
		case "text/html; charset=UTF-8":
			read.html = text
		default:
			t.Fatalf("a part is %v", part.Header)
		}
	}
}

func TestEMailsHaveTheHeadersThatMailProgramsNeed(t *testing.T) {
	m := newMailServer(t, mailOptions{})
	got := mailOf(t, m, startedNotice(), "anna@example.org", "Bert <bert@example.org>")
	for name, want := range map[string]string{
		"From": `"Attestry" <attestry@example.com>`, "To": `<anna@example.org>, "Bert" <bert@example.org>`, "Cc": "", "Bcc": "",
		"Message-Id": "<01a2065d-a95e-7bb6-ada6-3d6ffc17.3.0123456789abcdef@example.com>", "Date": "Mon, 23 Nov 2026 11:59:13 +0000",
		"Auto-Submitted": "auto-generated", "User-Agent": "Attestry",
	} {
		if value := got.header.Get(name); value != want {
			t.Errorf("%s is %q", name, value)
		}
	}
	if got.subject != "[acme] production: nginx:1.25 started running" {
		t.Errorf("the subject is %q", got.subject)
	}
}

// visible returns the text of an HTML document. It fails the test for elements and attributes that the template lacks.
func visible(t *testing.T, document string) string {
	t.Helper()
	known := regexp.MustCompile(`^(html|head|meta|title|body|h1|p|table|tr|td|ul|li|a|style|dir|href|lang|charset)$`)
	var text strings.Builder
	for tokens := html.NewTokenizer(strings.NewReader(document)); ; {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			return text.String()
		}
		token := tokens.Token()
		switch kind {
		case html.TextToken:
			text.WriteString(token.Data)
		case html.StartTagToken, html.SelfClosingTagToken:
			if !known.MatchString(token.Data) {
				t.Errorf("there is an element %s", token.Data)
			}
			for _, attribute := range token.Attr {
				if !known.MatchString(attribute.Key) || attribute.Key == "href" && !strings.HasPrefix(attribute.Val, "https://") {
					t.Errorf("there is an attribute %s=%q", attribute.Key, attribute.Val)
				}
			}
		case html.CommentToken:
			t.Errorf("there is a comment %q", token.Data)
		}
	}
}

func TestEMailsEscapeTexts(t *testing.T) {
	m := newMailServer(t, mailOptions{})
	want := mailOf(t, m, startedNotice(), "anna@example.org").header
	for _, notice := range append(exampleNotices(), hostileNotices()...) {
		got := mailOf(t, m, notice, "anna@example.org")
		if len(got.header) != len(want) {
			t.Errorf("the headers are %v", got.header)
		}
		for name := range got.header {
			if _, ok := want[name]; !ok {
				t.Errorf("there is a header %s", name)
			}
		}
		if n := utf8.RuneCountInString(got.subject); n == 0 || n > 150 || strings.ContainsAny(got.subject, "\r\n\x00\x1b\u202E") {
			t.Errorf("the subject is %q", got.subject)
		}
		for _, text := range []string{got.text, visible(t, got.html)} {
			if !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\r\x1b\u202E\u2066\u2028") {
				t.Errorf("the text is %q", text)
			}
		}
	}
}
