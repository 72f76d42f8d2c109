package e2e_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/notification"
)

// storeDeliveries stores completed deliveries of the first action to its first target, which are described by numbers.
// Each was created as many minutes after the same time as its number says.
func (s *service) storeDeliveries(state notification.State, numbers ...int) {
	s.t.Helper()
	start := evidence.Seconds(s.clock.read()) - 3600
	actions, err := s.Process.Store.Actions.Of(s.t.Context(), s.orgID())
	s.must(err)
	var all []notification.Delivery
	for _, number := range numbers {
		notice := notification.Notice{ID: notification.NoticeID(s.org, fmt.Sprint(number)), EventType: notification.EventCompliant, Description: fmt.Sprint(number)}
		delivery := notification.NewDelivery(s.orgID(), 1, &actions.All[0].Targets[0], notice, start+60*float64(number), 0)
		delivery.State, delivery.Due = state, 0
		all = append(all, delivery)
	}
	s.must(s.Process.Store.Deliveries.Add(s.t.Context(), all))
}

// listDeliveries returns the descriptions of the deliveries of the first action, each page in brackets.
func (s *service) listDeliveries(query string) string {
	s.t.Helper()
	var pages []string
	for path := s.orgActionsPath() + "/1/deliveries?" + query; path != ""; {
		page := s.read(path)
		var descriptions []string
		for _, delivery := range lookup(s.t, page, "data").([]any) {
			descriptions = append(descriptions, lookup(s.t, delivery, "description").(string))
		}
		pages = append(pages, fmt.Sprint(descriptions))
		links := lookup(s.t, page, "_links").(map[string]any)
		path = ""
		if next, ok := links["next"]; ok {
			path = strings.TrimPrefix(lookup(s.t, next, "href").(string), s.URL+"/api/v2")
		}
	}
	return strings.Join(pages, " ")
}

