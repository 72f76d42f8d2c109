package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/api/apitest/webclient"
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
func hostilePages(s *apitest.Service) []hostilePage {
	s.T.Helper()
	root := "/" + s.Org
	var pages []hostilePage
	add := func(status int, path string, texts ...string) {
		pages = append(pages, hostilePage{status, root + path, texts})
	}
	digests, names := map[string]string{}, []string{}
	for i, text := range hostile {
		name, fingerprint := fmt.Sprintf("h%d", i), apitest.DigestOf(text)
		digests["/opt/"+text] = fingerprint
		names = append(names, "/opt/"+text)
		recordHostile(s, name, text, fingerprint)
		if i%apitest.Scaled(10, 1) != 0 {
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
	s.Want(http.StatusCreated, http.MethodPut, s.EnvironmentsPath(), encoded(s, map[string]any{
		"name": "production", "type": "server", "description": strings.Join(hostile, " "), "policies": []string{"h0", "h1"},
	}))
	for _, running := range []map[string]string{{"/opt/other": apitest.DigestOf("other")}, digests} {
		s.Want(http.StatusCreated, http.MethodPut, s.EnvironmentsPath()+"/production/report/server", encoded(s, map[string]any{
			"type": "server", "artifacts": []any{map[string]any{"digests": running, "creationTimestamp": 1_788_990_000}},
		}))
	}
	s.Want(http.StatusCreated, http.MethodPut, s.AllowlistsPath()+"/production", encoded(s, map[string]any{
		"artifact_name": hostile[0], "artifact_fingerprint": apitest.DigestOf("other"), "description": strings.Join(hostile, " "),
	}))
	s.Want(http.StatusCreated, http.MethodPost, "/service-accounts/"+s.Org, encoded(s, map[string]any{"name": "robot", "description": hostile[0] + hostile[7]}))
	for _, text := range hostile[:8] {
		s.Want(http.StatusCreated, http.MethodPost, s.InvitationsPath(), encoded(s, map[string]any{"role": "reader", "description": text}))
	}
	add(http.StatusOK, "/settings/invitations", hostile[:8]...)
	s.CreateAudit(`"production"`, time.Now().Add(-24*time.Hour), time.Now().Add(24*time.Hour))
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

func encoded(s *apitest.Service, value any) []byte {
	s.T.Helper()
	content, err := json.Marshal(value)
	s.Must(err)
	return content
}

// recordHostile records a text in every field of a delivery that a client can set.
func recordHostile(s *apitest.Service, name, text, fingerprint string) {
	s.T.Helper()
	address := "https://ci.example.com/?q=" + url.QueryEscape(text) + "&" + strings.Map(func(char rune) rune {
		if char <= ' ' || char > '~' || char == '%' {
			return -1
		}
		return char
	}, text)
	commit := map[string]any{
		"sha1": apitest.FirstCommit, "message": text, "author": text, "branch": text, "timestamp": 1_793_600_000, "url": address,
	}
	links := map[string]any{strings.NewReplacer("=", "", ".", "").Replace(text): map[string]any{"href": address}}
	s.Want(http.StatusCreated, http.MethodPut, "/flows/"+s.Org, encoded(s, map[string]any{"name": name, "description": text, "visibility": "private"}))
	s.Want(http.StatusOK, http.MethodPatch, "/tags/"+s.Org+"/flow/"+name, encoded(s, map[string]any{"set_tags": map[string]string{"said": text}, "remove_tags": []string{}}))
	s.WantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.Org+"/"+name, string(encoded(s, map[string]any{
		"name": "t", "description": text, "user_data": map[string]any{"said": text}, "external_urls": links, "git_commit_info": commit, "origin_url": address,
	})))
	s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/"+name, encoded(s, map[string]any{
		"fingerprint": fingerprint, "filename": text, "git_commit": apitest.FirstCommit, "git_commit_info": commit, "build_url": address, "commit_url": address,
		"template_reference_name": "web", "trail_name": "t", "user_data": map[string]any{"said": text}, "external_urls": links,
	}))
	path := "/attestations/" + s.Org + "/" + name + "/trail/t"
	s.WantForm(http.StatusCreated, http.MethodPost, path+"/generic", string(encoded(s, map[string]any{
		"attestation_name": "check", "artifact_fingerprint": fingerprint, "is_compliant": false, "description": text, "user_data": map[string]any{"said": text},
		"annotations": map[string]string{"said": text}, "external_urls": links, "git_commit_info": commit, "origin_url": address,
	})), apitest.Part{Field: "attachment_file", Filename: "x.html", ContentType: "text/html", Content: []byte(text)})
	s.Want(http.StatusOK, http.MethodPost, path+"/override", encoded(s, map[string]any{
		"attestation_name": "check", "artifact_fingerprint": fingerprint, "reason": text, "new_compliance_status": true, "original_attestation_type": "generic",
	}))
	s.Want(http.StatusCreated, http.MethodPost, "/controls/"+s.Org, encoded(s, map[string]any{
		"identifier": name, "name": text, "description": text, "links": map[string]string{"said": address},
	}))
	rule := "artifacts:\n  attestations:\n    - type: decision\n      for_control: " + name + "\n# " + strings.Map(onOneLine, text) + "\n"
	s.PutPolicy(http.StatusCreated, string(encoded(s, map[string]any{"name": name, "description": text, "comment": text})), apitest.PolicyFile(apitest.PolicyHead+rule))
}

// onOneLine drops characters that would end a YAML comment.
func onOneLine(char rune) rune {
	if char < ' ' || char == '\u2028' || char == '\u202e' || char == '\u202c' {
		return -1
	}
	return char
}

func TestNothingThatClientsSendRunsOnAPage(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	b := webclient.NewBrowser(s)
	pages := hostilePages(s)
	b.SignIn(apitest.AdminKey, "/"+s.Org)
	b.WantFaultsFound()
	for _, page := range pages {
		b.Open(page.status, page.path)
		b.WantShown(page.texts)
		if over := webclient.Evaluate[int](b, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); over > 0 {
			t.Errorf("%s is %d pixels too wide", page.path, over)
		}
		// Trigger the handlers of the pointer and the focus.
		webclient.Evaluate[bool](b, `for (const e of document.querySelectorAll('main *')) {
			e.dispatchEvent(new Event('mouseover', {bubbles: true}));
			e.focus?.();
		}
		for (const e of document.querySelectorAll('main details')) e.open = true;
		true`)
		b.WantNoFaults()
	}
}
