package independent

import (
	"strings"

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

// Unseparated describes why a decision violates the separation of duties: whoever decides must neither have written nor
// approved the code (docs/semantics.md 18.14). It is "" if it does not, and for an override. entries have the pull
// requests of the code. author is that of the trail's commit: a machine account needs no pull request.
func Unseparated(decision *evidence.Entry, entries []evidence.Entry, author string) string {
	if decision.Override {
		return ""
	}
	decider := ""
	for part, name := range decision.Parts() {
		if part == evidence.PartDecided {
			decider = name
		}
	}
	if decider == "" {
		return "it is not known who decided"
	}
	known := MachineAccount(author)
	for i := range entries {
		entry := &entries[i]
		if entry.Type != evidence.TypePullRequest || entry.Override {
			continue
		}
		for part, name := range entry.Parts() {
			switch {
			case strings.EqualFold(name, decider):
				return decider + " decided, and " + part + " the code"
			case part == evidence.PartUnknown && !MachineAccount(author):
				return name
			}
		}
		known = known || entry.Approvers > 0 && entry.Involved != ""
	}
	if !known {
		return "it is not known who wrote and who approved the code"
	}
	return ""
}
