package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/notification"
)

func (s *service) orgActionsPath() string { return "/actions/" + s.org }

func (s *service) notificationsPath() string {
	return "/organizations/" + s.org + "/environments_notifications"
}

// putAction stores an action as a member. kind is "environments" or "flows".
func (s *service) putAction(status int, kind, body string) {
	s.t.Helper()
	got := s.do(http.MethodPut, "/api/v2"+s.orgActionsPath()+"/"+kind, memberKey, []byte(body))
	if got.status != status {
		s.t.Fatalf("status %d, want %d: %s", got.status, status, got.body)
	}
	if got.text(s.t) != "OK" {
		s.t.Errorf("answered %s", got.body)
	}
}

// deadTarget is a webhook that refuses connections.
const deadTarget = `{"type":"WEBHOOK","webhook":"http://127.0.0.1:1/hook"}`

// envActionBody returns the body of an action on environments with one trigger. targets are JSON objects.
func envActionBody(name, targets string, environments ...string) string {
	names, _ := json.Marshal(append([]string{}, environments...))
	return fmt.Sprintf(`{"name":%q,"targets":[%s],"environments":%s,"triggers":["ON_COMPLIANT_ENV"]}`, name, targets, names)
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
	return answer{body: []byte(text)}.value(t)
}

func TestActionsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	s := share(t)
	for _, name := range []string{"prod", "stage"} {
		s.createEnvironment(name, evidence.Server)
	}
	s.createFlow("web")
	s.createFlow("api")
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
			s := s.in(t)
			s.putAction(http.StatusCreated, c.kind, c.body)
			path := fmt.Sprint(s.orgActionsPath(), "/", number+1)
			created := s.read(path)
			if got, want := requestMembers(t, created), jsonValue(t, c.body); !reflect.DeepEqual(got, want) {
				t.Errorf("got\n%v\nwant\n%v", got, want)
			}
			s.putAction(http.StatusOK, c.kind, c.body)
			again := s.read(path)
			if got, want := requestMembers(t, again), requestMembers(t, created); !reflect.DeepEqual(got, want) {
				t.Errorf("after a repeated request, got\n%v\nwant\n%v", got, want)
			}
			if lookup(t, again, "created_at") != lookup(t, created, "created_at") || lookup(t, again, "number") != float64(number+1) {
				t.Errorf("replaced: %v", again)
			}
			listed := s.read(s.orgActionsPath()).([]any)
			if len(listed) != number+1 || !reflect.DeepEqual(listed[number], again) {
				t.Errorf("listed %v", listed)
			}
		})
	}
}

func TestReadersSeeSchemeAndHostOfWebhooks(t *testing.T) {
	t.Parallel()
	s := share(t)
	const address, origin = "https://user:word@hooks.example.com:8443/services/T0/hidden?key=hidden#hidden", "https://hooks.example.com:8443"
	s.createEnvironment("prod", evidence.Server)
	s.putAction(http.StatusCreated, "environments", envActionBody("a", `{"type":"WEBHOOK","webhook":"`+address+`"},{"type":"SLACK","webhook":"`+address+`"}`, "prod"))
	s.storeDeliveries(notification.Failed, 1)
	_, err := s.Process.Store.Deliveries.Update(t.Context(), s.orgID(), lookup(t, s.read(s.orgActionsPath()+"/1/deliveries"), "data", 0, "id").(string), func(d *notification.Delivery) {
		d.Attempts = []notification.Attempt{{Status: 404, Answer: "Cannot POST /services/T0/hidden", Reason: "The answer has status 404."}}
	})
	s.must(err)
	for _, path := range []string{s.orgActionsPath(), s.orgActionsPath() + "/1", s.notificationsPath(), s.notificationsPath() + "/1", s.orgActionsPath() + "/1/deliveries"} {
		for key, all := range map[string]bool{readerKey: false, snapshotterKey: false, memberKey: true, adminKey: true} {
			got := s.do(http.MethodGet, "/api/v2"+path, key, nil)
			if got.status != http.StatusOK {
				t.Fatalf("%s %s: status %d: %s", userOf(key), path, got.status, got.body)
			}
			if strings.Contains(string(got.body), "hidden") != all {
				t.Errorf("%s %s: %s", userOf(key), path, got.body)
			}
			if strings.HasSuffix(path, "/deliveries") {
				continue
			}
			shown := got.value(t)
			if list, ok := shown.([]any); ok {
				shown = list[0]
			}
			for i := range 2 {
				want := map[bool]string{true: address, false: origin}[all]
				if got := lookup(t, shown, "targets", i, "webhook"); got != want {
					t.Errorf("%s %s: %v, want %s", userOf(key), path, got, want)
				}
			}
		}
	}
}

