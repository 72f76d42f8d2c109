package independent

import (
	"strings"
	"testing"

	"attestry/evidence"
)

func TestMachineAccountsAreMatchedAsAWhole(t *testing.T) {
	for author, want := range map[string]bool{
		"svc_deploy": true, "dependabot[bot] <49699333+dependabot[bot]@users.noreply.github.com>": true, "GitHub <noreply@github.com>": true,
		"github-actions[bot]": true, "ci-signed-commit-bot[bot] <x@example.com>": true,
		"": false, "my_svc_deploy": false, "Ada <ada@users.noreply.github.com>": false, "Ada <svc_deploy@example.com>": true,
		"svc_" + strings.Repeat("a", 252): true, "svc_" + strings.Repeat("a", 253): false,
	} {
		if got := MachineAccount(author); got != want {
			t.Errorf("%q: %t", author, got)
		}
	}
	if none := (*ApprovalRule)(nil); none.Exempts("svc_deploy") || none.Lack(&evidence.Entry{}) != "" {
		t.Error("what asks for nothing exempts somebody, or is lacked")
	}
}

func TestLackNamesTheMissingApproval(t *testing.T) {
	rule := &ApprovalRule{Approvers: 2}
	for want, entry := range map[string]evidence.Entry{
		"":             {Approvers: 2},
		"ada has none": {Unapproved: "ada has none"},
		"it was recorded before approvals were looked at":                            {},
		"an author has the approval of 1 after the last commit, the rule asks for 2": {Approvers: 1},
	} {
		if got := rule.Lack(&entry); got != want {
			t.Errorf("%+v lacks %q, want %q", entry, got, want)
		}
	}
	if got := rule.Lack(&evidence.Entry{Override: true}); got != "" {
		t.Errorf("an override lacks %q", got)
	}
}
