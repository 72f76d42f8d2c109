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

type pullRequestRule []json.RawMessage

// Compliant reports whether there is a pull request; its state and its approvals do not matter.
func (r *pullRequestRule) Compliant() bool { return len(*r) > 0 }

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
	if saysSomething(members["title"]) || saysSomething(members["created_at"]) || saysSomething(members["head_ref"]) {
		c.prefix = "FoundPullRequestV2."
		c.fields(fieldsOfV2)
		c.objects("approvers", fieldsOfApprover, true)
		if _, sent := members["commits"]; !sent {
			c.report("commits", missingText, nil)
		}
	} else {
		c.prefix = "FoundPullRequestV1."
		c.fields(fieldsOfV1)
		c.texts("approvers")
		for _, name := range onlyV2 {
			if raw := members[name]; saysSomething(raw) {
				c.report(name, extraText, raw)
			}
		}
	}
	c.link("url")
	var commit string
	if raw := members["merge_commit"]; json.Unmarshal(raw, &commit) == nil && !revision.MatchString(commit) {
		c.report("merge_commit", fmt.Sprintf("String should match pattern '%s'", revision), raw)
	}
	for _, commit := range c.objects("commits", fieldsOfCommit, false) {
		commit.link("url")
		commit.texts("parents")
	}
	for name, raw := range members {
		if !slices.Contains(inBoth, name) && !slices.Contains(onlyV2, name) {
			c.report(name, extraText, raw)
		}
	}
	if len(c.found) == 0 {
		return nil
	}
	return c.found
}

// field is a member of an object that has a JSON type.
type field struct {
	name, kind string
	required   bool // and not null
}

var (
	inBoth   = []string{"url", "state", "merge_commit", "approvers", "author", "commits"}
	onlyV2   = []string{"title", "created_at", "merged_at", "head_ref", "base_ref"}
	revision = regexp.MustCompile("^([a-f0-9]{40})?$")

	fieldsOfV1 = []field{
		{"url", "string", true}, {"state", "string", true}, {"merge_commit", "string", true}, {"author", "string", false},
	}
	fieldsOfV2 = []field{
		{"url", "string", true}, {"state", "string", true}, {"author", "string", true}, {"title", "string", true},
		{"head_ref", "string", true}, {"created_at", "number", true}, {"merged_at", "number", false},
		{"base_ref", "string", false}, {"merge_commit", "string", false},
	}
	fieldsOfApprover = []field{{"username", "string", true}, {"state", "string", false}, {"timestamp", "number", false}}
	fieldsOfCommit   = []field{
		{"sha1", "string", true}, {"message", "string", false}, {"author", "string", false},
		{"author_username", "string", false}, {"branch", "string", false}, {"url", "string", false},
		{"signature_state", "string", false}, {"timestamp", "number", false}, {"verified", "boolean", false},
	}
)

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

func (c *shapeCheck) fields(fields []field) {
	for _, of := range fields {
		raw, sent := c.members[of.name]
		switch {
		case !sent && of.required:
			c.report(of.name, missingText, nil)
		case sent && (!fits(raw, of.kind) || of.required && isNull(raw)):
			c.report(of.name, "Input should be a valid "+of.kind, raw)
		}
	}
}

// fits reports whether a value is of a type, or null.
func fits(raw json.RawMessage, kind string) bool {
	var value any = new(string)
	switch kind {
	case "number":
		value = new(float64)
	case "boolean":
		value = new(bool)
	}
	return json.Unmarshal(raw, value) == nil
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

func (c *shapeCheck) texts(name string) {
	for i, item := range c.items(name) {
		if isNull(item) || !fits(item, "string") {
			c.report(fmt.Sprintf("%s[%d]", name, i), "Input should be a valid string", item)
		}
	}
}

// objects checks a list of objects, which may be null, and returns them. They may have other members unless closed.
func (c *shapeCheck) objects(name string, fields []field, closed bool) (objects []*shapeCheck) {
	for i, item := range c.items(name) {
		at := fmt.Sprintf("%s[%d]", name, i)
		var members map[string]json.RawMessage
		if json.Unmarshal(item, &members) != nil || members == nil {
			c.report(at, objectText, item)
			continue
		}
		inner := &shapeCheck{members: members, prefix: c.prefix + at + ".", found: c.found}
		inner.fields(fields)
		for member, value := range members {
			if closed && !slices.ContainsFunc(fields, func(f field) bool { return f.name == member }) {
				inner.report(member, extraText, value)
			}
		}
		objects = append(objects, inner)
	}
	return objects
}

func isNull(raw json.RawMessage) bool { return strings.TrimSpace(string(raw)) == "null" }

// summarizedPullRequest is what the summary says of a pull request of either version.
type summarizedPullRequest struct {
	URL       string
	Author    string
	Approvers []json.RawMessage
}

func summarizePullRequests(found []summarizedPullRequest) []string {
	if len(found) == 0 {
		return []string{"no pull request"}
	}
	lines := make([]string, 0, len(found))
	for _, one := range found {
		line := one.URL
		if one.Author != "" {
			line += " by " + one.Author
		}
		approvers := "approved by nobody else"
		if others := one.others(); len(others) > 0 {
			approvers = "approved by " + strings.Join(others, ", ")
		}
		lines = append(lines, line+", "+approvers)
	}
	return lines
}

// others are the approvers who are not the author. Older clients send their names alone.
func (p *summarizedPullRequest) others() []string {
	var others []string
	for _, raw := range p.Approvers {
		var approver PullRequestApprover
		if json.Unmarshal(raw, &approver.Username) != nil && json.Unmarshal(raw, &approver) != nil {
			continue
		}
		approved := approver.State == nil || *approver.State == "" || strings.EqualFold(*approver.State, "approved")
		if approved && approver.Username != p.Author && !slices.Contains(others, approver.Username) {
			others = append(others, approver.Username)
		}
	}
	return others
}
