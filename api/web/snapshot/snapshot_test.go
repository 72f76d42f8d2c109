package snapshot

import (
	"fmt"
	"strings"
	"testing"

	"attestry/api/jsonstream"
	"attestry/api/web/view"
	"attestry/evidence/snapshot"
)

// artifactText returns an artifact of a snapshot in JSON. flows is JSON as well.
func artifactText(name, compliant, change, flows string) string {
	return fmt.Sprintf(`{"name":%q,"fingerprint":"%s0f","compliant":%s,"annotation":{"type":%q,"now":1},"flows":[%s],"explanation":[{"text":"of %s","failing":%t}]}`,
		name, strings.ToLower(name), compliant, change, flows, name, compliant == "false")
}

const (
	build   = `{"flow_name":"build","trail_name":"t1"}`
	release = `{"flow_name":"re/lease","trail_name":"t2"}`
)

// mixed has artifacts of all kinds.
var mixed = snapshotText(
	artifactText("Good", "true", "unchanged", build),
	artifactText("Bad", "false", "started-non-compliant", release+","+build),
	artifactText("Unjudged", "null", "unchanged", ""),
	artifactText("Gone", "false", "exited", release),
	artifactText("GoneToo", "null", "exited", ""),
	artifactText("GoneAsWell", "true", "exited", ""),
)

// snapshotText returns a snapshot in JSON. The artifacts are neither its first nor its last member.
func snapshotText(artifacts ...string) string {
	return `{"index":7,"artifact_compliance_count":{"true":1,"false":2,"null":3},"artifacts":[` + strings.Join(artifacts, ",") +
		`],"is_latest":true,"applied_policies":[{"name":"p1","version":2}],"next_snapshot_timestamp":null,"timestamp":5.5}`
}

func decode(t *testing.T, text string, selected Filter) *Snapshot {
	t.Helper()
	var s Snapshot
	if err := s.Decode(jsonstream.NewDecoder(strings.NewReader(text)), "acme", &selected); err != nil {
		t.Fatal(err)
	}
	return &s
}

func namesOf(artifacts []Artifact) string {
	names := make([]string, 0, len(artifacts))
	for i := range artifacts {
		names = append(names, artifacts[i].Name)
	}
	return strings.Join(names, " ")
}

func TestFiltersSelectArtifacts(t *testing.T) {
	for selected, want := range map[Filter]string{
		{}:                                  "Good Bad Unjudged Gone GoneToo GoneAsWell",
		{State: "failing"}:                  "Bad",
		{State: "compliant"}:                "Good",
		{State: "unknown"}:                  "Unjudged",
		{State: "changed"}:                  "Bad Gone GoneToo GoneAsWell",
		{Name: "gONE"}:                      "Gone GoneToo GoneAsWell",
		{Name: "onet"}:                      "GoneToo",
		{Name: "good0f"}:                    "Good",
		{Name: "ood0f"}:                     "",
		{Flow: "build"}:                     "Good Bad",
		{Flow: "re/lease"}:                  "Bad Gone",
		{Flow: "Build"}:                     "",
		{State: "changed", Flow: "build"}:   "Bad",
		{State: "compliant", Name: "bad"}:   "",
		{State: "changed", Name: "gonetoo"}: "GoneToo",
	} {
		got := decode(t, mixed, selected)
		if names := namesOf(got.Artifacts); names != want || got.Selected != len(strings.Fields(want)) {
			t.Errorf("%+v selects %d: %q, want %q", selected, got.Selected, names, want)
		}
		if causes := got.Causes.List; len(causes) != 1 || causes[0].Count != 1 || causes[0].Artifacts[0].Name != "Bad" {
			t.Errorf("%+v has the causes %+v", selected, causes)
		}
	}
}

func TestEveryStateOfAFilterHasAName(t *testing.T) {
	for _, state := range []string{"", "failing", "compliant", "unknown", "changed"} {
		if States[state] == "" {
			t.Errorf("the state %q has no name", state)
		}
	}
	if len(States) != 5 {
		t.Errorf("there are the states %v", States)
	}
}

func TestSelectedArtifactsArePaged(t *testing.T) {
	var artifacts []string
	for i := range 2*view.RowsPerPage + 1 {
		artifacts = append(artifacts, artifactText(fmt.Sprintf("a%03d", i), "true", "unchanged", ""), artifactText("other", "null", "unchanged", ""))
	}
	text := snapshotText(artifacts...)
	for from, want := range map[int]struct {
		first, last string
		number      int
	}{
		0:                      {"a000", "a049", view.RowsPerPage},
		1:                      {"a001", "a050", view.RowsPerPage},
		view.RowsPerPage:       {"a050", "a099", view.RowsPerPage},
		2 * view.RowsPerPage:   {"a100", "a100", 1},
		2*view.RowsPerPage + 1: {},
		1 << 40:                {},
	} {
		got := decode(t, text, Filter{State: "compliant", From: from})
		names := strings.Fields(namesOf(got.Artifacts))
		if len(names) != want.number || got.Selected != 2*view.RowsPerPage+1 {
			t.Errorf("from %d there are %d of %d: %v", from, len(names), got.Selected, names)
		} else if want.number > 0 && (names[0] != want.first || names[want.number-1] != want.last) {
			t.Errorf("from %d there are %v", from, names)
		}
	}
}

func TestMembersAroundTheArtifactsAreRead(t *testing.T) {
	got := decode(t, mixed, Filter{})
	if got.Index != 7 || !got.Latest || got.Timestamp != 5.5 || got.Counts != (snapshot.Counts{True: 1, False: 2, Null: 3}) ||
		got.Counts.Running() != 6 {
		t.Errorf("read %+v", got)
	}
	bad := got.Artifacts[1]
	if bad.Link != "/acme/flows/re%2Flease/artifacts/bad0f" || bad.Explanation[0].Text != "of Bad" || bad.Change() != "started non compliant" {
		t.Errorf("read %+v", bad)
	}
	if unjudged := got.Artifacts[2]; unjudged.Link != "" || unjudged.Change() != "" {
		t.Errorf("read %+v", unjudged)
	}
}

func TestBrokenSnapshotsAreErrors(t *testing.T) {
	for _, text := range []string{"", mixed[:len(mixed)/2], `{"artifacts":[{"name":1}]}`, `{"index":"7"}`} {
		var s Snapshot
		if err := s.Decode(jsonstream.NewDecoder(strings.NewReader(text)), "acme", &Filter{}); err == nil {
			t.Errorf("%.40q is read as %+v", text, s)
		}
	}
}

func TestFiltersAreQueries(t *testing.T) {
	if got := (Filter{From: 9}).Query(0); got != "?" {
		t.Errorf("a filter that selects all is %s", got)
	}
	if got, want := (Filter{State: "failing", Name: "x y", Flow: "a&b"}).Query(50), "?flow=a%26b&from=50&name=x+y&state=failing"; got != want {
		t.Errorf("a filter is %s, want %s", got, want)
	}
}
