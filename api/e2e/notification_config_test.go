package e2e_test

import (
	"fmt"
	"net/http"
	"reflect"
	"testing"
	"time"

	"attestry/evidence/notification"
)

func (s *service) configPath() string { return "/notification-config/" + s.org + "/api_key_expiry" }

// putConfig stores whom the organization notifies of keys that expire, and returns the answer.
func (s *service) putConfig(body string) any {
	s.t.Helper()
	return s.want(http.StatusOK, http.MethodPut, s.configPath(), []byte(body)).value(s.t)
}

func TestNotificationConfigIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	s := share(t)
	none := jsonValue(t, `{"notification_type":"api_key_expiry","scope":null,"targets":[],"detection":{},"last_notified_at":null,"last_failure":null,"action_number":null}`)
	if got := s.read(s.configPath()); !reflect.DeepEqual(got, none) {
		t.Errorf("without a configuration: %v", got)
	}
	for _, body := range []string{
		`{"targets":[` + deadTarget + `]}`,
		`{"scope":"organization","targets":[{"type":"EMAIL","emails":["b@example.com","a@example.com"]},{"type":"SLACK","webhook":"http://127.0.0.1:1/Ä?b=<&>"}],"detection":{"days_before":[9,30],"kind":"x <&>"}}`,
		`{"scope":null,"targets":[],"detection":null,"notification_type":"api_key_expiry","last_notified_at":5,"last_failure":null}`,
	} {
		got, sent := s.putConfig(body), jsonValue(t, body).(map[string]any)
		if !reflect.DeepEqual(got, s.read(s.configPath())) {
			t.Errorf("%s is answered by %v, then by %v", body, got, s.read(s.configPath()))
		}
		detection := sent["detection"]
		if detection == nil {
			detection = map[string]any{}
		}
		if lookup(t, got, "scope") != sent["scope"] || !reflect.DeepEqual(lookup(t, got, "detection"), detection) {
			t.Errorf("%s is answered by %v", body, got)
		}
		shown, targets := lookup(t, got, "targets").([]any), sent["targets"].([]any)
		if len(shown) != len(targets) {
			t.Fatalf("%s has the targets %v", body, shown)
		}
		for i := range targets {
			for member, value := range targets[i].(map[string]any) {
				if !reflect.DeepEqual(lookup(t, shown[i], member), value) {
					t.Errorf("%s has the target %v", body, shown[i])
				}
			}
		}
	}
	s.want(http.StatusOK, http.MethodDelete, s.configPath(), nil)
	s.want(http.StatusOK, http.MethodDelete, s.configPath(), nil)
	if got := s.read(s.configPath()); !reflect.DeepEqual(got, none) {
		t.Errorf("after it was deleted: %v", got)
	}
}

func TestWrongNotificationConfigsAreRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	for body, want := range map[string]map[string]string{
		`{}`: {"targets": "Field required [input: None]"},
		`{"targets":[{"type":"EMAIL","emails":["x"]}]}`: {"targets[0].emails[0]": "Input should be an e-mail address without a display name [input: x]"},
		`{"targets":[],"detection":[]}`:                 {"detection": "Input should be a valid dictionary or object to extract fields from [input: []]"},
		`{"targets":[],"detection":{"days_before":[31]}}`: {
			"detection.days_before[0]": "Input should be less than or equal to 30 [input: 31]"},
		`{"targets":[],"detection":{"days_before":[]}}`: {
			"detection.days_before": "List should have at least 1 item after validation, not 0 [input: []]"},
	} {
		t.Run(s.caseName(body), func(t *testing.T) {
			got := s.in(t).do(http.MethodPut, "/api/v2"+s.configPath(), adminKey, []byte(body))
			wantProblem(t, got, http.StatusBadRequest, "Input payload validation failed", want)
		})
	}
	got := s.do(http.MethodGet, "/api/v2/notification-config/"+s.org+"/other", adminKey, nil)
	wantProblem(t, got, http.StatusBadRequest, "Input payload validation failed", map[string]string{"path.notification_type": "Input should be 'api_key_expiry' [input: other]"})
	if got := s.read(s.configPath()); lookup(t, got, "action_number") != nil {
		t.Errorf("stored %v", got)
	}
}

