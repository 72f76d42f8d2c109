package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// hostile are texts that run or break a page that does not escape them.
var hostile = []string{
	`<script>alert(1)</script>`,
	`</script><script>alert(1)</script>`,
	`<img src=x onerror=alert(1)>`,
	`<svg onload=alert(1)>`,
	`<svg><script>alert(1)</script></svg>`,
	`"><script>alert(1)</script>`,
	`'><script>alert(1)</script>`,
	`" onmouseover="alert(1)" x="`,
	`' onmouseover='alert(1)' x='`,
	`" autofocus onfocus="alert(1)`,
	"` onmouseover=alert(1) `",
	`javascript:alert(1)`,
	`JaVaScRiPt:alert(1)`,
	`data:text/html,<script>alert(1)</script>`,
	`<a href="javascript:alert(1)">x</a>`,
	`<iframe srcdoc="<script>parent.alert(1)</script>"></iframe>`,
	`<iframe src="javascript:alert(1)"></iframe>`,
	`<object data="javascript:alert(1)"></object>`,
	`<embed src="javascript:alert(1)">`,
	`<base href="https://evil.example.com/">`,
	`<meta http-equiv="refresh" content="0;url=javascript:alert(1)">`,
	`<link rel="stylesheet" href="https://evil.example.com/x.css">`,
	`<style>@import "https://evil.example.com/x.css";</style>`,
	`<div style="background:url(https://evil.example.com/x)">`,
	`<form action="https://evil.example.com/"><input name="key"></form>`,
	`<body onload=alert(1)>`,
	`<details open ontoggle=alert(1)>`,
	`<video><source onerror="alert(1)">`,
	`<math><mi xlink:href="javascript:alert(1)">x</mi></math>`,
	`<textarea autofocus onfocus=alert(1)>`,
	`</textarea><script>alert(1)</script>`,
	`</title><script>alert(1)</script>`,
	`</style><script>alert(1)</script>`,
	`--><script>alert(1)</script>`,
	`]]><script>alert(1)</script>`,
	`{{.}}{{template "content"}}`,
	`${alert(1)}`,
	`&lt;script&gt;alert(1)&lt;/script&gt;`,
	`&#60;script&#62;alert(1)&#60;/script&#62;`,
	`<scr<script>ipt>alert(1)</scr</script>ipt>`,
	`%3Cscript%3Ealert(1)%3C/script%3E`,
	"<script\u2028>alert(1)</script>",
	"\u202e<script>alert(1)</script>\u202c",
	"\u05e9\u05dc\u05d5\u05dd <script>alert(1)</script>",
	strings.Repeat("W", 280) + `<script>alert(1)</script>`,
}

// hostilePage is a page and the texts of clients that it shows.
type hostilePage struct {
	status int
	path   string
	texts  []string
}