func TestActionIsShownWithAllItsMembers(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.putAction(http.StatusCreated, "environments", envActionBody("a", `{"type":"WEBHOOK","webhook":"http://127.0.0.1:1/hook","id":7,"last_success_at":"x","is_failing":true,"switched_off_at":1},`+
		`{"type":"SLACK","webhook":"http://127.0.0.1:1/s","emails":null,"context":null,"last_failure_at":99}`, "prod"))
	action := s.read(s.orgActionsPath() + "/1").(map[string]any)
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
	shown := s.read(s.notificationsPath() + "/1").(map[string]any)
	delete(shown, "created_at")
	delete(shown, "last_modified_at")
	delete(want.(map[string]any), "flows")
	if !reflect.DeepEqual(any(shown), want) {
		t.Errorf("at the second address it is\n%v\nwant\n%v", shown, want)
	}
}

func TestBothAddressesLeadToTheSameActions(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.createFlow("web")
	s.putAction(http.StatusCreated, "flows", `{"name":"f","targets":[`+deadTarget+`],"flows":["web"],"triggers":["ON_STARTED_TRAIL"]}`)
	s.want(http.StatusCreated, http.MethodPut, s.notificationsPath(), []byte(envActionBody("a", deadTarget, "prod")))
	s.want(http.StatusOK, http.MethodPut, s.notificationsPath(), []byte(envActionBody("a", deadTarget, "prod")))
	s.putAction(http.StatusOK, "environments", envActionBody("a", deadTarget))
	names := func(path string) string {
		t.Helper()
		var all []string
		for _, action := range s.read(path).([]any) {
			all = append(all, fmt.Sprint(lookup(t, action, "number"), " ", lookup(t, action, "name")))
		}
		return strings.Join(all, ", ")
	}
	if got := names(s.orgActionsPath()); got != "1 f, 2 a" {
		t.Errorf("actions are %s", got)
	}
	if got := names(s.notificationsPath()); got != "2 a" {
		t.Errorf("notifications are %s", got)
	}

	s.want(http.StatusOK, http.MethodPut, s.notificationsPath()+"/2", []byte(envActionBody("b", deadTarget, "prod")))
	if got := names(s.orgActionsPath()); got != "1 f, 2 b" {
		t.Errorf("after a new name the actions are %s", got)
	}
	taken := s.do(http.MethodPut, "/api/v2"+s.notificationsPath()+"/2", memberKey, []byte(envActionBody("f", deadTarget)))
	wantProblem(t, taken, http.StatusBadRequest, "Invalid notification payload", map[string]string{"name": "Another action has this name [input: f]"})
	taken = s.do(http.MethodPut, "/api/v2"+s.orgActionsPath()+"/environments", memberKey, []byte(envActionBody("f", deadTarget)))
	wantProblem(t, taken, http.StatusBadRequest, "Input payload validation failed", map[string]string{"name": "Another action has this name [input: f]"})

	body := envActionBody("c", deadTarget)
	for _, path := range []string{s.notificationsPath() + "/1", s.notificationsPath() + "/9", s.notificationsPath() + "/-1"} {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
			s.wantError(http.StatusNotFound, "Action not found", method, path, body)
		}
	}
	s.want(http.StatusOK, http.MethodDelete, s.notificationsPath()+"/2", nil)
	s.wantError(http.StatusNotFound, "Action not found", http.MethodGet, s.orgActionsPath()+"/2", "")
	s.wantError(http.StatusNotFound, "Action not found", http.MethodDelete, s.orgActionsPath()+"/2", "")
	s.want(http.StatusOK, http.MethodDelete, s.orgActionsPath()+"/1", nil)
	s.putAction(http.StatusCreated, "environments", body)
	if got := names(s.orgActionsPath()); got != "3 c" {
		t.Errorf("a number was given twice: %s", got)
	}
}

