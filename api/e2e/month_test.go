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

	"attestry/evidence"
)

// month is a month of an organization with three environments, reported to the service and
// applied to a model of what the service must answer.
type month struct {
	*service
	images       map[string]*builtImage // by fingerprint
	environments map[string]*wantEnvironment
	logical      *wantLogical
	// runs is how many instances run now by fingerprint, by the first name of the environment.
	runs map[string]map[string]int
}

const day = 24 * time.Hour

// monthStart is when the clock starts.
var monthStart = time.Date(2026, time.October, 1, 6, 0, 0, 0, time.UTC)

func newMonth(t *testing.T) *month {
	m := &month{
		service: start(t, options{real: true, stoppedAt: monthStart}), images: map[string]*builtImage{},
		environments: map[string]*wantEnvironment{}, runs: map[string]map[string]int{}, logical: &wantLogical{},
	}
	for name, kind := range map[string]evidence.EnvironmentType{"staging": evidence.ECS, "production": evidence.K8S, "edge": evidence.Server} {
		m.createEnvironment(name, kind)
		m.environments[name] = &wantEnvironment{
			name: name, kind: string(kind), firstAt: map[string]float64{}, since: map[string]int{},
			candidates: map[string][]candidate{}, previous: map[string]string{},
		}
		m.runs[name] = map[string]int{}
		m.logical.members = append(m.logical.members, m.environments[name])
	}
	m.want(http.StatusCreated, http.MethodPut, "/environments/"+m.org, []byte(`{"name":"everything","type":"logical","description":"all there is","included_environments":["staging","production","edge"]}`))
	return m
}

// image is a version of a service, whether or not its pipeline has reported it.
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

// build lets the pipeline of a service make a version, from a commit of an hour ago.
func (m *month) build(service string, version int) {
	m.t.Helper()
	image := m.image(service, version)
	image.committedAt = float64(m.clock.read().Add(-time.Hour).Unix())
	m.reportImage(image, service+"-ci")
}

// promote lets another flow report a version that is built already.
func (m *month) promote(service string, version int) {
	m.t.Helper()
	m.reportImage(m.image(service, version), "promotion")
}

