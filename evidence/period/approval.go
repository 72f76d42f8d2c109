package period

import (
	"attestry/evidence"
	"attestry/evidence/independent"
)

// Approval is the independent approval of a change before it was deployed (docs/semantics.md 26.3).
type Approval string

// The approvals, the best first. NoProvenance is that of an artifact without provenance.
const (
	MachineAccount Approval = "machine_account"
	Approved       Approval = "approved"
	Overridden     Approval = "overridden"
	ApprovedLate   Approval = "approved_late"
	NotApproved    Approval = "not_approved"
	NoPullRequest  Approval = "no_pull_request"
	NoProvenance   Approval = "no_provenance"
)

// strength ranks the approvals by attestations of pull requests.
var strength = map[Approval]int{Approved: 4, Overridden: 3, ApprovedLate: 2, NotApproved: 1, NoPullRequest: 0}

// ApprovalOf returns the best approval of a change that was deployed at a time in Unix seconds, with its attestation.
// author is that of the trail's commit, entries are the attestations that count in the trail.
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
