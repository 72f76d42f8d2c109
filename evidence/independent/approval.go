// Package independent has the rule on independent approval of pull requests (docs/semantics.md 18.12).
package independent

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"attestry/evidence"
	"attestry/evidence/pattern"
	"attestry/evidence/yamlfile"
)

// ApprovalRule requires that others approved the code of each author of a pull request. A nil rule requires nothing.
type ApprovalRule struct {
	// Approvers is the number of other approvers that each author needs.
	Approvers int `json:"approvers"`
	// MachineAccounts are regular expressions for authors of commits that need no pull request.
	MachineAccounts []string `json:"machine_accounts"`
	// SinceRelease also requires approvals of the flow's trails between the replaced artifact's and the artifact's own.
	SinceRelease bool `json:"since_last_release,omitempty"`
	machines     []*pattern.Pattern
}

// MaxApprovers bounds the approvers that a rule can require.
const MaxApprovers = 20

// defaultRule is the rule without options.
var defaultRule = func() ApprovalRule {
	rule, patterns := ApprovalRule{Approvers: 1}, pattern.NewSet(1<<20, 100)
	for _, text := range []string{`svc_.*`, `.*\[bot\]`, `noreply@github\.com`} {
		rule.exempt(yamlfile.Value{}, text, patterns)
	}
	return rule
}()

// MachineAccount reports whether the author of a commit is a machine account by the default rule.
func MachineAccount(author string) bool { return defaultRule.Exempts(author) }

// Read reads the rule for an attestation of a type: true, or a mapping; nil if it is left out or false. Its expressions
// are compiled in a set of patterns. allow counts each of them and reports whether one more is allowed.
func Read(value yamlfile.Value, kind string, patterns *pattern.Set, allow func(yamlfile.Value) bool) *ApprovalRule {
	if value.Resolve().IsAbsent() || !value.IsMapping() && !value.Bool(false) {
		return nil
	}
	if kind != evidence.TypePullRequest {
		value.Fault("Value error, independent_approval needs the type 'pull_request'")
	}
	rule := new(defaultRule)
	var fields map[string]yamlfile.Value
	if value.IsMapping() {
		fields, _ = value.Mapping("IndependentApproval", "approvers", "machine_accounts", "since_last_release")
		rule.Approvers, rule.SinceRelease = fields["approvers"].Int(1, 1, MaxApprovers), fields["since_last_release"].Bool(false)
	}
	if list := fields["machine_accounts"]; list.Node != nil {
		rule.MachineAccounts, rule.machines = nil, nil
		for _, one := range list.List() {
			if text, ok := one.Text(); ok && allow(one) {
				rule.exempt(one, text, patterns)
			}
		}
	}
	return rule
}

// exempt adds a machine account. The expression is parsed alone first, so that a bracket in it cannot close the group
// that is put around it.
func (a *ApprovalRule) exempt(value yamlfile.Value, text string, patterns *pattern.Set) {
	if slices.Contains(a.MachineAccounts, text) {
		return
	}
	_, err := syntax.Parse(text, syntax.Perl)
	var compiled *pattern.Pattern
	if err == nil {
		compiled, err = patterns.Compile("^(?:" + text + ")$")
	}
	if err != nil {
		value.Fault("Value error, " + err.Error() + yamlfile.Shown(text))
		return
	}
	a.MachineAccounts, a.machines = append(a.MachineAccounts, text), append(a.machines, compiled)
}

// maxAuthor bounds the authors that are compared with expressions, in bytes: their length is a factor of the work.
const maxAuthor = 256

// Exempts reports whether the author of a commit, such as Ada <ada@example.com>, is a machine account: an expression
// matches the whole author, the name or the address. An author of more than maxAuthor bytes is none. Rules of a file
// share the results of equal expressions, so that repeating them costs nothing.
func (a *ApprovalRule) Exempts(author string) bool {
	if a == nil || author == "" || len(author) > maxAuthor {
		return false
	}
	return slices.ContainsFunc(a.machines, func(machine *pattern.Pattern) bool {
		return machine.Once(author, func() bool { return isMachine(author, machine) })
	})
}

func isMachine(author string, machine *pattern.Pattern) bool {
	name, address, _ := strings.Cut(author, " <")
	return slices.ContainsFunc([]string{author, name, strings.TrimSuffix(address, ">")}, func(text string) bool {
		return text != "" && machine.MatchString(text)
	})
}

// Approved reports whether one of the attestations has independent approval or is a compliant override.
func Approved(entries []evidence.Entry) bool {
	return slices.ContainsFunc(entries, func(entry evidence.Entry) bool {
		return entry.Type == evidence.TypePullRequest && (entry.Override && entry.Compliant || !entry.Override && entry.Approvers > 0)
	})
}

// Unapproved describes the missing approval of an artifact's unapproved earlier trails, given by name; "" if the rule
// does not require it.
func (a *ApprovalRule) Unapproved(trails []string) string {
	if a == nil || !a.SinceRelease || len(trails) == 0 {
		return ""
	}
	return "nobody else had approved the earlier trails that it brings since the last release: " + strings.Join(trails, ", ")
}

// Lack describes an attestation's missing approval, "" if it fulfils the rule. An override always fulfils it.
func (a *ApprovalRule) Lack(entry *evidence.Entry) string {
	switch {
	case a == nil || entry.Override || entry.Approvers >= a.Approvers:
		return ""
	case entry.Unapproved != "":
		return entry.Unapproved
	case entry.Approvers == 0:
		return "it was recorded before approvals were looked at"
	}
	return fmt.Sprintf("an author has the approval of %d after the last commit, the rule asks for %d", entry.Approvers, a.Approvers)
}
