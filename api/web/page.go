package web

import (
	"github.com/gofiber/fiber/v2"

	"attestry/api/server"
	"attestry/api/web/request"
	"attestry/evidence"
)

// policy is the Content-Security-Policy of pages: browsers load only from the service.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

type page struct {
	*Site
	*request.Request
}

// show returns the handler of a page. It shows errors as a page, too.
func (s *Site) show(serve func(*page) error) fiber.Handler {
	return func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderContentSecurityPolicy, policy)
		c.Set(fiber.HeaderReferrerPolicy, "same-origin")
		p := &page{s, &request.Request{C: c, API: s.api, Members: s.Identities, Templates: s.templates}}
		err := server.QueryError(c.UserContext())
		if err == nil {
			err = serve(p)
		}
		if err != nil {
			return p.Fail(err)
		}
		return nil
	}
}

// signedIn is show for pages that need a signed-in user. Others sign in first. Paths that do not begin with a valid
// organization name are left to later handlers.
func (s *Site) signedIn(serve func(*page) error) fiber.Handler {
	shown := s.show(func(p *page) error {
		var err error
		if p.Viewer, err = s.sessions.Principal(p.C); err != nil {
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
