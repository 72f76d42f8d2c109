package organizations_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence/notification"
)

// listDeliveries returns the descriptions of the deliveries of the first action, each page in brackets.
func listDeliveries(s *apitest.Service, query string) string {
	s.T.Helper()
	var pages []string
	for path := s.OrgActionsPath() + "/1/deliveries?" + query; path != ""; {
		page := s.Read(path)
		var descriptions []string
		for _, delivery := range apitest.Lookup(s.T, page, "data").([]any) {
			descriptions = append(descriptions, apitest.Lookup(s.T, delivery, "description").(string))
		}
		pages = append(pages, fmt.Sprint(descriptions))
		links := apitest.Lookup(s.T, page, "_links").(map[string]any)
		path = ""
		if next, ok := links["next"]; ok {
			path = strings.TrimPrefix(apitest.Lookup(s.T, next, "href").(string), s.URL+"/api/v2")
		}
	}
	return strings.Join(pages, " ")
}

func TestDeliveriesAreListedInPages(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.PutAction(http.StatusCreated, "environments", apitest.EnvActionBody("a", apitest.DeadTarget))
	s.StoreDeliveries(notification.Delivered, 1, 3, 5)
	s.StoreDeliveries(notification.Failed, 2, 4)
	for query, want := range map[string]string{
		"":                           "[5 4 3 2 1]",
		"per_page=2":                 "[5 4] [3 2] [1]",
		"state=delivered":            "[5 3 1]",
		"state=delivered&per_page=2": "[5 3] [1]",
		"state=failed&per_page=100":  "[4 2]",
		"state=pending":              "[]",
	} {
		apitest.Equal(t, listDeliveries(s, query), want, query)
	}
	pagination := func(query string) any {
		t.Helper()
		return apitest.Lookup(t, s.Read(s.OrgActionsPath()+"/1/deliveries?"+query), "pagination")
	}
	apitest.Equal(t, fmt.Sprint(pagination("per_page=2")), "map[page:1 page_count:3 per_page:2 total:5]", "the pagination")
	apitest.Equal(t, pagination("state=failed"), nil, "the pagination of one state")
	for query, field := range map[string]string{
		"state=lost": "query.state", "state=": "query.state", "per_page=0": "query.per_page", "per_page=101": "query.per_page", "after=x": "query.after", "after=2.bm9uc2Vuc2U": "query.after",
	} {
		message, errors := s.Want(http.StatusBadRequest, http.MethodGet, s.OrgActionsPath()+"/1/deliveries?"+query, nil).Problem(t)
		if message != "Input payload validation failed" || errors[field] == "" {
			t.Errorf("%s: %q %q", query, message, errors)
		}
	}
}

