package e2e_test

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

	"attestry/evidence/notification"
)

// sendForm sends a form of the settings and checks that it redirects to its area.
func (v *visitor) sendForm(path string, form url.Values) {
	v.t.Helper()
	got := v.post("/"+v.org+"/settings/"+path, form)
	if got.status != http.StatusSeeOther || !strings.HasPrefix(got.header.Get("Location"), "/"+v.org+"/settings/"+strings.SplitN(path, "/", 2)[0]) {
		v.t.Fatalf("%s: status %d to %q: %s", path, got.status, got.header.Get("Location"), got.body)
	}
}

// wantSetting fails the test unless a page of the settings has a text.
func (v *visitor) wantSetting(path, text string) {
	v.t.Helper()
	v.wantPage(http.StatusOK, "/"+v.org+"/settings/"+path, text)
}

func TestAdministratorsManageAccessInTheSettings(t *testing.T) {
	t.Parallel()
	s := share(t)
	v := s.signedIn(adminKey)
	created := v.post("/"+s.org+"/settings/service-accounts/create_service_account",
		url.Values{"name": {"robot"}, "privilege": {"member"}, "description": {"<script>alert(1)</script>"}})
	if next := created.header.Get("Location"); created.status != http.StatusSeeOther || next != "/"+s.org+"/settings/keys/create_service_account_api_key?name=robot" {
		t.Errorf("status %d, and the form %q follows", created.status, next)
	}
	v.wantSetting("service-accounts", "&lt;script&gt;alert(1)&lt;/script&gt;")
	v.wantSetting("service-accounts", "/settings/keys?name=robot")
	got := v.post("/"+s.org+"/settings/keys/create_service_account_api_key?name=robot",
		url.Values{"name": {"robot"}, "description": {"for CI"}, "expires_at": {"2100-01-01T00:00"}})
	key := regexp.MustCompile(`data-copy="(att_[A-Za-z0-9]+)"`).FindSubmatch(got.body)
	if got.status != http.StatusOK || key == nil || got.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	if used := s.do(http.MethodGet, "/api/v2/environments/"+s.org, string(key[1]), nil); used.status != http.StatusOK {
		t.Errorf("the key is answered %d", used.status)
	}
	v.wantSetting("keys?name=robot", "for CI")
	if strings.Contains(string(v.open("/"+s.org+"/settings/keys?name=robot").body), string(key[1])) {
		t.Error("the key is shown again")
	}
	v.sendForm("members/put_member?user="+userOf(readerKey), url.Values{"user": {userOf(readerKey)}, "role": {"snapshotter"}})
	v.wantSetting("members/put_member?user="+userOf(readerKey), "<option selected>snapshotter</option>")
	v.wantSetting("audit-log", "snapshotter")
	v.wantSetting("audit-log?search=robot", "service_account")
	v.wantSetting("members?done=put_member", ": done.")
	if strings.Contains(string(v.open("/"+s.org+"/settings/members?done=Call+this+number").body), "Call this") {
		t.Error("a page shows a text of its address")
	}
}

func TestFormsAreFilledWithStoredValues(t *testing.T) {
	t.Parallel()
	s := share(t)
	v := s.signedIn(adminKey)
	v.sendForm("policies/put_policy", url.Values{"name": {"releases"}, "policy_file": {policyHead + "artifacts:\n  provenance: {required: true}\n"}})
	v.wantSetting("policies/put_policy?name=releases", "provenance: {required: true}")
	v.sendForm("environments/create_env", url.Values{"name": {"production"}, "type": {"K8S"}, "description": {"What customers use"}, "policies": {"releases"}})
	const change = "environments/update_env?env_name=production"
	v.wantSetting(change, `value="What customers use"`)
	v.wantSetting(change, ">\nreleases</textarea>")
	v.wantSetting(change, "PATCH /environments/{org}/{env_name}")
	v.sendForm(change, url.Values{"env_name": {"production"}, "description": {"Shops"}, "policies": {""}, ".filled": {"description", "policies"}})
	stored := s.want(http.StatusOK, http.MethodGet, "/environments/"+s.org+"/production", nil).value(t)
	if lookup(t, stored, "description") != "Shops" || len(lookup(t, stored, "policies").([]any)) != 0 {
		t.Errorf("stored is %v", stored)
	}
	v.sendForm("flows/create_flow_with_template", url.Values{"name": {"build"}, "description": {""}, "template_file": {"version: 1\ntrail:\n  attestations:\n    - {name: review, type: generic}\n"}})
	v.wantSetting("flows/create_flow_with_template?name=build", "name: review")
	v.sendForm("people/put_people", url.Values{"content": {"people:\n  - {name: Ada, accounts: [ada@example.com]}\n"}})
	v.wantSetting("people/put_people", "accounts: [ada@example.com]")
	v.sendForm("actions/put_notification_config", url.Values{"notification_type": {"api_key_expiry"}, "targets": {`[{"emails":["keys@example.com"]}]`}, "detection": {`{"days_before":[9]}`}})
	v.wantSetting("actions/put_notification_config", "keys@example.com")
	v.wantSetting("actions/put_notification_config", "days_before&#34;:[9]")
	for _, beta := range []string{"true", "false"} {
		v.sendForm("organization/update_experimental_features", url.Values{"experimental_features_enabled": {beta}})
		v.wantSetting("organization/update_experimental_features", "<option selected>"+beta)
	}
}

