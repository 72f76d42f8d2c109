package policy_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/policy"
	"attestry/scripts/readmetest"
)

const truthTable = "testdata/truth_table.md"

// TestTruthTable evaluates each row of testdata/truth_table.md. With ATTESTRY_TEST_UPDATE set it writes the last three
// columns, for a person to check.
func TestTruthTable(t *testing.T) {
	content, err := os.ReadFile(truthTable)
	evidencetest.Must(t, err)
	var lines []string
	for line := range strings.Lines(string(content)) {
		line = strings.TrimRight(line, "\n")
		cells := strings.Split(line, " | ")
		if len(cells) != 5 || !strings.HasPrefix(line, "| `") {
			lines = append(lines, line)
			continue
		}
		rule, flows := strings.TrimPrefix(cells[0], "| "), cells[1]
		found := strings.Join(append([]string{cells[0], flows}, evaluateRow(t, rule, flows)...), " | ") + " |"
		lines = append(lines, found)
		t.Run(rule+" "+flows, func(t *testing.T) {
			if found != line && !readmetest.Updating() {
				t.Errorf("got  %s\nwant %s", found, line)
			}
		})
	}
	if len(lines) < 40 {
		t.Errorf("the table has only %d lines", len(lines))
	}
	if readmetest.Updating() {
		evidencetest.Must(t, os.WriteFile(truthTable, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
	}
}

// evaluateRow returns the outcomes, the result, and the sentences of a row.
func evaluateRow(t *testing.T, rule, flows string) []string {
	t.Helper()
	parsed := parsePolicy(t, "_schema: https://example.com/v1\nartifacts: {"+strings.Trim(rule, "`")+"}\n")
	facts := parseFacts(t, strings.Trim(flows, "`"))
	evaluation := parsed.Evaluate(&facts)
	number := map[bool]int{true: 2, false: 0}[strings.Contains(rule, "attestations:")]
	if strings.Contains(rule, "trail-compliance:") {
		number = 1
	}
	result := "satisfied"
	switch {
	case evaluation[number].Failing():
		result = "**not satisfied**"
	case evaluation[number].Ignored():
		result = "ignored"
	}
	var outcomes, sentences []string
	for _, resolution := range evaluation[number].Resolutions {
		sentence := parsed.Explain(number, resolution, &facts)
		outcomes = append(outcomes, string(sentence.Outcome))
		text := sentence.Text
		if sentence.Remedy != "" {
			text += " *" + sentence.Remedy + "*"
		}
		sentences = append(sentences, text)
	}
	return []string{strings.Join(outcomes, ", "), result, strings.Join(sentences, "<br>")}
}

func parsePolicy(t *testing.T, content string) policy.Policy {
	t.Helper()
	parsed, err := policy.Parse([]byte(content))
	evidencetest.Must(t, err)
	return parsed
}

// parseFacts parses the description of an artifact: its flows, separated by semicolons, each as flow/trail, its status,
// its tags, its attestations as name:type+ or name:type-, and missing ones as name?; a decision as control=name+ or
// control=name- and the flow/trail.
func parseFacts(t *testing.T, text string) policy.Facts {
	t.Helper()
	facts := policy.Facts{Name: "app", Fingerprint: "f1", Decisions: map[string]policy.Decision{}}
	if text == "no flow" {
		return facts
	}
	id := 0
	entry := func(name, kind string) evidence.Entry {
		id++
		return evidence.Entry{
			ID: fmt.Sprint("a", id), Time: float64(id), Name: name, Type: strings.TrimRight(kind, "+-"), Compliant: strings.HasSuffix(kind, "+"),
		}
	}
	for part := range strings.SplitSeq(text, "; ") {
		words := strings.Fields(part)
		flowName, trail, _ := strings.Cut(words[len(words)-1], "/")
		if control, name, ok := strings.Cut(words[0], "="); ok {
			facts.Decisions[control] = policy.Decision{
				Entry: entry(strings.TrimRight(name, "+-"), "system:decision"+name[len(name)-1:]), Flow: flowName, Trail: trail,
			}
			continue
		}
		flowName, trail, _ = strings.Cut(words[0], "/")
		flow := policy.Flow{Name: flowName, Trail: trail, Status: evidence.Status(words[1]), Tags: map[string]string{}}
		for _, word := range words[2:] {
			name, kind, attested := strings.Cut(word, ":")
			key, tag, tagged := strings.Cut(word, "=")
			switch {
			case attested:
				flow.Attestations = append(flow.Attestations, entry(name, kind))
				if strings.HasSuffix(kind, "-") {
					flow.Shortfall.Failing = append(flow.Shortfall.Failing, name)
				}
			case tagged:
				flow.Tags[key] = tag
			default:
				flow.Shortfall.Missing = append(flow.Shortfall.Missing, strings.TrimSuffix(word, "?"))
			}
		}
		facts.Flows = append(facts.Flows, flow)
	}
	return facts
}