func TestTestOfAnActionIsSentToEachTargetOnce(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.PutAction(http.StatusCreated, "environments", apitest.EnvActionBody("a", apitest.DeadTarget+","+apitest.DeadTarget+`,{"type":"SLACK","webhook":"http://127.0.0.1:1/chat"}`))
	targets := apitest.Lookup(t, s.Read(s.OrgActionsPath()+"/1"), "targets").([]any)
	switchOff(s, 1, apitest.Lookup(t, targets, 2, "id").(string))
	got := s.Do(http.MethodPost, "/api/v2"+s.OrgActionsPath()+"/1/test", apitest.MemberKey, nil)
	if got.Status != http.StatusOK {
		t.Fatalf("status %d: %s", got.Status, got.Body)
	}
	deliveries := apitest.Lookup(t, got.Value(t), "deliveries").([]any)
	var notified []string
	for _, delivery := range deliveries {
		notified = append(notified, fmt.Sprint(apitest.Lookup(t, delivery, "target", "type"), " ", apitest.Lookup(t, delivery, "target", "id")))
		if apitest.Lookup(t, delivery, "event_type") != "TEST" || apitest.Lookup(t, delivery, "action_number") != 1.0 || apitest.Lookup(t, delivery, "description") != "Test of the action 'a'" ||
			apitest.Lookup(t, delivery, "state") != "pending" || apitest.Lookup(t, delivery, "next_attempt_at") != apitest.Lookup(t, delivery, "created_at") {
			t.Errorf("created %v", delivery)
		}
	}
	if want := []string{fmt.Sprint("WEBHOOK ", apitest.Lookup(t, targets, 0, "id")), fmt.Sprint("SLACK ", apitest.Lookup(t, targets, 2, "id"))}; !slices.Equal(notified, want) {
		t.Errorf("the deliveries are to %q, want %q", notified, want)
	}
	if strings.Contains(string(got.Body), "127.0.0.1") {
		t.Errorf("the answer has an address: %s", got.Body)
	}
	listed := apitest.Lookup(t, s.Read(s.OrgActionsPath()+"/1/deliveries"), "data").([]any)
	ids := func(all []any) []string {
		var ids []string
		for _, delivery := range all {
			ids = append(ids, apitest.Lookup(t, delivery, "id").(string))
		}
		slices.Sort(ids)
		return ids
	}
	apitest.EqualList(t, ids(listed), ids(deliveries))
	for _, key := range []string{apitest.ReaderKey, apitest.SnapshotterKey} {
		apitest.WantAnswer(t, s.Do(http.MethodPost, "/api/v2"+s.OrgActionsPath()+"/1/test", key, nil), http.StatusForbidden)
	}
}

func TestRedeliveryMakesADeliveryPendingAgain(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.PutAction(http.StatusCreated, "environments", apitest.EnvActionBody("a", apitest.DeadTarget))
	s.PutAction(http.StatusCreated, "environments", apitest.EnvActionBody("b", apitest.DeadTarget))
	s.StoreDeliveries(notification.Failed, 2)
	failed := apitest.Lookup(t, s.Read(s.OrgActionsPath()+"/1/deliveries"), "data", 0)
	id := apitest.Lookup(t, failed, "id").(string)
	path := s.OrgActionsPath() + "/1/deliveries/" + url.PathEscape(id) + "/redeliver"
	for range 2 {
		again := s.Want(http.StatusOK, http.MethodPost, path, nil).Value(t)
		if apitest.Lookup(t, again, "id") != id || apitest.Lookup(t, again, "state") != "pending" || apitest.Lookup(t, again, "next_attempt_at") == nil || apitest.Lookup(t, again, "created_at") != apitest.Lookup(t, failed, "created_at") {
			t.Errorf("repeated: %v", again)
		}
	}
	s.WantError(http.StatusNotFound, "Delivery not found", http.MethodPost, s.OrgActionsPath()+"/1/deliveries/nothing/redeliver", "")
	s.WantError(http.StatusNotFound, "Delivery not found", http.MethodPost, s.OrgActionsPath()+"/2/deliveries/"+id+"/redeliver", "")
	s.PutAction(http.StatusOK, "environments", apitest.EnvActionBody("a", `{"type":"EMAIL","emails":["a@example.com"]}`))
	s.WantError(http.StatusBadRequest, "The target of this delivery is no longer a target of the action", http.MethodPost, path, "")
	s.Want(http.StatusOK, http.MethodDelete, s.OrgActionsPath()+"/1", nil)
	s.WantError(http.StatusNotFound, "Action not found", http.MethodPost, path, "")
	s.WantError(http.StatusNotFound, "Action not found", http.MethodGet, s.OrgActionsPath()+"/1/deliveries", "")
}

// switchOff switches a target off, as a worker does after failures.
func switchOff(s *apitest.Service, action int64, target string) {
	s.T.Helper()
	_, err := s.Process.Store.Targets.Update(s.T.Context(), s.OrgID(), action, target, func(state *notification.TargetState) {
		state.LastSuccessAt, state.FailingSince, state.LastFailureAt, state.SwitchedOffAt = 1, 2, 3, 3
	})
	s.Must(err)
}