func TestFormsDoNotReplaceChangesOfOthers(t *testing.T) {
	t.Parallel()
	s := share(t)
	v := s.signedIn(adminKey)
	s.createEnvironment("production", "K8S")
	const change = "environments/update_env?env_name=production"
	form := v.filledForm(change)
	s.want(http.StatusOK, http.MethodPatch, s.environmentsPath()+"/production", []byte(`{"description":"theirs"}`))
	form.Set("description", "mine")
	got := v.post("/"+s.org+"/settings/"+change, form)
	again := v.formOn(got)
	if got.status != http.StatusConflict || !strings.Contains(string(got.body), "This was changed since the form was opened.") || again.Get("description") != "mine" {
		t.Errorf("it answers %d with the form %v", got.status, again)
	}
	if stored := lookup(t, s.read(s.environmentsPath()+"/production"), "description"); stored != "theirs" {
		t.Errorf("stored is %v", stored)
	}
	v.sendForm(change, again)
	if stored := lookup(t, s.read(s.environmentsPath()+"/production"), "description"); stored != "mine" {
		t.Errorf("stored is %v after it was sent again", stored)
	}
}

var (
	inputs    = regexp.MustCompile(`<input [^>]*name="([^"]+)"[^>]* value="([^"]*)"`)
	textareas = regexp.MustCompile(`<textarea [^>]*name="([^"]+)"[^>]*>\n?([^<]*)</textarea>`)
	selects   = regexp.MustCompile(`(?s)<select [^>]*name="([^"]+)"[^>]*>.*?<option selected>([^<]*)</option>.*?</select>`)
)

// filledForm opens a form and returns what a browser sends for it.
func (v *visitor) filledForm(path string) url.Values {
	v.t.Helper()
	got := v.open("/" + v.org + "/settings/" + path)
	if got.status != http.StatusOK {
		v.t.Fatalf("%s: status %d: %s", path, got.status, got.body)
	}
	return v.formOn(got)
}

// formOn returns what a browser sends for the form on a page: without line breaks in inputs, and with CRLF for each in
// texts.
func (v *visitor) formOn(got answer) url.Values {
	form := url.Values{}
	add := func(elements *regexp.Regexp, breaks *strings.Replacer) {
		for _, found := range elements.FindAllStringSubmatch(string(got.body), -1) {
			form.Add(found[1], breaks.Replace(html.UnescapeString(found[2])))
		}
	}
	add(inputs, strings.NewReplacer("\r", "", "\n", ""))
	add(textareas, strings.NewReplacer("\r\n", "\r\n", "\r", "\r\n", "\n", "\r\n"))
	add(selects, strings.NewReplacer())
	return form
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
			s := share(t)
			v := s.signedIn(adminKey)
			policy, template := lines(policyHead+"artifacts:\n  provenance: {required: true}\n"), lines(head)
			description, err := json.Marshal(lines("first\nsecond\n"))
			s.must(err)
			s.putPolicy(http.StatusCreated, `{"name":"releases","description":`+string(description)+`}`, policyFile(policy))
			s.want(http.StatusCreated, http.MethodPut, s.environmentsPath(), []byte(`{"name":"production","type":"K8S","description":`+string(description)+`}`))
			s.wantForm(http.StatusCreated, http.MethodPut, "/flows/"+s.org+"/template_file", `{"name":"build","description":`+string(description)+`}`, yamlFile(template))
			before := s.storedTexts()
			for _, path := range []string{"policies/put_policy?name=releases", "environments/update_env?env_name=production", "flows/create_flow_with_template?name=build"} {
				v.sendForm(path, v.filledForm(path))
			}
			if after := s.storedTexts(); after != before {
				t.Errorf("stored is %s\nand was %s", after, before)
			}
		})
	}
}

// storedTexts returns the texts that the forms in TestFormsSentUnchangedKeepLineBreaks change.
func (s *service) storedTexts() string {
	s.t.Helper()
	policy, environment, flow := s.read("/policies/"+s.org+"/releases"), s.read("/environments/"+s.org+"/production"), s.read("/flows/"+s.org+"/build")
	versions := lookup(s.t, policy, "versions").([]any)
	return fmt.Sprintf("%q", []any{lookup(s.t, policy, "description"), versions, lookup(s.t, environment, "description"), lookup(s.t, flow, "description"), lookup(s.t, flow, "template")})
}

