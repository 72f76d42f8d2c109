package e2e_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

type assessed struct {
	Framework struct {
		Name    string
		Version int
	}
	Title        string
	Requirements []struct {
		ID, State string
		Measures  []struct {
			Title, By, State                  string
			Measured, Met, Exceptions, Failed int
			Listed                            []struct {
				Artifact  string `json:"artifact_name"`
				Exception bool
				Why       string
			}
		}
	}
}

// text formats the assessment for comparison.
func (a *assessed) text() string {
	var text strings.Builder
	for _, one := range a.Requirements {
		fmt.Fprintf(&text, "%s %s\n", one.ID, one.State)
		for _, m := range one.Measures {
			fmt.Fprintf(&text, "  %s: %s %d=%d+%d+%d\n", m.By, m.State, m.Measured, m.Met, m.Exceptions, m.Failed)
			for _, unmet := range m.Listed {
				fmt.Fprintf(&text, "    %s %t %s\n", unmet.Artifact, unmet.Exception, unmet.Why)
			}
		}
	}
	return text.String()
}

func (s *service) frameworksPath() string { return "/frameworks/" + s.org }

func (s *service) putFramework(status int, name, content string) answer {
	s.t.Helper()
	body, err := json.Marshal(map[string]string{"content": content, "comment": "as agreed"})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.want(status, http.MethodPut, s.frameworksPath()+"/"+name, body)
}

func (s *service) assess(name string) (found assessed) {
	s.t.Helper()
	s.want(http.StatusOK, http.MethodGet, s.auditsPath()+"/q3/requirements?framework="+name, nil).decode(s.t, &found)
	return found
}

const ownFramework = `title: Ours
requirements:
  - id: four-eyes
    title: Somebody else approves.
    measures:
      - {title: approved, findings: [not_approved, no_pull_request, approved_late, overridden, no_provenance]}
      - {title: glass, findings: [broke_glass]}
  - id: decided
    title: Somebody decides.
    measures:
      - {title: control, control: GO}
  - id: tested
    title: Tests pass.
    measures:
      - {title: tests, attestation: {type: junit, name: unit}}
  - id: kept
    title: Records are kept.
    measures:
      - {title: log, log: true}
  - {id: elsewhere, title: Doors are locked.}
`

func TestAssessmentComparesAPeriodWithAFramework(t *testing.T) {
	t.Parallel()
	s := start(t, options{real: true})
	s.want(http.StatusCreated, http.MethodPost, "/controls/"+s.org, []byte(`{"identifier":"GO","name":"Go"}`))
	from, to := s.runQuarter()
	s.createAudit(`"prod","canary"`, from, to)
	s.putFramework(http.StatusOK, "ours", ownFramework)
	found := s.assess("ours")
	if want := `four-eyes not_met
  findings not_approved, no_pull_request, approved_late, overridden, no_provenance: not_met 9=4+2+3
    alone false not approved
    intruder false no provenance
    late false approved late
    emergency true no pull request; it broke glass: INC-7
    waved true no pull request; it was on the allow list
  findings broke_glass: met_with_exceptions 9=8+1+0
    emergency true broke glass; it broke glass: INC-7
decided not_met
`; !strings.HasPrefix(found.text(), want) || found.Title != "Ours" || found.Framework.Version != 1 {
		t.Errorf("it says of %s, version %d\n%swant\n%s", found.Title, found.Framework.Version, found.text(), want)
	}
}

