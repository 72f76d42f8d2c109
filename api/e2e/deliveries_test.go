package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"attestry/evidence"
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
func (s *service) deliveries(action int) []shownDelivery {
	s.t.Helper()
	var page struct {
		Data []shownDelivery `json:"data"`
	}
	s.want(http.StatusOK, http.MethodGet, fmt.Sprintf("%s/%d/deliveries?per_page=100", s.orgActionsPath(), action), nil).decode(s.t, &page)
	return page.Data
}

// signingSecrets rotates the signing secrets of all webhooks of an action and returns them by path.
func (s *service) signingSecrets(action int) map[string]string {
	s.t.Helper()
	var shown struct {
		Targets []struct {
			ID      string `json:"id"`
			Type    string `json:"type"`
			Webhook string `json:"webhook"`
		} `json:"targets"`
	}
	path := fmt.Sprintf("%s/%d", s.orgActionsPath(), action)
	s.want(http.StatusOK, http.MethodGet, path, nil).decode(s.t, &shown)
	secrets := map[string]string{}
	for _, target := range shown.Targets {
		if target.Type != "WEBHOOK" {
			continue
		}
		var rotated struct {
			Secret string `json:"secret"`
		}
		s.want(http.StatusOK, http.MethodPost, path+"/targets/"+target.ID+"/secret", nil).decode(s.t, &rotated)
		secrets[target.Webhook[strings.LastIndex(target.Webhook, "/"):]] = rotated.Secret
	}
	return secrets
}

// awaitDelivered waits until a number of deliveries of an action have succeeded and returns all its deliveries.
func (s *service) awaitDelivered(action, number int) []shownDelivery {
	s.t.Helper()
	var all []shownDelivery
	eventually(s.t, "all deliveries succeed", func() bool {
		all = s.deliveries(action)
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
	r := newReceivers(t)
	s := start(t, options{real: true, keepsRedis: true, withoutWorker: true, reportWait: time.Millisecond, settings: r.settings()})
	s.createEnvironment("host", evidence.Server)
	targets, webhooks, others := r.targets(each)
	s.want(http.StatusCreated, http.MethodPut, s.orgActionsPath()+"/environments", fmt.Appendf(nil,
		`{"name": "tell", "environments": ["host"], "triggers": ["ON_STARTED_ARTIFACT"], "targets": %s}`, targets))
	secrets := s.signingSecrets(1)
	s.want(http.StatusOK, http.MethodPut, s.environmentsPath()+"/host/report/server", serverReport("a"))
	s.awaitTask()
	s.runDyingWorker("deliveries", 2*each) // of three writes for each target
	s.clock.advance(time.Minute)
	s.startWorker()
	byTarget := map[string]int{}
	for _, delivery := range s.awaitDelivered(1, 3*each) {
		byTarget[delivery.Target.ID]++
		if n := len(delivery.Attempts); n != 1 || delivery.Attempts[0].Reason != nil {
			t.Errorf("delivery %+v", delivery)
		}
	}
	if len(byTarget) != 3*each {
		t.Errorf("deliveries by target: %v", byTarget)
	}
	for _, path := range webhooks {
		wantSigned(t, secrets[path], r.at(path))
	}
	for _, address := range append(webhooks, others...) {
		got := r.at(address)
		if len(got) == 0 || len(got) > 2 {
			t.Errorf("%s got %d messages", address, len(got))
		}
	}
}

// wantSigned checks that all messages to a webhook have the same id and are signed with the secret.
func wantSigned(t *testing.T, secret string, messages []received) {
	t.Helper()
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range messages {
		if err := verifier.VerifyIgnoringTimestamp(message.body, message.header); err != nil {
			t.Error(err)
		}
		if message.header.Get("webhook-id") != messages[0].header.Get("webhook-id") {
			t.Errorf("the ids are %q and %q", message.header.Get("webhook-id"), messages[0].header.Get("webhook-id"))
		}
		if !strings.Contains(string(message.body), `"event_type":"ARTIFACT_STARTED"`) {
			t.Errorf("sent %s", message.body)
		}
	}
}

func TestFailedDeliveriesAreShownAndCanBeRepeated(t *testing.T) {
	t.Parallel()
	r := newReceivers(t)
	s := start(t, options{settings: r.settings()})
	s.wantForm(http.StatusCreated, http.MethodPut, s.flowsPath()+"/template_file", `{"name": "backend", "description": ""}`)
	s.want(http.StatusCreated, http.MethodPut, s.orgActionsPath()+"/flows", fmt.Appendf(nil, `{"name": "tell", "flows": ["backend"], "triggers": ["ON_STARTED_TRAIL"], "targets": [
		{"type": "WEBHOOK", "webhook": "http://127.0.0.1:1/"}, {"type": "WEBHOOK", "webhook": "http://169.254.169.254/latest/meta-data"}, {"type": "SLACK", "webhook": "%s/chat"}]}`, r.chat.URL))
	s.wantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.org+"/backend", `{"name": "1"}`)
	var all []shownDelivery
	eventually(t, "each target is tried", func() bool {
		all = s.deliveries(1)
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
	if len(reasons) != 2 {
		t.Errorf("failed with %v", reasons)
	}
	for id, reason := range reasons {
		if strings.Contains(reason, "169.254") || !strings.Contains(reason, "refused") && !strings.Contains(reason, "not allowed") {
			t.Errorf("the reason is %q", reason)
		}
		s.want(http.StatusOK, http.MethodPost, s.orgActionsPath()+"/1/deliveries/"+id+"/redeliver", nil)
	}
	eventually(t, "the failed deliveries are tried again", func() bool {
		attempts := 0
		for _, delivery := range s.deliveries(1) {
			attempts += len(delivery.Attempts)
		}
		return attempts >= 5
	})
	if got := r.at("/chat"); len(got) != 1 || !strings.Contains(string(got[0].body), "backend") {
		t.Errorf("the chat got %s", got)
	}
}

func TestTargetIsSwitchedOffWithAReasonWhenItsWebhookIsGone(t *testing.T) {
	t.Parallel()
	r := newReceivers(t)
	s := start(t, options{settings: r.settings()})
	s.createEnvironment("host", evidence.Server)
	s.want(http.StatusCreated, http.MethodPut, s.orgActionsPath()+"/environments", fmt.Appendf(nil,
		`{"name": "tell", "environments": ["host"], "triggers": ["ON_STARTED_ARTIFACT"], "targets": [{"type": "WEBHOOK", "webhook": "%s/gone"}]}`, r.web.URL))
	s.want(http.StatusCreated, http.MethodPut, s.environmentsPath()+"/host/report/server", serverReport("a"))
	eventually(t, "the delivery fails", func() bool {
		all := s.deliveries(1)
		return len(all) == 1 && all[0].State == "failed" && all[0].Attempts[0].Status == http.StatusGone
	})
	var shown struct {
		Targets []struct {
			At     float64 `json:"switched_off_at"`
			Reason string  `json:"switched_off_reason"`
		} `json:"targets"`
	}
	eventually(t, "the target is switched off", func() bool {
		s.want(http.StatusOK, http.MethodGet, s.orgActionsPath()+"/1", nil).decode(t, &shown)
		return len(shown.Targets) == 1 && shown.Targets[0].At > 0
	})
	if reason := shown.Targets[0].Reason; !strings.Contains(reason, "410") {
		t.Errorf("it was switched off because %q", reason)
	}
}