func TestFilesAreSentWithTheirLines(t *testing.T) {
	t.Parallel()
	s := share(t)
	v := s.signedIn(adminKey)
	form := v.filledForm("frameworks/put_framework?framework_name=soc2") // an example that comes with the service
	example := lookup(t, s.read("/frameworks/"+s.org+"/soc2"), "content")
	v.sendForm("frameworks/put_framework?framework_name=soc2", form)
	if stored := s.read("/frameworks/" + s.org + "/soc2"); lookup(t, stored, "content") != example || lookup(t, stored, "version") != 1.0 {
		t.Errorf("stored is %v", stored)
	}
	v.wantSetting("people/put_people", `<textarea id="field-content"`)
}

func TestFormsShowErrors(t *testing.T) {
	t.Parallel()
	s := share(t)
	v := s.signedIn(adminKey)
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
			got := v.post("/"+s.org+"/settings/"+row.path, row.form)
			if got.status < http.StatusBadRequest || got.status >= http.StatusInternalServerError || !strings.Contains(string(got.body), row.text) {
				t.Errorf("status %d: %s", got.status, got.body)
			}
			if !strings.Contains(string(got.body), `class="failed"`) {
				t.Errorf("the page names no fault: %s", got.body)
			}
		})
	}
}

func TestSettingsShowWhatARoleAllows(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("production", "K8S")
	reader := s.signedIn(readerKey)
	reader.wantPage(http.StatusOK, "/"+s.org+"/settings", "Environments")
	listed := string(reader.open("/" + s.org + "/settings/environments").body)
	if !strings.Contains(listed, "production") || strings.Contains(listed, "create_env") || strings.Contains(listed, "update_env") {
		t.Errorf("the reader sees %s", listed)
	}
	s.want(http.StatusCreated, http.MethodPost, "/service-accounts/"+s.org, []byte(`{"name":"robot","privilege":"reader"}`))
	listed = string(reader.open("/" + s.org + "/settings/service-accounts").body)
	if !strings.Contains(listed, "robot") || strings.Contains(listed, "/settings/keys") {
		t.Errorf("the reader sees %s", listed)
	}
	reader.wantPage(http.StatusForbidden, "/"+s.org+"/settings/keys?name=robot", "permission")
	for _, path := range []string{"environments/delete_member", "nowhere", "nowhere/create_env", "approvals", "environments/list_envs"} {
		reader.wantPage(http.StatusNotFound, "/"+s.org+"/settings/"+path, "Settings")
	}
	reader.wantPage(http.StatusForbidden, "/"+s.org+"/settings/environments/create_env", "permission")
	if got := reader.post("/"+s.org+"/settings/environments/create_env", url.Values{"name": {"mine"}, "type": {"K8S"}, "description": {""}}); got.status != http.StatusForbidden {
		t.Errorf("a form that a reader may not send is answered %d", got.status)
	}
	stranger := s.signedIn(strangerKey)
	if got := stranger.open("/" + s.org + "/settings/environments"); got.status == http.StatusOK {
		t.Error("a stranger sees the settings")
	}
}

func TestSettingsRefuseFormsOfOtherSites(t *testing.T) {
	t.Parallel()
	s := share(t)
	v := s.signedIn(adminKey)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/"+s.org+"/settings/service-accounts/create_service_account",
		strings.NewReader("name=evil&description="))
	s.must(err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Sec-Fetch-Site", "cross-site")
	if got := v.send(request); got.status != http.StatusForbidden {
		t.Errorf("status %d", got.status)
	}
	if listed := string(v.open("/" + s.org + "/settings/service-accounts").body); strings.Contains(listed, "evil") {
		t.Error("a form of another site was taken")
	}
}

