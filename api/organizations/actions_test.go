package organizations_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence"
	"attestry/evidence/notification"
)

func notificationsPath(s *apitest.Service) string {
	return "/organizations/" + s.Org + "/environments_notifications"
}

// requestMembers returns the members of an action in an answer that requests have too.
func requestMembers(t *testing.T, shown any) any {
	t.Helper()
	action := shown.(map[string]any)
	sent := map[string]any{}
	for _, member := range []string{"name", "type", "environments", "flows", "triggers"} {
		if value := action[member]; value != nil {
			sent[member] = value
		}
	}
	targets := []any{}
	for _, one := range action["targets"].([]any) {
		target := map[string]any{}
		for _, member := range []string{"type", "webhook", "payload_version", "emails", "context"} {
			if value := one.(map[string]any)[member]; value != nil {
				target[member] = value
			}
		}
		targets = append(targets, target)
	}
	sent["targets"] = targets
	return sent
}

func jsonValue(t *testing.T, text string) any {
	t.Helper()
	return apitest.Answer{Body: []byte(text)}.Value(t)
}

func TestActionsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	for _, name := range []string{"prod", "stage"} {
		s.CreateEnvironment(name, evidence.Server)
	}
	s.CreateFlow("web")
	s.CreateFlow("api")
	for number, c := range []struct{ kind, body string }{
		{"environments", `{"name":"a","type":"env","environments":["stage","prod"],"triggers":["ON_NON_COMPLIANT_ENV","ON_STARTED_ARTIFACT"],
			"targets":[{"type":"WEBHOOK","webhook":"http://127.0.0.1:1/a?b=1&c=<d>#e","payload_version":"1.0"}]}`},
		{"environments", `{"name":"b","type":"env","environments":["prod","prod"],"triggers":["ON_ALLOWED_ARTIFACT","ON_ALLOWED_ARTIFACT"],
			"targets":[{"type":"EMAIL","emails":["z@example.com","a.b+c@example.co.uk","z@example.com"]},{"type":"SLACK","webhook":"HTTPS://user:pw@127.0.0.1:1/Ä/%20","context":{"channel_id":"C1","channel_name":"#ops","team_id":"T1"}},
				{"type":"SLACK","webhook":"http://127.0.0.1:1"},{"type":"SLACK","webhook":"http://127.0.0.1:1"}]}`},
		{"flows", `{"name":"c~/d.e-f_g","type":"flow","flows":["web","api","web"],"triggers":["ON_RELEASE","ON_APPROVAL","ON_ATTESTATION","ON_ATTESTED_PROVENANCE","ON_STARTED_TRAIL"],
			"targets":[{"type":"WEBHOOK","webhook":"http://[::1]:1/","payload_version":"1.0"}]}`},
		{"flows", `{"name":"d","type":"flow","flows":[],"triggers":[],"targets":[{"type":"EMAIL","emails":["a@localhost"]}]}`},
	} {
		t.Run(c.kind, func(t *testing.T) {
			s := s.In(t)
			s.PutAction(http.StatusCreated, c.kind, c.body)
			path := fmt.Sprint(s.OrgActionsPath(), "/", number+1)
			created := s.Read(path)
			if got, want := requestMembers(t, created), jsonValue(t, c.body); !reflect.DeepEqual(got, want) {
				t.Errorf("got\n%v\nwant\n%v", got, want)
			}
			s.PutAction(http.StatusOK, c.kind, c.body)
			again := s.Read(path)
			if got, want := requestMembers(t, again), requestMembers(t, created); !reflect.DeepEqual(got, want) {
				t.Errorf("after a repeated request, got\n%v\nwant\n%v", got, want)
			}
			if apitest.Lookup(t, again, "created_at") != apitest.Lookup(t, created, "created_at") || apitest.Lookup(t, again, "number") != float64(number+1) {
				t.Errorf("replaced: %v", again)
			}
			listed := s.Read(s.OrgActionsPath()).([]any)
			if len(listed) != number+1 || !reflect.DeepEqual(listed[number], again) {
				t.Errorf("listed %v", listed)
			}
		})
	}
}

