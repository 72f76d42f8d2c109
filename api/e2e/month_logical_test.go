package e2e_test

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"attestry/api/apitest"
	"attestry/evidence"
)

// wantLogicalSnapshot is a snapshot of the logical environment as the service must show it.
type wantLogicalSnapshot struct {
	number    int
	timestamp float64
	counts    map[string]int // instances by fingerprint
	// cause is the member's snapshot that caused it, nil for a change of membership.
	cause *wantSnapshot
}

// physical returns the snapshot in the form of one of a physical environment, for diffs.
func (w *wantLogicalSnapshot) physical() *wantSnapshot {
	return &wantSnapshot{environment: &wantEnvironment{name: "everything"}, number: w.number, counts: w.counts}
}

// wantLogical is the logical environment as the service must show it. It has a snapshot for each snapshot of a member
// and for each change of membership, in the order in which they were made.
type wantLogical struct {
	members   []*wantEnvironment
	snapshots []*wantLogicalSnapshot
}

func (l *wantLogical) add(timestamp float64, cause *wantSnapshot) {
	next := &wantLogicalSnapshot{number: len(l.snapshots) + 1, timestamp: timestamp, counts: map[string]int{}, cause: cause}
	for _, member := range l.members {
		for fingerprint, n := range member.latest().counts {
			next.counts[fingerprint] += n
		}
	}
	l.snapshots = append(l.snapshots, next)
}

// observe adds a snapshot that s caused, if s is of a member.
func (l *wantLogical) observe(s *wantSnapshot) {
	if slices.Contains(l.members, s.environment) {
		l.add(s.timestamp, s)
	}
}

// changeMembers sends a request that changes the members of the logical environment.
func (m *month) changeMembers(method, path, body string, members ...string) {
	m.T.Helper()
	before := evidence.Seconds(m.Clock.Read())
	m.Want(http.StatusOK, method, "/environments/"+m.Org+path, []byte(body))
	m.logical.members = nil
	for _, name := range members {
		m.logical.members = append(m.logical.members, m.environments[name])
	}
	got := m.GetSnapshot("everything", "-1").Timestamp
	if got < before || got > evidence.Seconds(m.Clock.Read()) {
		m.T.Fatalf("%s %s is recorded at %f, sent at %f", method, path, got, before)
	}
	m.logical.add(got, nil)
}

// assertLogical compares the logical environment with the model.
func (m *month) assertLogical() {
	m.T.Helper()
	var former map[string]int
	for i, want := range m.logical.snapshots {
		m.assertLogicalSnapshot(want, former)
		former = want.counts
		var next *float64
		if i+1 < len(m.logical.snapshots) {
			next = &m.logical.snapshots[i+1].timestamp
		}
		m.assertLogicalIsFound(want, next)
	}
	m.assertLogicalList()
	m.assertLogicalEvents()
	for i := 1; i < len(m.logical.snapshots); i++ {
		m.assertDiff(m.logical.snapshots[i-1].physical(), m.logical.snapshots[i].physical())
	}
}

func (m *month) assertLogicalSnapshot(want *wantLogicalSnapshot, former map[string]int) {
	m.T.Helper()
	got := m.GetSnapshot("everything", strconv.Itoa(want.number))
	counts := map[string]int{}
	for _, artifact := range got.Artifacts {
		fingerprint := artifact["fingerprint"].(string)
		now, was := int(apitest.Lookup(m.T, artifact, "annotation", "now").(float64)), int(apitest.Lookup(m.T, artifact, "annotation", "was").(float64))
		if now > 0 {
			counts[fingerprint] = now
		}
		if was != former[fingerprint] || now != want.counts[fingerprint] {
			m.T.Errorf("everything#%d: %s went from %d to %d, want from %d to %d", want.number, fingerprint, was, now, former[fingerprint], want.counts[fingerprint])
		}
	}
	if int(got.Index) != want.number || got.Timestamp != want.timestamp || got.Type != "logical" || !maps.Equal(counts, want.counts) {
		m.T.Errorf("everything#%d is #%d of %f with %v, want of %f with %v", want.number, got.Index, got.Timestamp, counts, want.timestamp, want.counts)
	}
}

