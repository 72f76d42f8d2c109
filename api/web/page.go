package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"attestry/api/jsonstream"
	"attestry/api/server"
	"attestry/api/web/session"
	"attestry/api/web/view"
	"attestry/evidence"
	"attestry/links"
)

// policy is what browsers may do on a page: nothing that the service itself does not send.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// page is a page that is being made.
type page struct {
	*Site
	c      *fiber.Ctx
	viewer evidence.Principal
	// apiPath is the operation that answers the same as the page, below /api/v2; "" for none.
	apiPath string
}

// org is the name of the organization in the path, "" for none.
func (p *page) org() string { return p.parameter("org") }

// shownOrg is the organization whose navigation the page shows, "" for people who are not signed in.
func (p *page) shownOrg() string {
	if p.viewer.Name == "" {
		return ""
	}
	return p.org()
}

// beta reports whether the organization has the beta features. It is false for people who do not see the organization.
func (p *page) beta() bool {
	if p.shownOrg() == "" {
		return false
	}
	access, err := p.Identities.Access(p.c.UserContext(), p.viewer, p.org())
	return err == nil && access.Beta
}

// section is the part of the navigation that the page belongs to.
func (p *page) section() string {
	_, section, _ := strings.Cut(strings.TrimPrefix(p.c.Path(), "/"), "/")
	section, _, _ = strings.Cut(section, "/")
	return section
}

// apiAddress is where the API answers the same as the page, "" if it does not.
func (p *page) apiAddress() string {
	if p.apiPath == "" {
		return ""
	}
	return links.Prefix + p.apiPath
}

// parameter is a parameter of the path. One that cannot be unescaped names nothing that exists.
func (p *page) parameter(name string) string {
	sent := p.c.Params(name)
	if plain, err := url.PathUnescape(sent); err == nil {
		return plain
	}
	return sent
}

// namedSegment is the part of a page's path that names its flow or environment: /org/flows/name.
const namedSegment = 3

// redirect redirects to the page of a flow or an environment under its current name.
func (p *page) redirect(name string) error {
	segments := strings.Split(p.c.Path(), "/")
	segments[namedSegment] = url.PathEscape(name)
	address := strings.Join(segments, "/")
	if query := p.c.Request().URI().QueryString(); len(query) > 0 {
		address += "?" + string(query)
	}
	return p.c.Redirect(address, http.StatusFound)
}

// show has a handler make a page, and shows what went wrong with it.
func (s *Site) show(serve func(*page) error) fiber.Handler {
	return func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderContentSecurityPolicy, policy)
		c.Set(fiber.HeaderReferrerPolicy, "same-origin")
		p := &page{Site: s, c: c}
		err := server.QueryError(c.UserContext())
		if err == nil {
			err = serve(p)
		}
		if err != nil {
			return p.fail(err)
		}
		return nil
	}
}

// signedIn is show for pages that only people see who are signed in. Others sign in first. Where no
// organization can be, other addresses of the service begin so.
func (s *Site) signedIn(serve func(*page) error) fiber.Handler {
	shown := s.show(func(p *page) error {
		var err error
		if p.viewer, err = s.sessions.Principal(p.c); err != nil {
			return err
		}
		return serve(p)
	})
	return func(c *fiber.Ctx) error {
		if org := c.Params("org"); org != "" && evidence.CheckOrganizationName(org) != nil {
			return c.Next()
		}
		return shown(c)
	}
}

// apiError is an answer of the API that is not what a page needs.
type apiError struct {
	status  int
	Message string `json:"message"`
	// Errors say by parameter what is wrong with a request.
	Errors map[string]string `json:"errors"`
	// retryAfter is when the request may be repeated, as the head of the answer says; "" if it does not.
	retryAfter string
}

func (e *apiError) Error() string {
	if len(e.Errors) == 0 {
		return e.Message
	}
	wrong := slices.Sorted(maps.Values(e.Errors))
	return e.Message + ": " + strings.Join(wrong, "; ")
}

// details say where a form is wrong, and how.
func (e *apiError) details() []string {
	var details []string
	for _, place := range slices.Sorted(maps.Keys(e.Errors)) {
		details = append(details, place+": "+e.Errors[place])
	}
	return details
}

// target is an address of the API: a format with names that are escaped.
func target(format string, names ...string) string {
	escaped := make([]any, 0, len(names))
	for _, name := range names {
		escaped = append(escaped, url.PathEscape(name))
	}
	return fmt.Sprintf(format, escaped...)
}

// get has the API answer a read operation, and decodes the answer. What the API refuses is an apiError.
func (p *page) get(target string, into any) error {
	return p.ask(server.PageQuery{Method: http.MethodGet, Target: target}, p.decode(into))
}

// read has the API answer a read operation, and hands its answer to take, for answers that are too large to be held.
func (p *page) read(target string, take func(io.Reader) error) error {
	return p.ask(server.PageQuery{Method: http.MethodGet, Target: target}, func(answer *server.PageAnswer) error {
		return take(answer.Body())
	})
}

// post has the API answer an operation that takes no body, and decodes the answer. Another site can make a browser open
// the page, so the operation must be harmless.
func (p *page) post(target string, into any) error {
	return p.ask(server.PageQuery{Method: http.MethodPost, Target: target}, p.decode(into))
}

// decode decodes an answer, which counts towards the memory that the page takes up.
func (p *page) decode(into any) func(*server.PageAnswer) error {
	return func(answer *server.PageAnswer) error {
		text, err := server.RequestOf(p.c.UserContext()).Memory.ReadAll(answer.Body(), math.MaxInt)
		if err != nil {
			return err
		}
		return json.Unmarshal(text, into)
	}
}

