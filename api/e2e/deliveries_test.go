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

// deliveries are those of an action, which fit on a page.
func (s *service) deliveries(action int) []shownDelivery {
	s.t.Helper()
	var page struct {
		Data []shownDelivery `json:"data"`
	}
	s.want(http.StatusOK, http.MethodGet, fmt.Sprintf("%s/%d/deliveries?limit=100", s.orgActionsPath(), action), nil).decode(s.t, &page)
	return page.Data
}

// secrets rotates the signing secrets of all webhooks of an action and returns them by path.
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
		var made struct {
			Secret string `json:"secret"`
		}
		s.want(http.StatusOK, http.MethodPost, path+"/targets/"+target.ID+"/secret", nil).decode(s.t, &made)
		secrets[target.Webhook[strings.LastIndex(target.Webhook, "/"):]] = made.Secret
	}
	return secrets
}

// awaitDelivered waits until all deliveries of an action have succeeded, and returns them.
func (s *service) awaitDelivered(action, number int) []shownDelivery {
	s.t.Helper()
	var all []shownDelivery
	eventually(s.t, "all deliveries succeed", func() bool {
		all = s.deliveries(action)
		delivered := 0
		for _, one := range all {
			if one.State == "delivered" {
				delivered++
			}
		}
		return delivered == number
	})
	return all
}

// TestTargetsAreToldOnceThoughTheirWorkerIsKilled kills the worker while it sends: the next one
// tells whom it has not told.
func TestTargetsAreToldOnceThoughTheirWorkerIsKilled(t *testing.T) {
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
	for _, one := range s.awaitDelivered(1, 3*each) {
		byTarget[one.Target.ID]++
		if n := len(one.Attempts); n != 1 || one.Attempts[0].Reason != nil {
			t.Errorf("delivery %+v", one)
		}
	}
	if len(byTarget) != 3*each {
		t.Errorf("told %v", byTarget)
	}
	for _, place := range webhooks {
		wantSigned(t, secrets[place], r.at(place))
	}
	for _, place := range append(webhooks, others...) {
		got := r.at(place)
		if len(got) == 0 || len(got) > 2 {
			t.Errorf("%s got %d messages", place, len(got))
		}
	}
}

// wantSigned checks messages to a webhook: all have one id and are signed with the secret.
func wantSigned(t *testing.T, secret string, messages []received) {
	t.Helper()
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range messages {
		if err := verifier.VerifyIgnoringTimestamp(one.body, one.header); err != nil {
			t.Error(err)
		}
		if one.header.Get("webhook-id") != messages[0].header.Get("webhook-id") {
			t.Errorf("the ids are %q and %q", one.header.Get("webhook-id"), messages[0].header.Get("webhook-id"))
		}
		if !strings.Contains(string(one.body), `"event_type":"ARTIFACT_STARTED"`) {
			t.Errorf("sent %s", one.body)
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
		for _, one := range all {
			tried += min(1, len(one.Attempts))
		}
		return tried == 3
	})
	reasons := map[string]string{}
	for _, one := range all {
		if reason := one.Attempts[0].Reason; reason != nil {
			reasons[one.ID] = *reason
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
	eventually(t, "failed ones are tried again", func() bool {
		again := 0
		for _, one := range s.deliveries(1) {
			again += len(one.Attempts)
		}
		return again >= 5
	})
	if got := r.at("/chat"); len(got) != 1 || !strings.Contains(string(got[0].body), "backend") {
		t.Errorf("the chat got %s", got)
	}
}

func TestTargetThatIsGoneIsToldNoMoreAndSaysWhy(t *testing.T) {
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