func (m *month) reportImage(image *builtImage, flow string) {
	m.t.Helper()
	m.advance(time.Minute)
	image.flows = append(image.flows, flow)
	commit := fmt.Sprintf(`{"sha1":%q,"message":"Change","author":"A. Person <person@example.com>","branch":"main","timestamp":%d,"url":"%s/commit/%s"}`,
		image.commit, int64(image.committedAt), image.repo(), image.commit)
	m.want(http.StatusCreated, http.MethodPost, "/artifacts/"+m.org+"/"+flow, fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":%q,"git_commit":%q,"git_commit_info":%s,"repo_info":{"name":"acme/%s","url":%q,"provider":"github"},
		"build_url":"https://ci.example.com/1","commit_url":"%s/commit/%s","template_reference_name":%q,"trail_name":%q}`,
		image.fingerprint, image.name(), image.commit, commit, image.service, image.repo(), image.repo(), image.commit, image.service, image.trail()))
}

func (m *month) advance(span time.Duration) { m.clock.advance(span) }

// run changes how many instances of a version run somewhere, and reports.
func (m *month) run(environment, service string, version, instances int) {
	m.t.Helper()
	m.change(environment, service, version, instances)
	m.report(environment)
}

// rollOut replaces a version by another and reports.
func (m *month) rollOut(environment, service string, from, to, instances int) {
	m.t.Helper()
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

// report reports what runs now, by the name that the environment has now, and compares the
// answer with the model's.
func (m *month) report(environment string) {
	m.t.Helper()
	m.advance(time.Minute)
	want := m.environments[environment]
	before := evidence.Seconds(m.clock.read())
	got := m.do(http.MethodPut, "/api/v2/environments/"+m.org+"/"+want.name+"/report/"+want.kind, snapshotterKey, m.reportBody(environment))
	made := want.report(m.runs[environment], m.images, before)
	status, text := http.StatusOK, "report processed, no new snapshots to create"
	if made {
		status, text = http.StatusCreated, "OK"
	}
	if got.status != status || got.text(m.t) != text {
		m.t.Fatalf("report %s %v: %d %s", environment, m.runs[environment], got.status, got.body)
	}
	if made {
		m.readTimestamp(want.latest(), before)
		m.logical.observe(want.latest())
	}
}

// readTimestamp takes the exact time of a snapshot from the service, once it is sure that it
// lies within the report.
func (m *month) readTimestamp(want *wantSnapshot, before float64) {
	m.t.Helper()
	shown := m.getSnapshot(want.environment.name, "-1").Timestamp
	if shown < before || shown > evidence.Seconds(m.clock.read()) {
		m.t.Fatalf("snapshot %d of %s was made at %f, reported from %f on", want.number, want.environment.name, shown, before)
	}
	want.timestamp = shown
	for fingerprint, first := range want.environment.firstAt {
		if first == before {
			want.environment.firstAt[fingerprint] = shown
		}
	}
}

// reportBody is a report of what runs, in the form of the environment's type. The instances
// are as old as the minute: every report tells of other ones.
func (m *month) reportBody(environment string) []byte {
	artifacts := []map[string]any{}
	for fingerprint, instances := range m.runs[environment] {
		for i := range instances {
			artifact := map[string]any{
				"digests":           map[string]string{m.images[fingerprint].name(): fingerprint},
				"creationTimestamp": m.clock.read().Add(-time.Duration(i) * time.Second).Unix(),
			}
			switch m.environments[environment].kind {
			case string(evidence.K8S):
				artifact["podName"], artifact["namespace"] = fmt.Sprintf("%s-%d", m.images[fingerprint].service, m.clock.read().UnixNano()), "default"
			case string(evidence.ECS):
				artifact["taskArn"] = fmt.Sprintf("arn:aws:ecs:eu-central-1:1:task/%d", m.clock.read().UnixNano())
			}
			artifacts = append(artifacts, artifact)
		}
	}
	body, err := json.Marshal(map[string]any{"artifacts": artifacts})
	m.must(err)
	return body
}

// TestMonthOfDeliveriesIsReadBack plays a month and reads back all of it.
func TestMonthOfDeliveriesIsReadBack(t *testing.T) {
	t.Parallel()
	if testing.Short() && onRealEngines() {
		t.Skip("takes half a minute there, and was run on the embedded engines")
	}
	m := newMonth(t)
	m.play()
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

func (m *month) play() {
	m.t.Helper()
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
	m.report("staging") // has learned of the promotion
	m.report("production")
	m.run("edge", "web", 1, 1)

	// Releases, each with a night in staging.
	for version := 2; version <= 4; version++ {
		m.advance(2 * day)
		m.build("api", version)
		m.rollOut("staging", "api", version-1, version, 1)
		m.advance(12 * time.Hour)
		m.rollOut("production", "api", version-1, version, 2)
		m.report("production")
	}

	// The last one is rolled back, and comes again, beside the former at first.
	m.advance(time.Hour)
	m.rollOut("production", "api", 4, 3, 2)
	m.advance(day)
	m.run("production", "api", 4, 1)
	m.rollOut("production", "api", 3, 4, 2)

	// Scaling and restarts make no snapshot; what scaled shows with the next one.
	m.run("production", "web", 1, 5)
	m.report("production")
	m.run("production", "web", 1, 3)
	m.build("ledger", 2)
	m.rollOut("production", "ledger", 1, 2, 2)

	// A crash takes web away for a minute, and production as a whole for another.
	m.advance(3 * day)
	m.run("production", "web", 1, 0)
	m.run("production", "web", 1, 3)
	all := m.runs["production"]
	m.runs["production"] = map[string]int{}
	m.report("production")
	m.runs["production"] = all
	m.report("production")

	// An intruder; it is allowed by name, and turns out to have a pipeline after all.
	m.advance(3 * day)
	m.run("production", "miner", 1, 1)
	m.want(http.StatusCreated, http.MethodPut, "/allowlists/"+m.org+"/production",
		fmt.Appendf(nil, `{"artifact_name":%q,"artifact_fingerprint":%q,"description":"an experiment"}`, m.image("miner", 1).name(), m.image("miner", 1).fingerprint))
	m.report("production") // nothing is judged, so nothing changes
	m.build("miner", 1)
	m.report("production")
	m.run("production", "miner", 1, 0)

	// The same image under way in all three.
	m.advance(day)
	m.build("web", 2)
	for _, environment := range []string{"staging", "production", "edge"} {
		m.rollOut(environment, "web", 1, 2, 2)
	}

	// Staging gets another name. Reporters that know the old one go on.
	m.advance(2 * day)
	m.want(http.StatusOK, http.MethodPut, "/environments/"+m.org+"/staging/rename", []byte(`{"new_name":"pre-production"}`))
	m.build("api", 5)
	m.rollOut("staging", "api", 4, 5, 1)
	m.environments["staging"].name = "pre-production"
	m.build("api", 6)
	m.rollOut("staging", "api", 5, 6, 1)

	// The edge is given up, and leaves the overview.
	m.advance(3 * day)
	m.changeMembers(http.MethodPut, "/edge/archive", "null", "staging", "production")
	m.advance(day)

	// For a day the overview is of production alone.
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
