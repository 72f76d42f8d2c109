package notify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"attestry/evidence/evidencetest"
	"attestry/evidence/notification"
	"attestry/notify"
	"attestry/scripts/readmetest"
)

const (
	messagesFile = "testdata/messages.md"
	emailFile    = "testdata/email.html"
)

// TestMessagesAreAsInTheFiles compares whole messages of every type of event with testdata/messages.md, and one e-mail
// with testdata/email.html. With ATTESTRY_TEST_UPDATE set it writes them.
func TestMessagesAreAsInTheFiles(t *testing.T) {
	m := newMailServer(t, mailOptions{})
	var all strings.Builder
	all.WriteString("# Messages\n\nWhat people and webhooks get, written by notify/examples_test.go.\n")
	for _, notice := range exampleNotices() {
		_, chatBody := chat(t, notice)
		e := mailOf(t, m, notice, "anna@example.org")
		fmt.Fprintf(&all, "\n## %s: %s\n\n### Webhook\n\n```json\n%s\n```\n", notice.EventType, notice.Description, indented(t, webhookBody(t, notice)))
		fmt.Fprintf(&all, "\n### Chat\n\n```json\n%s\n```\n", indented(t, chatBody))
		fmt.Fprintf(&all, "\n### E-mail\n\n```\nSubject: %s\n\n%s```\n", e.subject, e.text)
	}
	compare(t, messagesFile, all.String())
	compare(t, emailFile, mailOf(t, m, startedNotice(), "anna@example.org").html)
}

func webhookBody(t *testing.T, notice notification.Notice) []byte {
	t.Helper()
	r := newReceiver(t, ok)
	target := &notification.Target{Type: notification.Webhook, Webhook: r.URL}
	if got := newSender(notify.Sender{}).Send(context.Background(), target, delivery(notice), []string{secretOf(newKey)}); got.Reason != "" {
		t.Fatalf("got %+v", got)
	}
	return r.requests()[0].body
}

// indented formats JSON for people.
func indented(t *testing.T, body []byte) string {
	t.Helper()
	var out bytes.Buffer
	evidencetest.Must(t, json.Indent(&out, body, "", "  "))
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(out.String())
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if readmetest.Updating() {
		evidencetest.Must(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want, err := os.ReadFile(file)
	evidencetest.Must(t, err)
	if string(want) != got {
		t.Errorf("%s is not what is sent: set ATTESTRY_TEST_UPDATE and look at the difference", file)
	}
}
