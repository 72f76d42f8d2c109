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

// Contributors are those who wrote and approved the code of a trail. Their names are read from its pull requests by the
// first call of Unseparated. They cannot be used by several goroutines at once.
type Contributors struct {
	// Entries have the pull requests of the code.
	Entries []evidence.Entry
	// Author is that of the trail's commit: a machine account needs no pull request.
	Author string
	// parts has what each did, by evidence.InOneCase of the name. It is nil before the pull requests are read.
	parts map[string]string
	// unknown is what is not known of a pull request, which no later one can replace.
	unknown string
	// known is whether a pull request says who wrote and who approved the code, or none is needed.
	known bool
}

func (c *Contributors) read() {
	exempt := MachineAccount(c.Author)
	c.parts, c.known = map[string]string{}, exempt
	for i := range c.Entries {
		entry := &c.Entries[i]
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
				return
			}
		}
		c.known = c.known || entry.Approvers > 0 && entry.Involved != ""
	}
}

// Unseparated describes why a decision violates the separation of duties: whoever decides must neither have written nor
// approved the code (docs/semantics.md 18.14). It is "" if it does not, and for an override.
func (c *Contributors) Unseparated(decision *evidence.Entry) string {
	if decision.Override {
		return ""
	}
	if c.parts == nil {
		c.read()
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
