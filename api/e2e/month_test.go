package e2e_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/evidence"
)

// month is a month of an organization with three environments, reported to the service and applied to a model of what
// the service must answer.
type month struct {
	*apitest.Service
	images       map[string]*builtImage // by fingerprint
	environments map[string]*wantEnvironment
	logical      *wantLogical
	// runs is the number of running instances, by the first name of the environment and the fingerprint.
	runs map[string]map[string]int
}

const day = 24 * time.Hour

func newMonth(t *testing.T) *month {
	m := &month{
		Service: apitest.Start(t, apitest.Options{Real: true, StoppedAt: apitest.MonthStart}), images: map[string]*builtImage{},
		environments: map[string]*wantEnvironment{}, runs: map[string]map[string]int{}, logical: &wantLogical{},
	}
	for name, kind := range map[string]evidence.EnvironmentType{"staging": evidence.ECS, "production": evidence.K8S, "edge": evidence.Server} {
		m.CreateEnvironment(name, kind)
		m.environments[name] = &wantEnvironment{
			name: name, kind: string(kind), firstAt: map[string]float64{}, since: map[string]int{},
			candidates: map[string][]candidate{}, previous: map[string]string{},
		}
		m.runs[name] = map[string]int{}
		m.logical.members = append(m.logical.members, m.environments[name])
	}
	m.Want(http.StatusCreated, http.MethodPut, "/environments/"+m.Org, []byte(`{"name":"everything","type":"logical","description":"all there is","included_environments":["staging","production","edge"]}`))
	return m
}

// image returns a version of a service, whether or not its pipeline has reported it.
func (m *month) image(service string, version int) *builtImage {
	fingerprint := hexOf(service, version)
	if m.images[fingerprint] == nil {
		m.images[fingerprint] = &builtImage{service: service, version: version, fingerprint: fingerprint, commit: hexOf(service, version)[24:]}
	}
	return m.images[fingerprint]
}

func hexOf(service string, version int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s:%d", service, version))
	return hex.EncodeToString(sum[:])
}

// build reports a version from the pipeline of its service, with a commit of an hour ago.
func (m *month) build(service string, version int) {
	m.T.Helper()
	image := m.image(service, version)
	image.committedAt = float64(m.Clock.Read().Add(-time.Hour).Unix())
	m.reportImage(image, service+"-ci")
}

// promote reports a built version to the flow promotion.
func (m *month) promote(service string, version int) {
	m.T.Helper()
	m.reportImage(m.image(service, version), "promotion")
}

