package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"attestry/evidence"
)

// PopulationRow has the members of a row of a population that tests check.
type PopulationRow struct {
	ID, Rank, Kind, Verdict, Approval string
	DeployedAt                        float64  `json:"deployed_at"`
	Environment                       string   `json:"env_name"`
	Artifact                          string   `json:"artifact_name"`
	Flow                              string   `json:"flow_name"`
	Trail                             string   `json:"trail_name"`
	Author                            string   `json:"author"`
	Reasons                           []string `json:"reasons"`
	AllowListed                       bool     `json:"allow_listed"`
	BrokeGlass                        bool     `json:"broke_glass"`
	GlassReason                       string   `json:"broke_glass_reason"`
	Approvers                         []string `json:"approvers"`
	Lack                              string   `json:"approval_lack"`
	Unapproved                        []string `json:"unapproved_trails"`
	Incidents                         int      `json:"incidents"`
	Restore                           *float64 `json:"time_to_restore_seconds"`
}

// Line returns the artifact, kind, verdict, approval and approvers, and whether the row was allowed or broke glass.
func (r *PopulationRow) Line() string {
	words := []string{r.Artifact, r.Kind, r.Verdict, r.Approval}
	words = append(words, r.Approvers...)
	if r.AllowListed {
		words = append(words, "allowed")
	}
	if r.BrokeGlass {
		words = append(words, "glass:"+r.GlassReason)
	}
	return strings.Join(words, " ")
}

// AuditsPath returns the path of the audits.
func (s *Service) AuditsPath() string { return "/audits/" + s.Org }

// Population reads a page of the population of the audit q3.
func (s *Service) Population(query string) (rows []PopulationRow, total int) {
	s.T.Helper()
	var page struct {
		Total      int             `json:"total_count"`
		Population []PopulationRow `json:"population"`
	}
	s.Want(http.StatusOK, http.MethodGet, s.AuditsPath()+"/q3/population"+query, nil).Decode(s.T, &page)
	return page.Population, page.Total
}

// PopulationTotals has the members of the totals of a population that tests check.
type PopulationTotals struct {
	Events      struct{ Total, Started, Changed, Exited int }
	Deployments int
	By          map[string]int
	LeadTime    struct {
		Known       int
		Median, P90 float64
	} `json:"lead_time_seconds"`
	Restore struct {
		Known       int
		Median, P90 float64
	} `json:"time_to_restore_seconds"`
	PerDay float64 `json:"deployments_per_day"`
	Failed int     `json:"failed_changes"`
	Rate   float64 `json:"change_failure_rate"`
}

// Totals reads the totals of the audit q3.
func (s *Service) Totals() (totals PopulationTotals) {
	s.T.Helper()
	s.Want(http.StatusOK, http.MethodGet, s.AuditsPath()+"/q3/totals", nil).Decode(s.T, &totals)
	return totals
}

// Release records a trail of the flow build with a commit, pull requests, and an artifact with the digest of its name.
func (s *Service) Release(trail, author string, pulls ...Pull) {
	s.T.Helper()
	s.WantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.Org+"/build", fmt.Sprintf(
		`{"name":%q,"git_commit_info":{"sha1":%q,"message":"m","author":%q,"branch":"main","timestamp":5}}`, trail, TrailCommit, author))
	if pulls != nil {
		s.PullRequests(trail, pulls...)
	}
	s.ReportArtifact("build", trail, "app", DigestOf(trail), TrailCommit)
}

// RunPods reports one pod of each artifact to an environment.
func (s *Service) RunPods(environment string, names ...string) {
	s.T.Helper()
	var pods []string
	for _, name := range names {
		pods = append(pods, fmt.Sprintf(`{"digests":{%q:%q},"podName":"%s-1","namespace":"shop","creationTimestamp":1700000000,"owners":null}`, name, DigestOf(name), name))
	}
	s.Want(http.StatusCreated, http.MethodPut, s.EnvironmentsPath()+"/"+environment+"/report/K8S", []byte(`{"artifacts":[`+strings.Join(pods, ",")+`]}`))
}