// hostilePages records hostile texts in all fields that clients can set, and returns the pages that show them.
func (s *service) hostilePages() []hostilePage {
	s.t.Helper()
	root := "/" + s.org
	var pages []hostilePage
	add := func(status int, path string, texts ...string) {
		pages = append(pages, hostilePage{status, root + path, texts})
	}
	digests, names := map[string]string{}, []string{}
	for i, text := range hostile {
		name, fingerprint := fmt.Sprintf("h%d", i), digestOf(text)
		digests["/opt/"+text] = fingerprint
		names = append(names, "/opt/"+text)
		s.recordHostile(name, text, fingerprint)
		if i%scaled(10, 1) != 0 {
			continue
		}
		add(http.StatusOK, "/flows/"+name, text)
		add(http.StatusOK, "/flows/"+name+"/trails/t", text)
		add(http.StatusOK, "/flows/"+name+"/trails/t/package")
		add(http.StatusOK, "/flows/"+name+"/artifacts/"+fingerprint, text)
		add(http.StatusOK, "/policies/"+name, text)
		add(http.StatusOK, "/controls/"+name, text)
		add(http.StatusOK, "/search?q="+url.QueryEscape(text), text)
		add(http.StatusOK, "/environments/production?name="+url.QueryEscape(text), "/opt/"+text)
		add(http.StatusBadRequest, "/flows?name="+url.QueryEscape(text), text) // not a valid name
	}
	s.want(http.StatusCreated, http.MethodPut, s.environmentsPath(), encoded(s, map[string]any{
		"name": "production", "type": "server", "description": strings.Join(hostile, " "), "policies": []string{"h0", "h1"},
	}))
	for _, running := range []map[string]string{{"/opt/other": digestOf("other")}, digests} {
		s.want(http.StatusCreated, http.MethodPut, s.environmentsPath()+"/production/report/server", encoded(s, map[string]any{
			"type": "server", "artifacts": []any{map[string]any{"digests": running, "creationTimestamp": 1_788_990_000}},
		}))
	}
	s.want(http.StatusCreated, http.MethodPut, s.allowlistsPath()+"/production", encoded(s, map[string]any{
		"artifact_name": hostile[0], "artifact_fingerprint": digestOf("other"), "description": strings.Join(hostile, " "),
	}))
	s.want(http.StatusCreated, http.MethodPost, "/service-accounts/"+s.org, encoded(s, map[string]any{"name": "robot", "description": hostile[0] + hostile[7]}))
	for _, text := range hostile[:8] {
		s.want(http.StatusCreated, http.MethodPost, s.invitationsPath(), encoded(s, map[string]any{"role": "reader", "description": text}))
	}
	add(http.StatusOK, "/settings/invitations", hostile[:8]...)
	s.createAudit(`"production"`, time.Now().Add(-24*time.Hour), time.Now().Add(24*time.Hour))
	add(http.StatusOK, "", hostile[0])
	add(http.StatusOK, "/environments", hostile[0])
	for _, path := range []string{"/flows", "/policies", "/controls"} {
		add(http.StatusOK, path, hostile...)
	}
	for _, path := range []string{"/deployments", "/environments/production/events", "/environments/production/diff?from=1&to=2", "/environments/production/timeline", "/audits/q3", fmt.Sprintf("/audits/q3?size=%d&seed=%%3Cscript%%3E", len(names)+1)} {
		add(http.StatusOK, path, names...)
	}
	// Lists and forms of the settings truncate long texts.
	for _, path := range []string{
		"/flows", "/flows/create_flow_with_template?flow_name=h0&name=h0", "/environments", "/environments/update_env?env_name=production", "/policies", "/policies/put_policy?name=h0",
		"/controls", "/controls/put_control?identifier=h0", "/allow-list", "/service-accounts", "/service-accounts/update_service_account?name=robot", "/actions",
	} {
		add(http.StatusOK, "/settings"+path)
	}
	for _, path := range []string{"/environments/production", "/environments/production/snapshots/2"} {
		add(http.StatusOK, path, append(names, hostile...)...)
	}
	return pages
}

func encoded(s *service, value any) []byte {
	s.t.Helper()
	content, err := json.Marshal(value)
	s.must(err)
	return content
}

