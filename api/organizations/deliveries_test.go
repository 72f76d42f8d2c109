package organizations_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"attestry/api/apitest"
	"attestry/api/apitest/peers"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
)

// shownDelivery is a delivery as the API shows it.
type shownDelivery struct {
	ID        string `json:"id"`
	EventType string `json:"event_type"`
	State     string `json:"state"`
	Target    struct {
		ID   string `json:"id"`
		Type string `json:"type"`
	} `json:"target"`
	Attempts []struct {
		Status int     `json:"status"`
		Reason *string `json:"reason"`
		Answer *string `json:"answer"`
	} `json:"attempts"`
}

// deliveries returns the deliveries of an action. They must fit on one page.
func deliveries(s *apitest.Service, action int) []shownDelivery {
	s.T.Helper()
	var page struct {
		Data []shownDelivery `json:"data"`
	}
	s.Want(http.StatusOK, http.MethodGet, fmt.Sprintf("%s/%d/deliveries?per_page=100", s.OrgActionsPath(), action), nil).Decode(s.T, &page)
	return page.Data
}

// signingSecrets rotates the signing secrets of all webhooks of an action and returns them by path.
func signingSecrets(s *apitest.Service, action int) map[string]string {
	s.T.Helper()
	var shown struct {
		Targets []struct {
			ID      string `json:"id"`
			Type    string `json:"type"`
			Webhook string `json:"webhook"`
		} `json:"targets"`
	}
	path := fmt.Sprintf("%s/%d", s.OrgActionsPath(), action)
	s.Want(http.StatusOK, http.MethodGet, path, nil).Decode(s.T, &shown)
	secrets := map[string]string{}
	for _, target := range shown.Targets {
		if target.Type != "WEBHOOK" {
			continue
		}
		var rotated struct {
			Secret string `json:"secret"`
		}
		s.Want(http.StatusOK, http.MethodPost, path+"/targets/"+target.ID+"/secret", nil).Decode(s.T, &rotated)
		secrets[target.Webhook[strings.LastIndex(target.Webhook, "/"):]] = rotated.Secret
	}
	return secrets
}

// awaitDelivered waits until a number of deliveries of an action have succeeded and returns all its deliveries.
func awaitDelivered(s *apitest.Service, action, number int) []shownDelivery {
	s.T.Helper()
	var all []shownDelivery
	apitest.Eventually(s.T, "all deliveries succeed", func() bool {
		all = deliveries(s, action)
		delivered := 0
		for _, delivery := range all {
			if delivery.State == "delivered" {
				delivered++
			}
		}
		return delivered == number
	})
	return all
}

// TestTargetsAreNotifiedOnceIfTheirWorkerIsKilled kills a worker while it sends. The next worker sends the remaining
// deliveries and may repeat those whose result was not stored.
func TestTargetsAreNotifiedOnceIfTheirWorkerIsKilled(t *testing.T) {
	t.Parallel()
	const each = 6
	r := peers.NewReceivers(t)
	s := apitest.Start(t, apitest.Options{Real: true, KeepsRedis: true, WithoutWorker: true, ReportWait: time.Millisecond, Settings: r.Settings()})
	s.CreateEnvironment("host", evidence.Server)
	targets, webhooks, others := r.Targets(each)
	s.Want(http.StatusCreated, http.MethodPut, s.OrgActionsPath()+"/environments", fmt.Appendf(nil,
		`{"name": "tell", "environments": ["host"], "triggers": ["ON_STARTED_ARTIFACT"], "targets": %s}`, targets))
	secrets := signingSecrets(s, 1)
	s.Want(http.StatusOK, http.MethodPut, s.EnvironmentsPath()+"/host/report/server", apitest.ServerReport("a"))
	s.AwaitTask()
	s.RunDyingWorker("deliveries", 2*each) // of three writes for each target
	s.Clock.Advance(time.Minute)
	s.RunWorker()
	byTarget := map[string]int{}
	for _, delivery := range awaitDelivered(s, 1, 3*each) {
		byTarget[delivery.Target.ID]++
		if n := len(delivery.Attempts); n != 1 || delivery.Attempts[0].Reason != nil {
			t.Errorf("delivery %+v", delivery)
		}
	}
	apitest.Equal(t, len(byTarget), 3*each, byTarget)
	for _, path := range webhooks {
		wantSigned(t, secrets[path], r.At(path))
	}
	for _, address := range append(webhooks, others...) {
		got := r.At(address)
		if len(got) == 0 || len(got) > 2 {
			t.Errorf("%s got %d messages", address, len(got))
		}
	}
}

// wantSigned checks that all messages to a webhook have the same id and are signed with the secret.
func wantSigned(t *testing.T, secret string, messages []peers.Received) {
	t.Helper()
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range messages {
		if err := verifier.VerifyIgnoringTimestamp(message.Body, message.Header); err != nil {
			t.Error(err)
		}
		apitest.Equal(t, message.Header.Get("webhook-id"), messages[0].Header.Get("webhook-id"), "the ids")
		evidencetest.Contains(t, string(message.Body), `"event_type":"ARTIFACT_STARTED"`)
	}
}

func TestFailedDeliveriesAreShownAndCanBeRepeated(t *testing.T) {
	t.Parallel()
	r := peers.NewReceivers(t)
	s := apitest.Start(t, apitest.Options{Settings: r.Settings()})
	s.WantForm(http.StatusCreated, http.MethodPut, s.FlowsPath()+"/template_file", `{"name": "backend", "description": ""}`)
	s.Want(http.StatusCreated, http.MethodPut, s.OrgActionsPath()+"/flows", fmt.Appendf(nil, `{"name": "tell", "flows": ["backend"], "triggers": ["ON_STARTED_TRAIL"], "targets": [
		{"type": "WEBHOOK", "webhook": "http://127.0.0.1:1/"}, {"type": "WEBHOOK", "webhook": "http://169.254.169.254/latest/meta-data"}, {"type": "SLACK", "webhook": "%s/chat"}]}`, r.Chat.URL))
	s.WantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.Org+"/backend", `{"name": "1"}`)
	var all []shownDelivery
	apitest.Eventually(t, "each target is tried", func() bool {
		all = deliveries(s, 1)
		tried := 0
		for _, delivery := range all {
			tried += min(1, len(delivery.Attempts))
		}
		return tried == 3
	})
	reasons := map[string]string{}
	for _, delivery := range all {
		if reason := delivery.Attempts[0].Reason; reason != nil {
			reasons[delivery.ID] = *reason
		}
	}
	apitest.Equal(t, len(reasons), 2, reasons)
	for id, reason := range reasons {
		if strings.Contains(reason, "169.254") || !strings.Contains(reason, "refused") && !strings.Contains(reason, "not allowed") {
			t.Errorf("the reason is %q", reason)
		}
		s.Want(http.StatusOK, http.MethodPost, s.OrgActionsPath()+"/1/deliveries/"+id+"/redeliver", nil)
	}
	apitest.Eventually(t, "the failed deliveries are tried again", func() bool {
		attempts := 0
		for _, delivery := range deliveries(s, 1) {
			attempts += len(delivery.Attempts)
		}
		return attempts >= 5
	})
	if got := r.At("/chat"); len(got) != 1 || !strings.Contains(string(got[0].Body), "backend") {
		t.Errorf("the chat got %s", got)
	}
}
