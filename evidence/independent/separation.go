package independent

import (
	"cmp"

	"attestry/evidence"
	"attestry/evidence/yamlfile"
)

// DecisionType is the type of decisions on controls, in policies and templates.
const DecisionType = "decision"

// ReadSeparation reads whether a rule on attestations of a type requires the separation of duties.
func ReadSeparation(value yamlfile.Value, kind string) bool {
	required := !value.Resolve().IsAbsent() && value.Bool(false)
	if required && kind != DecisionType {
		value.Fault("Value error, separation_of_duties needs the type 'decision'")
	}
	return required
}

// Contributors are those who wrote and approved the code of a trail, by its pull requests.
type Contributors struct {
	// parts has what each did, by evidence.InOneCase of the name.
	parts map[string]string
	// unknown is what is not known of a pull request, which no later one can replace.
	unknown string
	// known is whether a pull request says who wrote and who approved the code, or none is needed.
	known bool
}

// ReadContributors reads them from the pull requests among entries. author is that of the trail's commit: a machine
// account needs no pull request.
func ReadContributors(entries []evidence.Entry, author string) *Contributors {
	exempt := MachineAccount(author)
	c := &Contributors{parts: map[string]string{}, known: exempt}
	for i := range entries {
		entry := &entries[i]
		if entry.Type != evidence.TypePullRequest || entry.Override {
			continue
		}
		for part, name := range entry.Parts() {
			switch {
			case part != evidence.PartUnknown:
				key := evidence.InOneCase(name)
				c.parts[key] = cmp.Or(c.parts[key], part)
			case !exempt:
				c.unknown = name
				return c
			}
		}
		c.known = c.known || entry.Approvers > 0 && entry.Involved != ""
	}
	return c
}

// Unseparated describes why a decision violates the separation of duties: whoever decides must neither have written nor
// approved the code (docs/semantics.md 18.14). It is "" if it does not, and for an override.
func (c *Contributors) Unseparated(decision *evidence.Entry) string {
	if decision.Override {
		return ""
	}
	decider := ""
	for part, name := range decision.Parts() {
		if part == evidence.PartDecided {
			decider = name
		}
	}
	part := c.parts[evidence.InOneCase(decider)]
	switch {
	case decider == "":
		return "it is not known who decided"
	case part != "":
		return decider + " decided, and " + part + " the code"
	case c.unknown != "":
		return c.unknown
	case !c.known:
		return "it is not known who wrote and who approved the code"
	}
	return ""
}
