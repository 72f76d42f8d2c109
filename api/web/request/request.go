// Package request has the common parts of all pages for people: parameters, queries to the API as the signed-in user,
// pagination of lists, and rendering of pages and errors.
package request

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"attestry/api/server"
	"attestry/api/web/session"
	"attestry/api/web/view"
	"attestry/evidence"
	"attestry/links"
	"attestry/storage/tenancy"
)

// API answers the queries of pages; see server.Server.
type API interface {
	Operation(id string) (server.Operation, bool)
	Ask(c *fiber.Ctx, query server.PageQuery) *server.PageAnswer
	Explain(ctx context.Context, err error) (status int, sentence string, head http.Header)
}

// Request is a request for a page.
type Request struct {
	C         *fiber.Ctx
	Viewer    evidence.Principal
	API       API
	Members   *tenancy.Tenancy
	Templates *view.Templates
	// APIPath is the path of the same data in the API, below /api/v2; "" for none.
	APIPath string
}

// Org is the name of the organization in the path, "" for none.
func (r *Request) Org() string { return r.Parameter("org") }

// navigationOrg is the organization whose navigation the page shows, "" if nobody is signed in.
func (r *Request) navigationOrg() string {
	if r.Viewer.Name == "" {
		return ""
	}
	return r.Org()
}

// Beta reports whether the organization has beta features and the viewer may see the organization.
func (r *Request) Beta() bool {
	if r.navigationOrg() == "" {
		return false
	}
	access, err := r.Members.Access(r.C.UserContext(), r.Viewer, r.Org())
	return err == nil && access.Beta
}

// Section is the part of the navigation that the page belongs to.
func (r *Request) Section() string {
	_, section, _ := strings.Cut(strings.TrimPrefix(r.C.Path(), "/"), "/")
	section, _, _ = strings.Cut(section, "/")
	return section
}

// APIAddress is the path of the same data in the API, "" for none.
func (r *Request) APIAddress() string {
	if r.APIPath == "" {
		return ""
	}
	return links.Prefix + r.APIPath
}

// Parameter is an unescaped parameter of the path, or the escaped one if it is malformed, which names nothing.
func (r *Request) Parameter(name string) string {
	sent := r.C.Params(name)
	if plain, err := url.PathUnescape(sent); err == nil {
		return plain
	}
	return sent
}

// namedSegment is the index of the flow's or environment's name in a page's path: /org/flows/name.
const namedSegment = 3

// Redirect redirects to the page of a flow or an environment under its current name.
func (r *Request) Redirect(name string) error {
	segments := strings.Split(r.C.Path(), "/")
	segments[namedSegment] = url.PathEscape(name)
	address := strings.Join(segments, "/")
	if query := r.C.Request().URI().QueryString(); len(query) > 0 {
		address += "?" + string(query)
	}
	return r.C.Redirect(address, http.StatusFound)
}

// Fail redirects to the sign-in if nobody is signed in, and else sends a page with the error.
func (r *Request) Fail(err error) error {
	if errors.Is(err, session.ErrSignedOut) {
		return r.C.Redirect("/signin?next="+url.QueryEscape(r.C.OriginalURL()), http.StatusSeeOther)
	}
	if refused, ok := r.PassOn(err); ok {
		return r.ShowError(refused.Status, refused.Error())
	}
	status, sentence, head := r.API.Explain(r.C.UserContext(), err)
	for name := range head {
		r.C.Set(name, head.Get(name))
	}
	return r.ShowError(status, sentence)
}

type errorPage struct {
	Title, Reason, Org string
	// Unknown is set for status 404. The page then has a search.
	Unknown bool
}

// ShowError sends a page with an error message.
func (r *Request) ShowError(status int, message string) error {
	r.C.Status(status)
	return r.Render("error", "Error", errorPage{Title: http.StatusText(status), Reason: message, Org: r.navigationOrg(), Unknown: status == http.StatusNotFound})
}

// Render renders the whole page before it sends it, so that an error is answered as an error.
func (r *Request) Render(name, title string, data any) error {
	content, err := r.Templates.Render(name, view.Layout{
		Title: title, Viewer: r.Viewer.Name, Org: r.navigationOrg(), Beta: r.Beta(), Section: r.Section(), API: r.APIAddress(), Data: data,
	})
	if err != nil {
		return err
	}
	r.C.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	return r.C.Send(content)
}