func TestActionsShowTheCurrentNamesOfEnvironmentsAndFlows(t *testing.T) {
	t.Parallel()
	s := share(t)
	for _, name := range []string{"one", "two", "three"} {
		s.createEnvironment(name, evidence.Server)
		s.createFlow(name)
	}
	s.putAction(http.StatusCreated, "environments", envActionBody("a", deadTarget, "three", "two", "one"))
	s.putAction(http.StatusCreated, "flows", `{"name":"b","targets":[`+deadTarget+`],"flows":["three","two","one"],"triggers":[]}`)
	for _, kind := range []string{"environments", "flows"} {
		s.want(http.StatusOK, http.MethodPut, "/"+kind+"/"+s.org+"/one/rename", []byte(`{"new_name":"uno"}`))
		s.want(http.StatusOK, http.MethodPut, "/"+kind+"/"+s.org+"/two/archive", []byte("null"))
	}
	s.createEnvironment("two", evidence.Server) // not the archived one
	s.createFlow("two")
	shownNames := func(number int, kind string) string {
		t.Helper()
		return fmt.Sprint(lookup(t, s.read(fmt.Sprint(s.orgActionsPath(), "/", number)), kind))
	}
	if got := shownNames(1, "environments"); got != "[three uno]" {
		t.Errorf("environments are %s", got)
	}
	if got := shownNames(2, "flows"); got != "[three uno]" {
		t.Errorf("flows are %s", got)
	}
	s.putAction(http.StatusOK, "environments", envActionBody("a", deadTarget, "two", "one"))
	if got := shownNames(1, "environments"); got != "[two uno]" {
		t.Errorf("environments are %s", got)
	}
}

func TestActionsStayInTheirOrganization(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.putAction(http.StatusCreated, "environments", envActionBody("a", deadTarget, "prod"))
	delivery := lookup(t, s.want(http.StatusOK, http.MethodPost, s.orgActionsPath()+"/1/test", nil).value(t), "deliveries", 0, "id").(string)
	theirs := "/actions/" + s.public
	if listed := s.read(theirs).([]any); len(listed) != 0 {
		t.Errorf("listed %v", listed)
	}
	for _, request := range []string{"GET /1", "DELETE /1", "GET /1/deliveries", "POST /1/test", "POST /1/deliveries/" + delivery + "/redeliver", "POST /1/targets/x/secret"} {
		method, path, _ := strings.Cut(request, " ")
		s.wantError(http.StatusNotFound, "Action not found", method, theirs+path, "")
	}
	got := s.do(http.MethodPut, "/api/v2"+theirs+"/environments", adminKey, []byte(envActionBody("a", deadTarget, "prod")))
	wantProblem(t, got, http.StatusBadRequest, "Input payload validation failed",
		map[string]string{"environments[0]": "Environment named 'prod' does not exist for organization '" + s.public + "' [input: prod]"})
	s.want(http.StatusCreated, http.MethodPut, theirs+"/environments", []byte(envActionBody("a", deadTarget)))
	s.wantError(http.StatusNotFound, "Delivery not found", http.MethodPost, theirs+"/1/deliveries/"+delivery+"/redeliver", "")
	if listed := lookup(t, s.read(theirs+"/1/deliveries"), "data").([]any); len(listed) != 0 {
		t.Errorf("their deliveries are %v", listed)
	}
}

func TestListingManyActionsTakesAsManyCommandsAsOne(t *testing.T) {
	t.Parallel()
	s, counting := startCounting(t, options{withoutWorker: true})
	s.createFlow("web")
	for _, name := range []string{"one", "two", "three", "four"} {
		s.createEnvironment(name, evidence.Server)
	}
	commands := func(method, path, body string) int {
		t.Helper()
		return fewestCommands(counting, func() { s.want(http.StatusOK, method, path, []byte(body)) })
	}
	flow := `{"name":"flow","targets":[` + deadTarget + `],"flows":["web"],"triggers":[]}`
	s.putAction(http.StatusCreated, "environments", envActionBody("a", deadTarget, "one"))
	s.putAction(http.StatusCreated, "flows", flow)
	one := []int{commands(http.MethodGet, s.orgActionsPath(), ""), commands(http.MethodPut, s.orgActionsPath()+"/environments", envActionBody("a", deadTarget, "one"))}
	for i := range 20 {
		s.putAction(http.StatusCreated, "environments", envActionBody(fmt.Sprint("a", i), deadTarget+`,{"type":"EMAIL","emails":["a@example.com"]}`, "one", "two", "three"))
	}
	many := []int{commands(http.MethodGet, s.orgActionsPath(), ""),
		commands(http.MethodPut, s.orgActionsPath()+"/environments", envActionBody("a", deadTarget+`,{"type":"EMAIL","emails":["a@example.com"]}`, "one", "two", "three", "four"))}
	if !slices.Equal(one, many) {
		t.Errorf("one action takes %d commands, many take %d", one, many)
	}
}