// TestEveryAreaOfTheSettingsCanBeSeen opens all areas and forms of an administrator.
func TestEveryAreaOfTheSettingsCanBeSeen(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.deliverRed()
	v := s.signedIn(adminKey)
	v.sendForm("controls/post_control", url.Values{"identifier": {"RELEASE"}, "name": {"Releases are agreed"}})
	link := regexp.MustCompile(`href="(/` + s.org + `/settings/[^"]+)"`)
	seen, waiting := map[string]bool{}, []string{"/" + s.org + "/settings"}
	for len(waiting) > 0 {
		path := waiting[0]
		waiting = waiting[1:]
		got := v.open(path)
		if got.status != http.StatusOK {
			t.Errorf("%s: status %d: %s", path, got.status, got.body)
		}
		for _, found := range link.FindAllSubmatch(got.body, -1) {
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

// cellsOf returns the first cells of the rows of all pages of an area, each page in brackets, and of the pages that the
// links to the next page lead to.
func (v *visitor) cellsOf(area, query string) string {
	v.t.Helper()
	cells := regexp.MustCompile(`<th scope="row"><bdi>([^<]*)</bdi></th>`)
	next := regexp.MustCompile(`href="([^"]*)" rel="next"`)
	var pages []string
	for len(pages) < 9 {
		got := v.open("/" + v.org + "/settings/" + area + query)
		if got.status != http.StatusOK {
			v.t.Fatalf("%s: status %d: %s", query, got.status, got.body)
		}
		var page []string
		for _, found := range cells.FindAllSubmatch(got.body, -1) {
			page = append(page, string(found[1]))
		}
		pages = append(pages, fmt.Sprint(page))
		link := next.FindSubmatch(got.body)
		if link == nil {
			break
		}
		query = html.UnescapeString(string(link[1]))
	}
	return strings.Join(pages, " ")
}

func TestAllDeliveriesAndApprovalsAreOnPages(t *testing.T) {
	t.Parallel()
	s := share(t)
	v := s.signedIn(adminKey)
	var numbers []int
	for number := 101; number > 0; number-- {
		numbers = append(numbers, number)
	}
	s.putAction(http.StatusCreated, "environments", envActionBody("a", deadTarget))
	s.storeDeliveries(notification.Delivered, numbers...)
	want := fmt.Sprint(numbers[:50], numbers[50:100], numbers[100:])
	for _, query := range []string{"?action_number=1", "?action_number=1&state=delivered"} {
		if got := v.cellsOf("deliveries", query); got != want {
			t.Errorf("%s has the deliveries %s", query, got)
		}
	}
	filter := "?" + v.filledForm("deliveries?action_number=1").Encode() + "&state=failed"
	if got := v.cellsOf("deliveries", filter); got != "[]" {
		t.Errorf("%s has the deliveries %s", filter, got)
	}
	s.reportArtifact("build", "t1", "api", attestedFingerprint, firstCommit)
	for range numbers[:51] {
		s.approve(attestedFingerprint, approved)
	}
	if got, want := v.cellsOf("approvals", "?flow_name=build"), fmt.Sprint(numbers[50:100], numbers[100:]); got != want {
		t.Errorf("the approvals are %s, want %s", got, want)
	}
	v.wantSetting("approvals?flow_name=build&page=2", "<span>Page 2</span>")
	v.wantSetting("approvals?flow_name=build&page=3", `rel="prev"`)
	v.wantSetting("approvals?flow_name=build&page=3", "There is nothing more.")
	v.wantSetting("approvals?flow_name=build", "timestamp: 20") // a date
}

func TestAuditLogIsFilteredAndDownloadedAsCSV(t *testing.T) {
	t.Parallel()
	s := share(t)
	v := s.signedIn(adminKey)
	for _, name := range []string{"robot", "other"} {
		s.want(http.StatusCreated, http.MethodPost, "/service-accounts/"+s.org, []byte(`{"name":"`+name+`","privilege":"reader"}`))
	}
	page := "/" + s.org + "/settings/audit-log"
	v.wantPage(http.StatusOK, page, `name="from_timestamp" type="datetime-local"`)
	v.wantPage(http.StatusOK, page+"?search=robot&from_timestamp=2020-01-01T00:00", `value="2020-01-01T00:00"`)
	v.wantPage(http.StatusOK, page+"?to_timestamp=2020-01-01T00:00", "Nothing here matches the filter.")
	link := regexp.MustCompile(`href="([^"]*)" download>Download as CSV<`).FindSubmatch(v.open(page + "?search=robot&from_timestamp=2020-01-01T00:00").body)
	if link == nil {
		t.Fatal("there is no CSV of the audit log")
	}
	got := v.open(html.UnescapeString(string(link[1])))
	rows, err := csv.NewReader(bytes.NewReader(got.body)).ReadAll()
	if err != nil || got.status != http.StatusOK || len(rows) != 2 || rows[1][6] != "robot" || rows[0][6] != "user" {
		t.Errorf("status %d, %v: %s", got.status, err, got.body)
	}
	for i := range 210 { // more than a page
		s.want(http.StatusCreated, http.MethodPost, "/service-accounts/"+s.org, fmt.Appendf(nil, `{"name":"bulk-%d","privilege":"reader"}`, i))
	}
	all, err := csv.NewReader(bytes.NewReader(v.open("/api/v2/membership-audit-log/" + s.org + "/csv?search=bulk").body)).ReadAll()
	named := map[string]bool{}
	for _, row := range all {
		named[row[6]] = true
	}
	if err != nil || len(all) != 211 || len(named) != 211 {
		t.Errorf("%d rows of %d names: %v", len(all), len(named), err)
	}
	if head := got.header.Get("Content-Disposition"); !strings.Contains(head, s.org+"-audit-log.csv") {
		t.Errorf("it is sent as %s", head)
	}
}
