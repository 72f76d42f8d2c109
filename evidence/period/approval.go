package period

import (
	"attestry/evidence"
	"attestry/evidence/independent"
)

// Approval says whether others approved a change before it ran (docs/semantics.md 26.3).
type Approval string

// The approvals, the better of two pull requests first. NoProvenance is of what no flow knows.
const (
	MachineAccount Approval = "machine_account"
	Approved       Approval = "approved"
	Overridden     Approval = "overridden"
	ApprovedLate   Approval = "approved_late"
	NotApproved    Approval = "not_approved"
	NoPullRequest  Approval = "no_pull_request"
	NoProvenance   Approval = "no_provenance"
)

// strength orders what attestations of pull requests say.
var strength = map[Approval]int{Approved: 4, Overridden: 3, ApprovedLate: 2, NotApproved: 1, NoPullRequest: 0}

// ApprovalOf says whether the author of a trail's commit is a machine account, or which of the attestations that count there
// shows best that others approved the change before it ran, at a time in Unix seconds.
func ApprovalOf(author string, entries []evidence.Entry, ran float64) (Approval, *evidence.Entry) {
	if independent.MachineAccount(author) {
		return MachineAccount, nil
	}
	best, found := NoPullRequest, (*evidence.Entry)(nil)
	for i := range entries {
		if entries[i].Type != evidence.TypePullRequest {
			continue
		}
		if one := approvalIn(&entries[i], ran); strength[one] > strength[best] {
			best, found = one, &entries[i]
		}
	}
	return best, found
}

func approvalIn(entry *evidence.Entry, ran float64) Approval {
	switch {
	case entry.Override && entry.Compliant && entry.Time <= ran:
		return Overridden
	case entry.Override || entry.Approvers == 0:
		return NotApproved
	case entry.Time > ran:
		return ApprovedLate
	}
	return Approved
}