func TestStoringAnActionSwitchesItsTargetsOnAgain(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	const mails = `{"type":"EMAIL","emails":["a@example.com"]}`
	s.PutAction(http.StatusCreated, "environments", apitest.EnvActionBody("a", apitest.DeadTarget+","+mails))
	hook := apitest.Lookup(t, s.Read(s.OrgActionsPath()+"/1"), "targets", 0, "id").(string)
	switchOff(s, 1, hook)
	states := func() string {
		t.Helper()
		action := s.Read(s.OrgActionsPath() + "/1")
		shown := fmt.Sprint(apitest.Lookup(t, action, "is_failing"), " ", apitest.Lookup(t, action, "last_success_timestamp"), " ", apitest.Lookup(t, action, "last_failure_timestamp"))
		for _, target := range apitest.Lookup(t, action, "targets").([]any) {
			shown += fmt.Sprint(", ", apitest.Lookup(t, target, "is_failing"), " ", apitest.Lookup(t, target, "last_success_at"), " ", apitest.Lookup(t, target, "last_failure_at"), " ", apitest.Lookup(t, target, "switched_off_at"))
			if reason := apitest.Lookup(t, target, "switched_off_reason"); reason != nil {
				shown += fmt.Sprint(" ", reason)
			}
		}
		return shown
	}
	if got := states(); got != "true 1 3, true 1 3 3 The target is switched off, as it has failed for too long., false <nil> <nil> <nil>" {
		t.Errorf("switched off: %s", got)
	}
	s.PutAction(http.StatusOK, "environments", apitest.EnvActionBody("a", mails+","+apitest.DeadTarget))
	apitest.Equal(t, states(), "false 1 3, false <nil> <nil> <nil>, false 1 3 <nil>", "after the action was stored again")
	s.Want(http.StatusOK, http.MethodPut, notificationsPath(s)+"/1", []byte(apitest.EnvActionBody("b", mails)))
	s.PutAction(http.StatusOK, "environments", apitest.EnvActionBody("b", apitest.DeadTarget))
	apitest.Equal(t, states(),
		"<nil> <nil> <nil>, false <nil> <nil> <nil>", "after the target was removed and added again")
}

func TestSigningSecretsAreShownOnce(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.PutAction(http.StatusCreated, "environments", apitest.EnvActionBody("a", apitest.DeadTarget+`,{"type":"SLACK","webhook":"http://127.0.0.1:1/chat"}`))
	targets := apitest.Lookup(t, s.Read(s.OrgActionsPath()+"/1"), "targets").([]any)
	hook, chat := apitest.Lookup(t, targets, 0, "id").(string), apitest.Lookup(t, targets, 1, "id").(string)
	path := func(target string) string { return s.OrgActionsPath() + "/1/targets/" + target + "/secret" }
	shown := map[any]bool{}
	for range 2 {
		got := s.Do(http.MethodPost, "/api/v2"+path(hook), apitest.MemberKey, nil)
		body := got.Value(t)
		if secret := apitest.Lookup(t, body, "secret").(string); got.Status != http.StatusOK || apitest.SigningSecret.FindString(secret) != secret || apitest.Lookup(t, body, "target_id") != hook {
			t.Errorf("status %d: %s", got.Status, got.Body)
		}
		shown[apitest.Lookup(t, body, "secret")] = true
	}
	apitest.Equal(t, len(shown), 2, "the secret did not change")
	s.WantError(http.StatusBadRequest, "Only targets of the type WEBHOOK have a signing secret", http.MethodPost, path(chat), "")
	s.WantError(http.StatusNotFound, "Target not found", http.MethodPost, path("0123456789abcdef"), "")
	apitest.Equal(t, s.Do(http.MethodPost, "/api/v2"+path(hook), apitest.ReaderKey, nil).Status,
		http.StatusForbidden, "a reader: status")
}
