package organizations_test

import (
	"fmt"
	"net/http"
	"reflect"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/evidence/notification"
)

func configPath(s *apitest.Service) string {
	return "/notification-config/" + s.Org + "/api_key_expiry"
}

// putConfig stores whom the organization notifies of keys that expire, and returns the answer.
func putConfig(s *apitest.Service, body string) any {
	s.T.Helper()
	return s.Want(http.StatusOK, http.MethodPut, configPath(s), []byte(body)).Value(s.T)
}

func TestNotificationConfigIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	none := jsonValue(t, `{"notification_type":"api_key_expiry","scope":null,"targets":[],"detection":{},"last_notified_at":null,"last_failure":null,"action_number":null}`)
	if got := s.Read(configPath(s)); !reflect.DeepEqual(got, none) {
		t.Errorf("without a configuration: %v", got)
	}
	for _, body := range []string{
		`{"targets":[` + apitest.DeadTarget + `]}`,
		`{"scope":"organization","targets":[{"type":"EMAIL","emails":["b@example.com","a@example.com"]},{"type":"SLACK","webhook":"http://127.0.0.1:1/Ä?b=<&>"}],"detection":{"days_before":[9,30],"kind":"x <&>"}}`,
		`{"scope":null,"targets":[],"detection":null,"notification_type":"api_key_expiry","last_notified_at":5,"last_failure":null}`,
	} {
		got, sent := putConfig(s, body), jsonValue(t, body).(map[string]any)
		if !reflect.DeepEqual(got, s.Read(configPath(s))) {
			t.Errorf("%s is answered by %v, then by %v", body, got, s.Read(configPath(s)))
		}
		detection := sent["detection"]
		if detection == nil {
			detection = map[string]any{}
		}
		if apitest.Lookup(t, got, "scope") != sent["scope"] || !reflect.DeepEqual(apitest.Lookup(t, got, "detection"), detection) {
			t.Errorf("%s is answered by %v", body, got)
		}
		shown, targets := apitest.Lookup(t, got, "targets").([]any), sent["targets"].([]any)
		if len(shown) != len(targets) {
			t.Fatalf("%s has the targets %v", body, shown)
		}
		for i := range targets {
			for member, value := range targets[i].(map[string]any) {
				if !reflect.DeepEqual(apitest.Lookup(t, shown[i], member), value) {
					t.Errorf("%s has the target %v", body, shown[i])
				}
			}
		}
	}
	s.Want(http.StatusOK, http.MethodDelete, configPath(s), nil)
	s.Want(http.StatusOK, http.MethodDelete, configPath(s), nil)
	if got := s.Read(configPath(s)); !reflect.DeepEqual(got, none) {
		t.Errorf("after it was deleted: %v", got)
	}
}

func TestWrongNotificationConfigsAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	apitest.Each(s, map[string]map[string]string{
		`{}`: {"targets": "Field required [input: None]"},
		`{"targets":[{"type":"EMAIL","emails":["x"]}]}`: {"targets[0].emails[0]": "Input should be an e-mail address without a display name [input: x]"},
		`{"targets":[],"detection":[]}`:                 {"detection": "Input should be a valid dictionary or object to extract fields from [input: []]"},
		`{"targets":[],"detection":{"days_before":[31]}}`: {
			"detection.days_before[0]": "Input should be less than or equal to 30 [input: 31]"},
		`{"targets":[],"detection":{"days_before":[]}}`: {
			"detection.days_before": "List should have at least 1 item after validation, not 0 [input: []]"},
	}, func(s *apitest.Service, body string, want map[string]string) {
		got := s.Do(http.MethodPut, "/api/v2"+configPath(s), apitest.AdminKey, []byte(body))
		apitest.WantProblem(s.T, got, http.StatusBadRequest, "Input payload validation failed", want)
	})
	got := s.Do(http.MethodGet, "/api/v2/notification-config/"+s.Org+"/other", apitest.AdminKey, nil)
	apitest.WantProblem(t, got, http.StatusBadRequest, "Input payload validation failed", map[string]string{"path.notification_type": "Input should be 'api_key_expiry' [input: other]"})
	apitest.WantMember(t, s.Read(configPath(s)), "action_number", nil)
}