// RunQuarter deploys artifacts of all kinds. It returns a period after the first and before the last deployment.
func (s *Service) RunQuarter() (from, to time.Time) {
	s.T.Helper()
	s.CreateFlow("build")
	s.PutPolicy(http.StatusCreated, `{"name":"four-eyes"}`, PolicyFile(PolicyHead+"artifacts:\n  provenance: {required: true}\n"+
		"  attestations:\n    - {type: pull_request, independent_approval: true}\n"))
	for _, environment := range []string{"prod", "canary", "lab"} {
		s.CreateEnvironment(environment, evidence.K8S)
	}
	s.Attach("prod", "four-eyes")
	s.Attach("canary", "four-eyes")
	s.SetAdmission("prod", `{"mode":"deny","break_glass":"example.com/why"}`)
	const ada = "Ada <ada@example.com>"
	by := func(approver string) Pull {
		return Pull{Author: "ada", Commits: []string{"ada 10"}, Approvals: []string{approver + " APPROVED 20"}}
	}
	run := func(environment string, names ...string) {
		s.Clock.Advance(24 * time.Hour)
		s.RunPods(environment, names...)
	}
	s.Release("before", ada)
	run("prod", "before")
	s.Clock.Advance(time.Hour)
	from = s.Clock.Read()
	s.Release("approved", ada, by("grace"))
	run("prod", "approved")
	s.Release("alone", ada, by("ada"))
	run("prod", "alone")
	run("prod", "alone", "intruder")
	run("prod", "alone")
	run("prod", "alone", "intruder")
	s.Release("machine", "svc_deploy")
	run("prod", "machine")
	s.Release("late", ada)
	run("prod", "late")
	s.Clock.Advance(time.Second)
	s.PullRequests("late", by("joan"))
	s.Release("emergency", ada)
	s.Clock.Advance(23 * time.Hour)
	s.Admit("prod", Review("Pod", Pod(`"example.com/why":"INC-7"`, "registry.example.com/app@sha256:"+DigestOf("emergency")), false))
	s.Clock.Advance(time.Hour)
	s.RunPods("prod", "emergency")
	s.Release("waved", ada)
	s.Want(http.StatusCreated, http.MethodPut, s.AllowlistsPath()+"/prod", fmt.Appendf(nil, `{"artifact_fingerprint":%q,"artifact_name":"waved","description":"the auditor asked"}`, DigestOf("waved")))
	run("prod", "waved")
	run("prod", "approved")
	run("canary", "machine")
	run("lab", "intruder")
	s.Clock.Advance(time.Hour)
	to = s.Clock.Read()
	s.Release("after", ada)
	run("prod", "after")
	return from, to
}

// CreateAudit creates the audit q3 of environments, by their names as a JSON list, and a period.
func (s *Service) CreateAudit(environments string, from, to time.Time) {
	s.T.Helper()
	s.Want(http.StatusCreated, http.MethodPost, s.AuditsPath(), fmt.Appendf(nil, `{"name":"q3","environments":[%s],"from":%q,"to":%q}`,
		environments, from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339)))
}

// FrameworksPath returns the path of the frameworks.
func (s *Service) FrameworksPath() string { return "/frameworks/" + s.Org }

// PutFramework stores a framework and checks the status of the answer.
func (s *Service) PutFramework(status int, name, content string) Answer {
	s.T.Helper()
	body, err := json.Marshal(map[string]string{"content": content, "comment": "as agreed"})
	if err != nil {
		s.T.Fatal(err)
	}
	return s.Want(status, http.MethodPut, s.FrameworksPath()+"/"+name, body)
}

// OwnFramework is a framework of one requirement.
const OwnFramework = `title: Ours
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