func TestReadersSeeSchemeAndHostOfWebhooks(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	const address, origin = "https://user:word@hooks.example.com:8443/services/T0/hidden?key=hidden#hidden", "https://hooks.example.com:8443"
	s.CreateEnvironment("prod", evidence.Server)
	s.PutAction(http.StatusCreated, "environments", apitest.EnvActionBody("a", `{"type":"WEBHOOK","webhook":"`+address+`"},{"type":"SLACK","webhook":"`+address+`"}`, "prod"))
	s.StoreDeliveries(notification.Failed, 1)
	_, err := s.Process.Store.Deliveries.Update(t.Context(), s.OrgID(), apitest.Lookup(t, s.Read(s.OrgActionsPath()+"/1/deliveries"), "data", 0, "id").(string), func(d *notification.Delivery) {
		d.Attempts = []notification.Attempt{{Status: 404, Answer: "Cannot POST /services/T0/hidden", Reason: "The answer has status 404."}}
	})
	s.Must(err)
	for _, path := range []string{s.OrgActionsPath(), s.OrgActionsPath() + "/1", notificationsPath(s), notificationsPath(s) + "/1", s.OrgActionsPath() + "/1/deliveries"} {
		for key, all := range map[string]bool{apitest.ReaderKey: false, apitest.SnapshotterKey: false, apitest.MemberKey: true, apitest.AdminKey: true} {
			got := s.Do(http.MethodGet, "/api/v2"+path, key, nil)
			if got.Status != http.StatusOK {
				t.Fatalf("%s %s: status %d: %s", apitest.UserOf(key), path, got.Status, got.Body)
			}
			if strings.Contains(string(got.Body), "hidden") != all {
				t.Errorf("%s %s: %s", apitest.UserOf(key), path, got.Body)
			}
			if strings.HasSuffix(path, "/deliveries") {
				continue
			}
			shown := got.Value(t)
			if list, ok := shown.([]any); ok {
				shown = list[0]
			}
			for i := range 2 {
				want := map[bool]string{true: address, false: origin}[all]
				if got := apitest.Lookup(t, shown, "targets", i, "webhook"); got != want {
					t.Errorf("%s %s: %v, want %s", apitest.UserOf(key), path, got, want)
				}
			}
		}
	}
}

func TestActionIsShownWithAllItsMembers(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.PutAction(http.StatusCreated, "environments", apitest.EnvActionBody("a", `{"type":"WEBHOOK","webhook":"http://127.0.0.1:1/hook","id":7,"last_success_at":"x","is_failing":true,"switched_off_at":1},`+
		`{"type":"SLACK","webhook":"http://127.0.0.1:1/s","emails":null,"context":null,"last_failure_at":99}`, "prod"))
	action := s.Read(s.OrgActionsPath() + "/1").(map[string]any)
	for _, times := range []string{"created_at", "last_modified_at"} {
		if action[times].(float64) < 1.6e9 {
			t.Errorf("%s is %v", times, action[times])
		}
		delete(action, times)
	}
	hook := (&notification.Target{Type: notification.Webhook, Webhook: "http://127.0.0.1:1/hook"}).ID()
	slack := (&notification.Target{Type: notification.Slack, Webhook: "http://127.0.0.1:1/s"}).ID()
	want := jsonValue(t, `{"name":"a","type":"env","number":1,"triggers":["ON_COMPLIANT_ENV"],"created_by":"member","is_created_from_slack_app":false,
		"is_failing":null,"last_success_timestamp":null,"last_failure_timestamp":null,"flows":null,"environments":["prod"],"targets":[
		{"type":"WEBHOOK","webhook":"http://127.0.0.1:1/hook","payload_version":"1.0","id":"`+hook+`","last_success_at":null,"last_failure_at":null,"is_failing":false,"switched_off_at":null},
		{"type":"SLACK","webhook":"http://127.0.0.1:1/s","context":null,"id":"`+slack+`","last_success_at":null,"last_failure_at":null,"is_failing":false,"switched_off_at":null}]}`)
	if !reflect.DeepEqual(action, want) {
		t.Errorf("got\n%v\nwant\n%v", action, want)
	}
	shown := s.Read(notificationsPath(s) + "/1").(map[string]any)
	delete(shown, "created_at")
	delete(shown, "last_modified_at")
	delete(want.(map[string]any), "flows")
	if !reflect.DeepEqual(any(shown), want) {
		t.Errorf("at the second address it is\n%v\nwant\n%v", shown, want)
	}
}