func TestAssessmentCountsOnlyAttestationsBeforeTheDeployment(t *testing.T) {
	t.Parallel()
	s := start(t, options{settings: []string{logKeyFile(t)}})
	s.want(http.StatusCreated, http.MethodPost, "/controls/"+s.org, []byte(`{"identifier":"GO","name":"Go"}`))
	s.createFlow("build")
	s.createEnvironment("prod", "K8S")
	from := s.clock.read()
	junit := func(trail string, failures int) {
		s.postAttestation(http.StatusCreated, trail, "junit", fmt.Sprintf(
			`{"attestation_name":"unit","junit_results":[{"name":"s","failures":%d,"errors":0,"skipped":0,"total":3,"duration":2.5}]}`, failures))
	}
	decideAs := func(name, trail string, compliant bool) {
		s.postAttestation(http.StatusCreated, trail, "system", fmt.Sprintf(
			`{"attestation_name":%q,"type_name":"decision","control":"GO","artifact_fingerprint":%q,"attestation_data":{"is_compliant":%t}}`, name, digestOf(trail), compliant))
	}
	decide := func(trail string, compliant bool) { decideAs("go", trail, compliant) }
	run := func(name string, before, after func()) {
		s.release(name, "ada")
		before()
		s.clock.advance(time.Second)
		s.runPods("prod", name)
		s.clock.advance(time.Second)
		after()
	}
	none := func() {}
	run("good", func() { junit("good", 0); decide("good", true) }, none)
	// Without an attached policy nothing is refused that the allow list could permit.
	s.want(http.StatusCreated, http.MethodPut, s.allowlistsPath()+"/prod", fmt.Appendf(nil, `{"artifact_fingerprint":%q,"artifact_name":"late","description":"permitted"}`, digestOf("late")))
	run("late", none, func() { junit("late", 0); decide("late", true) })
	run("failing", func() { junit("failing", 2); decide("failing", false) }, none)
	run("again", func() { junit("again", 0); decide("again", true) }, func() { junit("again", 0) })
	run("paper", func() {
		junit("paper", 1)
		decide("paper", true)
		s.clock.advance(time.Second)
		s.want(http.StatusOK, http.MethodPost, "/attestations/"+s.org+"/build/trail/paper/override",
			[]byte(`{"attestation_name":"unit","original_attestation_type":"junit","new_compliance_status":true,"reason":"flaky"}`))
	}, none)
	run("refused", func() {
		junit("refused", 0)
		decide("refused", true)
		s.clock.advance(time.Second)
		decideAs("a-veto", "refused", false)
	}, none)
	run("ofthename", func() {
		s.postAttestation(http.StatusCreated, "ofthename", "generic", `{"attestation_name":"unit","is_compliant":true}`)
	}, none)
	s.awaitLogged(s.org)
	s.clock.advance(time.Second)
	to := s.clock.read()
	s.clock.advance(time.Second)
	s.createAudit(`"prod"`, from, to)
	s.putFramework(http.StatusOK, "ours", ownFramework)
	found := s.assess("ours")
	if want := `decided not_met
  control GO: not_met 7=3+0+4
    late false go was last recorded after it ran
    failing false go is not compliant
    refused false a-veto is not compliant
    ofthename false not attested before it ran
tested not_met
  attestation junit unit: not_met 7=2+1+4
    late false unit was last recorded after it ran
    failing false unit is not compliant: 2 of 3 tests failed: s
    again false unit was last recorded after it ran
    paper true unit: overridden by administrator: flaky
    ofthename false not attested before it ran
kept met
  log: met 1=1+0+0
elsewhere not_measured
`; !strings.HasSuffix(found.text(), want) {
		t.Errorf("it says\n%swant\n%s", found.text(), want)
	}
	sheet := s.want(http.StatusOK, http.MethodGet, s.auditsPath()+"/q3/requirements/csv?framework=ours", nil)
	lines, err := csv.NewReader(strings.NewReader(string(sheet.body))).ReadAll()
	if err != nil || len(lines) != 7 || strings.Join(lines[4][:10], "|") != "tested|Tests pass.|not_met|tests|attestation junit unit|not_met|7|2|1|4" ||
		strings.Count(lines[4][10], " ") != 4 || strings.Join(lines[6][2:10], "|") != "not_measured|||not_measured|0|0|0|0" {
		t.Errorf("as CSV it is %v, %v", lines, err)
	}
	s.want(http.StatusCreated, http.MethodPost, s.auditsPath(), []byte(`{"name":"earlier","environments":["prod"],"from":"2000-01-01","to":"2001-01-01"}`))
	earlier := s.want(http.StatusOK, http.MethodGet, s.auditsPath()+"/earlier/requirements/csv?framework=ours", nil)
	if !strings.Contains(string(earlier.body), "kept,Records are kept.,not_met,log,log,not_met,1,0,0,1,") {
		t.Errorf("before there was a log it says\n%s", earlier.body)
	}
}

func TestFrameworksAreKeptInVersions(t *testing.T) {
	t.Parallel()
	s := share(t)
	var listed []struct {
		Name    string
		Version int
	}
	list := func() string {
		s.want(http.StatusOK, http.MethodGet, s.frameworksPath(), nil).decode(t, &listed)
		return fmt.Sprint(listed)
	}
	if got, want := list(), "[{cra 0} {dora 0} {iso-27001 0} {nist-ssdf 0} {pci-dss 0} {soc2 0}]"; got != want {
		t.Errorf("at first there are %s, want %s", got, want)
	}
	example := lookup(t, s.read(s.frameworksPath()+"/soc2"), "content").(string)
	own := strings.Replace(ownFramework, "control: GO", "log: true", 1)
	s.putFramework(http.StatusOK, "soc2", example+"# ours\n")
	s.putFramework(http.StatusOK, "soc2", example+"# ours\n")
	s.putFramework(http.StatusOK, "soc2", own)
	if got, want := list(), "[{cra 0} {dora 0} {iso-27001 0} {nist-ssdf 0} {pci-dss 0} {soc2 2}]"; got != want {
		t.Errorf("then there are %s, want %s", got, want)
	}
	for path, want := range map[string]string{"/soc2": own, "/soc2?version=2": own, "/soc2?version=1": example + "# ours\n"} {
		if got := lookup(t, s.read(s.frameworksPath()+path), "content"); got != want {
			t.Errorf("%s is %v", path, got)
		}
	}
	s.wantError(http.StatusNotFound, "Version 3 of framework 'soc2' does not exist for organization '"+s.org+"'", http.MethodGet, s.frameworksPath()+"/soc2?version=3", "")
	s.wantError(http.StatusNotFound, "Framework named 'none' does not exist for organization '"+s.org+"'", http.MethodGet, s.frameworksPath()+"/none", "")
	s.createControl("OLD")
	withOld := strings.Replace(ownFramework, "control: GO", "control: OLD", 1)
	s.putFramework(http.StatusOK, "older", withOld)
	s.want(http.StatusOK, http.MethodPost, "/controls/"+s.org+"/OLD/archive", nil)
	s.putFramework(http.StatusOK, "older", withOld+"# repeated\n")
	for name, c := range map[string]struct{ content, says string }{
		"no YAML":             {"title: [", "content"},
		"an archived control": {withOld, "Control 'OLD' is archived in organization '" + s.org + "'"},
		"an unknown control":  {ownFramework, "Control 'GO' does not exist in organization '" + s.org + "'"},
		"an unknown finding":  {strings.Replace(own, "broke_glass", "broken", 1), "line 7"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.in(t).putFramework(http.StatusBadRequest, "wrong", c.content); !strings.Contains(string(got.body), c.says) {
				t.Errorf("it says %s", got.body)
			}
		})
	}
}
