package e2e_test

import (
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"attestry/api/apitest"
)

// assertSnapshots reads every snapshot of an environment, by number and by time.
func (m *month) assertSnapshots(environment *wantEnvironment) {
	m.T.Helper()
	for i, want := range environment.snapshots {
		got := m.GetSnapshot(environment.name, strconv.Itoa(want.number))
		m.assertSnapshot(want, got)
		var next *float64
		if i+1 < len(environment.snapshots) {
			next = &environment.snapshots[i+1].timestamp
		}
		if got.IsLatest != (next == nil) || !reflect.DeepEqual(got.NextSnapshotTimestamp, next) {
			m.T.Errorf("%s#%d: latest is %v, the next one at %v", environment.name, want.number, got.IsLatest, got.NextSnapshotTimestamp)
		}
		// Rounded up to a whole second. No later snapshot is that close, because reports are a minute apart.
		moment := time.Unix(int64(math.Ceil(want.timestamp)), 0).UTC().Format("2006-01-02T15:04:05")
		for _, expression := range []string{"@{" + moment + "}", fmt.Sprintf("#%d", want.number), fmt.Sprintf("~%d", len(environment.snapshots)-want.number)} {
			if other := m.GetSnapshot(environment.name, url.PathEscape(expression)); other.Index != got.Index {
				m.T.Errorf("%s %s is #%d, want #%d", environment.name, expression, other.Index, got.Index)
			}
		}
	}
}

func (m *month) assertSnapshot(want *wantSnapshot, got apitest.SnapshotBody) {
	m.T.Helper()
	label := fmt.Sprintf("%s#%d", want.environment.name, want.number)
	if int(got.Index) != want.number || got.Timestamp != want.timestamp || got.Type != want.environment.kind ||
		!strings.HasSuffix(got.HTMLURL, fmt.Sprintf("/%s/environments/%s/snapshots/%d", m.Org, want.environment.name, want.number)) {
		m.T.Errorf("%s is #%d of %f, type %s, at %s", label, got.Index, got.Timestamp, got.Type, got.HTMLURL)
	}
	if got.ArtifactComplianceCount["null"] != len(want.counts) || got.Compliant == nil || *got.Compliant {
		m.T.Errorf("%s counts %v", label, got.ArtifactComplianceCount)
	}
	changes := map[string]imageChange{}
	for _, artifact := range got.Artifacts {
		fingerprint := artifact["fingerprint"].(string)
		annotation := artifact["annotation"].(map[string]any)
		changes[fingerprint] = imageChange{kind: annotation["type"].(string), was: int(annotation["was"].(float64)), now: int(annotation["now"].(float64))}
		m.assertArtifact(label, want, fingerprint, artifact)
	}
	if !maps.Equal(changes, want.changes) {
		m.T.Errorf("%s has the annotations\n%v, want\n%v", label, changes, want.changes)
	}
}

// assertArtifact compares an artifact of a snapshot with the model.
func (m *month) assertArtifact(label string, want *wantSnapshot, fingerprint string, got map[string]any) {
	m.T.Helper()
	image := m.images[fingerprint]
	if got["name"] != image.name() || got["compliant"] != nil {
		m.T.Errorf("%s: %s is %v, compliant %v", label, fingerprint, got["name"], got["compliant"])
	}
	if now := want.changes[fingerprint].now; now > 0 && len(got["creationTimestamp"].([]any)) != now {
		m.T.Errorf("%s: %s has the times %v, want %d", label, image.name(), got["creationTimestamp"], now)
	}
	var flows []string
	for _, flow := range got["flows"].([]any) {
		flows = append(flows, apitest.Lookup(m.T, flow, "flow_name").(string))
		if apitest.Lookup(m.T, flow, "trail_name") != image.trail() || apitest.Lookup(m.T, flow, "git_commit") != image.commit ||
			apitest.Lookup(m.T, flow, "artifact_compliance_in_flow") != true || apitest.Lookup(m.T, flow, "git_commit_info", "timestamp") != image.committedAt {
			m.T.Errorf("%s: flow of %s is %v", label, image.name(), flow)
		}
	}
	if !slices.Equal(flows, want.flows[fingerprint]) {
		m.T.Errorf("%s: %s comes from %v, want %v", label, image.name(), flows, want.flows[fingerprint])
	}
	if len(flows) == 0 {
		if got["flow_name"] != nil || got["deployment_diff"] != nil || got["commit_lead_time"] != nil {
			m.T.Errorf("%s: %s has no flow but %v", label, image.name(), got)
		}
		return
	}
	lead := want.environment.firstAt[fingerprint] - image.committedAt
	if got["flow_name"] != flows[0] || got["git_commit"] != image.commit || got["commit_url"] != image.repo()+"/commit/"+image.commit ||
		got["commit_lead_time"] == nil || math.Abs(got["commit_lead_time"].(float64)-lead) > 1e-3 {
		m.T.Errorf("%s: %s has flow %v, commit %v, lead time %v, want %f", label, image.name(), got["flow_name"], got["git_commit"], got["commit_lead_time"], lead)
	}
	m.assertDeploymentDiff(label, want, image, got["deployment_diff"])
}

