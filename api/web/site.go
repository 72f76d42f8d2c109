// Package web serves the pages for people. They show only answers of the API.
//
// Types with JSON members hold the part of an answer that pages show. Types named …Page are the data of a template.
package web

import (
	"errors"
	"html/template"

	"github.com/gofiber/fiber/v2"

	"attestry/api/limits"
	"attestry/api/oidc"
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/web/request"
	"attestry/api/web/search"
	"attestry/api/web/session"
	"attestry/api/web/settings"
	"attestry/api/web/snapshot"
	"attestry/api/web/view"
	"attestry/evidence"
	"attestry/links"
	"attestry/storage/sessions"
	"attestry/storage/tenancy"
)

// maxForm bounds a form, in bytes: a policy file of the largest size fits.
const maxForm = server.Mebibyte + 64<<10

// API serves the pages and answers their queries.
type API interface {
	// ServePage serves a path for people.
	ServePage(method, path string, serve ...fiber.Handler)
	// ServeOtherPages answers browsers at unknown paths.
	ServeOtherPages(serve fiber.Handler)
	// ReadForm reads the form of a page, of at most limit bytes.
	ReadForm(c *fiber.Ctx, limit int64) error
	request.API
}

// Options are the dependencies of a Site.
type Options struct {
	Links      links.Links
	Identities *tenancy.Tenancy
	Storage    *sessions.Sessions
	// Attempts limits attempts with wrong keys; nil for no limit.
	Attempts *limits.Attempts
	// Login is the login with an identity provider; nil for none.
	Login *oidc.Login
	Clock evidence.Clock
}

// Site serves all pages.
type Site struct {
	Options
	api       API
	sessions  *session.Sessions
	templates *view.Templates
}

// New makes a Site. Mount registers its pages.
func New(options Options) (*Site, error) {
	made, err := view.New(options.Clock, template.FuncMap{
		"states": func() map[string]string { return snapshot.States },
		"urls":   view.First[resource.ExternalAttachmentUrl],
	})
	sessions := session.New(options.Storage, options.Identities, options.Clock, options.Links.Base)
	return &Site{Options: options, sessions: sessions, templates: made}, err
}

// Mount registers the pages with api, whose other paths must be registered before.
func (s *Site) Mount(api API) {
	s.api = api
	for _, asset := range view.Assets {
		api.ServePage(fiber.MethodGet, asset.Path, func(c *fiber.Ctx) error {
			c.Set(fiber.HeaderContentType, asset.ContentType)
			c.Set(fiber.HeaderCacheControl, "public, max-age=31536000, immutable")
			return c.Send(asset.Content)
		})
	}
	for _, form := range []struct {
		path       string
		show, take fiber.Handler
	}{
		{"/signin", s.show(s.showSignIn), s.show(s.signIn)},
		{"/signout", s.show(s.showSignOut), s.show(s.signOut)},
		{invitationPath, s.show(s.showInvitation), s.show(s.acceptInvitation)},
		{"/:org/policies/:policy/evaluate", s.signedIn(s.showEvaluation), s.signedIn(s.evaluatePolicy)},
		{"/:org/settings/:area/:operation", s.signedIn(ofRequest(settings.ShowForm)), s.signedIn(ofRequest(settings.Send))},
	} {
		api.ServePage(fiber.MethodGet, form.path, form.show)
		api.ServePage(fiber.MethodPost, form.path, s.show(readForm), form.take)
	}
	if s.Login != nil {
		api.ServePage(fiber.MethodGet, loginPath, s.show(s.beginLogin))
		api.ServePage(fiber.MethodGet, CallbackPath, s.show(s.endLogin))
	}
	for _, shown := range s.pages() {
		api.ServePage(fiber.MethodGet, shown.path, s.signedIn(shown.show))
	}
	api.ServeOtherPages(s.show(s.showUnknown))
}

// readForm reads a form of this site's pages.
func readForm(p *page) error {
	if err := p.sessions.CheckForm(p.C); err != nil {
		return err
	}
	if err := p.api.ReadForm(p.C, maxForm); err != nil {
		return err
	}
	return p.C.Next()
}

// ofRequest adapts a page that needs only its request.
func ofRequest(show func(*request.Request) error) func(*page) error {
	return func(p *page) error { return show(p.Request) }
}

type route struct {
	path string
	show func(*page) error
}

// pages lists the pages that need a signed-in user.
func (s *Site) pages() []route {
	return []route{
		{"/", s.showHome},
		{view.Pages.Organizations(), s.showOrganizations},
		{"/:org", s.showOrganization},
		{"/:org/environments", s.showOrganization},
		{"/:org/environments/:environment", s.showEnvironment},
		{"/:org/environments/:environment/snapshots/:snapshot", s.showEnvironment},
		{"/:org/environments/:environment/sparkline.svg", s.showSparkline},
		{"/:org/environments/:environment/diff", s.showDiff},
		{"/:org/environments/:environment/events", s.showEvents},
		{"/:org/environments/:environment/timeline", s.showTimeline},
		{"/:org/flows", s.showFlows},
		{"/:org/flows/:flow", s.showFlow},
		{"/:org/flows/:flow/trails/:trail", s.showTrail},
		{"/:org/flows/:flow/trails/:trail/package", s.showPackage},
		{"/:org/flows/:flow/artifacts/:fingerprint", s.showArtifact},
		{"/:org/policies", s.showPolicies},
		{"/:org/policies/:policy", s.showPolicy},
		{"/:org/controls", ofRequest(settings.ShowArea)},
		{"/:org/controls/:control", s.showControl},
		{"/:org/deployments", s.showDeployments},
		{"/:org/audits", ofRequest(settings.ShowArea)},
		{"/:org/audits/:audit", s.showAudit},
		{"/:org/audits/:audit/bundle", s.showBundle},
		{"/:org/search", ofRequest(search.Show)},
		{"/:org/log", s.showLog},
		{"/:org/members", ofRequest(settings.ShowArea)},
		{"/:org/settings", ofRequest(settings.ShowSettings)},
		{"/:org/settings/:area", ofRequest(settings.ShowArea)},
	}
}

// Principal returns the signed-in user, or an evidence.Unauthorized error. It is the Session of server.Deps.
func (s *Site) Principal(c *fiber.Ctx) (evidence.Principal, error) { return s.sessions.Principal(c) }

// showUnknown answers an unknown path, with the search for signed-in users.
func (s *Site) showUnknown(p *page) error {
	var err error
	if p.Viewer, err = s.sessions.Principal(p.C); err != nil && !errors.Is(err, session.ErrSignedOut) {
		return err
	}
	return p.ShowError(fiber.StatusNotFound, "There is no page at this address.")
}
