package attestation

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"attestry/evidence"
)

// maxFinding is how many bytes a Finding has before it is cut.
const maxFinding = 200

// Finding says in one line why the verdict of an attestation is what it is: who overrode it and why, or what failed. It is
// "" for what is compliant by itself. failed is what is known to have failed, "" to tell by the payload or else by the
// description.
func Finding(a *evidence.Attestation, failed string) string {
	switch {
	case a.Override != nil:
		failed = fmt.Sprintf("overridden by %s: %s", a.ReportedBy, a.Override.Reason)
	case a.Compliant:
		return ""
	case failed == "":
		failed = cmp.Or(strings.Join(summarize(a.Type, a.Payload), "; "), evidence.Text(a.Description))
	}
	return oneLine(failed)
}

func oneLine(text string) string {
	return evidence.Shorten(strings.Join(strings.Fields(text), " "), maxFinding)
}

// Summary sums up for people what an attestation of a recorded type found, one element a line. It begins with the finding,
// unless the payload says the same, or it is that of an override, whose reason is shown beside it. It returns nil for what
// has neither, and for payloads of earlier forms.
func Summary(recorded, finding string, override bool, payload map[string]json.RawMessage) []string {
	lines := summarize(recorded, payload)
	switch {
	case override || finding == "" || finding == oneLine(strings.Join(lines, "; ")):
		return lines
	case len(lines) == 1 && strings.HasPrefix(finding, lines[0]):
		return []string{finding}
	}
	return slices.Insert(lines, 0, finding)
}

func summarize(recorded string, payload map[string]json.RawMessage) []string {
	of, builtIn := TypeOf(recorded)
	switch {
	case !builtIn:
		return summarizeData(payload[DataMember])
	case of.Summarize == nil:
		return nil
	}
	return of.Summarize(payload[of.Member])
}

// firstOf names the first things of a list, and how many more there are.
func firstOf(all []string) string {
	const most = 3
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
}

// summarizeData lists the members of a custom type's data that are no lists or objects.
func summarizeData(payload json.RawMessage) []string {
	var members map[string]json.RawMessage
	if json.Unmarshal(payload, &members) != nil {
		return nil
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		lines = append(lines, name+": "+shownValue(members[name]))
	}
	return lines
}

func shownValue(value json.RawMessage) string {
	value = bytes.TrimSpace(value)
	var text string
	switch {
	case len(value) == 0:
		return ""
	case value[0] == '"' && json.Unmarshal(value, &text) == nil:
		return text
	case value[0] == '[':
		var items []json.RawMessage
		if json.Unmarshal(value, &items) == nil {
			return "list of " + evidence.Count(len(items), "item")
		}
	case value[0] == '{':
		return "(object)"
	}
	return string(value)
}
