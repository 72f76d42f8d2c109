package web

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"attestry/api/admission"
	"attestry/api/jsonstream"
	"attestry/api/resource"
	"attestry/api/snapshots"
	"attestry/api/web/chart"
	"attestry/api/web/request"
	"attestry/api/web/snapshot"
	"attestry/api/web/view"
	"attestry/evidence"
)

// historyLength is how many snapshots the history of an environment shows.
const historyLength = 30

// environmentPage shows an environment at one of its snapshots.
type environmentPage struct {
	Environment environment
	Org         string
	// Snapshot is nil before the first one.
	Snapshot       *snapshot.Snapshot
	Filter         snapshot.Filter
	Older, Newer   string // URLs of other parts of the list
	Previous, Next string // URLs of other snapshots
	History        []snapshots.GetSnapshotListItem
	// LastGreen is the last compliant snapshot in the history before the shown one, nil if there is none.
	LastGreen *snapshots.GetSnapshotListItem
	Diff      string
	// Logged is the snapshot's entry in the transparency log, nil if there is none.
	Logged  *request.Logged
	Refused refusedWorkloads
}

// refusedWorkloads are the newest admission decisions: workloads refused, admitted with a warning or by break-glass.
type refusedWorkloads struct {
	admission.AdmissionRecordPage
	Total int `json:"total_count"`
}

func (s *Site) showEnvironment(p *page) error {
	shown := environmentPage{Org: p.Org(), Filter: p.filter()}
	if moved, err := p.findEnvironment(&shown.Environment); err != nil || moved {
		return err
	}
	shown.Environment.prepare(s.Clock())
	shown.Environment.Description = view.Cut(shown.Environment.Description, maxDescription)
	if err := shown.load(p); err != nil {
		return err
	}
	return p.Render("environment", shown.Environment.Name, shown)
}

// load reads the snapshot and the history.
func (e *environmentPage) load(p *page) error {
	name, number := e.Environment.Name, p.Parameter("snapshot")
	if number == "" && e.Environment.Type == string(evidence.K8S) { // only the current state shows admissions
		if err := p.Get(request.Target("/environments/%s/%s/admissions?per_page=10", e.Org, name), &e.Refused); err != nil {
			return err
		}
	}
	p.APIPath = request.Target("/snapshots/%s/%s/%s?explain=true", e.Org, name, cmp.Or(number, "-1"))
	history := request.Target("/snapshots/%s/%s?per_page="+strconv.Itoa(historyLength), e.Org, name)
	if err := p.Get(history, &e.History); err != nil {
		return err
	}
	if len(e.History) == 0 && number == "" { // no report was processed yet
		p.APIPath = request.Target("/environments/%s/%s", e.Org, name)
		return nil
	}
	read := &snapshot.Snapshot{}
	if err := p.Read(p.APIPath, func(decoder *jsonstream.Decoder) error { return read.Decode(decoder, e.Org, &e.Filter) }); err != nil {
		return err
	}
	e.Snapshot = read
	e.link()
	fact := fmt.Sprintf("snapshot/%s:%d", name, read.Index)
	entries, err := p.Logged([]string{fact})
	e.Logged = entries[fact]
	return err
}

// link sets LastGreen and the links to other pages.
func (e *environmentPage) link() {
	at := func(number int64) string { return view.Pages.Snapshot(e.Org, e.Environment.Name, number) }
	here := e.Snapshot
	if here.Index > 1 {
		e.Previous = at(here.Index - 1)
		e.Diff = view.Pages.Environment(e.Org, e.Environment.Name) + fmt.Sprintf("/diff?from=%d&to=%d", here.Index-1, here.Index)
	}
	if !here.Latest {
		e.Next = at(here.Index + 1)
	}
	if end := e.Filter.From + view.RowsPerPage; end < here.Selected {
		e.Older = at(here.Index) + e.Filter.Query(end)
	}
	if e.Filter.From > 0 {
		e.Newer = at(here.Index) + e.Filter.Query(max(0, min(e.Filter.From, here.Selected)-view.RowsPerPage))
	}
	for i := range e.History {
		if one := &e.History[i]; one.Index < here.Index && verdictOf(one.State) == chart.Compliant {
			e.LastGreen = one
			break
		}
	}
}

// filter returns the filter of the query. It ignores values that are not valid.
func (p *page) filter() snapshot.Filter {
	from, err := strconv.ParseUint(p.C.Query("from"), 10, 31)
	if err != nil {
		from = 0
	}
	state := p.C.Query("state")
	if _, known := snapshot.States[state]; !known {
		state = ""
	}
	return snapshot.Filter{State: state, Name: p.C.Query("name"), Flow: p.C.Query("flow"), From: int(from)}
}

type eventsPage struct {
	Org         string
	Environment environment
	Events      []snapshots.GetEnvironmentEventResponse
	Pager       request.Pager
}

func (s *Site) showEvents(p *page) error {
	shown := eventsPage{Org: p.Org()}
	if moved, err := p.findEnvironment(&shown.Environment); err != nil || moved {
		return err
	}
	number := p.Number("page")
	p.APIPath = request.Target("/environments/%s/%s/events", shown.Org, shown.Environment.Name) +
		"?per_page=" + strconv.Itoa(view.RowsPerPage) + "&page=" + strconv.Itoa(number)
	last, err := p.List(p.APIPath, &shown.Events)
	if err != nil {
		return err
	}
	shown.Pager = p.Pager("page", number, last)
	return p.Render("events", "Events of "+shown.Environment.Name, shown)
}

const (
	// sparklineSpan is the time that a sparkline covers, and sparklineInterval the same as a query parameter.
	sparklineSpan     = 30 * 24 * time.Hour
	sparklineInterval = "@{30.days.ago}..NOW"
	// maxSparkline is how many snapshots a sparkline shows, the newest. The API reads 100 at a time.
	maxSparkline = 1000
)

func (s *Site) showSparkline(p *page) error {
	name, now := p.Parameter("environment"), evidence.Seconds(s.Clock())
	var history []snapshots.GetSnapshotListItem
	err := p.Get(request.Target("/snapshots/%s/%s", p.Org(), name)+
		"?per_page="+strconv.Itoa(maxSparkline)+"&interval="+url.QueryEscape(sparklineInterval), &history)
	if err != nil {
		return err
	}
	spans := resource.Map(history, func(one *snapshots.GetSnapshotListItem) chart.Span {
		return chart.Span{From: one.From, To: cmp.Or(one.To, now), Verdict: verdictOf(one.State)}
	})
	p.C.Set(fiber.HeaderContentType, "image/svg+xml")
	p.C.Set(fiber.HeaderCacheControl, "private, max-age=60")
	return p.C.Send(chart.Sparkline(chart.Words(name, spans, maxSparkline), now-sparklineSpan.Seconds(), now, spans))
}

func verdictOf(state *bool) chart.Verdict {
	return evidence.Judged(state, chart.NotJudged, chart.Compliant, chart.NotCompliant)
}
