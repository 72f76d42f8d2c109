package web

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"attestry/api/web/view"
)

const (
	// rowsPerPage is how many artifacts of a snapshot a page lists.
	rowsPerPage = 50
	// maxFailing is how many failing artifacts are explained before the list of all.
	maxFailing = 20
	// historyLength is how many snapshots the history of an environment shows.
	historyLength = 30
)

// sentence explains a verdict.
type sentence struct {
	Cause   string            `json:"cause"`
	Failing bool              `json:"failing"`
	Text    string            `json:"text"`
	Remedy  *string           `json:"remedy"`
	Links   map[string]string `json:"links"`
}

// running is an artifact of a snapshot.
type running struct {
	Name        string     `json:"name"`
	Fingerprint string     `json:"fingerprint"`
	Compliant   *bool      `json:"compliant"`
	Explanation []sentence `json:"explanation"`
	Created     []int64    `json:"creationTimestamp"`
	Commit      *string    `json:"git_commit"`
	CommitURL   *string    `json:"commit_url"`
	Annotation  struct {
		Type string `json:"type"`
		Now  int    `json:"now"`
		Was  int    `json:"was"`
	} `json:"annotation"`
	Flows []struct {
		Name  string `json:"flow_name"`
		Trail string `json:"trail_name"`
		URL   string `json:"html_url"`
	} `json:"flows"`
	Link string `json:"-"`
}

// Exited tells that the artifact runs no more.
func (r *running) Exited() bool { return r.Annotation.Type == "exited" }

// Failing tells that the artifact may not run.
func (r *running) Failing() bool { return !r.Exited() && r.Compliant != nil && !*r.Compliant }

// change says in words what has happened to the artifact since the snapshot before.
func (r *running) Change() string {
	if r.Annotation.Type == "unchanged" {
		return ""
	}
	return strings.ReplaceAll(r.Annotation.Type, "-", " ")
}

// shownStates are the states that a filter takes, with what people call them.
var shownStates = map[string]string{
	"": "all", "failing": "not compliant", "compliant": "compliant", "unknown": "not judged", "changed": "changed in this snapshot",
}

// filter selects artifacts of a snapshot.
type filter struct {
	State, Name, Flow string
	From              int // how many selected ones are skipped
}

func (p *page) filter() filter {
	from, _ := strconv.Atoi(p.c.Query("from"))
	return filter{State: p.c.Query("state"), Name: p.c.Query("name"), Flow: p.c.Query("flow"), From: max(0, from)}
}

// takes tells whether an artifact is selected.
func (f *filter) takes(r *running) bool {
	switch f.State {
	case "failing":
		if !r.Failing() {
			return false
		}
	case "compliant":
		if r.Exited() || r.Compliant == nil || !*r.Compliant {
			return false
		}
	case "unknown":
		if r.Exited() || r.Compliant != nil {
			return false
		}
	case "changed":
		if r.Annotation.Type == "unchanged" {
			return false
		}
	}
	if f.Name != "" && !strings.Contains(strings.ToLower(r.Name), strings.ToLower(f.Name)) && !strings.HasPrefix(r.Fingerprint, f.Name) {
		return false
	}
	if f.Flow == "" {
		return true
	}
	for _, flow := range r.Flows {
		if flow.Name == f.Flow {
			return true
		}
	}
	return false
}

// query is the filter as a query, from another artifact on.
func (f filter) query(from int) string {
	values := url.Values{}
	for name, value := range map[string]string{"state": f.State, "name": f.Name, "flow": f.Flow} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if from > 0 {
		values.Set("from", strconv.Itoa(from))
	}
	return "?" + values.Encode()
}

// snapshot is what pages show of a snapshot.
type snapshot struct {
	Index     int64    `json:"index"`
	Latest    bool     `json:"is_latest"`
	Timestamp float64  `json:"timestamp"`
	Next      *float64 `json:"next_snapshot_timestamp"`
	Counts    counts   `json:"artifact_compliance_count"`
	Policies  []struct {
		Name    string `json:"name"`
		Version int    `json:"version"`
	} `json:"applied_policies"`
	// Failing are artifacts that may not run, the first ones. Artifacts are those that the filter
	// selects, a page of them; Selected is how many there are.
	Failing   []running `json:"-"`
	Artifacts []running `json:"-"`
	Selected  int       `json:"-"`
}

// environmentPage shows an environment at one of its snapshots.
type environmentPage struct {
	Environment environment
	Org         string
	// Snapshot is nil before the first one.
	Snapshot       *snapshot
	Filter         filter
	Older, Newer   string // addresses of other parts of the list
	Previous, Next string // addresses of other snapshots
	History        []historyEntry
	Diff           string
}

// historyEntry is a snapshot in the history.
type historyEntry struct {
	Index     int64   `json:"index"`
	From      float64 `json:"from"`
	To        float64 `json:"to"`
	Compliant bool    `json:"compliant"`
	Link      string  `json:"-"`
	Shown     bool    `json:"-"`
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
	read := &snapshot{}
	if err := p.read(p.apiPath, func(content io.Reader) error { return read.decode(content, e.Org, &e.Filter) }); err != nil {
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
		e.Older = at(here.Index) + e.Filter.query(end)
	}
	if e.Filter.From > 0 {
		e.Newer = at(here.Index) + e.Filter.query(max(0, e.Filter.From-rowsPerPage))
	}
	for i := range e.History {
		one := &e.History[i]
		one.Link, one.Shown = at(one.Index), one.Index == here.Index
	}
}

// decode reads a snapshot, however large it is, and keeps no more of it than a page shows.
func (s *snapshot) decode(content io.Reader, org string, selected *filter) error {
	decoder := json.NewDecoder(content)
	head := map[string]json.RawMessage{}
	if _, err := decoder.Token(); err != nil {
		return err
	}
	for decoder.More() {
		member, err := decoder.Token()
		if err != nil {
			return err
		}
		if member == "artifacts" {
			err = s.decodeArtifacts(decoder, org, selected)
		} else {
			var value json.RawMessage
			err = decoder.Decode(&value)
			head[fmt.Sprint(member)] = value
		}
		if err != nil {
			return err
		}
	}
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, s)
}

func (s *snapshot) decodeArtifacts(decoder *json.Decoder, org string, selected *filter) error {
	if _, err := decoder.Token(); err != nil {
		return err
	}
	for decoder.More() {
		var one running
		if err := decoder.Decode(&one); err != nil {
			return err
		}
		if len(one.Flows) > 0 {
			one.Link = view.Pages.Artifact(org, one.Flows[0].Name, one.Fingerprint, "")
		}
		if one.Failing() && len(s.Failing) < maxFailing {
			s.Failing = append(s.Failing, one)
		}
		if !selected.takes(&one) {
			continue
		}
		if s.Selected++; s.Selected > selected.From && len(s.Artifacts) < rowsPerPage {
			s.Artifacts = append(s.Artifacts, one)
		}
	}
	_, err := decoder.Token()
	return err
}
