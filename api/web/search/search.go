// Package search is the text search over all kinds of things of an organization.
package search

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"attestry/api/jsonstream"
	"attestry/api/pipelines"
	"attestry/api/web/request"
	"attestry/api/web/view"
	"attestry/evidence"
)

const (
	// maxThings is how many things of a kind a search shows.
	maxThings = 20
	// maxPages is how many pages of a list a query reads at most. It ends earlier with more than maxThings.
	maxPages = 10
	// maxContext is how much text is shown before and after a match, in bytes.
	maxContext = 60
)

var (
	// digits are the texts that the API accepts to search for fingerprints and commits.
	digits = regexp.MustCompile(`^[a-fA-F0-9]{5,64}$`)
	// tag are the texts that the API accepts to search for tags: a key, or a key and its value.
	tag = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9\-_.~]*(:.+)?$`)
	// flowPart and attestationPart are the texts that names of flows and attestations can have.
	flowPart        = regexp.MustCompile(`^[a-zA-Z0-9\-_.~]+$`)
	attestationPart = regexp.MustCompile(`^[a-zA-Z0-9\-_,.~]{1,200}$`)
	// flowWord are the parts of a text that the API accepts to search for flows.
	flowWord = regexp.MustCompile(`[a-zA-Z0-9\-]+`)
)

// searchedKind is one query of a search, for things of one kind.
type searchedKind struct {
	Name, Title string
	// list is the operation that lists them, in pages of perPage, or whole if that is 0.
	list    string
	perPage int
	// filter is the operation's parameter for the text. Without it, the text is searched for in the first page.
	filter string
	// accepted are the texts that the filter accepts; nil for all.
	accepted *regexp.Regexp
	// state and at are the members with the state and the time of a thing, "" for none.
	state, at string
	// page returns the URL of a thing's page; nil if the API's answer has it.
	page func(org, name string) string
}

// searchedKinds are the queries of a search. Some kinds have several, as one filter does not search all members. The
// queries for trails and artifacts without a filter search the newest.
var searchedKinds = []searchedKind{
	{"environment", "Environments", "/environments/%s", 50, "name", nil, "state", "last_changed_at", view.Pages.Environment},
	{"environment", "Environments", "/environments/%s", 50, "tag", tag, "state", "last_changed_at", view.Pages.Environment},
	{"flow", "Flows", "/flows/%s", 100, "search_by_name", flowPart, "latest_state", "latest_activity_at", view.Pages.Flow},
	{"flow", "Flows", "/flows/%s", 100, "tag", tag, "latest_state", "latest_activity_at", view.Pages.Flow},
	{"control", "Controls", "/controls/%s", 100, "search", nil, "", "created_at", view.Pages.Control},
	{"control", "Controls", "/controls/%s", 100, "tag", tag, "", "created_at", view.Pages.Control},
	{"policy", "Policies", "/policies/%s", 0, "", nil, "", "last_modified_at", view.Pages.Policy},
	{"trail", "Trails", "/trails/%s", 100, "search", nil, "compliance_state", "last_modified_at", nil},
	{"trail", "Trails", "/trails/%s", 100, "", nil, "compliance_state", "last_modified_at", nil},
	{"artifact", "Artifacts", "/artifacts/%s", 100, "search", nil, "state", "created_at", nil},
	{"artifact", "Artifacts", "/artifacts/%s", 100, "", nil, "state", "created_at", nil},
	{"attestation", "Attestations", "/attestations/%s", 100, "name_regex", attestationPart, "is_compliant", "created_at", nil},
}

// searchedMembers are the members in which the text is searched for, with a name for people. A thing's name is the
// first of them that it has.
var searchedMembers = []struct{ outer, inner, word string }{
	{"identifier", "", "identifier"}, {"name", "", "name"}, {"attestation_name", "", "name"}, {"filename", "", "name"},
	{"description", "", "description"}, {"git_commit_info", "sha1", "commit"}, {"git_commit_info", "author", "author"},
	{"git_commit_info", "message", "commit message"}, {"git_commit_info", "branch", "branch"}, {"created_by", "", "created by"},
}

// verdictWords are the names of the states by which a search can be filtered.
var verdictWords = map[string]string{
	"true": "compliant", "COMPLIANT": "compliant", "false": "not compliant", "NON-COMPLIANT": "not compliant",
}

// foundThing is a result of a search: Match is in the member named Word, between Before and After.
type foundThing struct {
	Name, Link, Flow, Trail    string
	State                      any
	At                         float64
	Word, Before, Match, After string
}

// match sets the match to the first one in text, unless it is already set.
func (t *foundThing) match(searched *regexp.Regexp, word, text string) {
	at := searched.FindStringIndex(text)
	if at == nil || t.Word != "" {
		return
	}
	t.Word, t.Before, t.Match, t.After = word, text[:at[0]], text[at[0]:at[1]], view.Cut(text[at[1]:], maxContext)
	if cut := len(t.Before) - maxContext; cut > 0 {
		t.Before = "…" + strings.ToValidUTF8(t.Before[cut:], "")
	}
}

// foundKind are the results of a kind.
type foundKind struct {
	searchedKind
	Things []foundThing
	// More is set if there are more things, or if the query did not read all pages.
	More bool
}

type foundArtifact struct {
	pipelines.SearchFoundArtifactModel
	// Word is the kind of the digits that match: fingerprint or commit.
	Word string `json:"-"`
	Link string `json:"-"`
}

type searchPage struct {
	Org, Query, Kind, State, Since, Until string
	Kinds                                 []searchedKind
	Beta                                  bool // there are controls
	Found                                 []foundKind
	Artifacts                             []foundArtifact // found by their digits
	Total                                 int
	Pager                                 request.Pager
	// Fault is why nothing was searched, "" if nothing is wrong.
	Fault string
	// Reason is the API's reason for finding no artifacts, "" if it found some or was not searched.
	Reason string
	// only is the only fingerprint that the digits match, "" if there are several matches.
	only string
	// text matches the text of the search, ignoring case.
	text *regexp.Regexp
}

// Verdicts are the states that a search can be filtered by.
func (*searchPage) Verdicts() []string { return []string{verdictWords["true"], verdictWords["false"]} }

// Nothing reports whether nothing was found.
func (s *searchPage) Nothing() bool { return len(s.Found)+s.Total == 0 }

// Show shows the results of a search, or redirects to the page that onlyPage returns.
func Show(p *request.Request) error {
	query := func(name string) string { return strings.TrimSpace(strings.ToValidUTF8(p.C.Query(name), "")) }
	shown := searchPage{
		Org: p.Org(), Beta: p.Beta(), Query: query("q"), Kind: query("kind"), State: query("state"), Since: query("since"), Until: query("until"),
	}
	kinds := slices.DeleteFunc(slices.Clone(searchedKinds), func(kind searchedKind) bool { return kind.Name == "control" && !shown.Beta })
	shown.Kinds = slices.CompactFunc(slices.Clone(kinds), func(a, b searchedKind) bool { return a.Name == b.Name })
	if !isDay(shown.Since) || !isDay(shown.Until) {
		shown.Fault = "A day is written as in 2026-11-28."
	}
	if shown.Query == "" || shown.Fault != "" {
		return p.Render("search", "Search", &shown)
	}
	shown.text = regexp.MustCompile("(?i)" + regexp.QuoteMeta(shown.Query))
	for _, kind := range kinds {
		if shown.Kind == "" || shown.Kind == kind.Name {
			if err := shown.find(p, kind); err != nil {
				return err
			}
		}
	}
	if digits.MatchString(shown.Query) && (shown.Kind == "" || shown.Kind == "artifact") {
		if err := shown.findArtifacts(p); err != nil {
			return err
		}
	}
	if link := shown.onlyPage(); link != "" {
		return p.C.Redirect(link, http.StatusSeeOther)
	}
	shown.Artifacts, shown.Pager = request.Cut(p, shown.Artifacts)
	return p.Render("search", "Search", &shown)
}

// onlyPage is the page that all results of a search for one fingerprint link to, "" if there are several or none. A
// fingerprint that several flows have reported has a page in each.
func (s *searchPage) onlyPage() string {
	if s.only == "" || len(s.Found) > 0 || len(s.Artifacts) == 0 {
		return ""
	}
	link := s.Artifacts[0].Link
	if slices.ContainsFunc(s.Artifacts, func(one foundArtifact) bool { return one.Link != link }) {
		return ""
	}
	return link
}

// isDay reports whether a day is empty or as browsers send it.
func isDay(day string) bool {
	_, err := time.Parse(time.DateOnly, day)
	return day == "" || err == nil
}

// passes reports whether the filters accept a state and a time.
func (s *searchPage) passes(state any, at float64) bool {
	day := evidence.Time(at).Format(time.DateOnly)
	return (s.State == "" || s.State == verdictWords[fmt.Sprint(state)]) &&
		(s.Since == "" || day >= s.Since) && (s.Until == "" || at > 0 && day <= s.Until)
}

// find sends one query of the search and adds its results.
func (s *searchPage) find(p *request.Request, kind searchedKind) error {
	if kind.accepted != nil && !kind.accepted.MatchString(s.Query) {
		return nil
	}
	query := url.Values{}
	switch kind.filter {
	case "":
	case "search_by_name": // add looks for the rest of the text
		if words := flowWord.FindAllString(s.Query, -1); len(words) > 0 {
			query.Set(kind.filter, slices.MaxFunc(words, func(a, b string) int { return len(a) - len(b) }))
			query.Set("case_sensitive", "false")
		}
	case "name_regex":
		query.Set(kind.filter, s.text.String())
		if s.State != "" {
			query.Set("is_compliant", strconv.FormatBool(s.State == verdictWords["true"]))
		}
		if until, err := time.Parse(time.DateOnly, s.Until); err == nil {
			query.Set("to_timestamp", strconv.FormatInt(until.AddDate(0, 0, 1).Unix(), 10))
		}
	default:
		query.Set(kind.filter, s.Query)
	}
	found := foundKind{searchedKind: kind}
	for number := 1; ; number++ {
		if kind.perPage > 0 {
			query.Set("page", strconv.Itoa(number))
			query.Set("per_page", strconv.Itoa(kind.perPage))
		}
		rows, err := s.read(p, request.Target(kind.list, s.Org)+"?"+query.Encode(), &found)
		if kind.Name == "control" && request.IsRefused(err, http.StatusForbidden) { // controls were disabled meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		ended := kind.filter == "" || rows < kind.perPage
		found.More = found.More || !ended && number == maxPages
		if ended || found.More {
			break
		}
	}
	s.merge(found)
	return nil
}

// read adds the results in a page of a list, and returns how many things are in it.
func (s *searchPage) read(p *request.Request, target string, found *foundKind) (rows int, err error) {
	err = p.Read(target, func(decoder *jsonstream.Decoder) error {
		add := func() error {
			rows++
			return s.add(decoder, found)
		}
		if decoder.Begins('[') {
			return decoder.EachElement(add)
		}
		return decoder.Object(map[string]any{"data": add, "environments": add, "controls": add})
	})
	return rows, err
}

// merge adds the results of a query to those of the previous query for the same kind, without duplicates.
func (s *searchPage) merge(found foundKind) {
	last := len(s.Found) - 1
	if last < 0 || s.Found[last].Name != found.Name {
		if len(found.Things) > 0 || found.More {
			s.Found = append(s.Found, found)
		}
		return
	}
	before := &s.Found[last]
	for _, thing := range found.Things {
		if !slices.ContainsFunc(before.Things, func(other foundThing) bool { return other.Link == thing.Link && other.Name == thing.Name }) {
			before.Things = append(before.Things, thing)
		}
	}
	before.More = before.More || found.More || len(before.Things) > maxThings
	before.Things = before.Things[:min(len(before.Things), maxThings)]
}

// add decodes an element of a list, and adds it if it matches the text and the filters.
func (s *searchPage) add(decoder *jsonstream.Decoder, to *foundKind) error {
	members := map[string]any{to.state: new(any), to.at: new(any)}
	for _, name := range []string{"flow", "flow_name", "trail_name", "html_url", "tags"} {
		members[name] = new(any)
	}
	for _, member := range searchedMembers {
		members[member.outer] = new(any)
	}
	if err := decoder.Object(members); err != nil {
		return err
	}
	value := func(outer, inner string) any {
		decoded, _ := members[outer].(*any)
		if nested, ok := (*decoded).(map[string]any); ok && inner != "" {
			return nested[inner]
		}
		return *decoded
	}
	text := func(outer, inner string) string { found, _ := value(outer, inner).(string); return found }
	flow := cmp.Or(text("flow", "name"), text("flow_name", ""))
	thing := foundThing{Flow: flow, Trail: text("trail_name", ""), State: value(to.state, "")}
	thing.At, _ = value(to.at, "").(float64)
	for _, member := range searchedMembers {
		found := text(member.outer, member.inner)
		thing.Name = cmp.Or(thing.Name, found)
		thing.match(s.text, member.word, found)
	}
	tags, _ := value("tags", "").(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		thing.match(s.text, "tag", fmt.Sprint(key, ":", tags[key]))
	}
	if thing.Word == "" || !s.passes(thing.State, thing.At) {
		return nil
	}
	if to.page != nil {
		thing.Link = to.page(s.Org, thing.Name)
	} else if address, err := url.Parse(text("html_url", "")); err == nil {
		thing.Link = address.RequestURI()
	}
	if to.More = len(to.Things) == maxThings; !to.More {
		to.Things = append(to.Things, thing)
	}
	return nil
}

// findArtifacts searches fingerprints and commits. If none match, it sets Reason.
func (s *searchPage) findArtifacts(p *request.Request) error {
	p.APIPath = request.Target("/search/%s/sha/%s", s.Org, s.Query)
	err := p.Read(p.APIPath, s.decode)
	if refused, ok := errors.AsType[*request.Refusal](err); ok && refused.Status == http.StatusNotFound {
		s.Reason = refused.Message
		return nil
	}
	s.Total = len(s.Artifacts)
	return err
}

func (s *searchPage) decode(decoder *jsonstream.Decoder) error {
	var resolved struct {
		Type string  `json:"type"`
		Full *string `json:"full_match"`
	}
	err := decoder.Object(map[string]any{"resolved_to": &resolved, "artifacts": jsonstream.Elements(decoder, s.addArtifact)})
	if resolved.Full != nil && resolved.Type == "fingerprint" {
		s.only = *resolved.Full
	}
	return err
}

func (s *searchPage) addArtifact(one foundArtifact) error {
	at := 0.0
	for _, event := range one.History {
		at = max(at, event.Timestamp)
	}
	if !s.passes(one.ComplianceState, at) {
		return nil
	}
	if one.Word = "commit"; strings.HasPrefix(one.Fingerprint, strings.ToLower(s.Query)) {
		one.Word = "fingerprint"
	}
	if one.HasProvenance {
		one.Link = view.Pages.Artifact(s.Org, one.Flow, one.Fingerprint, "")
	}
	s.Artifacts = append(s.Artifacts, one)
	return nil
}
