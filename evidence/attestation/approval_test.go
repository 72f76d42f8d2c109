package attestation

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"attestry/evidence"
)

// attested returns an attestation of pull requests.
func attested(requests ...string) *evidence.Attestation {
	return &evidence.Attestation{Type: evidence.TypePullRequest, Payload: map[string]json.RawMessage{
		"pull_requests": json.RawMessage("[" + strings.Join(requests, ",") + "]"),
	}}
}

func requestBy(author, commits, approvers string) string {
	return fmt.Sprintf(`{"author":%q,"merge_commit":"m1","commits":[%s],"approvers":[%s]}`, author, commits, approvers)
}

func commitBy(username string, at int) string {
	return fmt.Sprintf(`{"sha1":"c%d","author_username":%q,"timestamp":%d}`, at, username, at)
}

func approvedBy(username string, at int) string {
	return fmt.Sprintf(`{"username":%q,"state":"APPROVED","timestamp":%d}`, username, at)
}

func TestApprovalsAreOfOthersAfterTheLastCommit(t *testing.T) {
	const unknownAuthor = "it is not known who wrote the code"
	byAda := commitBy("ada", 10)
	both := byAda + "," + commitBy("bob", 20)
	for name, c := range map[string]struct {
		request, commit string
		approvers       int
		lack            string
	}{
		"by another":                {requestBy("ada", byAda, approvedBy("grace", 11)), "", 1, ""},
		"by two":                    {requestBy("ada", byAda, approvedBy("grace", 11)+","+approvedBy("eve", 12)), "", 2, ""},
		"by one twice":              {requestBy("ada", byAda, approvedBy("grace", 11)+","+approvedBy("Grace", 12)), "", 1, ""},
		"in small letters":          {requestBy("ada", byAda, `{"username":"grace","state":"approved","timestamp":11}`), "", 1, ""},
		"by the author":             {requestBy("ada", byAda, approvedBy("ADA", 11)), "", 0, "ada has no approval of somebody else after the last commit"},
		"by each other":             {requestBy("ada", both, approvedBy("ada", 21)+","+approvedBy("bob", 22)), "", 1, ""},
		"the least of any author":   {requestBy("ada", both, approvedBy("ada", 21)+","+approvedBy("bob", 22)+","+approvedBy("eve", 23)), "", 2, ""},
		"by one author only":        {requestBy("ada", both, approvedBy("ada", 21)), "", 0, "ada has no approval of somebody else after the last commit"},
		"at the last commit":        {requestBy("ada", both, approvedBy("grace", 20)), "", 0, "ada has no approval of somebody else after the last commit"},
		"before an earlier commit":  {requestBy("ada", commitBy("bob", 20)+","+byAda, approvedBy("grace", 15)), "", 0, "bob has no approval of somebody else after the last commit"},
		"refused":                   {requestBy("ada", byAda, `{"username":"grace","state":"CHANGES_REQUESTED","timestamp":11}`), "", 0, "ada has no approval of somebody else after the last commit"},
		"names only":                {requestBy("ada", byAda, `"grace"`), "", 0, "ada has no approval of somebody else after the last commit"},
		"without a name":            {requestBy("ada", byAda, approvedBy("", 11)), "", 0, "ada has no approval of somebody else after the last commit"},
		"without a state":           {requestBy("ada", byAda, `{"username":"grace","timestamp":11}`), "", 0, "ada has no approval of somebody else after the last commit"},
		"without a time":            {requestBy("ada", byAda, `{"username":"grace","state":"APPROVED"}`), "", 0, "ada has no approval of somebody else after the last commit"},
		"opened by the approver":    {requestBy("grace", byAda, approvedBy("grace", 11)), "", 0, "grace has no approval of somebody else after the last commit"},
		"merged by the approver":    {requestBy("grace", byAda, approvedBy("grace", 11)), "m1", 1, ""},
		"of another merge":          {requestBy("grace", byAda, approvedBy("grace", 11)), "m2", 0, "grace has no approval of somebody else after the last commit"},
		"opened by nobody":          {requestBy("", byAda, approvedBy("grace", 11)), "", 0, unknownAuthor},
		"merged, opened by nobody":  {requestBy("", byAda, approvedBy("grace", 11)), "m1", 1, ""},
		"no commits":                {requestBy("ada", "", approvedBy("grace", 11)), "", 0, unknownAuthor},
		"only commits of GitHub":    {requestBy("ada", `{"sha1":"c1","author":"GitHub <noreply@github.com>","timestamp":5}`, approvedBy("grace", 11)), "m1", 0, unknownAuthor},
		"also a commit of GitHub":   {requestBy("ada", byAda+`,{"sha1":"c1","author":"GitHub <noreply@github.com>","timestamp":15}`, approvedBy("grace", 11)), "", 0, "ada has no approval of somebody else after the last commit"},
		"a commit without a name":   {requestBy("ada", `{"sha1":"c1","author":"Ada <ada@example.com>","timestamp":5}`, approvedBy("grace", 11)), "", 0, "it is not known who wrote commit c1"},
		"a commit without a time":   {requestBy("ada", `{"sha1":"c1","author_username":"ada"}`, approvedBy("grace", 11)), "", 0, "it is not known when commit c1 was made"},
		"no pull request":           {"", "", 0, "there is no pull request"},
		"the best of two":           {requestBy("ada", byAda, "") + "," + requestBy("ada", byAda, approvedBy("grace", 11)), "", 1, ""},
		"the first reason of two":   {requestBy("ada", byAda, "") + "," + requestBy("bob", byAda, ""), "", 0, "ada has no approval of somebody else after the last commit"},
		"something else than these": {`7`, "", 0, "the pull requests cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			if approvers, lack := Approved(attested(c.request), c.commit); approvers != c.approvers || lack != c.lack {
				t.Errorf("got %d, %q, want %d, %q", approvers, lack, c.approvers, c.lack)
			}
		})
	}
}