// getIfThere is get for what need not exist: it reports whether it does.
func (p *page) getIfThere(target string, into any) (bool, error) {
	err := p.get(target, into)
	if isRefused(err, http.StatusNotFound) {
		return false, nil
	}
	return err == nil, err
}

// isRefused reports whether the API has refused a request with a status.
func isRefused(err error, status int) bool {
	refused, ok := errors.AsType[*apiError](err)
	return ok && refused.status == status
}

// passOn has the page answer with the status and the head of a refusal of the API, which it returns. For other errors
// ok is false.
func (p *page) passOn(err error) (refused *apiError, ok bool) {
	if refused, ok = errors.AsType[*apiError](err); ok {
		p.c.Status(refused.status)
		if refused.retryAfter != "" {
			p.c.Set(fiber.HeaderRetryAfter, refused.retryAfter)
		}
	}
	return refused, ok
}

// list is get for an answer that has the number of pages in its head, which it returns.
func (p *page) list(target string, into any) (last int, err error) {
	err = p.ask(server.PageQuery{Method: http.MethodGet, Target: target}, func(answer *server.PageAnswer) error {
		if last, err = strconv.Atoi(answer.Header("X-Total-Pages")); err != nil {
			return err
		}
		return p.decode(into)(answer)
	})
	return last, err
}

// ask has the API answer an operation on behalf of the viewer, and hands its answer to take. What the
// API refuses is an apiError.
func (p *page) ask(query server.PageQuery, take func(*server.PageAnswer) error) (err error) {
	query.Principal = p.viewer
	answer := p.api.Ask(p.c, query)
	defer func() { err = errors.Join(err, answer.CloseBodyStream()) }()
	if answer.StatusCode() == http.StatusOK {
		if err := take(answer); err != nil {
			return fmt.Errorf("read the answer of %s %s: %w", query.Method, query.Target, err)
		}
		return nil
	}
	refused := &apiError{status: answer.StatusCode(), retryAfter: answer.Header(fiber.HeaderRetryAfter)}
	if err := jsonstream.NewDecoder(answer.Body()).Decode(refused); err != nil {
		return fmt.Errorf("read the error of %s: %w", query.Target, err)
	}
	return refused
}

// fail shows what went wrong, or has people sign in.
func (p *page) fail(err error) error {
	if errors.Is(err, session.ErrSignedOut) {
		return p.c.Redirect("/signin?next="+url.QueryEscape(p.c.OriginalURL()), http.StatusSeeOther)
	}
	if refused, ok := p.passOn(err); ok {
		return p.showError(refused.status, refused.Error())
	}
	status, sentence, head := p.api.Explain(p.c.UserContext(), err)
	for name := range head {
		p.c.Set(name, head.Get(name))
	}
	return p.showError(status, sentence)
}

// errorPage says what went wrong.
type errorPage struct {
	Title, Reason, Org string
	// Unknown is set for status 404. The page then has a search.
	Unknown bool
}

func (p *page) showError(status int, message string) error {
	p.c.Status(status)
	return p.render("error", "Error", errorPage{Title: http.StatusText(status), Reason: message, Org: p.shownOrg(), Unknown: status == http.StatusNotFound})
}

// render sends a page. Nothing is sent unless all of it can be made.
func (p *page) render(name, title string, data any) error {
	content, err := p.templates.Render(name, view.Layout{
		Title: title, Viewer: p.viewer.Name, Org: p.shownOrg(), Beta: p.beta(), Section: p.section(), API: p.apiAddress(), Data: data,
	})
	if err != nil {
		return err
	}
	p.c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	return p.c.Send(content)
}

// pagination is how a list of the API is divided into pages.
type pagination struct {
	Total int64 `json:"total"`
	Page  int   `json:"page"`
	Pages int   `json:"page_count"`
}

// paged is the query for a page of a list in the API.
func (p *page) paged() url.Values {
	return url.Values{"page": {strconv.Itoa(p.number("page"))}, "per_page": {strconv.Itoa(rowsPerPage)}}
}

// pager links to other pages of a list.
type pager struct {
	// Label names the list for screen readers.
	Label          string
	Number, Last   int
	Previous, Next string // addresses, "" for none
}

// number is the number of the page that the query asks for, from 1.
func (p *page) number(parameter string) int {
	asked, _ := strconv.Atoi(p.c.Query(parameter))
	return max(1, asked)
}

// pager makes a pager of the list whose page is in a parameter of the query. All else of the query
// stays.
func (p *page) pager(parameter string, number, last int) pager {
	at := func(number int) string {
		values := url.Values{}
		for name, value := range p.c.Queries() {
			values.Set(name, value)
		}
		values.Set(parameter, strconv.Itoa(number))
		return "?" + values.Encode()
	}
	made := pager{Label: "Pages", Number: number, Last: last}
	if parameter != "page" {
		made.Label = "Pages of " + parameter
	}
	if number > 1 {
		made.Previous = at(min(number-1, max(1, last)))
	}
	if number < last {
		made.Next = at(number + 1)
	}
	return made
}

// cutPage is the page of a whole list that the query asks for.
func cutPage[T any](p *page, all []T) ([]T, pager) {
	last := (len(all) + rowsPerPage - 1) / rowsPerPage
	number := min(p.number("page"), max(1, last))
	begin := (number - 1) * rowsPerPage
	return all[begin:min(begin+rowsPerPage, len(all))], p.pager("page", number, last)
}