func (m *month) assertDeploymentDiff(label string, want *wantSnapshot, image *builtImage, got any) {
	m.T.Helper()
	former := m.images[want.previous[image.fingerprint]]
	if former == nil {
		if got != nil {
			m.T.Errorf("%s: %s comes after %v", label, image.name(), got)
		}
		return
	}
	_, running := want.counts[former.fingerprint]
	expected := map[string]any{
		"diff_url":                           image.repo() + "/compare/" + former.commit + "..." + image.commit,
		"previous_git_commit":                former.commit,
		"previous_fingerprint":               former.fingerprint,
		"previous_artifact_name":             former.name(),
		"previous_artifact_compliance_state": "COMPLIANT",
		"previous_running":                   running,
		"previous_git_commit_url":            former.repo() + "/commit/" + former.commit,
		"previous_trail_name":                former.trail(),
		"previous_template_reference_name":   former.service,
	}
	if !reflect.DeepEqual(got, any(expected)) {
		m.T.Errorf("%s: %s comes after\n%v, want\n%v", label, image.name(), got, expected)
	}
}

// assertList reads the list of snapshots in pages, oldest first.
func (m *month) assertList(environment *wantEnvironment) {
	m.T.Helper()
	var seen []int
	for page := 1; ; page++ {
		items := m.Read(fmt.Sprintf("/snapshots/%s/%s?page=%d&per_page=4&interval=&reverse=true", m.Org, environment.name, page)).([]any)
		if len(items) == 0 {
			break
		}
		for _, item := range items {
			apitest.ClientReads(m.T, "snapshots_item", item)
			number := int(apitest.Lookup(m.T, item, "index").(float64))
			seen = append(seen, number)
			if apitest.Lookup(m.T, item, "from") != environment.snapshots[number-1].timestamp {
				m.T.Errorf("%s#%d is listed from %v", environment.name, number, apitest.Lookup(m.T, item, "from"))
			}
			to := 0.0
			if number < len(environment.snapshots) {
				to = environment.snapshots[number].timestamp
			}
			if apitest.Lookup(m.T, item, "to") != to {
				m.T.Errorf("%s#%d is listed to %v, want %f", environment.name, number, apitest.Lookup(m.T, item, "to"), to)
			}
		}
	}
	for i, number := range seen {
		if number != i+1 {
			m.T.Errorf("%s lists %v", environment.name, seen)
			break
		}
	}
	if len(seen) != len(environment.snapshots) {
		m.T.Errorf("%s lists %d snapshots, want %d", environment.name, len(seen), len(environment.snapshots))
	}
}

// assertEvents walks through the event log.
func (m *month) assertEvents(environment *wantEnvironment) {
	m.T.Helper()
	total := 0
	for _, s := range environment.snapshots {
		total += len(s.events())
	}
	got := map[int][]any{}
	last := math.MaxInt
	for page := 1; ; page++ {
		a := m.Want(http.StatusOK, http.MethodGet, fmt.Sprintf("/environments/%s/%s/events?page=%d&per_page=7&interval=&reverse=false", m.Org, environment.name, page), nil)
		if a.Header.Get("X-Total-Count") != strconv.Itoa(total) {
			m.T.Fatalf("%s has %s events, want %d", environment.name, a.Header.Get("X-Total-Count"), total)
		}
		var events []any
		a.Decode(m.T, &events)
		if len(events) == 0 {
			break
		}
		for _, event := range events {
			apitest.ClientReads(m.T, "environment_event", event)
			number := int(apitest.Lookup(m.T, event, "snapshot_index").(float64))
			if number > last {
				m.T.Errorf("%s: an event of #%d comes behind one of #%d", environment.name, number, last)
			}
			last = number
			got[number] = append(got[number], event)
		}
	}
	for _, s := range environment.snapshots {
		m.assertEventsOf(s, got[s.number])
	}
}

