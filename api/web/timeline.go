package web

import (
	"cmp"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"attestry/api/jsonstream"
	"attestry/api/snapshots"
	"attestry/api/web/chart"
	"attestry/api/web/form"
	"attestry/api/web/request"
	"attestry/api/web/snapshot"
	"attestry/evidence"
)

const (
	// maxEventReads is how many pages of 100 events a timeline reads, newest first.
	maxEventReads = 3
	// maxRan is how many artifacts a timeline has. Those with events come first.
	maxRan = 500
)

// ranArtifact is an artifact with its runs, oldest first: periods in which it ran with one verdict. The index of a run
// is that of its first snapshot, 0 if it began before the axis.
type ranArtifact struct {
	Name, Fingerprint, Flow string
	Runs                    []snapshots.GetSnapshotListItem
}

// timelinePage shows what ran when.
type timelinePage struct {
	Org, Name   string
	Environment environment
	Days        int // until now, 0 for another period
	Axis        chart.Axis
	// Known and Until bound the time for which the running artifacts are known.
	Known, Until float64
	// Fault is why the requested period is not shown, "" if it is.
	Fault string
	// Cut is set if the axis begins later than requested, as there are too many events.
	Cut       bool
	Artifacts []*ranArtifact
	More      int // how many artifacts are left out
	Pager     request.Pager
	found     map[string]*ranArtifact // by fingerprint
}

func (s *Site) showTimeline(p *page) error {
	t := timelinePage{Org: p.Org(), Name: p.C.Query("name"), found: map[string]*ranArtifact{}}
	if moved, err := p.findEnvironment(&t.Environment); err != nil || moved {
		return err
	}
	t.Environment.prepare(s.Clock())
	t.setAxis(p, evidence.Seconds(s.Clock()))
	if t.Until = t.Axis.To; t.Environment.Silent {
		t.Until = min(t.Until, *t.Environment.LastReportedAt)
	}
	t.Known = t.Until
	if len(t.Environment.IncludedEnvironments) == 0 && t.Until > t.Axis.From {
		if err := t.load(p); err != nil {
			return err
		}
	}
	t.Artifacts = slices.DeleteFunc(t.Artifacts, func(one *ranArtifact) bool { return len(one.Runs) == 0 })
	slices.SortFunc(t.Artifacts, func(a, b *ranArtifact) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.Runs[0].From, b.Runs[0].From))
	})
	t.Artifacts, t.Pager = request.Cut(p.Request, t.Artifacts)
	return p.Render("timeline", "Timeline of "+t.Environment.Name, &t)
}

// setAxis sets the axis to the requested period: between two times, or a number of days until now. It begins at a full
// second, as the API finds snapshots by the second, and not before 1970, as nothing was reported then.
func (t *timelinePage) setAxis(p *page, now float64) {
	from, wrong := time.Parse(form.TimeLayout, p.C.Query("from"))
	to, alsoWrong := time.Parse(form.TimeLayout, p.C.Query("to"))
	t.Axis = chart.Axis{From: max(float64(from.Unix()), 0), To: min(float64(to.Unix()), now)}
	switch {
	case wrong == nil && alsoWrong == nil && t.Axis.From < t.Axis.To:
		return
	case wrong == nil && alsoWrong == nil && to.Unix() <= 0:
		t.Fault = "That time is before 1970."
	case wrong == nil && alsoWrong == nil && from.Before(to):
		t.Fault = "That time has not come yet."
	case wrong == nil && alsoWrong == nil:
		t.Fault = "The end of that time is not behind its beginning."
	case p.C.Query("from")+p.C.Query("to") != "":
		t.Fault = "That time needs a beginning and an end."
	}
	if t.Days, _ = strconv.Atoi(p.C.Query("days")); t.Days < 1 || t.Days > 366 {
		t.Days = 7
	}
	t.Axis = chart.Axis{From: math.Floor(now) - float64(t.Days)*24*time.Hour.Seconds(), To: now}
}

// load reads the newest events, and the snapshot before them.
func (t *timelinePage) load(p *page) error {
	p.APIPath = request.Target("/environments/%s/%s/events", t.Org, t.Environment.Name) + "?" +
		url.Values{"per_page": {"100"}, "start_ts": {formatSeconds(t.Axis.From)}, "end_ts": {formatSeconds(t.Axis.To)}}.Encode()
	var events []snapshots.GetEnvironmentEventResponse // newest first
	for number, last := 1, 1; number <= last && !t.Cut; number++ {
		var found []snapshots.GetEnvironmentEventResponse
		var err error
		if last, err = p.List(p.APIPath+"&page="+strconv.Itoa(number), &found); err != nil {
			return err
		}
		events, t.Cut = append(events, found...), number == maxEventReads && number < last
	}
	for _, one := range events {
		t.artifact(one.ArtifactName, one.SHA256, one.Pipeline)
	}
	if t.Cut {
		t.Axis.From = math.Ceil(events[len(events)-1].ReportedAt)
	}
	t.Known = t.Axis.From
	at := time.Unix(int64(t.Known), 0).UTC().Format("@{2006-01-02T15:04:05}")
	err := p.Read(request.Target("/snapshots/%s/%s/%s", t.Org, t.Environment.Name, at), t.decode)
	if request.IsRefused(err, http.StatusNotFound) { // the first report came later
		t.Known, err = t.Until, nil
		if len(events) > 0 {
			t.Known = events[len(events)-1].ReportedAt
		}
	}
	for _, one := range slices.Backward(events) {
		if ran := t.found[one.SHA256]; ran != nil && one.ReportedAt > t.Axis.From { // earlier events are in the snapshot
			ran.add(&one, t.Until)
		}
	}
	return err
}

// decode reads the snapshot at the beginning of the axis.
func (t *timelinePage) decode(decoder *jsonstream.Decoder) error {
	return decoder.Object(map[string]any{"artifacts": jsonstream.Elements(decoder, func(one snapshot.Artifact) error {
		if one.Exited() {
			return nil
		}
		flows := append(one.Flows, snapshot.ArtifactFlow{}) // the zero one means no flow
		if ran := t.artifact(one.Name, one.Fingerprint, flows[0].Name); ran != nil {
			ran.Runs = []snapshots.GetSnapshotListItem{{From: t.Known, To: t.Until, State: one.Compliant}}
		}
		return nil
	})})
}

// artifact returns or adds the artifact of a fingerprint, nil if it is left out.
func (t *timelinePage) artifact(name, fingerprint, flow string) *ranArtifact {
	known := t.found[fingerprint]
	if known != nil || !evidence.ContainsFold(name, t.Name) {
		return known
	}
	if len(t.Artifacts) == maxRan {
		t.More++
		return nil
	}
	known = &ranArtifact{Name: name, Fingerprint: fingerprint, Flow: flow}
	t.found[fingerprint], t.Artifacts = known, append(t.Artifacts, known)
	return known
}

// add ends the last run at an event. Unless the artifact exited, it begins the next run, which ends at the time until
// unless a later event ends it. An event that does not change the verdict is ignored.
func (a *ranArtifact) add(event *snapshots.GetEnvironmentEventResponse, until float64) {
	next := snapshots.GetSnapshotListItem{Index: event.SnapshotIndex, From: event.ReportedAt, To: until, State: event.ArtifactCompliance}
	exited := event.Type == "exited"
	if n := len(a.Runs); n > 0 {
		last := &a.Runs[n-1]
		if last.To == until && !exited && verdictOf(last.State) == verdictOf(next.State) {
			return // something else about it has changed
		}
		last.To = min(last.To, next.From)
	}
	if !exited {
		a.Runs = append(a.Runs, next)
	}
}