func (m *month) reportImage(image *builtImage, flow string) {
	m.T.Helper()
	m.advance(time.Minute)
	image.flows = append(image.flows, flow)
	commit := fmt.Sprintf(`{"sha1":%q,"message":"Change","author":"A. Person <person@example.com>","branch":"main","timestamp":%d,"url":"%s/commit/%s"}`,
		image.commit, int64(image.committedAt), image.repo(), image.commit)
	m.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+m.Org+"/"+flow, fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":%q,"git_commit":%q,"git_commit_info":%s,"repo_info":{"name":"acme/%s","url":%q,"provider":"github"},
		"build_url":"https://ci.example.com/1","commit_url":"%s/commit/%s","template_reference_name":%q,"trail_name":%q}`,
		image.fingerprint, image.name(), image.commit, commit, image.service, image.repo(), image.repo(), image.commit, image.service, image.trail()))
}

func (m *month) advance(span time.Duration) { m.Clock.Advance(span) }

// run sets the number of instances of a version in an environment and reports.
func (m *month) run(environment, service string, version, instances int) {
	m.T.Helper()
	m.change(environment, service, version, instances)
	m.report(environment)
}

// rollOut replaces a version by another and reports.
func (m *month) rollOut(environment, service string, from, to, instances int) {
	m.T.Helper()
	m.change(environment, service, from, 0)
	m.run(environment, service, to, instances)
}

func (m *month) change(environment, service string, version, instances int) {
	fingerprint := m.image(service, version).fingerprint
	if instances == 0 {
		delete(m.runs[environment], fingerprint)
		return
	}
	m.runs[environment][fingerprint] = instances
}

// report reports the running instances under the name that the environment has in the model, and compares the answer
// with the model's.
func (m *month) report(environment string) {
	m.T.Helper()
	m.advance(time.Minute)
	want := m.environments[environment]
	before := evidence.Seconds(m.Clock.Read())
	got := m.Do(http.MethodPut, "/api/v2/environments/"+m.Org+"/"+want.name+"/report/"+want.kind, apitest.SnapshotterKey, m.reportBody(environment))
	made := want.report(m.runs[environment], m.images, before)
	status, text := http.StatusOK, "report processed, no new snapshots to create"
	if made {
		status, text = http.StatusCreated, "OK"
	}
	if got.Status != status || got.Text(m.T) != text {
		m.T.Fatalf("report %s %v: %d %s", environment, m.runs[environment], got.Status, got.Body)
	}
	if made {
		m.readTimestamp(want.latest(), before)
		m.logical.observe(want.latest())
	}
}

// readTimestamp checks that a snapshot was made during the report, and copies its exact time into the model.
func (m *month) readTimestamp(want *wantSnapshot, before float64) {
	m.T.Helper()
	shown := m.GetSnapshot(want.environment.name, "-1").Timestamp
	if shown < before || shown > evidence.Seconds(m.Clock.Read()) {
		m.T.Fatalf("snapshot %d of %s was made at %f, reported from %f on", want.number, want.environment.name, shown, before)
	}
	want.timestamp = shown
	for fingerprint, first := range want.environment.firstAt {
		if first == before {
			want.environment.firstAt[fingerprint] = shown
		}
	}
}

// reportBody returns a report of the running instances in the form of the environment's type. Every report has
// instances with other creation times.
func (m *month) reportBody(environment string) []byte {
	artifacts := []map[string]any{}
	for fingerprint, instances := range m.runs[environment] {
		for i := range instances {
			artifact := map[string]any{
				"digests":           map[string]string{m.images[fingerprint].name(): fingerprint},
				"creationTimestamp": m.Clock.Read().Add(-time.Duration(i) * time.Second).Unix(),
			}
			switch m.environments[environment].kind {
			case string(evidence.K8S):
				artifact["podName"], artifact["namespace"] = fmt.Sprintf("%s-%d", m.images[fingerprint].service, m.Clock.Read().UnixNano()), "default"
			case string(evidence.ECS):
				artifact["taskArn"] = fmt.Sprintf("arn:aws:ecs:eu-central-1:1:task/%d", m.Clock.Read().UnixNano())
			}
			artifacts = append(artifacts, artifact)
		}
	}
	body, err := json.Marshal(map[string]any{"artifacts": artifacts})
	m.Must(err)
	return body
}

// TestMonthOfDeliveriesIsReadBack reports a month of deliveries and compares what the service answers with the model.
func TestMonthOfDeliveriesIsReadBack(t *testing.T) {
	t.Parallel()
	if testing.Short() && apitest.OnRealEngines() {
		t.Skip("takes half a minute there, and was run on the embedded engines")
	}
	m := newMonth(t)
	m.deliverMonth()
	for _, want := range m.environments {
		if want.name != "edge" {
			m.assertSnapshots(want)
			m.assertList(want)
			m.assertEvents(want)
			m.assertAuditLog(want)
			m.assertDiffs(want)
			m.assertDeployments(want)
		}
	}
	m.assertDiffsAcross()
	m.assertArtifacts()
	m.assertTrails()
	m.assertLogical()
	m.assertArchived()
}

func (m *month) deliverMonth() {
	m.T.Helper()
	// The first week: everything is built and rolled out, to staging first.
	for _, service := range []string{"api", "ledger", "web"} {
		m.build(service, 1)
		m.run("staging", service, 1, 1)
	}
	m.advance(day)
	for _, service := range []string{"api", "ledger", "web"} {
		m.promote(service, 1)
		m.change("production", service, 1, 2)
	}
	m.report("production")
	m.report("edge")    // nothing yet
	m.report("staging") // shows the promotion
	m.report("production")
	m.run("edge", "web", 1, 1)

	// Releases, each for twelve hours in staging first.
	for version := 2; version <= 4; version++ {
		m.advance(2 * day)
		m.build("api", version)
		m.rollOut("staging", "api", version-1, version, 1)
		m.advance(12 * time.Hour)
		m.rollOut("production", "api", version-1, version, 2)
		m.report("production")
	}

	// The last release is rolled back and then rolled out again, at first beside the former version.
	m.advance(time.Hour)
	m.rollOut("production", "api", 4, 3, 2)
	m.advance(day)
	m.run("production", "api", 4, 1)
	m.rollOut("production", "api", 3, 4, 2)

	// Scaling and restarts make no snapshot. The next snapshot shows the new numbers of instances.
	m.run("production", "web", 1, 5)
	m.report("production")
	m.run("production", "web", 1, 3)
	m.build("ledger", 2)
	m.rollOut("production", "ledger", 1, 2, 2)

	// A crash stops web for a minute, then all of production for another.
	m.advance(3 * day)
	m.run("production", "web", 1, 0)
	m.run("production", "web", 1, 3)
	all := m.runs["production"]
	m.runs["production"] = map[string]int{}
	m.report("production")
	m.runs["production"] = all
	m.report("production")

	// An image without provenance runs. It is put on the allow list, and later its pipeline reports it.
	m.advance(3 * day)
	m.run("production", "miner", 1, 1)
	m.Want(http.StatusCreated, http.MethodPut, "/allowlists/"+m.Org+"/production",
		fmt.Appendf(nil, `{"artifact_name":%q,"artifact_fingerprint":%q,"description":"an experiment"}`, m.image("miner", 1).name(), m.image("miner", 1).fingerprint))
	m.report("production") // no policy is evaluated, so nothing changes
	m.build("miner", 1)
	m.report("production")
	m.run("production", "miner", 1, 0)

	// The same image runs in all three environments.
	m.advance(day)
	m.build("web", 2)
	for _, environment := range []string{"staging", "production", "edge"} {
		m.rollOut(environment, "web", 1, 2, 2)
	}

	// Staging is renamed. Reports under the former name are still accepted.
	m.advance(2 * day)
	m.Want(http.StatusOK, http.MethodPut, "/environments/"+m.Org+"/staging/rename", []byte(`{"new_name":"pre-production"}`))
	m.build("api", 5)
	m.rollOut("staging", "api", 4, 5, 1)
	m.environments["staging"].name = "pre-production"
	m.build("api", 6)
	m.rollOut("staging", "api", 5, 6, 1)

	// The edge is archived and so leaves the logical environment.
	m.advance(3 * day)
	m.changeMembers(http.MethodPut, "/edge/archive", "null", "staging", "production")
	m.advance(day)

	// For a day the logical environment has production only.
	m.changeMembers(http.MethodPatch, "/everything", `{"included_environments":["production"]}`, "production")
	m.advance(time.Hour)
	m.run("staging", "web", 2, 0)
	m.rollOut("production", "api", 4, 5, 4)
	m.advance(day)
	m.changeMembers(http.MethodPut, "/everything/join", `{"physical_env_name":"pre-production"}`, "staging", "production")
	m.advance(day)
	m.rollOut("production", "api", 5, 6, 4)
	m.run("staging", "web", 2, 3)
	m.advance(day)
}

// diffBody is an answer of env-diff as the client decodes it.
type diffBody struct {
	Snappish1, Snappish2, Changed diffSide
	NotChanged                    diffSide `json:"not-changed"`
}

type diffSide struct {
	ID        string `json:"snapshot_id"`
	Artifacts []struct {
		Fingerprint, Name, Flow string
		CommitURL               string `json:"commit_url"`
		Count                   int    `json:"instance_count"`
		First                   int    `json:"s1_instance_count"`
		Second                  int    `json:"s2_instance_count"`
	}
}

func (s diffSide) fingerprints() []string {
	var all []string
	for _, artifact := range s.Artifacts {
		all = append(all, artifact.Fingerprint)
	}
	slices.Sort(all)
	return all
}
