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

// maxFinding bounds a Finding before its ellipsis, in bytes.
const maxFinding = 200

// Finding explains the verdict of an attestation in one line: who overrode it and why, or what failed. It is "" for a
// compliant attestation that is not an override. failed is what failed, "" if only the payload or description has it.
func Finding(a *evidence.Attestation, failed string) string {
	switch {
	case a.Override != nil:
		failed = fmt.Sprintf("overridden by %s: %s", a.ReportedBy, a.Override.Reason)
	case a.Compliant:
		return ""
	case failed == "":
		failed = cmp.Or(strings.Join(summarize(a.Type, a.Payload), "; "), evidence.ZeroIfNil(a.Description))
	}
	return oneLine(failed)
}

func oneLine(text string) string {
	return evidence.Shorten(strings.Join(strings.Fields(text), " "), maxFinding)
}

// Summary sums up an attestation of a recorded type for people, one element per line. It begins with the finding,
// unless the payload has the same or the attestation is an override, whose reason is shown elsewhere. It is nil if
// there is neither a finding nor a readable payload.
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

// firstOf lists the first elements, and how many more there are.
func firstOf(all []string) string {
	const most = 3
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
}

// summarizeData lists the members of a custom type's data, without the contents of lists and objects.
func summarizeData(payload json.RawMessage) []string {
	var members map[string]json.RawMessage
	if json.Unmarshal(payload, &members) != nil {
		return nil
	}
	return evidence.Map(slices.Sorted(maps.Keys(members)), func(name string) string { return name + ": " + shownValue(members[name]) })
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