func (m *month) assertEventsOf(s *wantSnapshot, got []any) {
	m.T.Helper()
	want := s.events()
	if len(got) != len(want) {
		m.T.Errorf("%s#%d has %d events, want %d", s.environment.name, s.number, len(got), len(want))
		return
	}
	for _, event := range want {
		image := m.images[event.fingerprint]
		i := slices.IndexFunc(got, func(e any) bool { return apitest.Lookup(m.T, e, "sha256") == event.fingerprint })
		if i < 0 {
			m.T.Errorf("%s#%d has no event of %s", s.environment.name, s.number, image.name())
			continue
		}
		var diff any
		if former := m.images[s.previous[event.fingerprint]]; former != nil {
			diff = image.repo() + "/compare/" + former.commit + "..." + image.commit
		}
		pipeline := ""
		if flows := s.flows[event.fingerprint]; len(flows) > 0 {
			pipeline = flows[0]
		}
		for member, expected := range map[string]any{
			"environment_name": s.environment.name, "artifact_name": image.name(), "type": event.kind, "description": event.description(),
			"reported_at": s.timestamp, "pipeline": pipeline, "artifact_compliance": nil, "snapshot_compliance": false, "code_diff": diff,
		} {
			if shown := apitest.Lookup(m.T, got[i], member); shown != expected {
				m.T.Errorf("%s#%d: %s of %s is %v, want %v", s.environment.name, s.number, member, image.name(), shown, expected)
			}
		}
	}
}

// assertAuditLog counts the rows of the audit log with several filters.
func (m *month) assertAuditLog(environment *wantEnvironment) {
	m.T.Helper()
	count := func(query string, counts func(wantEvent) bool) {
		a := m.Want(http.StatusOK, http.MethodGet, "/environments/"+m.Org+"/"+environment.name+"/auditlog"+query, nil)
		rows, err := csv.NewReader(strings.NewReader(string(a.Body))).ReadAll()
		m.Must(err)
		want := 0
		for _, s := range environment.snapshots {
			for _, event := range s.events() {
				if counts(event) {
					want++
				}
			}
		}
		if len(rows)-1 != want {
			m.T.Errorf("%s: the audit log %s has %d rows, want %d", environment.name, query, len(rows)-1, want)
		}
	}
	count("", func(wantEvent) bool { return true })
	count("?event_types=started,exited", func(e wantEvent) bool { return e.kind != "updated-provenance" })
	count("?event_types=changed", func(e wantEvent) bool { return e.kind == "updated-provenance" })
	count("?flow_names="+url.QueryEscape("no provenance"), func(e wantEvent) bool { return len(e.snapshot.flows[e.fingerprint]) == 0 })
	count("?flow_names=promotion", func(e wantEvent) bool { return slices.Contains(e.snapshot.flows[e.fingerprint], "promotion") })
	middle := environment.snapshots[len(environment.snapshots)/2].timestamp
	count(fmt.Sprintf("?from_timestamp=%f", middle), func(e wantEvent) bool { return e.snapshot.timestamp >= middle-1e-6 })
}

// assertDiffs compares each snapshot with the next one.
func (m *month) assertDiffs(environment *wantEnvironment) {
	m.T.Helper()
	for i := 1; i < len(environment.snapshots); i++ {
		m.assertDiff(environment.snapshots[i-1], environment.snapshots[i])
	}
	m.assertDiff(environment.snapshots[0], environment.latest())
}