func TestBothAddressesLeadToTheSameActions(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.CreateFlow("web")
	s.PutAction(http.StatusCreated, "flows", `{"name":"f","targets":[`+apitest.DeadTarget+`],"flows":["web"],"triggers":["ON_STARTED_TRAIL"]}`)
	s.Want(http.StatusCreated, http.MethodPut, notificationsPath(s), []byte(apitest.EnvActionBody("a", apitest.DeadTarget, "prod")))
	s.Want(http.StatusOK, http.MethodPut, notificationsPath(s), []byte(apitest.EnvActionBody("a", apitest.DeadTarget, "prod")))
	s.PutAction(http.StatusOK, "environments", apitest.EnvActionBody("a", apitest.DeadTarget))
	names := func(path string) string {
		t.Helper()
		var all []string
		for _, action := range s.Read(path).([]any) {
			all = append(all, fmt.Sprint(apitest.Lookup(t, action, "number"), " ", apitest.Lookup(t, action, "name")))
		}
		return strings.Join(all, ", ")
	}
	apitest.Equal(t, names(s.OrgActionsPath()), "1 f, 2 a", "actions")
	apitest.Equal(t, names(notificationsPath(s)), "2 a", "notifications")

	s.Want(http.StatusOK, http.MethodPut, notificationsPath(s)+"/2", []byte(apitest.EnvActionBody("b", apitest.DeadTarget, "prod")))
	apitest.Equal(t, names(s.OrgActionsPath()), "1 f, 2 b", "after a new name the actions")
	taken := s.Do(http.MethodPut, "/api/v2"+notificationsPath(s)+"/2", apitest.MemberKey, []byte(apitest.EnvActionBody("f", apitest.DeadTarget)))
	apitest.WantProblem(t, taken, http.StatusBadRequest, "Invalid notification payload", map[string]string{"name": "Another action has this name [input: f]"})
	taken = s.Do(http.MethodPut, "/api/v2"+s.OrgActionsPath()+"/environments", apitest.MemberKey, []byte(apitest.EnvActionBody("f", apitest.DeadTarget)))
	apitest.WantProblem(t, taken, http.StatusBadRequest, "Input payload validation failed", map[string]string{"name": "Another action has this name [input: f]"})

	body := apitest.EnvActionBody("c", apitest.DeadTarget)
	for _, path := range []string{notificationsPath(s) + "/1", notificationsPath(s) + "/9", notificationsPath(s) + "/-1"} {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
			s.WantError(http.StatusNotFound, "Action not found", method, path, body)
		}
	}
	s.Want(http.StatusOK, http.MethodDelete, notificationsPath(s)+"/2", nil)
	s.WantError(http.StatusNotFound, "Action not found", http.MethodGet, s.OrgActionsPath()+"/2", "")
	s.WantError(http.StatusNotFound, "Action not found", http.MethodDelete, s.OrgActionsPath()+"/2", "")
	s.Want(http.StatusOK, http.MethodDelete, s.OrgActionsPath()+"/1", nil)
	s.PutAction(http.StatusCreated, "environments", body)
	apitest.Equal(t, names(s.OrgActionsPath()), "3 c", "a number was given twice")
}

func TestActionsShowTheCurrentNamesOfEnvironmentsAndFlows(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	for _, name := range []string{"one", "two", "three"} {
		s.CreateEnvironment(name, evidence.Server)
		s.CreateFlow(name)
	}
	s.PutAction(http.StatusCreated, "environments", apitest.EnvActionBody("a", apitest.DeadTarget, "three", "two", "one"))
	s.PutAction(http.StatusCreated, "flows", `{"name":"b","targets":[`+apitest.DeadTarget+`],"flows":["three","two","one"],"triggers":[]}`)
	for _, kind := range []string{"environments", "flows"} {
		s.Want(http.StatusOK, http.MethodPut, "/"+kind+"/"+s.Org+"/one/rename", []byte(`{"new_name":"uno"}`))
		s.Want(http.StatusOK, http.MethodPut, "/"+kind+"/"+s.Org+"/two/archive", []byte("null"))
	}
	s.CreateEnvironment("two", evidence.Server) // not the archived one
	s.CreateFlow("two")
	shownNames := func(number int, kind string) string {
		t.Helper()
		return fmt.Sprint(apitest.Lookup(t, s.Read(fmt.Sprint(s.OrgActionsPath(), "/", number)), kind))
	}
	apitest.Equal(t, shownNames(1, "environments"), "[three uno]", "environments")
	apitest.Equal(t, shownNames(2, "flows"), "[three uno]", "flows")
	s.PutAction(http.StatusOK, "environments", apitest.EnvActionBody("a", apitest.DeadTarget, "two", "one"))
	apitest.Equal(t, shownNames(1, "environments"), "[two uno]", "environments")
}

