package attestation

import (
	"slices"
	"strings"

	"attestry/evidence"
)

const (
	// DecidedBy is the annotation by which a decision that a service account reports says who made it (docs/semantics.md 18.14).
	DecidedBy = "decided_by"
	// maxInvolved is how long an attestation's list of who had a part may be, in bytes.
	maxInvolved = 4 << 10
)

// NamesPeople reports whether an attestation says who wrote, approved or decided something.
func NamesPeople(a *evidence.Attestation) bool {
	return a.Override == nil && (a.Type == evidence.TypePullRequest || a.Type == evidence.TypeDecision)
}

// Review notes who wrote, approved or decided something, by the accounts of people, and how many others approved a pull
// request (docs/semantics.md 18.12 to 18.14). commit is that of the trail, "" if it is not known.
func Review(a *evidence.Attestation, accounts evidence.Accounts, commit string) {
	if !NamesPeople(a) {
		return
	}
	found, _ := pullRequestsOf(a) // those that cannot be read name nobody
	identify(a, accounts, decider(a))
	for i := range found {
		identify(a, accounts, found[i].names()...)
	}
	if a.Type == evidence.TypePullRequest {
		a.Approvers, a.Unapproved = Approved(a, commit)
	}
	a.Involved = Involved(a, commit)
}

// identify notes which people have some accounts.
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

// decider is the account of who made a decision, "" if that is not known, or for other types.
func decider(a *evidence.Attestation) string {
	switch {
	case a.Type != evidence.TypeDecision:
		return ""
	case a.ByAccount:
		return a.Annotations[DecidedBy]
	}
	return a.ReportedBy
}

// Involved says who had a part in what an attestation says, as its field of that name does. A pull request of which it is
// not known who wrote it makes a line that begins with "unknown". commit is that of the trail, "" if it is not known.
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
	found, _ := pullRequestsOf(a) // those that cannot be read lack approvals
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
