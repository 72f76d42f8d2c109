package audits_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/evidence/evidencetest"
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

func assess(s *apitest.Service, name string) (found assessed) {
	s.T.Helper()
	s.Want(http.StatusOK, http.MethodGet, s.AuditsPath()+"/q3/requirements?framework="+name, nil).Decode(s.T, &found)
	return found
}

func TestAssessmentComparesAPeriodWithAFramework(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{Real: true})
	s.Want(http.StatusCreated, http.MethodPost, "/controls/"+s.Org, []byte(`{"identifier":"GO","name":"Go"}`))
	from, to := s.RunQuarter()
	s.CreateAudit(`"prod","canary"`, from, to)
	s.PutFramework(http.StatusOK, "ours", apitest.OwnFramework)
	found := assess(s, "ours")
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
	s := apitest.Start(t, apitest.Options{Settings: []string{apitest.LogKeyFile(t)}})
	s.Want(http.StatusCreated, http.MethodPost, "/controls/"+s.Org, []byte(`{"identifier":"GO","name":"Go"}`))
	s.CreateFlow("build")
	s.CreateEnvironment("prod", "K8S")
	from := s.Clock.Read()
	junit := func(trail string, failures int) {
		s.PostAttestation(http.StatusCreated, trail, "junit", fmt.Sprintf(
			`{"attestation_name":"unit","junit_results":[{"name":"s","failures":%d,"errors":0,"skipped":0,"total":3,"duration":2.5}]}`, failures))
	}
	decideAs := func(name, trail string, compliant bool) {
		s.PostAttestation(http.StatusCreated, trail, "system", fmt.Sprintf(
			`{"attestation_name":%q,"type_name":"decision","control":"GO","artifact_fingerprint":%q,"attestation_data":{"is_compliant":%t}}`, name, apitest.DigestOf(trail), compliant))
	}
	decide := func(trail string, compliant bool) { decideAs("go", trail, compliant) }
	run := func(name string, before, after func()) {
		s.Release(name, "ada")
		before()
		s.Clock.Advance(time.Second)
		s.RunPods("prod", name)
		s.Clock.Advance(time.Second)
		after()
	}
	none := func() {}
	run("good", func() { junit("good", 0); decide("good", true) }, none)
	// Without an attached policy nothing is refused that the allow list could permit.
	s.Want(http.StatusCreated, http.MethodPut, s.AllowlistsPath()+"/prod", fmt.Appendf(nil, `{"artifact_fingerprint":%q,"artifact_name":"late","description":"permitted"}`, apitest.DigestOf("late")))
	run("late", none, func() { junit("late", 0); decide("late", true) })
	run("failing", func() { junit("failing", 2); decide("failing", false) }, none)
	run("again", func() { junit("again", 0); decide("again", true) }, func() { junit("again", 0) })
	run("paper", func() {
		junit("paper", 1)
		decide("paper", true)
		s.Clock.Advance(time.Second)
		s.Want(http.StatusOK, http.MethodPost, "/attestations/"+s.Org+"/build/trail/paper/override",
			[]byte(`{"attestation_name":"unit","original_attestation_type":"junit","new_compliance_status":true,"reason":"flaky"}`))
	}, none)
	run("refused", func() {
		junit("refused", 0)
		decide("refused", true)
		s.Clock.Advance(time.Second)
		decideAs("a-veto", "refused", false)
	}, none)
	run("ofthename", func() {
		s.PostAttestation(http.StatusCreated, "ofthename", "generic", `{"attestation_name":"unit","is_compliant":true}`)
	}, none)
	s.AwaitLogged(s.Org)
	s.Clock.Advance(time.Second)
	to := s.Clock.Read()
	s.Clock.Advance(time.Second)
	s.CreateAudit(`"prod"`, from, to)
	s.PutFramework(http.StatusOK, "ours", apitest.OwnFramework)
	found := assess(s, "ours")
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
	sheet := s.Want(http.StatusOK, http.MethodGet, s.AuditsPath()+"/q3/requirements/csv?framework=ours", nil)
	lines, err := csv.NewReader(strings.NewReader(string(sheet.Body))).ReadAll()
	if err != nil || len(lines) != 7 || strings.Join(lines[4][:10], "|") != "tested|Tests pass.|not_met|tests|attestation junit unit|not_met|7|2|1|4" ||
		strings.Count(lines[4][10], " ") != 4 || strings.Join(lines[6][2:10], "|") != "not_measured|||not_measured|0|0|0|0" {
		t.Errorf("as CSV it is %v, %v", lines, err)
	}
	s.Want(http.StatusCreated, http.MethodPost, s.AuditsPath(), []byte(`{"name":"earlier","environments":["prod"],"from":"2000-01-01","to":"2001-01-01"}`))
	earlier := s.Want(http.StatusOK, http.MethodGet, s.AuditsPath()+"/earlier/requirements/csv?framework=ours", nil)
	evidencetest.Contains(t, string(earlier.Body), "kept,Records are kept.,not_met,log,log,not_met,1,0,0,1,")
}

