package web_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/api/apitest/webclient"
	"attestry/evidence/evidencetest"
	"attestry/evidence/notification"
)

func TestAdministratorsManageAccessInTheSettings(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	v := webclient.SignedIn(s, apitest.AdminKey)
	created := v.Post("/"+s.Org+"/settings/service-accounts/create_service_account",
		url.Values{"name": {"robot"}, "privilege": {"member"}, "description": {"<script>alert(1)</script>"}})
	if next := created.Header.Get("Location"); created.Status != http.StatusSeeOther || next != "/"+s.Org+"/settings/keys/create_service_account_api_key?name=robot" {
		t.Errorf("status %d, and the form %q follows", created.Status, next)
	}
	v.WantSetting("service-accounts", "&lt;script&gt;alert(1)&lt;/script&gt;")
	v.WantSetting("service-accounts", "/settings/keys?name=robot")
	got := v.Post("/"+s.Org+"/settings/keys/create_service_account_api_key?name=robot",
		url.Values{"name": {"robot"}, "description": {"for CI"}, "expires_at": {"2100-01-01T00:00"}})
	key := regexp.MustCompile(`data-copy="(att_[A-Za-z0-9]+)"`).FindSubmatch(got.Body)
	if got.Status != http.StatusOK || key == nil || got.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("status %d: %s", got.Status, got.Body)
	}
	apitest.Equal(t, s.Do(http.MethodGet, "/api/v2/environments/"+s.Org, string(key[1]), nil).Status,
		http.StatusOK, "the key is answered")
	v.WantSetting("keys?name=robot", "for CI")
	if strings.Contains(string(v.Open("/"+s.Org+"/settings/keys?name=robot").Body), string(key[1])) {
		t.Error("the key is shown again")
	}
	v.SendForm("members/put_member?user="+apitest.UserOf(apitest.ReaderKey), url.Values{"user": {apitest.UserOf(apitest.ReaderKey)}, "role": {"snapshotter"}})
	v.WantSetting("members/put_member?user="+apitest.UserOf(apitest.ReaderKey), "<option selected>snapshotter</option>")
	v.WantSetting("audit-log", "snapshotter")
	v.WantSetting("audit-log?search=robot", "service_account")
	v.WantSetting("members?done=put_member", ": done.")
	if strings.Contains(string(v.Open("/"+s.Org+"/settings/members?done=Call+this+number").Body), "Call this") {
		t.Error("a page shows a text of its address")
	}
}

func TestFormsAreFilledWithStoredValues(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	v := webclient.SignedIn(s, apitest.AdminKey)
	v.SendForm("policies/put_policy", url.Values{"name": {"releases"}, "policy_file": {apitest.PolicyHead + "artifacts:\n  provenance: {required: true}\n"}})
	v.WantSetting("policies/put_policy?name=releases", "provenance: {required: true}")
	v.SendForm("environments/create_env", url.Values{"name": {"production"}, "type": {"K8S"}, "description": {"What customers use"}, "policies": {"releases"}})
	const change = "environments/update_env?env_name=production"
	v.WantSetting(change, `value="What customers use"`)
	v.WantSetting(change, ">\nreleases</textarea>")
	v.WantSetting(change, "PATCH /environments/{org}/{env_name}")
	v.SendForm(change, url.Values{"env_name": {"production"}, "description": {"Shops"}, "policies": {""}, ".filled": {"description", "policies"}})
	stored := s.Want(http.StatusOK, http.MethodGet, "/environments/"+s.Org+"/production", nil).Value(t)
	if apitest.Lookup(t, stored, "description") != "Shops" || len(apitest.Lookup(t, stored, "policies").([]any)) != 0 {
		t.Errorf("stored is %v", stored)
	}
	v.SendForm("flows/create_flow_with_template", url.Values{"name": {"build"}, "description": {""}, "template_file": {"version: 1\ntrail:\n  attestations:\n    - {name: review, type: generic}\n"}})
	v.WantSetting("flows/create_flow_with_template?name=build", "name: review")
	v.SendForm("people/put_people", url.Values{"content": {"people:\n  - {name: Ada, accounts: [ada@example.com]}\n"}})
	v.WantSetting("people/put_people", "accounts: [ada@example.com]")
	v.SendForm("actions/put_notification_config", url.Values{"notification_type": {"api_key_expiry"}, "targets": {`[{"emails":["keys@example.com"]}]`}, "detection": {`{"days_before":[9]}`}})
	v.WantSetting("actions/put_notification_config", "keys@example.com")
	v.WantSetting("actions/put_notification_config", "days_before&#34;:[9]")
	for _, beta := range []string{"true", "false"} {
		v.SendForm("organization/update_experimental_features", url.Values{"experimental_features_enabled": {beta}})
		v.WantSetting("organization/update_experimental_features", "<option selected>"+beta)
	}
}

