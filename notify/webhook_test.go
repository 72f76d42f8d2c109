package notify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"attestry/evidence/evidencetest"
	"attestry/evidence/notification"
	"attestry/notify"
)

const (
	newKey    = "0123456789abcdef0123456789abcdef"
	formerKey = "fedcba9876543210fedcba9876543210"
)

func TestWebhooksAreSignedWithTheNewAndTheFormerSecret(t *testing.T) {
	r := newReceiver(t, ok)
	// The library compares the time of the signature with that of the machine.
	sender := newSender(notify.Sender{Clock: time.Now})
	target := &notification.Target{Type: notification.Webhook, Webhook: r.URL + "/hook?token=t"}
	message := delivery(startedNotice())
	attempt := sender.Send(context.Background(), target, message, []string{secretOf(newKey), secretOf(formerKey)})
	if attempt.Reason != "" || attempt.Status != 200 || attempt.Answer != "ok" {
		t.Fatalf("got %+v", attempt)
	}
	got := r.requests()[0]
	for key, verifies := range map[string]bool{newKey: true, formerKey: true, "something else": false} {
		webhook, err := standardwebhooks.NewWebhook(secretOf(key))
		evidencetest.Must(t, err)
		if err := webhook.Verify(got.body, got.header); (err == nil) != verifies {
			t.Errorf("with the key %q: %v", key, err)
		}
	}
	if signatures := strings.Fields(got.header.Get("webhook-signature")); len(signatures) != 2 {
		t.Errorf("got %v", signatures)
	}
	first, err := standardwebhooks.NewWebhook(secretOf(newKey))
	evidencetest.Must(t, err)
	got.header.Set("webhook-signature", strings.Fields(got.header.Get("webhook-signature"))[0])
	if err := first.Verify(got.body, got.header); err != nil {
		t.Errorf("the first signature is not that of the newest secret: %v", err)
	}
	if id := got.header.Get("webhook-id"); id != message.ID {
		t.Errorf("the id is %q", id)
	}
}

func TestWebhooksAreCalledWithTheHeadersOfTheService(t *testing.T) {
	r := newReceiver(t, ok)
	if attempt := call(t, newSender(notify.Sender{}), r.URL+"/hook?token=t"); attempt.Reason != "" {
		t.Fatalf("got %+v", attempt)
	}
	got := r.requests()[0]
	if got.method != http.MethodPost || got.path != "/hook?token=t" {
		t.Errorf("got %s %s", got.method, got.path)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "Attestry", "webhook-timestamp": strconv.FormatInt(noon.Unix(), 10),
	} {
		if value := got.header.Get(name); value != want {
			t.Errorf("%s is %q", name, value)
		}
	}
}

func TestEveryAttemptSendsTheSameBytes(t *testing.T) {
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	now := noon
	sender := newSender(notify.Sender{Clock: func() time.Time { now = now.Add(time.Minute); return now }})
	for range 2 {
		call(t, sender, r.URL)
	}
	got := r.requests()
	if !bytes.Equal(got[0].body, got[1].body) {
		t.Errorf("got %s and %s", got[0].body, got[1].body)
	}
	if got[0].header.Get("webhook-timestamp") == got[1].header.Get("webhook-timestamp") {
		t.Error("the attempts have the same time")
	}
}

func TestNothingIsSentWithoutASignature(t *testing.T) {
	r := newReceiver(t, ok)
	target := &notification.Target{Type: notification.Webhook, Webhook: r.URL}
	for name, secrets := range map[string][]string{
		"none": nil, "empty": {""}, "no base64": {"whsec_sesame!"}, "the former is wrong": {secretOf(newKey), "whsec_sesame!"},
	} {
		t.Run(name, func(t *testing.T) {
			got := newSender(notify.Sender{}).Send(context.Background(), target, delivery(startedNotice()), secrets)
			if got.Reason != "The target has no valid signing secret." {
				t.Errorf("got %+v", got)
			}
		})
	}
	if len(r.requests()) != 0 {
		t.Error("the receiver was called")
	}
}

// TestPayloadsHaveNullForWhatIsAbsent compares whole payloads that testdata/messages.md does not contain.
func TestPayloadsHaveNullForWhatIsAbsent(t *testing.T) {
	attested := trailNotice(notification.EventAttestation)
	attested.Attestation = &notification.NoticeAttestation{ID: "a1", Name: "unit-tests", Type: "junit", Status: "compliant", HTMLURL: "h", APIURL: "p", Artifact: "nginx", Fingerprint: "f"}
	nonCompliant := startedNotice()
	nonCompliant.EventType, nonCompliant.Artifact, nonCompliant.Snapshot = notification.EventNonCompliant, nil, nil
	flowTest := notification.Notice{EventType: notification.EventTest, Org: "acme", Timestamp: 1795435153, Description: "A test", Flow: "shop"}
	const trail = `"trail":{"name":"9e107d9","status":"incomplete","html_url":"https://attestry.example.com/acme/flows/shop/trails/9e107d9","api_url":"https://attestry.example.com/api/v2/trails/acme/shop/9e107d9"}`
	for name, c := range map[string]struct {
		notice notification.Notice
		want   string
	}{
		"environment without a snapshot and an artifact": {nonCompliant, `{"version":"1.0","timestamp":"1795435153.807253","org":"acme","event_type":"ENVIRONMENT_NON_COMPLIANT","description":"1 instance started running (from 0 to 1)","environment":"production","snapshot":null,"artifact":null}`},
		"attestation": {attested, `{"version":"1.0","timestamp":"1795435153","org":"acme","event_type":"ATTESTATION_REPORTED","description":"","flow":"shop",` + trail +
			`,"artifact":null,"attestation":{"id":"a1","name":"unit-tests","type":"junit","status":"compliant","html_url":"h","api_url":"p"},"approval":null}`},
		"test of a flow": {flowTest, `{"version":"1.0","timestamp":"1795435153","org":"acme","event_type":"TEST","description":"A test","flow":"shop","trail":null,"artifact":null,"attestation":null,"approval":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t, ok)
			target := &notification.Target{Type: notification.Webhook, Webhook: r.URL}
			newSender(notify.Sender{}).Send(context.Background(), target, delivery(c.notice), []string{secretOf(newKey)})
			if got := string(r.requests()[0].body); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// onlyTexts fails the test for values that are neither texts nor null.
func onlyTexts(t *testing.T, value any) {
	t.Helper()
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			onlyTexts(t, inner)
		}
	case string, nil:
	default:
		t.Errorf("%v is no text", v)
	}
}

func TestPayloadsOfAllEventsHaveOnlyTexts(t *testing.T) {
	r := newReceiver(t, ok)
	target := &notification.Target{Type: notification.Webhook, Webhook: r.URL}
	for _, notice := range append(exampleNotices(), hostileNotices()...) {
		newSender(notify.Sender{}).Send(context.Background(), target, delivery(notice), []string{secretOf(newKey)})
	}
	for _, got := range r.requests() {
		var payload map[string]any
		evidencetest.Must(t, json.Unmarshal(got.body, &payload))
		onlyTexts(t, payload)
	}
}