func TestFrameworksAreKeptInVersions(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	var listed []struct {
		Name    string
		Version int
	}
	list := func() string {
		s.Want(http.StatusOK, http.MethodGet, s.FrameworksPath(), nil).Decode(t, &listed)
		return fmt.Sprint(listed)
	}
	if got, want := list(), "[{cra 0} {dora 0} {iso-27001 0} {nist-ssdf 0} {pci-dss 0} {soc2 0}]"; got != want {
		t.Errorf("at first there are %s, want %s", got, want)
	}
	example := apitest.Lookup(t, s.Read(s.FrameworksPath()+"/soc2"), "content").(string)
	own := strings.Replace(apitest.OwnFramework, "control: GO", "log: true", 1)
	s.PutFramework(http.StatusOK, "soc2", example+"# ours\n")
	s.PutFramework(http.StatusOK, "soc2", example+"# ours\n")
	s.PutFramework(http.StatusOK, "soc2", own)
	if got, want := list(), "[{cra 0} {dora 0} {iso-27001 0} {nist-ssdf 0} {pci-dss 0} {soc2 2}]"; got != want {
		t.Errorf("then there are %s, want %s", got, want)
	}
	for path, want := range map[string]string{"/soc2": own, "/soc2?version=2": own, "/soc2?version=1": example + "# ours\n"} {
		apitest.Equal[any](t, apitest.Lookup(t, s.Read(s.FrameworksPath()+path), "content"), want, path)
	}
	s.WantError(http.StatusNotFound, "Version 3 of framework 'soc2' does not exist for organization '"+s.Org+"'", http.MethodGet, s.FrameworksPath()+"/soc2?version=3", "")
	s.WantError(http.StatusNotFound, "Framework named 'none' does not exist for organization '"+s.Org+"'", http.MethodGet, s.FrameworksPath()+"/none", "")
	s.CreateControl("OLD")
	withOld := strings.Replace(apitest.OwnFramework, "control: GO", "control: OLD", 1)
	s.PutFramework(http.StatusOK, "older", withOld)
	s.Want(http.StatusOK, http.MethodPost, "/controls/"+s.Org+"/OLD/archive", nil)
	s.PutFramework(http.StatusOK, "older", withOld+"# repeated\n")
	apitest.Each(s, map[string]struct{ content, says string }{
		"no YAML":             {"title: [", "content"},
		"an archived control": {withOld, "Control 'OLD' is archived in organization '" + s.Org + "'"},
		"an unknown control":  {apitest.OwnFramework, "Control 'GO' does not exist in organization '" + s.Org + "'"},
		"an unknown finding":  {strings.Replace(own, "broke_glass", "broken", 1), "line 7"},
	}, func(s *apitest.Service, _ string, c struct{ content, says string }) {
		evidencetest.Contains(s.T, string(s.PutFramework(http.StatusBadRequest, "wrong", c.content).Body), c.says)
	})
}