// recordHostile records a text in every field of a delivery that a client can set.
func (s *service) recordHostile(name, text, fingerprint string) {
	s.t.Helper()
	address := "https://ci.example.com/?q=" + url.QueryEscape(text) + "&" + strings.Map(func(char rune) rune {
		if char <= ' ' || char > '~' || char == '%' {
			return -1
		}
		return char
	}, text)
	commit := map[string]any{
		"sha1": firstCommit, "message": text, "author": text, "branch": text, "timestamp": 1_793_600_000, "url": address,
	}
	links := map[string]any{strings.NewReplacer("=", "", ".", "").Replace(text): map[string]any{"href": address}}
	s.want(http.StatusCreated, http.MethodPut, "/flows/"+s.org, encoded(s, map[string]any{"name": name, "description": text, "visibility": "private"}))
	s.want(http.StatusOK, http.MethodPatch, "/tags/"+s.org+"/flow/"+name, encoded(s, map[string]any{"set_tags": map[string]string{"said": text}, "remove_tags": []string{}}))
	s.wantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.org+"/"+name, string(encoded(s, map[string]any{
		"name": "t", "description": text, "user_data": map[string]any{"said": text}, "external_urls": links, "git_commit_info": commit, "origin_url": address,
	})))
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/"+name, encoded(s, map[string]any{
		"fingerprint": fingerprint, "filename": text, "git_commit": firstCommit, "git_commit_info": commit, "build_url": address, "commit_url": address,
		"template_reference_name": "web", "trail_name": "t", "user_data": map[string]any{"said": text}, "external_urls": links,
	}))
	path := "/attestations/" + s.org + "/" + name + "/trail/t"
	s.wantForm(http.StatusCreated, http.MethodPost, path+"/generic", string(encoded(s, map[string]any{
		"attestation_name": "check", "artifact_fingerprint": fingerprint, "is_compliant": false, "description": text, "user_data": map[string]any{"said": text},
		"annotations": map[string]string{"said": text}, "external_urls": links, "git_commit_info": commit, "origin_url": address,
	})), part{field: "attachment_file", filename: "x.html", contentType: "text/html", content: []byte(text)})
	s.want(http.StatusOK, http.MethodPost, path+"/override", encoded(s, map[string]any{
		"attestation_name": "check", "artifact_fingerprint": fingerprint, "reason": text, "new_compliance_status": true, "original_attestation_type": "generic",
	}))
	s.want(http.StatusCreated, http.MethodPost, "/controls/"+s.org, encoded(s, map[string]any{
		"identifier": name, "name": text, "description": text, "links": map[string]string{"said": address},
	}))
	rule := "artifacts:\n  attestations:\n    - type: decision\n      for_control: " + name + "\n# " + strings.Map(onOneLine, text) + "\n"
	s.putPolicy(http.StatusCreated, string(encoded(s, map[string]any{"name": name, "description": text, "comment": text})), policyFile(policyHead+rule))
}

// onOneLine drops characters that would end a YAML comment.
func onOneLine(char rune) rune {
	if char < ' ' || char == '\u2028' || char == '\u202e' || char == '\u202c' {
		return -1
	}
	return char
}

// wantFaultsFound checks that a request to another site and an alert on a page are found.
func (b *browser) wantFaultsFound() {
	b.t.Helper()
	evaluate[bool](b, `document.body.insertAdjacentHTML('beforeend', '<img src="https://evil.example.com/x.png">'); alert(1); true`)
	if faults := b.faults(); len(faults) != 2 {
		b.t.Fatalf("of two things that a page must not do, %q is found", faults)
	}
}

// alwaysShown is the number of bytes of a text that all pages show.
const alwaysShown = 100

// wantShown checks that a page shows the beginnings of texts. White space may differ.
func (b *browser) wantShown(texts []string) {
	b.t.Helper()
	oneSpaced := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	shown := oneSpaced(evaluate[string](b, "document.body.innerText"))
	for _, text := range texts {
		if !strings.Contains(shown, oneSpaced(text[:min(len(text), alwaysShown)])) {
			b.t.Errorf("%s does not show %q", evaluate[string](b, "location.href"), text)
		}
	}
}

func TestNothingThatClientsSendRunsOnAPage(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	b := s.browser()
	pages := s.hostilePages()
	b.signIn(adminKey, "/"+s.org)
	b.wantFaultsFound()
	for _, page := range pages {
		b.open(page.status, page.path)
		b.wantShown(page.texts)
		if over := evaluate[int](b, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); over > 0 {
			t.Errorf("%s is %d pixels too wide", page.path, over)
		}
		// Trigger the handlers of the pointer and the focus.
		evaluate[bool](b, `for (const e of document.querySelectorAll('main *')) {
			e.dispatchEvent(new Event('mouseover', {bubbles: true}));
			e.focus?.();
		}
		for (const e of document.querySelectorAll('main details')) e.open = true;
		true`)
		b.wantNoFaults()
	}
}
