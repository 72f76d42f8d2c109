package audits_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"attestry/api/audits"
	"attestry/evidence/framework"
	"attestry/evidence/snapshot"
)

// TestFrameworksMayNameAllFindingsButRestarts compares the findings of frameworks with those that queries select by.
func TestFrameworksMayNameAllFindingsButRestarts(t *testing.T) {
	field, _ := reflect.TypeFor[audits.FindingQuery]().FieldByName("Finding")
	listed := strings.Split(field.Tag.Get("enum"), ",")
	want := append([]string{string(snapshot.Restart)}, framework.Findings...)
	slices.Sort(listed)
	slices.Sort(want)
	if !slices.Equal(listed, want) {
		t.Errorf("populations are selected by %v, frameworks and restarts are %v", listed, want)
	}
}