func TestFormsDoNotReplaceChangesOfOthers(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	v := webclient.SignedIn(s, apitest.AdminKey)
	s.CreateEnvironment("production", "K8S")
	const change = "environments/update_env?env_name=production"
	form := v.FilledForm(change)
	s.Want(http.StatusOK, http.MethodPatch, s.EnvironmentsPath()+"/production", []byte(`{"description":"theirs"}`))
	form.Set("description", "mine")
	got := v.Post("/"+s.Org+"/settings/"+change, form)
	again := v.FormOn(got)
	if got.Status != http.StatusConflict || !strings.Contains(string(got.Body), "This was changed since the form was opened.") || again.Get("description") != "mine" {
		t.Errorf("it answers %d with the form %v", got.Status, again)
	}
	if stored := apitest.Lookup(t, s.Read(s.EnvironmentsPath()+"/production"), "description"); stored != "theirs" {
		t.Errorf("stored is %v", stored)
	}
	v.SendForm(change, again)
	if stored := apitest.Lookup(t, s.Read(s.EnvironmentsPath()+"/production"), "description"); stored != "mine" {
		t.Errorf("stored is %v after it was sent again", stored)
	}
}

func TestFormsSentUnchangedKeepLineBreaks(t *testing.T) {
	t.Parallel()
	const head = "version: 1\ntrail:\n  attestations:\n    - {name: review, type: generic}\n"
	for name, lines := range map[string]func(string) string{
		"LF":                    func(text string) string { return text },
		"CRLF":                  func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") },
		"both":                  func(text string) string { return strings.Replace(text, "\n", "\r\n", 1) },
		"a line break in front": func(text string) string { return "\n" + text },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apitest.Share(t)
			v := webclient.SignedIn(s, apitest.AdminKey)
			policy, template := lines(apitest.PolicyHead+"artifacts:\n  provenance: {required: true}\n"), lines(head)
			description, err := json.Marshal(lines("first\nsecond\n"))
			s.Must(err)
			s.PutPolicy(http.StatusCreated, `{"name":"releases","description":`+string(description)+`}`, apitest.PolicyFile(policy))
			s.Want(http.StatusCreated, http.MethodPut, s.EnvironmentsPath(), []byte(`{"name":"production","type":"K8S","description":`+string(description)+`}`))
			s.WantForm(http.StatusCreated, http.MethodPut, "/flows/"+s.Org+"/template_file", `{"name":"build","description":`+string(description)+`}`, apitest.YAMLFile(template))
			before := storedTexts(s)
			for _, path := range []string{"policies/put_policy?name=releases", "environments/update_env?env_name=production", "flows/create_flow_with_template?name=build"} {
				v.SendForm(path, v.FilledForm(path))
			}
			apitest.Equal(t, storedTexts(s), before, "stored")
		})
	}
}

// storedTexts returns the texts that the forms in TestFormsSentUnchangedKeepLineBreaks change.
func storedTexts(s *apitest.Service) string {
	s.T.Helper()
	policy, environment, flow := s.Read("/policies/"+s.Org+"/releases"), s.Read("/environments/"+s.Org+"/production"), s.Read("/flows/"+s.Org+"/build")
	versions := apitest.Lookup(s.T, policy, "versions").([]any)
	return fmt.Sprintf("%q", []any{apitest.Lookup(s.T, policy, "description"), versions, apitest.Lookup(s.T, environment, "description"), apitest.Lookup(s.T, flow, "description"), apitest.Lookup(s.T, flow, "template")})
}