// TestNotificationsOfKeysAreForAdministrators also reaches the action that the configuration is stored as.
func TestNotificationsOfKeysAreForAdministrators(t *testing.T) {
	t.Parallel()
	s := share(t)
	got := s.putConfig(`{"targets":[` + deadTarget + `]}`)
	target := lookup(t, got, "targets", 0, "id").(string)
	if listed := s.read(s.orgActionsPath()).([]any); len(listed) != 0 {
		t.Errorf("listed as an action: %v", listed)
	}
	for _, path := range []string{s.orgActionsPath(), s.notificationsPath()} {
		s.wantError(http.StatusNotFound, "Action not found", http.MethodGet, path+"/1", "")
		s.wantError(http.StatusNotFound, "Action not found", http.MethodDelete, path+"/1", "")
	}
	for _, request := range []struct{ method, path string }{
		{http.MethodGet, "/1/deliveries"}, {http.MethodPost, "/1/test"}, {http.MethodPost, "/1/targets/" + target + "/secret"},
	} {
		path := s.orgActionsPath() + request.path
		wantProblem(t, s.do(request.method, "/api/v2"+path, memberKey, nil), http.StatusNotFound, "Action not found", nil)
		s.want(http.StatusOK, request.method, path, nil)
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete} {
		wantProblem(t, s.do(method, "/api/v2"+s.configPath(), memberKey, []byte(`{"targets":[]}`)), http.StatusForbidden, noPermission, nil)
	}
}

func TestConfigOfAnotherOrganizationStaysAsItIs(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.putConfig(`{"targets":[` + deadTarget + `]}`)
	theirs := "/notification-config/" + s.public + "/api_key_expiry"
	if got := s.read(theirs); lookup(t, got, "action_number") != nil {
		t.Errorf("theirs is %v", got)
	}
	s.want(http.StatusOK, http.MethodDelete, theirs, nil)
	if got := s.read(s.configPath()); lookup(t, got, "action_number") != 1.0 {
		t.Errorf("ours is %v", got)
	}
}

func TestNotificationConfigShowsTheLastOutcomes(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.putConfig(`{"targets":[` + deadTarget + `,{"type":"EMAIL","emails":["a@example.com"]}]}`)
	action, err := s.Process.Store.Actions.Of(t.Context(), s.orgID())
	s.must(err)
	for i, attempt := range []notification.Attempt{{At: 100, Reason: "The answer has status 500.", Status: 500}, {At: 90, Reason: "earlier"}, {At: 80}} {
		target := action.All[0].Targets[min(i, 1)]
		_, err := s.Process.Store.Targets.Update(t.Context(), s.orgID(), 1, target.ID(), func(state *notification.TargetState) { state.RecordAttempt(&attempt) })
		s.must(err)
	}
	got := s.read(s.configPath())
	want := map[string]any{"failed_at": 100.0, "error": "The answer has status 500."}
	if !reflect.DeepEqual(lookup(t, got, "last_failure"), want) || lookup(t, got, "last_notified_at") != 80.0 {
		t.Errorf("shows %v", got)
	}
}

// TestKeysThatExpireAreSearchedWhenAWorkerStarts is the whole way, from the key to the delivery.
func TestKeysThatExpireAreSearchedWhenAWorkerStarts(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	s.putConfig(`{"targets":[` + deadTarget + `]}`)
	s.want(http.StatusCreated, http.MethodPost, s.accountPath(""), []byte(`{"name":"ci","privilege":"member"}`))
	expires := s.clock.read().Add(48 * time.Hour).Unix()
	id, _ := s.issue("/ci", adminKey, fmt.Sprintf(`{"description":"builds","expires_at":%d}`, expires))
	s.restart(func() {})
	eventually(t, "the delivery has failed once", func() bool { return lookup(t, s.read(s.configPath()), "last_failure") != nil })
	deliveries := lookup(t, s.read(s.orgActionsPath()+"/1/deliveries"), "data").([]any)
	if len(deliveries) != 1 {
		t.Fatalf("there are %d deliveries", len(deliveries))
	}
	want := "API key " + id + " (builds) of the service account ci expires at " + time.Unix(expires, 0).UTC().Format(time.RFC3339)
	if lookup(t, deliveries[0], "event_type") != "API_KEY_EXPIRES" || lookup(t, deliveries[0], "description") != want {
		t.Errorf("the delivery is %v", deliveries[0])
	}
}
