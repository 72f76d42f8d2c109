package attestation

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"attestry/evidence"
)

// FoundPullRequestV1 is a pull request as older clients report it.
type FoundPullRequestV1 struct {
	URL         string   `json:"url" format:"uri-reference"`
	State       string   `json:"state"`
	MergeCommit string   `json:"merge_commit" pattern:"^([a-f0-9]{40})?$"`
	Approvers   []string `json:"approvers,omitempty" nullable:"true"`
}

// FoundPullRequestV2 is a pull request as clients report it now.
type FoundPullRequestV2 struct {
	URL         string                `json:"url" format:"uri-reference"`
	State       string                `json:"state"`
	Author      string                `json:"author"`
	Title       string                `json:"title"`
	CreatedAt   float64               `json:"created_at" doc:"Unix seconds."`
	MergedAt    *float64              `json:"merged_at,omitempty" nullable:"true" doc:"Unix seconds."`
	HeadRef     string                `json:"head_ref"`
	BaseRef     *string               `json:"base_ref,omitempty" nullable:"true"`
	MergeCommit *string               `json:"merge_commit,omitempty" nullable:"true" pattern:"^([a-f0-9]{40})?$"`
	Approvers   []PullRequestApprover `json:"approvers,omitempty" nullable:"true"`
	Commits     []GitCommit           `json:"commits"`
}

// PullRequestApprover is who reviewed a pull request.
type PullRequestApprover struct {
	Username  string   `json:"username"`
	State     *string  `json:"state,omitempty" nullable:"true"`
	Timestamp *float64 `json:"timestamp,omitempty" nullable:"true" doc:"Unix seconds."`
}

// EvaluatePullRequests reports whether at least one pull request was found; its state and its approvals do not matter.
func EvaluatePullRequests(found []json.RawMessage) bool { return len(found) > 0 }

// CheckPullRequest returns what is wrong with a member of pull_requests, by location within it, in the contract's words;
// nil when nothing is. A member with a creation time, a title or a head is checked as V2, any other as V1.
//
// It accepts what clients are known to send beyond the schemas: an open pull request has merge_commit "" in V2 too, and
// V1 comes with an author, commits, and members of V2 without a value (null, "", 0, an empty list; docs/semantics.md 6.3).
func CheckPullRequest(raw json.RawMessage) map[string]string {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return map[string]string{"": objectText + shown(raw)}
	}
	c := shapeCheck{members: members, found: map[string]string{}}
	if resemblesV2(members) {
		c.prefix = "FoundPullRequestV2."
		c.asV2()
	} else {
		c.prefix = "FoundPullRequestV1."
		c.asV1()
	}
	if len(c.found) == 0 {
		return nil
	}
	return c.found
}

var (
	inBoth   = []string{"url", "state", "merge_commit", "approvers", "author", "commits"}
	onlyV2   = []string{"title", "created_at", "merged_at", "head_ref", "base_ref"}
	revision = regexp.MustCompile("^([a-f0-9]{40})?$")
)

func resemblesV2(members map[string]json.RawMessage) bool {
	return saysSomething(members["title"]) || saysSomething(members["created_at"]) || saysSomething(members["head_ref"])
}

// saysSomething is false of values that a client sends for want of one.
func saysSomething(raw json.RawMessage) bool {
	switch strings.TrimSpace(string(raw)) {
	case "", "null", `""`, "0", "[]":
		return false
	}
	return true
}

// shapeCheck collects what is wrong with the members of an object.
type shapeCheck struct {
	members map[string]json.RawMessage
	prefix  string
	found   map[string]string
}

func (c *shapeCheck) asV1() {
	needed[string](c, "url", "string")
	c.link("url")
	needed[string](c, "state", "string")
	needed[string](c, "merge_commit", "string")
	c.revision()
	c.strings("approvers")
	optional[string](c, "author", "string")
	c.commits()
	for _, name := range onlyV2 {
		if raw := c.members[name]; saysSomething(raw) {
			c.report(name, extraText, raw)
		}
	}
	c.nothingElse()
}