func TestFilesAreSentWithTheirLines(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	v := webclient.SignedIn(s, apitest.AdminKey)
	form := v.FilledForm("frameworks/put_framework?framework_name=soc2") // an example that comes with the service
	example := apitest.Lookup(t, s.Read("/frameworks/"+s.Org+"/soc2"), "content")
	v.SendForm("frameworks/put_framework?framework_name=soc2", form)
	apitest.WantMembers(t, s.Read("/frameworks/"+s.Org+"/soc2"), map[string]any{"content": example, "version": 1.0})
	v.WantSetting("people/put_people", `<textarea id="field-content"`)
}

func TestFormsShowErrors(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	v := webclient.SignedIn(s, apitest.AdminKey)
	for name, row := range map[string]struct {
		path string
		form url.Values
		text string
	}{
		"a field that is required": {"service-accounts/create_service_account", url.Values{"name": {""}}, "at least 1 character"},
		"a text that is no number": {"own-keys/create_user_api_key", url.Values{"description": {"x"}, "expires_at": {"tomorrow"}}, "tomorrow"},
		"a list that is no JSON":   {"actions/create_or_update_env_action", url.Values{"name": {"chat"}, "targets": {"{"}, "triggers": {"ON_NON_COMPLIANT_ENV"}, "environments": {"production"}}, "valid"},
		"an invalid policy":        {"policies/put_policy", url.Values{"name": {"bad"}, "policy_file": {"artifacts: ["}}, "failed"},
		"a form without a name":    {"environments/update_env", url.Values{"description": {"x"}}, "Field required"},
		"an unknown user":          {"members/put_member?user=nobody", url.Values{"user": {"nobody"}, "role": {"reader"}}, "nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			got := v.Post("/"+s.Org+"/settings/"+row.path, row.form)
			if got.Status < http.StatusBadRequest || got.Status >= http.StatusInternalServerError || !strings.Contains(string(got.Body), row.text) {
				t.Errorf("status %d: %s", got.Status, got.Body)
			}
			evidencetest.Contains(t, string(got.Body), `class="failed"`)
		})
	}
}

func TestSettingsShowWhatARoleAllows(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("production", "K8S")
	reader := webclient.SignedIn(s, apitest.ReaderKey)
	reader.WantPage(http.StatusOK, "/"+s.Org+"/settings", "Environments")
	listed := string(reader.Open("/" + s.Org + "/settings/environments").Body)
	if !strings.Contains(listed, "production") || strings.Contains(listed, "create_env") || strings.Contains(listed, "update_env") {
		t.Errorf("the reader sees %s", listed)
	}
	s.Want(http.StatusCreated, http.MethodPost, "/service-accounts/"+s.Org, []byte(`{"name":"robot","privilege":"reader"}`))
	listed = string(reader.Open("/" + s.Org + "/settings/service-accounts").Body)
	if !strings.Contains(listed, "robot") || strings.Contains(listed, "/settings/keys") {
		t.Errorf("the reader sees %s", listed)
	}
	reader.WantPage(http.StatusForbidden, "/"+s.Org+"/settings/keys?name=robot", "permission")
	for _, path := range []string{"environments/delete_member", "nowhere", "nowhere/create_env", "approvals", "environments/list_envs"} {
		reader.WantPage(http.StatusNotFound, "/"+s.Org+"/settings/"+path, "Settings")
	}
	reader.WantPage(http.StatusForbidden, "/"+s.Org+"/settings/environments/create_env", "permission")
	if got := reader.Post("/"+s.Org+"/settings/environments/create_env", url.Values{"name": {"mine"}, "type": {"K8S"}, "description": {""}}); got.Status != http.StatusForbidden {
		t.Errorf("a form that a reader may not send is answered %d", got.Status)
	}
	stranger := webclient.SignedIn(s, apitest.StrangerKey)
	if got := stranger.Open("/" + s.Org + "/settings/environments"); got.Status == http.StatusOK {
		t.Error("a stranger sees the settings")
	}
}

func TestSettingsRefuseFormsOfOtherSites(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	v := webclient.SignedIn(s, apitest.AdminKey)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/"+s.Org+"/settings/service-accounts/create_service_account",
		strings.NewReader("name=evil&description="))
	s.Must(err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Sec-Fetch-Site", "cross-site")
	apitest.Equal(t, v.Send(request).Status, http.StatusForbidden)
	if listed := string(v.Open("/" + s.Org + "/settings/service-accounts").Body); strings.Contains(listed, "evil") {
		t.Error("a form of another site was taken")
	}
}