func TestDeliveriesAreListedInPages(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.putAction(http.StatusCreated, "environments", envActionBody("a", deadTarget))
	s.storeDeliveries(notification.Delivered, 1, 3, 5)
	s.storeDeliveries(notification.Failed, 2, 4)
	for query, want := range map[string]string{
		"":                           "[5 4 3 2 1]",
		"per_page=2":                 "[5 4] [3 2] [1]",
		"state=delivered":            "[5 3 1]",
		"state=delivered&per_page=2": "[5 3] [1]",
		"state=failed&per_page=100":  "[4 2]",
		"state=pending":              "[]",
	} {
		if got := s.listDeliveries(query); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
	pagination := func(query string) any {
		t.Helper()
		return lookup(t, s.read(s.orgActionsPath()+"/1/deliveries?"+query), "pagination")
	}
	if got := fmt.Sprint(pagination("per_page=2")); got != "map[page:1 page_count:3 per_page:2 total:5]" {
		t.Errorf("the pagination is %s", got)
	}
	if got := pagination("state=failed"); got != nil {
		t.Errorf("the pagination of one state is %v", got)
	}
	for query, field := range map[string]string{
		"state=lost": "query.state", "state=": "query.state", "per_page=0": "query.per_page", "per_page=101": "query.per_page", "after=x": "query.after", "after=2.bm9uc2Vuc2U": "query.after",
	} {
		message, errors := s.want(http.StatusBadRequest, http.MethodGet, s.orgActionsPath()+"/1/deliveries?"+query, nil).problem(t)
		if message != "Input payload validation failed" || errors[field] == "" {
			t.Errorf("%s: %q %q", query, message, errors)
		}
	}
}

func TestTestOfAnActionIsSentToEachTargetOnce(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.putAction(http.StatusCreated, "environments", envActionBody("a", deadTarget+","+deadTarget+`,{"type":"SLACK","webhook":"http://127.0.0.1:1/chat"}`))
	targets := lookup(t, s.read(s.orgActionsPath()+"/1"), "targets").([]any)
	s.switchOff(1, lookup(t, targets, 2, "id").(string))
	got := s.do(http.MethodPost, "/api/v2"+s.orgActionsPath()+"/1/test", memberKey, nil)
	if got.status != http.StatusOK {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	deliveries := lookup(t, got.value(t), "deliveries").([]any)
	var notified []string
	for _, delivery := range deliveries {
		notified = append(notified, fmt.Sprint(lookup(t, delivery, "target", "type"), " ", lookup(t, delivery, "target", "id")))
		if lookup(t, delivery, "event_type") != "TEST" || lookup(t, delivery, "action_number") != 1.0 || lookup(t, delivery, "description") != "Test of the action 'a'" ||
			lookup(t, delivery, "state") != "pending" || lookup(t, delivery, "next_attempt_at") != lookup(t, delivery, "created_at") {
			t.Errorf("created %v", delivery)
		}
	}
	if want := []string{fmt.Sprint("WEBHOOK ", lookup(t, targets, 0, "id")), fmt.Sprint("SLACK ", lookup(t, targets, 2, "id"))}; !slices.Equal(notified, want) {
		t.Errorf("the deliveries are to %q, want %q", notified, want)
	}
	if strings.Contains(string(got.body), "127.0.0.1") {
		t.Errorf("the answer has an address: %s", got.body)
	}
	listed := lookup(t, s.read(s.orgActionsPath()+"/1/deliveries"), "data").([]any)
	ids := func(all []any) []string {
		var ids []string
		for _, delivery := range all {
			ids = append(ids, lookup(t, delivery, "id").(string))
		}
		slices.Sort(ids)
		return ids
	}
	if !slices.Equal(ids(listed), ids(deliveries)) {
		t.Errorf("listed %q, created %q", ids(listed), ids(deliveries))
	}
	for _, key := range []string{readerKey, snapshotterKey} {
		if got := s.do(http.MethodPost, "/api/v2"+s.orgActionsPath()+"/1/test", key, nil); got.status != http.StatusForbidden {
			t.Errorf("%s: status %d", userOf(key), got.status)
		}
	}
}

func TestRedeliveryMakesADeliveryPendingAgain(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.putAction(http.StatusCreated, "environments", envActionBody("a", deadTarget))
	s.putAction(http.StatusCreated, "environments", envActionBody("b", deadTarget))
	s.storeDeliveries(notification.Failed, 2)
	failed := lookup(t, s.read(s.orgActionsPath()+"/1/deliveries"), "data", 0)
	id := lookup(t, failed, "id").(string)
	path := s.orgActionsPath() + "/1/deliveries/" + url.PathEscape(id) + "/redeliver"
	for range 2 {
		again := s.want(http.StatusOK, http.MethodPost, path, nil).value(t)
		if lookup(t, again, "id") != id || lookup(t, again, "state") != "pending" || lookup(t, again, "next_attempt_at") == nil || lookup(t, again, "created_at") != lookup(t, failed, "created_at") {
			t.Errorf("repeated: %v", again)
		}
	}
	s.wantError(http.StatusNotFound, "Delivery not found", http.MethodPost, s.orgActionsPath()+"/1/deliveries/nothing/redeliver", "")
	s.wantError(http.StatusNotFound, "Delivery not found", http.MethodPost, s.orgActionsPath()+"/2/deliveries/"+id+"/redeliver", "")
	s.putAction(http.StatusOK, "environments", envActionBody("a", `{"type":"EMAIL","emails":["a@example.com"]}`))
	s.wantError(http.StatusBadRequest, "The target of this delivery is no longer a target of the action", http.MethodPost, path, "")
	s.want(http.StatusOK, http.MethodDelete, s.orgActionsPath()+"/1", nil)
	s.wantError(http.StatusNotFound, "Action not found", http.MethodPost, path, "")
	s.wantError(http.StatusNotFound, "Action not found", http.MethodGet, s.orgActionsPath()+"/1/deliveries", "")
}

// switchOff switches a target off, as a worker does after failures.
func (s *service) switchOff(action int64, target string) {
	s.t.Helper()
	_, err := s.Process.Store.Targets.Update(s.t.Context(), s.orgID(), action, target, func(state *notification.TargetState) {
		state.LastSuccessAt, state.FailingSince, state.LastFailureAt, state.SwitchedOffAt = 1, 2, 3, 3
	})
	s.must(err)
}

func TestStoringAnActionSwitchesItsTargetsOnAgain(t *testing.T) {
	t.Parallel()
	s := share(t)
	const mails = `{"type":"EMAIL","emails":["a@example.com"]}`
	s.putAction(http.StatusCreated, "environments", envActionBody("a", deadTarget+","+mails))
	hook := lookup(t, s.read(s.orgActionsPath()+"/1"), "targets", 0, "id").(string)
	s.switchOff(1, hook)
	states := func() string {
		t.Helper()
		action := s.read(s.orgActionsPath() + "/1")
		shown := fmt.Sprint(lookup(t, action, "is_failing"), " ", lookup(t, action, "last_success_timestamp"), " ", lookup(t, action, "last_failure_timestamp"))
		for _, target := range lookup(t, action, "targets").([]any) {
			shown += fmt.Sprint(", ", lookup(t, target, "is_failing"), " ", lookup(t, target, "last_success_at"), " ", lookup(t, target, "last_failure_at"), " ", lookup(t, target, "switched_off_at"))
		}
		return shown
	}
	if got := states(); got != "true 1 3, true 1 3 3, false <nil> <nil> <nil>" {
		t.Errorf("switched off: %s", got)
	}
	s.putAction(http.StatusOK, "environments", envActionBody("a", mails+","+deadTarget))
	if got := states(); got != "false 1 3, false <nil> <nil> <nil>, false 1 3 <nil>" {
		t.Errorf("after the action was stored again: %s", got)
	}
	s.want(http.StatusOK, http.MethodPut, s.notificationsPath()+"/1", []byte(envActionBody("b", mails)))
	s.putAction(http.StatusOK, "environments", envActionBody("b", deadTarget))
	if got := states(); got != "<nil> <nil> <nil>, false <nil> <nil> <nil>" {
		t.Errorf("after the target was removed and added again: %s", got)
	}
}

func TestSigningSecretsAreShownOnce(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.putAction(http.StatusCreated, "environments", envActionBody("a", deadTarget+`,{"type":"SLACK","webhook":"http://127.0.0.1:1/chat"}`))
	targets := lookup(t, s.read(s.orgActionsPath()+"/1"), "targets").([]any)
	hook, chat := lookup(t, targets, 0, "id").(string), lookup(t, targets, 1, "id").(string)
	path := func(target string) string { return s.orgActionsPath() + "/1/targets/" + target + "/secret" }
	shown := map[any]bool{}
	for range 2 {
		got := s.do(http.MethodPost, "/api/v2"+path(hook), memberKey, nil)
		body := got.value(t)
		if secret := lookup(t, body, "secret").(string); got.status != http.StatusOK || signingSecret.FindString(secret) != secret || lookup(t, body, "target_id") != hook {
			t.Errorf("status %d: %s", got.status, got.body)
		}
		shown[lookup(t, body, "secret")] = true
	}
	if len(shown) != 2 {
		t.Error("the secret did not change")
	}
	s.wantError(http.StatusBadRequest, "Only targets of the type WEBHOOK have a signing secret", http.MethodPost, path(chat), "")
	s.wantError(http.StatusNotFound, "Target not found", http.MethodPost, path("0123456789abcdef"), "")
	if got := s.do(http.MethodPost, "/api/v2"+path(hook), readerKey, nil); got.status != http.StatusForbidden {
		t.Errorf("a reader: status %d", got.status)
	}
}
