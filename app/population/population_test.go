package population

import (
	"reflect"
	"slices"
	"strings"
	"testing"

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