// TestEveryAreaOfTheSettingsCanBeSeen opens all areas and forms of an administrator.
func TestEveryAreaOfTheSettingsCanBeSeen(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	deliverRed(s)
	v := webclient.SignedIn(s, apitest.AdminKey)
	v.SendForm("controls/post_control", url.Values{"identifier": {"RELEASE"}, "name": {"Releases are agreed"}})
	link := regexp.MustCompile(`href="(/` + s.Org + `/settings/[^"]+)"`)
	seen, waiting := map[string]bool{}, []string{"/" + s.Org + "/settings"}
	for len(waiting) > 0 {
		path := waiting[0]
		waiting = waiting[1:]
		got := v.Open(path)
		apitest.Equal(t, got.Status, http.StatusOK, path, got.Body)
		for _, found := range link.FindAllSubmatch(got.Body, -1) {
			next := strings.ReplaceAll(string(found[1]), "&amp;", "&")
			if !seen[next] {
				seen[next] = true
				waiting = append(waiting, next)
			}
		}
	}
	if len(seen) < 40 {
		t.Errorf("only %d pages were found", len(seen))
	}
}

func TestAllDeliveriesAndApprovalsAreOnPages(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	v := webclient.SignedIn(s, apitest.AdminKey)
	var numbers []int
	for number := 101; number > 0; number-- {
		numbers = append(numbers, number)
	}
	s.PutAction(http.StatusCreated, "environments", apitest.EnvActionBody("a", apitest.DeadTarget))
	s.StoreDeliveries(notification.Delivered, numbers...)
	want := fmt.Sprint(numbers[:50], numbers[50:100], numbers[100:])
	for _, query := range []string{"?action_number=1", "?action_number=1&state=delivered"} {
		apitest.Equal(t, v.CellsOf("deliveries", query), want, query)
	}
	filter := "?" + v.FilledForm("deliveries?action_number=1").Encode() + "&state=failed"
	apitest.Equal(t, v.CellsOf("deliveries", filter), "[]", filter)
	s.ReportArtifact("build", "t1", "api", apitest.AttestedFingerprint, apitest.FirstCommit)
	for range numbers[:51] {
		s.Approve(apitest.AttestedFingerprint, apitest.Approved)
	}
	if got, want := v.CellsOf("approvals", "?flow_name=build"), fmt.Sprint(numbers[50:100], numbers[100:]); got != want {
		t.Errorf("the approvals are %s, want %s", got, want)
	}
	v.WantSetting("approvals?flow_name=build&page=2", "<span>Page 2</span>")
	v.WantSetting("approvals?flow_name=build&page=3", `rel="prev"`)
	v.WantSetting("approvals?flow_name=build&page=3", "There is nothing more.")
	v.WantSetting("approvals?flow_name=build", "timestamp: 20") // a date
}

func TestAuditLogIsFilteredAndDownloadedAsCSV(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	v := webclient.SignedIn(s, apitest.AdminKey)
	for _, name := range []string{"robot", "other"} {
		s.Want(http.StatusCreated, http.MethodPost, "/service-accounts/"+s.Org, []byte(`{"name":"`+name+`","privilege":"reader"}`))
	}
	page := "/" + s.Org + "/settings/audit-log"
	v.WantPage(http.StatusOK, page, `name="from_timestamp" type="datetime-local"`)
	v.WantPage(http.StatusOK, page+"?search=robot&from_timestamp=2020-01-01T00:00", `value="2020-01-01T00:00"`)
	v.WantPage(http.StatusOK, page+"?to_timestamp=2020-01-01T00:00", "Nothing here matches the filter.")
	link := regexp.MustCompile(`href="([^"]*)" download>Download as CSV<`).FindSubmatch(v.Open(page + "?search=robot&from_timestamp=2020-01-01T00:00").Body)
	if link == nil {
		t.Fatal("there is no CSV of the audit log")
	}
	got := v.Open(html.UnescapeString(string(link[1])))
	rows, err := csv.NewReader(bytes.NewReader(got.Body)).ReadAll()
	if err != nil || got.Status != http.StatusOK || len(rows) != 2 || rows[1][6] != "robot" || rows[0][6] != "user" {
		t.Errorf("status %d, %v: %s", got.Status, err, got.Body)
	}
	evidencetest.Contains(t, got.Header.Get("Content-Disposition"), s.Org+"-audit-log.csv")
}
