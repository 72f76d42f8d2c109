package pdf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"attestry/evidence"
	"attestry/evidence/attestation"
)

const (
	// maxSummaryLines and maxSummaryLine bound the summary of a payload, the latter in bytes.
	maxSummaryLines = 8
	maxSummaryLine  = 300
)

// summarize sums up what only the attestation's type has. It returns nil for payloads of
// another form than those that are recorded now.
func summarize(a *evidence.Attestation) []string {
	var lines []string
	switch a.Type {
	case evidence.TypeJUnit:
		lines = summarizeJUnit(a.Payload["junit_results"])
	case evidence.TypeSnyk:
		lines = summarizeSnyk(a.Payload["processed_snyk_results"])
	case evidence.TypeJira:
		lines = summarizeJira(a.Payload["jira_results"])
	case evidence.TypeSonar:
		lines = summarizeSonar(a.Payload["sonar_results"])
	case evidence.TypePullRequest:
		lines = summarizePullRequests(a.Payload["pull_requests"])
	default:
		if a.Type != evidence.TypeDecision {
			lines = summarizeData(a.Payload["attestation_data"])
		}
	}
	return shortened(lines)
}

// shortened bounds the lines of a summary.
func shortened(lines []string) []string {
	if more := len(lines) - maxSummaryLines; more > 0 {
		lines = append(lines[:maxSummaryLines:maxSummaryLines], fmt.Sprintf("and %d more", more))
	}
	for i, line := range lines {
		lines[i] = shorten(line, maxSummaryLine)
	}
	return lines
}

func summarizeJUnit(payload json.RawMessage) []string {
	var suites []attestation.JUnitResult
	if json.Unmarshal(payload, &suites) != nil {
		return nil
	}
	var sum attestation.JUnitResult
	for _, suite := range suites {
		sum.Total += suite.Total
		sum.Failures += suite.Failures
		sum.Errors += suite.Errors
		sum.Skipped += suite.Skipped
	}
	return []string{fmt.Sprintf("%s in %s: %d failed, %s, %d skipped",
		count(sum.Total, "test"), count(len(suites), "suite"), sum.Failures, count(sum.Errors, "error"), sum.Skipped)}
}

func summarizeSnyk(payload json.RawMessage) []string {
	var results attestation.ProcessedSnykResults
	if json.Unmarshal(payload, &results) != nil {
		return nil
	}
	var sum attestation.ProcessedScanResult
	for _, project := range results.Results {
		sum.LowCount += project.LowCount
		sum.MediumCount += project.MediumCount
		sum.HighCount += project.HighCount
	}
	return []string{fmt.Sprintf("Findings in %s: %d high, %d medium, %d low",
		count(len(results.Results), "project"), sum.HighCount, sum.MediumCount, sum.LowCount)}
}

func summarizeJira(payload json.RawMessage) []string {
	var items []attestation.JiraItem
	if json.Unmarshal(payload, &items) != nil {
		return nil
	}
	if len(items) == 0 {
		return []string{"No issue"}
	}
	var lines []string
	for _, item := range items {
		line := "Issue " + item.IssueID
		if !item.IssueExists {
			line += " (does not exist)"
		}
		lines = append(lines, line)
	}
	return lines
}

func summarizeSonar(payload json.RawMessage) []string {
	var results attestation.SonarResults
	if json.Unmarshal(payload, &results) != nil {
		return nil
	}
	gate := "none"
	if results.QualityGate != nil {
		gate = results.QualityGate.Status
	}
	return []string{fmt.Sprintf("Project %s, quality gate: %s", results.Project.Key, gate)}
}

func summarizePullRequests(payload json.RawMessage) []string {
	var found []json.RawMessage
	if json.Unmarshal(payload, &found) != nil {
		return nil
	}
	return []string{count(len(found), "pull request") + " found"}
}

// summarizeData lists the members of a custom type's data that are no lists or objects.
func summarizeData(payload json.RawMessage) []string {
	var members map[string]json.RawMessage
	if json.Unmarshal(payload, &members) != nil {
		return nil
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		lines = append(lines, shorten(name, maxSummaryLine/2)+": "+shownValue(members[name]))
	}
	return lines
}

// shownValue is a value of JSON in few words.
func shownValue(value json.RawMessage) string {
	value = bytes.TrimSpace(value)
	var text string
	switch {
	case len(value) == 0:
		return ""
	case value[0] == '"' && json.Unmarshal(value, &text) == nil:
		return strings.Clone(shorten(text, maxSummaryLine))
	case value[0] == '[':
		var items []json.RawMessage
		if json.Unmarshal(value, &items) == nil {
			return "list of " + count(len(items), "item")
		}
	case value[0] == '{':
		return "(object)"
	}
	return shorten(string(value), maxSummaryLine)
}
