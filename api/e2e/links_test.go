package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"attestry/api/apitest"
)

func TestURLsThatBecomeLinksMustBeWebURLs(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateFlow("build")
	json := func(method, path, body string) func(string) apitest.Answer {
		return func(url string) apitest.Answer {
			return s.Do(method, "/api/v2"+path, apitest.MemberKey, []byte(strings.ReplaceAll(body, "%s", url)))
		}
	}
	form := func(method, path, data string) func(string) apitest.Answer {
		return func(url string) apitest.Answer {
			return s.Form(method, path, apitest.MemberKey, "data_json", strings.ReplaceAll(data, "%s", url))
		}
	}
	artifact := func(urls string) func(string) apitest.Answer {
		return json("POST", "/artifacts/"+s.Org+"/build", `{"fingerprint":"`+strings.Repeat("a", 64)+`","filename":"f","trail_name":"t",`+urls+`}`)
	}
	attest := func(kind, members string) func(string) apitest.Answer {
		return form("POST", s.TrailPath("t")+"/"+kind, `{"attestation_name":"x",`+members+`}`)
	}
	trail := func(members string) func(string) apitest.Answer {
		return form("PUT", "/trails/"+s.Org+"/build", `{"name":"t",`+members+`}`)
	}
	const web, optional, repo = "https://example.com/a,HTTP://example.com", "https://example.com/a,,www.example.com", "https://example.com/a,git@example.com:a/b.git,ssh://git@example.com/a"
	const pull = `"git_provider":"github","pull_requests":[{"state":"OPEN","merge_commit":"",`
	for field, c := range map[string]struct {
		send  func(url string) apitest.Answer
		legal string
	}{
		"build_url":                               {artifact(`"build_url":"%s","commit_url":""`), optional},
		"commit_url":                              {artifact(`"build_url":"","commit_url":"%s"`), optional},
		"repo_url":                                {artifact(`"build_url":"","commit_url":"","repo_url":"%s"`), repo + ","},
		"external_urls.docs.href":                 {artifact(`"build_url":"","commit_url":"","external_urls":{"docs":{"href":"%s"}}`), optional},
		"commits_list[0].url":                     {artifact(`"build_url":"","commit_url":"","commits_list":[{"sha1":"a","url":"%s"}]`), optional},
		"repo_info.url":                           {trail(`"repo_info":{"name":"n","id":"1","url":"%s"}`), repo},
		"origin_url":                              {trail(`"origin_url":"%s"`), web},
		"git_commit_info.url":                     {trail(`"git_commit_info":{"sha1":"a","url":"%s"}`), optional},
		"jira_results[0].issue_url":               {attest("jira", `"jira_results":[{"issue_id":"I","issue_url":"%s","issue_exists":true}]`), optional},
		"sonar_results.serverUrl":                 {attest("sonar", `"sonar_results":{"serverUrl":"%s","analysedAt":"1","revision":"r","project":{"key":"k","url":""}}`), optional},
		"sonar_results.project.url":               {attest("sonar", `"sonar_results":{"analysedAt":"1","revision":"r","project":{"key":"k","url":"%s"}}`), optional},
		"pull_requests[0].FoundPullRequestV1.url": {attest("pull_request", pull+`"url":"%s"}]`), optional},
		"pull_requests[0].FoundPullRequestV1.commits[0].url": {attest("pull_request", pull+`"url":"","commits":[{"sha1":"a","url":"%s"}]}]`), optional},
		"pull_requests[0].FoundPullRequestV2.url": {attest("pull_request",
			pull+`"url":"%s","author":"a","title":"t","created_at":1,"head_ref":"h","commits":[]}]`), optional},
	} {
		t.Run(field, func(t *testing.T) {
			for _, url := range []string{"javascript:alert(1)", "JAVASCRIPT:alert(1)", "data:text/html,x", "file:///etc/passwd", `java\tscript:alert(1)`} {
				got := c.send(url)
				message, errors := got.Problem(t)
				if got.Status != http.StatusBadRequest || message != "Input payload validation failed" || len(errors) != 1 || !strings.Contains(errors[field], "URL") {
					t.Errorf("%s: %d %s", url, got.Status, got.Body)
				}
			}
			for url := range strings.SplitSeq(c.legal, ",") {
				if got := c.send(url); got.Status != http.StatusCreated && got.Status != http.StatusOK {
					t.Errorf("%s: %d %s", url, got.Status, got.Body)
				}
			}
		})
	}
	got := json("PUT", "/flows/"+s.Org, `{"name":"old","description":"","repo_url":"%s"}`)("javascript:alert(1)")
	if _, errors := got.Problem(t); errors["repo_url"] != "URL scheme should be 'http', 'https', 'ssh', 'git' or 'svn' [input: javascript:alert(1)]" {
		t.Errorf("a flow: %d %s", got.Status, got.Body)
	}
}
