// Package web serves the pages for people. They show what the API answers, and nothing else.
package web

import (
	"context"
	"html/template"
	"log/slog"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"attestry/api/limits"
	"attestry/api/server"
	"attestry/api/web/session"
	"attestry/api/web/snapshot"
	"attestry/api/web/view"
	"attestry/evidence"
	"attestry/links"
)

// API answers the operations that pages show.
type API interface {
	// Page serves a path for people.
	Page(method, path string, serve ...fiber.Handler)
	// Ask answers an operation on behalf of whoever is signed in.
	Ask(c *fiber.Ctx, query server.PageQuery) *server.PageAnswer
}

// Identities knows who signs in.
type Identities interface {
	session.Identities
	// Authenticate returns whoever an API key speaks for, or an evidence.Unauthorized error.
	Authenticate(ctx context.Context, secret string) (evidence.Principal, error)
	// DefaultOrganization returns the name of the organization that a user opens first, or "".
	DefaultOrganization(ctx context.Context, principal evidence.Principal) (string, error)
}

// Options are what the pages are made of.
type Options struct {
	Links      links.Links
	Identities Identities
	Storage    session.Storage
	// Attempts limits wrong keys; nil for no limit.
	Attempts *limits.Attempts
	// Login signs people in with an identity provider; nil for none.
	Login Login
	Clock evidence.Clock
	Log   *slog.Logger
}

// Site is all pages.
type Site struct {
	Options
	api       API
	sessions  *session.Sessions
	templates *view.Templates
}

// New makes the view.Pages. They are served once Mount has told the server of them.
func New(options Options) (*Site, error) {
	made, err := view.New(options.Clock, template.FuncMap{
		"states": func() map[string]string { return snapshot.States },
		"urls":   view.First[externalURL],
	})
	sessions := session.New(session.Options{
		Storage: options.Storage, Identities: options.Identities, Clock: options.Clock, Secure: strings.HasPrefix(options.Links.Base, "https:"),
	})
	return &Site{Options: options, sessions: sessions, templates: made}, err
}

// Mount has the pages served by api, behind all other paths that it has.
func (s *Site) Mount(api API) {
	s.api = api
	for _, asset := range view.Assets {
		api.Page(fiber.MethodGet, asset.Path, func(c *fiber.Ctx) error {
			c.Set(fiber.HeaderContentType, asset.ContentType)
			c.Set(fiber.HeaderCacheControl, "public, max-age=31536000, immutable")
			return c.Send(asset.Content)
		})
	}
	protect := s.sessions.ProtectForms(func(c *fiber.Ctx, err error) error {
		return s.show(func(*page) error { return err })(c)
	})
	for _, form := range []struct {
		path       string
		show, take fiber.Handler
	}{
		{"/signin", s.show(s.showSignIn), s.show(s.signIn)},
		{"/signout", s.show(s.showSignOut), s.show(s.signOut)},
		{"/:org/policies/:policy/evaluate", s.signedIn(s.showEvaluation), s.signedIn(s.evaluatePolicy)},
	} {
		api.Page(fiber.MethodGet, form.path, protect, form.show)
		api.Page(fiber.MethodPost, form.path, protect, form.take)
	}
	if s.Login != nil {
		api.Page(fiber.MethodGet, loginPath, s.show(s.beginLogin))
		api.Page(fiber.MethodGet, CallbackPath, s.show(s.endLogin))
	}
	for _, shown := range s.pages() {
		api.Page(fiber.MethodGet, shown.path, s.signedIn(shown.show))
	}
	api.Page(fiber.MethodGet, "/*", s.unknown)
}

// route is a page with its path.
type route struct {
	path string
	show func(*page) error
}

// pages lists the pages that only people see who are signed in.
func (s *Site) pages() []route {
	return slices.Concat(s.environmentPages(), s.pipelinePages(), s.governancePages())
}

// environmentPages are those of organizations and environments.
func (s *Site) environmentPages() []route {
	return []route{
		{"/", s.showHome},
		{"/:org", s.showOrganization},
		{"/:org/environments", s.showOrganization},
		{"/:org/environments/:environment", s.showEnvironment},
		{"/:org/environments/:environment/snapshots/:snapshot", s.showEnvironment},
		{"/:org/environments/:environment/sparkline.svg", s.showSparkline},
		{"/:org/environments/:environment/diff", s.showDiff},
		{"/:org/environments/:environment/events", s.showEvents},
	}
}

// pipelinePages are those of flows, trails and artifacts.
func (s *Site) pipelinePages() []route {
	return []route{
		{"/:org/flows", s.showFlows},
		{"/:org/flows/:flow", s.showFlow},
		{"/:org/flows/:flow/trails/:trail", s.showTrail},
		{"/:org/flows/:flow/trails/:trail/package", s.showPackage},
		{"/:org/flows/:flow/artifacts/:fingerprint", s.showArtifact},
	}
}

// governancePages are those of policies, controls, deployments, searches and members.
func (s *Site) governancePages() []route {
	return []route{
		{"/:org/policies", s.showPolicies},
		{"/:org/policies/:policy", s.showPolicy},
		{"/:org/controls", s.showControls},
		{"/:org/controls/:control", s.showControl},
		{"/:org/deployments", s.showDeployments},
		{"/:org/deployments/frequency.svg", s.showFrequency},
		{"/:org/deployments/lead-time.svg", s.showLeadTime},
		{"/:org/search", s.showSearch},
		{"/:org/members", s.showMembers},
	}
}

// Principal returns who is signed in, or an evidence.Unauthorized error. It is what the API asks.
func (s *Site) Principal(c *fiber.Ctx) (evidence.Principal, error) { return s.sessions.Principal(c) }

// unknown serves addresses that lead nowhere. Those of the API have its own answer.
func (s *Site) unknown(c *fiber.Ctx) error {
	if strings.HasPrefix(c.Path(), links.Prefix+"/") {
		return c.Next()
	}
	return s.signedIn(func(p *page) error {
		return p.showError(fiber.StatusNotFound, "There is no page at this address.")
	})(c)
}
