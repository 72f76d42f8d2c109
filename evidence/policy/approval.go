package policy

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"attestry/evidence"
	"attestry/evidence/pattern"
	"attestry/evidence/yamlfile"
)

// IndependentApproval asks that others approved what each author of a pull request wrote (docs/semantics.md 18.12).
type IndependentApproval struct {
	// Approvers is how many others each author needs.
	Approvers int
	// MachineAccounts are regular expressions for authors of commits that need no pull request.
	MachineAccounts []string
	machines        []*regexp.Regexp
}

// MaxApprovers is the largest number of approvers that a rule can ask for.
const MaxApprovers = 20

// unnamed is the rule that names no machine accounts.
var unnamed = IndependentApproval{
	Approvers: 1, MachineAccounts: []string{`svc_.*`, `.*\[bot\]`, `noreply@github\.com`},
	machines: []*regexp.Regexp{regexp.MustCompile(`^svc_.*$`), regexp.MustCompile(`^.*\[bot\]$`), regexp.MustCompile(`^noreply@github\.com$`)},
}

// MachineAccount reports whether the author of a commit is one unless a rule says otherwise (docs/semantics.md 18.12).
func MachineAccount(author string) bool { return unnamed.exempts(author) }

// independentApproval reads true, or a mapping; nil if it is left out or false.
func (r *reader) independentApproval(value yamlfile.Value) *IndependentApproval {
	if value.Resolve().IsAbsent() || !value.IsMapping() && !value.Bool(false) {
		return nil
	}
	rule := new(unnamed)
	var fields map[string]yamlfile.Value
	if value.IsMapping() {
		fields, _ = value.Mapping("IndependentApproval", "approvers", "machine_accounts")
		rule.Approvers = fields["approvers"].Int(1, 1, MaxApprovers)
	}
	if list := fields["machine_accounts"]; list.Node != nil {
		rule.MachineAccounts, rule.machines = nil, nil
		for _, one := range list.List() {
			if text, ok := one.Text(); ok && r.another(one) {
				r.exempt(rule, one, text)
			}
		}
	}
	return rule
}

// exempt adds a machine account. The expression is parsed by itself first, so that no bracket of it ends the group that it
// is then put into.
func (r *reader) exempt(rule *IndependentApproval, value yamlfile.Value, text string) {
	_, err := syntax.Parse(text, syntax.Perl)
	var compiled *pattern.Pattern
	if err == nil {
		compiled, err = r.patterns.Compile("^(?:" + text + ")$")
	}
	if err != nil {
		value.Fault("Value error, " + err.Error() + yamlfile.Shown(text))
		return
	}
	rule.MachineAccounts, rule.machines = append(rule.MachineAccounts, text), append(rule.machines, compiled.Regexp)
}

// exempts reports whether the author of a commit, such as Ada <ada@example.com>, is a machine account: an expression fits
// all of it, its name or its address.
func (i *IndependentApproval) exempts(author string) bool {
	if i == nil || author == "" {
		return false
	}
	name, address, _ := strings.Cut(author, " <")
	for _, machine := range i.machines {
		for _, text := range []string{author, name, strings.TrimSuffix(address, ">")} {
			if text != "" && machine.MatchString(text) {
				return true
			}
		}
	}
	return false
}

// lack says what an attestation of pull requests lacks, "" if it fulfils the rule. An override counts by its verdict.
func (i *IndependentApproval) lack(entry *evidence.Entry) string {
	switch {
	case i == nil || entry.Override || entry.Approvers >= i.Approvers:
		return ""
	case entry.Unapproved != "":
		return entry.Unapproved
	case entry.Approvers == 0:
		return "it was recorded before approvals were looked at"
	}
	return fmt.Sprintf("an author has the approval of %d after the last commit, the rule asks for %d", entry.Approvers, i.Approvers)
}
