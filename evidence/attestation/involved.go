package attestation

import (
	"slices"
	"strings"

	"attestry/evidence"
)

const (
	// DecidedBy is the annotation with the decider, if no user reports the decision (docs/semantics.md 18.14).
	DecidedBy = "decided_by"
	// maxInvolved bounds evidence.Attestation.Involved, in bytes.
	maxInvolved = 4 << 10
)

// NamesPeople reports whether an attestation names authors, approvers or deciders.
func NamesPeople(a *evidence.Attestation) bool {
	return a.Override == nil && (a.Type == evidence.TypePullRequest || a.Type == evidence.TypeDecision)
}

// Review sets the people, the involved and the approvals of an attestation, by the accounts of people
// (docs/semantics.md 18.12 to 18.14). commit is that of the trail, "" if unknown.
func Review(a *evidence.Attestation, accounts evidence.Accounts, commit string) {
	if !NamesPeople(a) {
		return
	}
	found, _ := pullRequestsOf(a) // none if they cannot be read
	identify(a, accounts, decider(a))
	for i := range found {
		identify(a, accounts, found[i].names()...)
	}
	if a.Type == evidence.TypePullRequest {
		a.Approvers, a.Unapproved = Approved(a, commit)
	}
	a.Involved = Involved(a, commit)
}

// identify adds the people who have the named accounts.
func identify(a *evidence.Attestation, accounts evidence.Accounts, names ...string) {
	for _, name := range names {
		if person, ok := accounts[strings.ToLower(name)]; ok {
			if a.People == nil {
				a.People = evidence.Accounts{}
			}
			a.People[strings.ToLower(name)] = person
		}
	}
}

// decider is the account of the person who made a decision, "" if unknown or for other types.
func decider(a *evidence.Attestation) string {
	switch {
	case a.Type != evidence.TypeDecision:
		return ""
	case a.ByAccount:
		return a.Annotations[DecidedBy]
	}
	return a.ReportedBy
}

// Involved computes the attestation's field of that name. A pull request whose authors are not known has a line that
// begins with "unknown". commit is that of the trail, "" if unknown.
func Involved(a *evidence.Attestation, commit string) string {
	var lines []string
	add := func(part string, people ...string) {
		for _, one := range people {
			if name := strings.Join(strings.Fields(one), " "); name != "" {
				lines = append(lines, part+" "+name)
			}
		}
	}
	add(evidence.PartDecided, a.People.Person(decider(a)))
	found, _ := pullRequestsOf(a) // none if they cannot be read: there are no approvals either
	for i := range found {
		authors, last, fault := found[i].authors(commit)
		add(evidence.PartWrote, authors...)
		add(evidence.PartUnknown, fault)
		add(evidence.PartApproved, found[i].approvals(last)...)
	}
	slices.Sort(lines)
	text := strings.Join(slices.Compact(lines), "\n")
	if len(text) > maxInvolved {
		return evidence.PartUnknown + " too many had a part in it"
	}
	return text
}