// TestNotificationsOfKeysAreForAdministrators also reaches the action that the configuration is stored as.
func TestNotificationsOfKeysAreForAdministrators(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	got := putConfig(s, `{"targets":[`+apitest.DeadTarget+`]}`)
	target := apitest.Lookup(t, got, "targets", 0, "id").(string)
	if listed := s.Read(s.OrgActionsPath()).([]any); len(listed) != 0 {
		t.Errorf("listed as an action: %v", listed)
	}
	for _, path := range []string{s.OrgActionsPath(), notificationsPath(s)} {
		s.WantError(http.StatusNotFound, "Action not found", http.MethodGet, path+"/1", "")
		s.WantError(http.StatusNotFound, "Action not found", http.MethodDelete, path+"/1", "")
	}
	for _, request := range []struct{ method, path string }{
		{http.MethodGet, "/1/deliveries"}, {http.MethodPost, "/1/test"}, {http.MethodPost, "/1/targets/" + target + "/secret"},
	} {
		path := s.OrgActionsPath() + request.path
		apitest.WantProblem(t, s.Do(request.method, "/api/v2"+path, apitest.MemberKey, nil), http.StatusNotFound, "Action not found", nil)
		s.Want(http.StatusOK, request.method, path, nil)
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete} {
		apitest.WantProblem(t, s.Do(method, "/api/v2"+configPath(s), apitest.MemberKey, []byte(`{"targets":[]}`)), http.StatusForbidden, apitest.NoPermission, nil)
	}
}

func TestConfigOfAnotherOrganizationStaysAsItIs(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	putConfig(s, `{"targets":[`+apitest.DeadTarget+`]}`)
	theirs := "/notification-config/" + s.Public + "/api_key_expiry"
	apitest.WantMember(t, s.Read(theirs), "action_number", nil)
	s.Want(http.StatusOK, http.MethodDelete, theirs, nil)
	apitest.WantMember(t, s.Read(configPath(s)), "action_number", 1.0)
}

func TestNotificationConfigShowsTheLastOutcomes(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	putConfig(s, `{"targets":[`+apitest.DeadTarget+`,{"type":"EMAIL","emails":["a@example.com"]}]}`)
	action, err := s.Process.Store.Actions.Of(t.Context(), s.OrgID())
	s.Must(err)
	for i, attempt := range []notification.Attempt{{At: 100, Reason: "The answer has status 500.", Status: 500}, {At: 90, Reason: "earlier"}, {At: 80}} {
		target := action.All[0].Targets[min(i, 1)]
		_, err := s.Process.Store.Targets.Update(t.Context(), s.OrgID(), 1, target.ID(), func(state *notification.TargetState) { state.RecordAttempt(&attempt) })
		s.Must(err)
	}
	got := s.Read(configPath(s))
	want := map[string]any{"failed_at": 100.0, "error": "The answer has status 500."}
	if !reflect.DeepEqual(apitest.Lookup(t, got, "last_failure"), want) || apitest.Lookup(t, got, "last_notified_at") != 80.0 {
		t.Errorf("shows %v", got)
	}
}

// TestKeysThatExpireAreSearchedWhenAWorkerStarts is the whole way, from the key to the delivery.
func TestKeysThatExpireAreSearchedWhenAWorkerStarts(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	putConfig(s, `{"targets":[`+apitest.DeadTarget+`]}`)
	s.Want(http.StatusCreated, http.MethodPost, accountPath(s, ""), []byte(`{"name":"ci","privilege":"member"}`))
	expires := s.Clock.Read().Add(48 * time.Hour).Unix()
	id, _ := issue(s, "/ci", apitest.AdminKey, fmt.Sprintf(`{"description":"builds","expires_at":%d}`, expires))
	s.Restart(func() {})
	apitest.Eventually(t, "the delivery has failed once", func() bool { return apitest.Lookup(t, s.Read(configPath(s)), "last_failure") != nil })
	deliveries := apitest.Lookup(t, s.Read(s.OrgActionsPath()+"/1/deliveries"), "data").([]any)
	if len(deliveries) != 1 {
		t.Fatalf("there are %d deliveries", len(deliveries))
	}
	want := "API key " + id + " (builds) of the service account ci expires at " + time.Unix(expires, 0).UTC().Format(time.RFC3339)
	apitest.WantMembers(t, deliveries[0], map[string]any{"event_type": "API_KEY_EXPIRES", "description": want})
}
