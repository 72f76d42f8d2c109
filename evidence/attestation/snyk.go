package attestation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"attestry/evidence"
)

// SnykResultsSummary is the result of a Snyk scan, as clients send it.
type SnykResultsSummary struct {
	// SchemaVersion is 1 if absent.
	SchemaVersion *int64              `json:"schema_version,omitempty" default:"1"`
	Tool          SnykTool            `json:"tool"`
	Results       []ProjectScanResult `json:"results"`
}

// SnykTool is the scanner.
type SnykTool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// ProjectScanResult has the findings in one project. The lists may be left out.
type ProjectScanResult struct {
	ProcessedScanResult
	Low    []FoundIssue `json:"low,omitempty" nullable:"true"`
	Medium []FoundIssue `json:"medium,omitempty" nullable:"true"`
	High   []FoundIssue `json:"high,omitempty" nullable:"true"`
}

// FoundIssue is one finding.
type FoundIssue struct {
	_             struct{}        `json:"-" additionalProperties:"true"`
	ID            string          `json:"id"`
	Message       string          `json:"message"`
	Locations     []IssueLocation `json:"locations,omitempty" default:"[]"`
	PriorityScore *float64        `json:"priority_score,omitempty" nullable:"true"`
}

// IssueLocation is where a finding is.
type IssueLocation struct {
	_   struct{} `json:"-" additionalProperties:"true"`
	URI string   `json:"uri"`
	// Lines may be left out by clients (docs/semantics.md 6.3).
	Lines string `json:"lines,omitempty"`
}

// ProcessedSnykResults is a scan in responses: counts without issues (docs/semantics.md 6.3).
type ProcessedSnykResults struct {
	SchemaVersion int64                 `json:"schema_version"`
	Tool          SnykTool              `json:"tool"`
	Results       []ProcessedScanResult `json:"results"`
}

// ProcessedScanResult has the counts of one project.
type ProcessedScanResult struct {
	LowCount    int64 `json:"low_count"`
	MediumCount int64 `json:"medium_count"`
	HighCount   int64 `json:"high_count"`
}

// ProcessSnyk reduces a scan to its counts.
func ProcessSnyk(summary SnykResultsSummary) ProcessedSnykResults {
	processed := ProcessedSnykResults{SchemaVersion: 1, Tool: summary.Tool, Results: []ProcessedScanResult{}}
	if summary.SchemaVersion != nil {
		processed.SchemaVersion = *summary.SchemaVersion
	}
	for _, project := range summary.Results {
		processed.Results = append(processed.Results, project.ProcessedScanResult)
	}
	return processed
}

type snykRule struct {
	Results []ProcessedScanResult `json:"results"`
}

// Compliant reports whether nothing was found, of any severity.
func (r *snykRule) Compliant() bool {
	return !slices.ContainsFunc(r.Results, func(project ProcessedScanResult) bool { return project != ProcessedScanResult{} })
}

// Found describes the result of a scan: the counts, and the most severe issues, which ProcessSnyk leaves out.
func (s *SnykResultsSummary) Found() string {
	var high, medium, low []FoundIssue
	for _, project := range s.Results {
		high, medium, low = append(high, project.High...), append(medium, project.Medium...), append(low, project.Low...)
	}
	named := evidence.Map(slices.Concat(high, medium, low), func(issue FoundIssue) string { return issue.ID + " " + issue.Message })
	counts := summarizeSnyk(ProcessSnyk(*s))[0]
	if len(named) == 0 {
		return counts
	}
	return counts + ": " + firstOf(named)
}

func summarizeSnyk(results ProcessedSnykResults) []string {
	var sum ProcessedScanResult
	for _, project := range results.Results {
		sum.LowCount += project.LowCount
		sum.MediumCount += project.MediumCount
		sum.HighCount += project.HighCount
	}
	var counts []string
	for _, of := range []struct {
		severity string
		count    int64
	}{{"high", sum.HighCount}, {"medium", sum.MediumCount}, {"low", sum.LowCount}} {
		if of.count != 0 {
			counts = append(counts, fmt.Sprintf("%d %s", of.count, of.severity))
		}
	}
	found := cmp.Or(strings.Join(counts, ", "), "nothing found")
	return []string{fmt.Sprintf("%s in %s", found, evidence.Count(len(results.Results), "project"))}
}