// assertDiffsAcross compares environments.
func (m *month) assertDiffsAcross() {
	m.T.Helper()
	staging, production := m.environments["staging"], m.environments["production"]
	m.assertDiff(staging.latest(), production.latest())
	m.assertDiff(production.snapshots[0], staging.snapshots[2])
}

func (m *month) assertDiff(first, second *wantSnapshot) {
	m.T.Helper()
	want := differenceOf(first, second)
	var got diffBody
	one, two := fmt.Sprintf("%s#%d", first.environment.name, first.number), fmt.Sprintf("%s#%d", second.environment.name, second.number)
	m.Want(http.StatusOK, http.MethodGet, "/env-diff/"+m.Org+"?snappish1="+url.QueryEscape(one)+"&snappish2="+url.QueryEscape(two), nil).Decode(m.T, &got)
	if got.Snappish1.ID != one || got.Snappish2.ID != two {
		m.T.Errorf("diff of %s and %s is of %s and %s", one, two, got.Snappish1.ID, got.Snappish2.ID)
	}
	for side, lists := range map[string][2][]string{
		"only in the first": {got.Snappish1.fingerprints(), want.onlyFirst}, "only in the second": {got.Snappish2.fingerprints(), want.onlySecond},
		"alike": {got.NotChanged.fingerprints(), want.alike}, "scaled": {got.Changed.fingerprints(), slices.Sorted(maps.Keys(want.scaled))},
	} {
		if !slices.Equal(lists[0], lists[1]) {
			m.T.Errorf("diff of %s and %s: %s: %v, want %v", one, two, side, lists[0], lists[1])
		}
	}
	for _, artifact := range got.Changed.Artifacts {
		if counts := [2]int{artifact.First, artifact.Second}; counts != want.scaled[artifact.Fingerprint] {
			m.T.Errorf("diff of %s and %s: %s scaled %v, want %v", one, two, artifact.Name, counts, want.scaled[artifact.Fingerprint])
		}
	}
	for _, artifact := range got.Snappish1.Artifacts {
		if artifact.Count != first.counts[artifact.Fingerprint] || artifact.Name != m.images[artifact.Fingerprint].name() {
			m.T.Errorf("diff of %s and %s shows %+v", one, two, artifact)
		}
	}
}