func TestAccountsAreResolvedToPeople(t *testing.T) {
	accounts := evidence.Accounts{"ada-work": "Ada Lovelace", "ada@example.com": "Ada Lovelace", "grace": "Grace Hopper", "eve": "Eve"}
	signed := func(verified bool) string {
		return fmt.Sprintf(`{"sha1":"c1","author":"Ada <Ada@example.com>","verified":%v,"timestamp":5}`, verified)
	}
	for name, c := range map[string]struct {
		request   string
		approvers int
		lack      string
		involved  string
	}{
		"an author's second account": {requestBy("ada-work", signed(true), approvedBy("ada-work", 11)), 0, "Ada Lovelace has no approval of somebody else after the last commit",
			"approved Ada Lovelace\nwrote Ada Lovelace"},
		"the account of another": {requestBy("Ada-Work", signed(true), approvedBy("Grace", 11)), 1, "", "approved Grace Hopper\nwrote Ada Lovelace"},
		"an address that is not signed": {requestBy("ada-work", signed(false), approvedBy("grace", 11)), 0, "it is not known who wrote commit c1",
			"approved Grace Hopper\nunknown it is not known who wrote commit c1"},
	} {
		t.Run(name, func(t *testing.T) {
			a := attested(c.request)
			Review(a, accounts, "")
			if a.Approvers != c.approvers || a.Unapproved != c.lack || a.Involved != c.involved {
				t.Errorf("got %d, %q, %q", a.Approvers, a.Unapproved, a.Involved)
			}
			if _, known := a.People["eve"]; known || a.People["ada-work"] != "Ada Lovelace" {
				t.Errorf("the people are %v", a.People)
			}
		})
	}
}

func TestDecisionsNameTheirDecider(t *testing.T) {
	accounts := evidence.Accounts{"grace": "Grace Hopper"}
	for name, c := range map[string]struct {
		attestation evidence.Attestation
		want        string
	}{
		"a user":                              {evidence.Attestation{ReportedBy: "grace"}, "decided Grace Hopper"},
		"an account that is in no file":       {evidence.Attestation{ReportedBy: "eve  adams"}, "decided eve adams"},
		"a user with the annotation":          {evidence.Attestation{ReportedBy: "eve", Annotations: map[string]string{DecidedBy: "grace"}}, "decided eve"},
		"a service account, for a person":     {evidence.Attestation{ReportedBy: "ci", ByAccount: true, Annotations: map[string]string{DecidedBy: "Grace"}}, "decided Grace Hopper"},
		"a service account, for nobody known": {evidence.Attestation{ReportedBy: "ci", ByAccount: true}, ""},
		"an override":                         {evidence.Attestation{ReportedBy: "grace", Override: &evidence.Override{}}, ""},
		"as many bytes as fit":                {evidence.Attestation{ReportedBy: strings.Repeat("x", 4096-len("decided "))}, "decided " + strings.Repeat("x", 4096-len("decided "))},
		"a byte more":                         {evidence.Attestation{ReportedBy: strings.Repeat("x", 4097-len("decided "))}, "unknown too many had a part in it"},
	} {
		t.Run(name, func(t *testing.T) {
			a := c.attestation
			a.Type = evidence.TypeDecision
			if Review(&a, accounts, ""); a.Involved != c.want {
				t.Errorf("got %q, want %q", a.Involved, c.want)
			}
		})
	}
}

func TestMergeCommitsAreThoseOfAllPullRequests(t *testing.T) {
	if got := MergeCommits(attested(requestBy("ada", "", ""), `{}`)); len(got) != 2 || got[0] != "m1" || got[1] != "" {
		t.Errorf("got %q", got)
	}
}

// TestWorkOfApprovalsIsLinear has as many authors and approvers as fit in a request. Comparing each with each would
// allocate gigabytes.
func TestWorkOfApprovalsIsLinear(t *testing.T) {
	var commits, approvers []string
	for i := range 9000 {
		commits = append(commits, fmt.Sprintf(`{"sha1":"a","author_username":"a%d","timestamp":1}`, i))
		approvers = append(approvers, fmt.Sprintf(`{"username":"b%d","state":"APPROVED","timestamp":2}`, i))
	}
	approvers = append(approvers, `{"username":"A8999","state":"APPROVED","timestamp":2}`, `{"username":"B1","state":"APPROVED","timestamp":2}`)
	found := attested(requestBy("a0", strings.Join(commits, ","), strings.Join(approvers, ",")))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	approved, lack := Approved(found, "")
	runtime.ReadMemStats(&after)
	if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; approved != 9000 || allocated > 200 {
		t.Errorf("%d approved, %q, with %d MiB", approved, lack, allocated)
	}
}
