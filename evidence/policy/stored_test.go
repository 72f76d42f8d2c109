package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"attestry/evidence/control"
	"attestry/evidence/policy"
)

func TestEventsOfAPolicyAreInTheOrderOfTime(t *testing.T) {
	head := policy.Head{Description: "first", CreatedAt: 10, LastModifiedAt: 10}
	head.Describe("first", "ann", 20) // changes nothing
	head.Describe("second", "ann", 20)
	head.Describe("", "bob", 40)
	if head.Description != "" || head.LastModifiedAt != 40 || head.CreatedAt != 10 {
		t.Errorf("the head is %+v", head)
	}
	var texts []string
	for _, event := range head.Events([]policy.Version{
		{Version: 1, CreatedBy: "ann", CreatedAt: 10}, {Version: 2, CreatedBy: "bob", CreatedAt: 30},
	}) {
		texts = append(texts, fmt.Sprint(event.Type, " ", event.Version, " ", event.By, " ", event.At))
	}
	want := []string{"policy_created 1 ann 10", "metadata_update 0 ann 20", "new_version 2 bob 30", "metadata_update 0 bob 40"}
	if !slices.Equal(texts, want) {
		t.Errorf("the events are %q", texts)
	}
}

func TestModificationDoesNotGoBackInTime(t *testing.T) {
	head := policy.Head{LastModifiedAt: 10}
	head.Describe("other", "ann", 5)
	if head.LastModifiedAt != 10 {
		t.Errorf("modified at %v", head.LastModifiedAt)
	}
}

func TestTheNewestUpdatesAreKept(t *testing.T) {
	var head policy.Head
	for i := range policy.MaxUpdates + 2 {
		head.Describe(fmt.Sprint(i), "ann", float64(i))
	}
	if len(head.Updates) != policy.MaxUpdates || head.Updates[0].At != 2 {
		t.Errorf("%d updates from %v on", len(head.Updates), head.Updates[0].At)
	}
}

func TestControlsOfTheLongestIdentifierCanBeNamed(t *testing.T) {
	rule := func(identifier string) string {
		return head + "artifacts: {attestations: [{type: decision, for_control: " + identifier + "}]}"
	}
	longest := strings.Repeat("c", control.MaxIdentifier)
	parsed := parsePolicy(t, rule(longest))
	if controls := parsed.Controls(); !slices.Equal(controls, []string{longest}) {
		t.Errorf("controls %q", controls)
	}
	_, err := policy.Parse([]byte(rule(longest + "c")))
	if err == nil || !strings.Contains(err.Error(), "artifacts.attestations.0.for_control (line 2, column 58)\n  String should have at most 256 characters [input: ccc") {
		t.Errorf("got %v", err)
	}
}