// assertDeployments reads every start of an environment as a deployment.
func (m *month) assertDeployments(environment *wantEnvironment) {
	m.T.Helper()
	var want []string
	for _, s := range environment.snapshots {
		for _, event := range s.events() {
			if event.kind == "started-unknown" {
				want = append(want, fmt.Sprintf("%d %s", s.number, event.fingerprint))
			}
		}
	}
	var got []string
	for page := 1; ; page++ {
		list := m.Read(fmt.Sprintf("/deployments/%s?env_name=%s&start_ts=0&page=%d&per_page=10", m.Org, environment.name, page))
		if total := apitest.Lookup(m.T, list, "total_count"); total != float64(len(want)) {
			m.T.Fatalf("%s has %v deployments, want %d", environment.name, total, len(want))
		}
		items := apitest.Lookup(m.T, list, "deployments").([]any)
		if len(items) == 0 {
			break
		}
		for _, item := range items {
			fingerprint, number := apitest.Lookup(m.T, item, "fingerprint").(string), int(apitest.Lookup(m.T, item, "snapshot_index").(float64))
			got = append(got, fmt.Sprintf("%d %s", number, fingerprint))
			if apitest.Lookup(m.T, item, "deployed_at") != environment.snapshots[number-1].timestamp {
				m.T.Errorf("%s: deployment %v is not of its snapshot's time", environment.name, item)
			}
			replaced := apitest.Lookup(m.T, item, "replaced_artifact")
			if former := environment.snapshots[number-1].previous[fingerprint]; (replaced == nil) != (former == "") ||
				replaced != nil && apitest.Lookup(m.T, replaced, "fingerprint") != former {
				m.T.Errorf("%s#%d: %s has replaced %v, want %s", environment.name, number, fingerprint, replaced, former)
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		m.T.Errorf("%s has the deployments\n%v, want\n%v", environment.name, got, want)
	}
}

// assertArtifacts checks in which environments every reported image runs, and from which it exited.
func (m *month) assertArtifacts() {
	m.T.Helper()
	for fingerprint, image := range m.images {
		if len(image.flows) == 0 {
			continue
		}
		artifact := m.Read("/artifacts/" + m.Org + "/" + image.service + "-ci/fingerprint/" + fingerprint)
		running, exited := map[string]int{}, map[string]int{}
		for name, environment := range m.environments {
			if name == "edge" || environment.firstAt[fingerprint] == 0 {
				continue
			}
			if environment.latest().counts[fingerprint] > 0 {
				running[environment.name] = environment.latest().number
				continue
			}
			for _, s := range environment.snapshots {
				if s.changes[fingerprint].kind == "exited" {
					exited[environment.name] = s.number
				}
			}
		}
		for member, want := range map[string]map[string]int{"running": running, "exited": exited} {
			got := map[string]int{}
			for _, entry := range apitest.Lookup(m.T, artifact, member).([]any) {
				got[apitest.Lookup(m.T, entry, "environment_name").(string)] = int(apitest.Lookup(m.T, entry, "snapshot_index").(float64))
			}
			if !maps.Equal(got, want) {
				m.T.Errorf("%s is %s in %v, want %v", image.name(), member, got, want)
			}
		}
	}
}

// assertTrails counts the events of starts and exits in trails.
func (m *month) assertTrails() {
	m.T.Helper()
	for fingerprint, image := range m.images {
		for _, flow := range image.flows {
			want := map[string]int{}
			for _, environment := range m.environments {
				for _, s := range environment.snapshots {
					kind := s.changes[fingerprint].kind
					if slices.Contains(s.flows[fingerprint], flow) && (kind == "started-unknown" || kind == "exited") {
						want[kind]++
					}
				}
			}
			got := map[string]int{}
			for _, event := range apitest.Lookup(m.T, m.Read("/trails/"+m.Org+"/"+flow+"/"+image.trail()), "events").([]any) {
				switch apitest.Lookup(m.T, event, "type") {
				case "artifact_started_running":
					got["started-unknown"]++
				case "artifact_stopped_running":
					got["exited"]++
				default:
					continue
				}
				if apitest.Lookup(m.T, event, "artifact_fingerprint") != fingerprint || apitest.Lookup(m.T, event, "template_reference_name") != image.service {
					m.T.Errorf("trail %s of %s has the event %v", image.trail(), flow, event)
				}
			}
			if !maps.Equal(got, want) {
				m.T.Errorf("trail %s of %s has %v, want %v", image.trail(), flow, got, want)
			}
		}
	}
}

// assertArchived checks the archived environment edge and the former name of staging.
func (m *month) assertArchived() {
	m.T.Helper()
	for _, path := range []string{"/environments/" + m.Org + "/edge", "/snapshots/" + m.Org + "/edge/-1", "/environments/" + m.Org + "/edge/events"} {
		message, _ := m.Want(http.StatusNotFound, http.MethodGet, path, nil).Problem(m.T)
		if message != "Environment named 'edge' has been archived for organization '"+m.Org+"'" {
			m.T.Errorf("%s: %s", path, message)
		}
	}
	if got := m.Do(http.MethodPut, "/api/v2/environments/"+m.Org+"/edge/report/server", apitest.SnapshotterKey, []byte(`{"artifacts":[]}`)); got.Status != http.StatusNotFound {
		m.T.Errorf("a report to the edge: %d %s", got.Status, got.Body)
	}
	if got := m.GetSnapshot("staging", "-1"); !strings.Contains(got.HTMLURL, "/environments/pre-production/") {
		m.T.Errorf("staging is at %s", got.HTMLURL)
	}
	names := []string{}
	for _, environment := range m.Read("/environments/" + m.Org).([]any) {
		names = append(names, apitest.Lookup(m.T, environment, "name").(string))
	}
	if !slices.Equal(names, []string{"everything", "pre-production", "production"}) {
		m.T.Errorf("the environments are %v", names)
	}
	allowed := m.Read("/allowlists/" + m.Org).([]any)
	if len(allowed) != 1 || apitest.Lookup(m.T, allowed[0], "fingerprint") != m.image("miner", 1).fingerprint || apitest.Lookup(m.T, allowed[0], "environment_name") != "production" {
		m.T.Errorf("the allow list is %v", allowed)
	}
}
