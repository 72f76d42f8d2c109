package population

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/framework"
	"attestry/evidence/period"
	"attestry/evidence/snapshot"
)

func TestColumnsMatchTheFieldsOfARow(t *testing.T) {
	var members []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Row]()) {
		if name := field.Tag.Get("json"); field.IsExported() && name != "-" {
			members = append(members, name)
		}
		if field.Name == "DeployedAt" {
			members = append(members, "deployed_at_utc")
		}
	}
	if !slices.Equal(Columns, members) {
		t.Errorf("the columns are %v, the members %v", Columns, members)
	}
	if cells := (&Row{}).line(); len(cells) != len(Columns) {
		t.Errorf("a line has %d cells for %d columns", len(cells), len(Columns))
	}
}

func TestVerdictFollowsFromTheStart(t *testing.T) {
	for want, start := range map[string]*snapshot.Start{
		"not_recorded": nil, "not_judged": {}, "compliant": {Compliant: new(true)}, "non_compliant": {Compliant: new(false)},
	} {
		if row := newRow(&snapshot.Deployment{Start: start}); row.Verdict != want || row.Approval != period.NoProvenance {
			t.Errorf("%+v is shown as %s, %s", start, row.Verdict, row.Approval)
		}
	}
}

func TestRowsSayWhatTheApprovalLacks(t *testing.T) {
	for want, entry := range map[string]evidence.Entry{
		"": {Approvers: 1}, "ada has no approval": {Unapproved: "ada has no approval"},
		"it was recorded before approvals were looked at": {}, // as an earlier version did
	} {
		entry.Type = evidence.TypePullRequest
		var row Row
		if row.add(&artifactFacts{entries: []evidence.Entry{entry}}); row.ApprovalLack != want {
			t.Errorf("%s lacks %q, want %q", row.Approval, row.ApprovalLack, want)
		}
	}
}

func TestRowsHaveOnlyTheirFindings(t *testing.T) {
	row := Row{Kind: snapshot.Rollback, Verdict: "compliant", Approval: period.Approved, BrokeGlass: true}
	for finding, want := range map[string]bool{
		"": true, "rollback": true, "compliant": true, "approved": true, "broke_glass": true, "allow_listed": false, "release": false, "non_compliant": false,
	} {
		if row.Has(finding) != want {
			t.Errorf("%q is found: %t", finding, !want)
		}
	}
}

func TestAnOverrideIsAnExceptionOnlyIfNoOtherFindingApplies(t *testing.T) {
	one := []string{"overridden", unapprovedTrails}
	for name, c := range map[string]struct {
		row       Row
		findings  []string
		why       string
		exception bool
	}{
		"overridden alone":             {Row{Approval: period.Overridden}, one, "overridden", true},
		"overridden, then another":     {Row{Approval: period.Overridden, Unapproved: []string{"1"}}, one, "unapproved trails", false},
		"another, then overridden":     {Row{Approval: period.Overridden, Unapproved: []string{"1"}}, []string{unapprovedTrails, "overridden"}, "unapproved trails", false},
		"the first of two that failed": {Row{Approval: period.NotApproved, Unapproved: []string{"1"}}, []string{unapprovedTrails, "not_approved"}, "unapproved trails", false},
		"broke glass as well": {
			Row{Approval: period.Overridden, Unapproved: []string{"1"}, BrokeGlass: true, GlassReason: "INC-7"}, one, "unapproved trails; it broke glass: INC-7", true,
		},
		"none of them": {Row{Approval: period.NotApproved}, one, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if why, exception := c.row.unmet(&framework.Measure{Findings: c.findings}); why != c.why || exception != c.exception {
				t.Errorf("%q, an exception: %t; want %q, %t", why, exception, c.why, c.exception)
			}
		})
	}
}

func TestFiguresLeaveOutRestarts(t *testing.T) {
	totals := NewTotals()
	for i := range 10 {
		totals.Add(&Row{Kind: snapshot.NewRelease, LeadTime: new(float64(i + 1))})
	}
	totals.Add(&Row{Kind: snapshot.Restart, LeadTime: new(1000.0)})
	totals.Add(&Row{Kind: snapshot.Rollback})
	p := &period.Period{From: 0, To: 4 * secondsPerDay}
	totals.sum(p, 2*secondsPerDay)
	if totals.LeadTime.Known != 10 || *totals.LeadTime.Median != 5 || *totals.LeadTime.P90 != 9 || totals.FailureRate != 0.1 || totals.PerDay != 5.5 {
		t.Errorf("the figures are %+v", totals)
	}
	if strings.Contains(strings.Join(Columns, ","), "trail_key") {
		t.Error("the key of a trail is shown")
	}
}