func TestActionsStayInTheirOrganization(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.PutAction(http.StatusCreated, "environments", apitest.EnvActionBody("a", apitest.DeadTarget, "prod"))
	delivery := apitest.Lookup(t, s.Want(http.StatusOK, http.MethodPost, s.OrgActionsPath()+"/1/test", nil).Value(t), "deliveries", 0, "id").(string)
	theirs := "/actions/" + s.Public
	if listed := s.Read(theirs).([]any); len(listed) != 0 {
		t.Errorf("listed %v", listed)
	}
	for _, request := range []string{"GET /1", "DELETE /1", "GET /1/deliveries", "POST /1/test", "POST /1/deliveries/" + delivery + "/redeliver", "POST /1/targets/x/secret"} {
		method, path, _ := strings.Cut(request, " ")
		s.WantError(http.StatusNotFound, "Action not found", method, theirs+path, "")
	}
	got := s.Do(http.MethodPut, "/api/v2"+theirs+"/environments", apitest.AdminKey, []byte(apitest.EnvActionBody("a", apitest.DeadTarget, "prod")))
	apitest.WantProblem(t, got, http.StatusBadRequest, "Input payload validation failed",
		map[string]string{"environments[0]": "Environment named 'prod' does not exist for organization '" + s.Public + "' [input: prod]"})
	s.Want(http.StatusCreated, http.MethodPut, theirs+"/environments", []byte(apitest.EnvActionBody("a", apitest.DeadTarget)))
	s.WantError(http.StatusNotFound, "Delivery not found", http.MethodPost, theirs+"/1/deliveries/"+delivery+"/redeliver", "")
	if listed := apitest.Lookup(t, s.Read(theirs+"/1/deliveries"), "data").([]any); len(listed) != 0 {
		t.Errorf("their deliveries are %v", listed)
	}
}

func TestListingManyActionsTakesAsManyCommandsAsOne(t *testing.T) {
	t.Parallel()
	s, counting := apitest.StartCounting(t, apitest.Options{WithoutWorker: true})
	s.CreateFlow("web")
	for _, name := range []string{"one", "two", "three", "four"} {
		s.CreateEnvironment(name, evidence.Server)
	}
	commands := func(method, path, body string) int {
		t.Helper()
		return apitest.FewestCommands(counting, func() { s.Want(http.StatusOK, method, path, []byte(body)) })
	}
	flow := `{"name":"flow","targets":[` + apitest.DeadTarget + `],"flows":["web"],"triggers":[]}`
	s.PutAction(http.StatusCreated, "environments", apitest.EnvActionBody("a", apitest.DeadTarget, "one"))
	s.PutAction(http.StatusCreated, "flows", flow)
	one := []int{commands(http.MethodGet, s.OrgActionsPath(), ""), commands(http.MethodPut, s.OrgActionsPath()+"/environments", apitest.EnvActionBody("a", apitest.DeadTarget, "one"))}
	for i := range 20 {
		s.PutAction(http.StatusCreated, "environments", apitest.EnvActionBody(fmt.Sprint("a", i), apitest.DeadTarget+`,{"type":"EMAIL","emails":["a@example.com"]}`, "one", "two", "three"))
	}
	many := []int{commands(http.MethodGet, s.OrgActionsPath(), ""),
		commands(http.MethodPut, s.OrgActionsPath()+"/environments", apitest.EnvActionBody("a", apitest.DeadTarget+`,{"type":"EMAIL","emails":["a@example.com"]}`, "one", "two", "three", "four"))}
	apitest.EqualList(t, one, many)
}
