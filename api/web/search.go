package web

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"attestry/api/jsonstream"
	"attestry/api/web/request"
	"attestry/api/web/view"
)

// maxNamed is how many names of a kind a search shows.
const maxNamed = 20

var (
	// digits are what the API searches for among fingerprints and commits.
	digits = regexp.MustCompile(`^[a-fA-F0-9]{5,64}$`)
	// flowPart is what the API searches for among flows.
	flowPart = regexp.MustCompile(`^[a-zA-Z0-9\-]+$`)
)

type foundArtifact struct {
	Fingerprint string   `json:"fingerprint"`
	Name        string   `json:"name"`
	Known       bool     `json:"has_provenance"`
	Commit      string   `json:"git_commit"`
	CommitURL   string   `json:"commit_url"`
	Flow        string   `json:"flow"`
	Trail       string   `json:"trail"`
	State       string   `json:"compliance_state"`
	RunningIn   []string `json:"running_in"`
	Link        string   `json:"-"`
}

// foundName is a thing whose name has the text of the search.
type foundName struct{ Kind, Name, Description, Link string }

type searchPage struct {
	Org, Query string
	Beta       bool
	Names      []foundName
	// More are the kinds of which not all names are shown.
	More      []string
	Artifacts []foundArtifact
	Total     int
	Pager     request.Pager
	// Reason says why the API has found no artifacts, "" if it has or was not searched.
	Reason string
	// only is the one fingerprint that the digits match, "" if they match several things.
	only string
}

// Nothing reports whether nothing was found.
func (s *searchPage) Nothing() bool { return len(s.Names)+s.Total == 0 }

func (s *Site) showSearch(p *page) error {
	shown := searchPage{Org: p.Org(), Query: strings.TrimSpace(p.C.Query("q")), Beta: p.Beta()}
	if shown.Query == "" {
		return p.Render("search", "Search", &shown)
	}
	if err := shown.findNames(p); err != nil {
		return err
	}
	if digits.MatchString(shown.Query) {
		if err := shown.findArtifacts(p); err != nil {
			return err
		}
	}
	if link := shown.onlyPage(); link != "" {
		return p.C.Redirect(link, http.StatusSeeOther)
	}
	shown.Artifacts, shown.Pager = request.Cut(p.Request, shown.Artifacts)
	return p.Render("search", "Search", &shown)
}

// onlyPage is the page that all results link to, "" if they link to several or to none. A fingerprint that
// several flows have reported has a page in each.
func (s *searchPage) onlyPage() string {
	if s.only == "" || len(s.Names) > 0 || len(s.Artifacts) == 0 {
		return ""
	}
	link := s.Artifacts[0].Link
	if slices.ContainsFunc(s.Artifacts, func(one foundArtifact) bool { return one.Link != link }) {
		return ""
	}
	return link
}

// findNames looks among environments, flows and controls. The API searches for no names of trails.
func (s *searchPage) findNames(p *page) error {
	var environments struct {
		listed
		Found []environment `json:"environments"`
	}
	if err := p.Get(request.Target("/environments/%s", s.Org)+firstOf("name", s.Query), &environments); err != nil {
		return err
	}
	for _, one := range environments.Found {
		s.Names = append(s.Names, foundName{"Environment", one.Name, one.Description, view.Pages.Environment(s.Org, one.Name)})
	}
	s.noteMore("environments", environments.Total)
	if err := s.findFlows(p); err != nil {
		return err
	}
	return s.findControls(p)
}

// firstOf asks for the first entries of a list that a filter leaves.
func firstOf(filter, value string) string {
	return "?" + url.Values{"page": {"1"}, "per_page": {strconv.Itoa(maxNamed)}, filter: {value}}.Encode()
}

func (s *searchPage) findFlows(p *page) error {
	if !flowPart.MatchString(s.Query) {
		return nil
	}
	var flows struct {
		Found []struct {
			Name        string `json:"name"`
			Description string `json:"description"`
		} `json:"data"`
		Pagination request.Pagination `json:"pagination"`
	}
	if err := p.Get(request.Target("/flows/%s", s.Org)+firstOf("search_by_name", s.Query)+"&case_sensitive=false", &flows); err != nil {
		return err
	}
	for _, one := range flows.Found {
		s.Names = append(s.Names, foundName{"Flow", one.Name, one.Description, view.Pages.Flow(s.Org, one.Name)})
	}
	s.noteMore("flows", flows.Pagination.Total)
	return nil
}

// findControls finds none where the organization does not have the experimental features.
func (s *searchPage) findControls(p *page) error {
	var controls struct {
		listed
		Found []control `json:"controls"`
	}
	err := p.Get(request.Target("/controls/%s", s.Org)+firstOf("search", s.Query), &controls)
	if request.IsRefused(err, http.StatusForbidden) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, one := range controls.Found {
		s.Names = append(s.Names, foundName{"Control", one.Identifier, one.Name, view.Pages.Control(s.Org, one.Identifier)})
	}
	s.noteMore("controls", controls.Total)
	return nil
}

func (s *searchPage) noteMore(kind string, total int64) {
	if total > maxNamed {
		s.More = append(s.More, kind)
	}
}

// findArtifacts looks among fingerprints and commits. That there are none is no error.
func (s *searchPage) findArtifacts(p *page) error {
	p.APIPath = request.Target("/search/%s/sha/%s", s.Org, s.Query)
	err := p.Read(p.APIPath, s.decode)
	if refused, ok := errors.AsType[*request.Refusal](err); ok && refused.Status == http.StatusNotFound {
		s.Reason = refused.Message
		return nil
	}
	s.Total = len(s.Artifacts)
	return err
}

func (s *searchPage) decode(content io.Reader) error {
	decoder := jsonstream.NewDecoder(content)
	var resolved struct {
		Type string  `json:"type"`
		Full *string `json:"full_match"`
	}
	err := decoder.Object(map[string]any{
		"resolved_to": &resolved, "artifacts": func() error { return s.decodeArtifact(decoder) },
	})
	if resolved.Full != nil && resolved.Type == "fingerprint" {
		s.only = *resolved.Full
	}
	return err
}

func (s *searchPage) decodeArtifact(decoder *jsonstream.Decoder) error {
	var one foundArtifact
	if err := decoder.Decode(&one); err != nil {
		return err
	}
	if one.Known {
		one.Link = view.Pages.Artifact(s.Org, one.Flow, one.Fingerprint, "")
	}
	s.Artifacts = append(s.Artifacts, one)
	return nil
}