func (c *shapeCheck) asV2() {
	for _, name := range []string{"url", "state", "author", "title", "head_ref"} {
		needed[string](c, name, "string")
	}
	c.link("url")
	needed[float64](c, "created_at", "number")
	optional[float64](c, "merged_at", "number")
	optional[string](c, "base_ref", "string")
	optional[string](c, "merge_commit", "string")
	c.revision()
	c.objects("approvers", []string{"username", "state", "timestamp"}, func(item *shapeCheck) {
		needed[string](item, "username", "string")
		optional[string](item, "state", "string")
		optional[float64](item, "timestamp", "number")
	})
	if _, sent := c.members["commits"]; !sent {
		c.report("commits", missingText, nil)
	}
	c.commits()
	c.nothingElse()
}

func (c *shapeCheck) commits() {
	c.objects("commits", nil, func(item *shapeCheck) {
		needed[string](item, "sha1", "string")
		for _, name := range []string{"message", "author", "author_username", "branch", "url", "signature_state"} {
			optional[string](item, name, "string")
		}
		item.link("url")
		optional[float64](item, "timestamp", "number")
		optional[bool](item, "verified", "boolean")
		item.strings("parents")
	})
}

func (c *shapeCheck) report(name, text string, raw json.RawMessage) {
	if _, taken := c.found[c.prefix+name]; !taken {
		c.found[c.prefix+name] = text + shown(raw)
	}
}

func (c *shapeCheck) link(name string) {
	var url string
	raw := c.members[name]
	if json.Unmarshal(raw, &url) != nil {
		return
	}
	if fault := evidence.LinkFault(url); fault != "" {
		c.report(name, fault, raw)
	}
}

func (c *shapeCheck) nothingElse() {
	for name, raw := range c.members {
		if !slices.Contains(inBoth, name) && !slices.Contains(onlyV2, name) {
			c.report(name, extraText, raw)
		}
	}
}

func (c *shapeCheck) revision() {
	var text string
	raw := c.members["merge_commit"]
	if json.Unmarshal(raw, &text) == nil && !revision.MatchString(text) {
		c.report("merge_commit", fmt.Sprintf("String should match pattern '%s'", revision), raw)
	}
}

// items returns the members of a list, which may be null or absent.
func (c *shapeCheck) items(name string) []json.RawMessage {
	raw, sent := c.members[name]
	if !sent || isNull(raw) {
		return nil
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		c.report(name, "Input should be a valid list", raw)
	}
	return items
}

func (c *shapeCheck) strings(name string) {
	for i, item := range c.items(name) {
		var text string
		if isNull(item) || json.Unmarshal(item, &text) != nil {
			c.report(fmt.Sprintf("%s[%d]", name, i), "Input should be a valid string", item)
		}
	}
}

// objects checks a list of objects, which may be null, with the members that each may have; nil for any.
func (c *shapeCheck) objects(name string, known []string, check func(*shapeCheck)) {
	for i, item := range c.items(name) {
		at := fmt.Sprintf("%s[%d]", name, i)
		var members map[string]json.RawMessage
		if json.Unmarshal(item, &members) != nil || members == nil {
			c.report(at, objectText, item)
			continue
		}
		inner := &shapeCheck{members: members, prefix: c.prefix + at + ".", found: c.found}
		check(inner)
		for member, value := range members {
			if known != nil && !slices.Contains(known, member) {
				inner.report(member, extraText, value)
			}
		}
	}
}

func needed[T any](c *shapeCheck, name, kind string) {
	raw, sent := c.members[name]
	switch {
	case !sent:
		c.report(name, missingText, nil)
	case isNull(raw):
		c.report(name, "Input should be a valid "+kind, raw)
	default:
		optional[T](c, name, kind)
	}
}

func optional[T any](c *shapeCheck, name, kind string) {
	var value T
	if raw, sent := c.members[name]; sent && json.Unmarshal(raw, &value) != nil {
		c.report(name, "Input should be a valid "+kind, raw)
	}
}

func isNull(raw json.RawMessage) bool { return strings.TrimSpace(string(raw)) == "null" }

type pullRequestRuleInput []json.RawMessage

// Compliant applies EvaluatePullRequests.
func (in *pullRequestRuleInput) Compliant() bool { return EvaluatePullRequests(*in) }

func summarizePullRequests(found []json.RawMessage) []string {
	return []string{count(len(found), "pull request") + " found"}
}
