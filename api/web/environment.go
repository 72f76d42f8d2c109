package web

import (
	"fmt"
	"io"
	"strconv"

	"attestry/api/web/snapshot"
	"attestry/api/web/view"
)

const (
	// rowsPerPage is how many entries of a list a page has.
	rowsPerPage = snapshot.RowsPerPage
	// historyLength is how many snapshots the history of an environment shows.
	historyLength = 30
)

// environmentPage shows an environment at one of its snapshots.
type environmentPage struct {
	Environment environment
	Org         string
	// Snapshot is nil before the first one.
	Snapshot       *snapshot.Snapshot
	Filter         snapshot.Filter
	Older, Newer   string // addresses of other parts of the list
	Previous, Next string // addresses of other snapshots
	History        []historyEntry
	Diff           string
}

// historyEntry is a snapshot in the history.
type historyEntry struct {
	Index int64   `json:"index"`
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	State *bool   `json:"state"` // nil if nothing was judged
	Link  string  `json:"-"`
	Shown bool    `json:"-"`
}

func (s *Site) showEnvironment(p *page) error {
	org, name := p.org(), p.parameter("environment")
	shown := environmentPage{Org: org, Filter: p.filter()}
	if err := p.get(target("/environments/%s/%s", org, name), &shown.Environment); err != nil {
		return err
	}
	if shown.Environment.Name != name { // it was renamed
		return p.redirect(shown.Environment.Name)
	}
	shown.Environment.prepare(org, s.Clock())
	shown.Environment.Description = view.Cut(shown.Environment.Description, maxDescription)
	if err := shown.load(p); err != nil {
		return err
	}
	return p.render("environment", name, shown)
}

// load reads the snapshot and the history.
func (e *environmentPage) load(p *page) error {
	name, number := e.Environment.Name, p.parameter("snapshot")
	p.apiPath = target("/snapshots/%s/%s/%s?explain=true", e.Org, name, orLatest(number))
	history := target("/snapshots/%s/%s?per_page="+strconv.Itoa(historyLength), e.Org, name)
	if err := p.get(history, &e.History); err != nil {
		return err
	}
	if len(e.History) == 0 && number == "" {
		return nil // nothing was reported yet
	}
	read := &snapshot.Snapshot{}
	if err := p.read(p.apiPath, func(content io.Reader) error { return read.Decode(content, e.Org, &e.Filter) }); err != nil {
		return err
	}
	e.Snapshot = read
	e.link()
	return nil
}

func orLatest(number string) string {
	if number == "" {
		return "-1"
	}
	return number
}

// link sets the addresses of what is beside the page.
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
	if end := e.Filter.From + rowsPerPage; end < here.Selected {
		e.Older = at(here.Index) + e.Filter.Query(end)
	}
	if e.Filter.From > 0 {
		e.Newer = at(here.Index) + e.Filter.Query(max(0, min(e.Filter.From, here.Selected)-rowsPerPage))
	}
	for i := range e.History {
		one := &e.History[i]
		one.Link, one.Shown = at(one.Index), one.Index == here.Index
	}
}

// filter is what artifacts the query selects. What it cannot select by does not count.
func (p *page) filter() snapshot.Filter {
	from, err := strconv.ParseUint(p.c.Query("from"), 10, 31)
	if err != nil {
		from = 0
	}
	state := p.c.Query("state")
	if _, known := snapshot.States[state]; !known {
		state = ""
	}
	return snapshot.Filter{State: state, Name: p.c.Query("name"), Flow: p.c.Query("flow"), From: int(from)}
}