// assertLogicalIsFound reads a snapshot by each of its expressions.
func (m *month) assertLogicalIsFound(want *wantLogicalSnapshot, next *float64) {
	m.T.Helper()
	moment := time.Unix(int64(math.Ceil(want.timestamp)), 0).UTC().Format("2006-01-02T15:04:05")
	newer := len(m.logical.snapshots) - want.number
	for _, expression := range []string{"@{" + moment + "}", fmt.Sprintf("#%d", want.number), fmt.Sprintf("~%d", newer), fmt.Sprintf("-%d", newer+1)} {
		got := m.GetSnapshot("everything", url.PathEscape(expression))
		if int(got.Index) != want.number || got.IsLatest != (next == nil) || next != nil && *got.NextSnapshotTimestamp != *next {
			m.T.Errorf("everything %s is #%d until %v, want #%d", expression, got.Index, got.NextSnapshotTimestamp, want.number)
		}
	}
}

func (m *month) assertLogicalList() {
	m.T.Helper()
	items := m.Read("/snapshots/" + m.Org + "/everything?per_page=1000&reverse=true").([]any)
	if len(items) != len(m.logical.snapshots) {
		m.T.Fatalf("everything lists %d snapshots, want %d", len(items), len(m.logical.snapshots))
	}
	for i, item := range items {
		to := 0.0
		if i+1 < len(items) {
			to = m.logical.snapshots[i+1].timestamp
		}
		if apitest.Lookup(m.T, item, "index") != float64(i+1) || apitest.Lookup(m.T, item, "from") != m.logical.snapshots[i].timestamp || apitest.Lookup(m.T, item, "to") != to {
			m.T.Errorf("everything lists %v as the snapshot at %f", item, m.logical.snapshots[i].timestamp)
		}
	}
}

// assertLogicalEvents reads the event log in pages. Its events are those of the causes, with the numbers and times of
// the logical environment's snapshots.
func (m *month) assertLogicalEvents() {
	m.T.Helper()
	want, total := map[int][]string{}, 0
	for _, snapshot := range m.logical.snapshots {
		if snapshot.cause == nil {
			continue
		}
		for _, event := range snapshot.cause.events() {
			text := fmt.Sprintf("%s %s %s in %s at %f, environments/everything/snapshots/%d", event.fingerprint, event.kind, event.description(),
				event.environment.name, snapshot.timestamp, snapshot.number)
			want[snapshot.number], total = append(want[snapshot.number], text), total+1
		}
	}
	got, last := map[int][]string{}, math.MaxInt
	for page := 1; ; page++ {
		a := m.Want(http.StatusOK, http.MethodGet, fmt.Sprintf("/environments/%s/everything/events?page=%d&per_page=7", m.Org, page), nil)
		if a.Header.Get("X-Total-Count") != strconv.Itoa(total) {
			m.T.Fatalf("everything has %s events, want %d", a.Header.Get("X-Total-Count"), total)
		}
		var events []any
		a.Decode(m.T, &events)
		if len(events) == 0 {
			break
		}
		for _, event := range events {
			number := int(apitest.Lookup(m.T, event, "snapshot_index").(float64))
			if number > last {
				m.T.Errorf("an event of everything#%d comes after one of #%d", number, last)
			}
			last = number
			_, link, _ := strings.Cut(apitest.Lookup(m.T, event, "_links", "snapshot", "html").(string), "/"+m.Org+"/")
			got[number] = append(got[number], fmt.Sprintf("%s %s %s in %s at %f, %s", apitest.Lookup(m.T, event, "sha256"), apitest.Lookup(m.T, event, "type"),
				apitest.Lookup(m.T, event, "description"), apitest.Lookup(m.T, event, "environment_name"), apitest.Lookup(m.T, event, "reported_at"), link))
		}
	}
	for number := range len(m.logical.snapshots) + 1 {
		slices.Sort(want[number])
		slices.Sort(got[number])
		if !slices.Equal(got[number], want[number]) {
			m.T.Errorf("everything#%d has the events\n%v, want\n%v", number, got[number], want[number])
		}
	}
}
