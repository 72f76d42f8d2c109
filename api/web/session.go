package web

import (
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/csrf"
	"github.com/gofiber/fiber/v2/middleware/session"

	"attestry/evidence"
	"attestry/storage/cache"
)

const (
	// sessionLifetime is how long a session lasts since it was last used.
	sessionLifetime = 12 * time.Hour
	// extendAfter is how long a process leaves the lifetime of a session as it is, so that few
	// pages write.
	extendAfter = 10 * time.Minute
	// maxExtended is how many sessions a process remembers to have extended.
	maxExtended = 10_000

	sessionCookie = "attestry-session"
	csrfCookie    = "attestry-csrf"
	csrfField     = "csrf"

	// keyMember is the member of a session with the hash of the API key that its person signed in
	// with.
	keyMember = "key"
	// userMember is the name of a person who signed in with the identity provider.
	userMember = "user"
)

// errSignedOut says that nobody is signed in.
var errSignedOut = evidence.NewError(evidence.Unauthorized, "Nobody is signed in")

// sessions are those of people who are signed in. They are kept in the database, so that all processes
// know them, and a browser forgets its own when it is closed.
type sessions struct {
	*session.Store
	storage    Storage
	identities Identities
	clock      evidence.Clock
	extended   *cache.TTL[struct{}]
}

func newSessions(o *Options) *sessions {
	return &sessions{
		Store: session.New(session.Config{
			Expiration: sessionLifetime, Storage: o.Storage, KeyLookup: "cookie:" + sessionCookie, KeyGenerator: rand.Text,
			CookieHTTPOnly: true, CookieSecure: o.secure(), CookieSameSite: fiber.CookieSameSiteLaxMode, CookiePath: "/",
			CookieSessionOnly: true,
		}),
		storage: o.Storage, identities: o.Identities, clock: o.Clock, extended: cache.NewTTL[struct{}](extendAfter, maxExtended),
	}
}

// secure tells whether clients reach the service by https.
func (o *Options) secure() bool { return strings.HasPrefix(o.Links.Base, "https:") }

// csrf protects forms by a token that the session knows.
func (s *Site) csrf() fiber.Handler {
	return csrf.New(csrf.Config{
		KeyLookup: "form:" + csrfField, CookieName: csrfCookie, CookieHTTPOnly: true, CookieSecure: s.secure(),
		CookieSameSite: fiber.CookieSameSiteLaxMode, CookiePath: "/", CookieSessionOnly: true, Expiration: sessionLifetime,
		KeyGenerator: rand.Text, Session: s.sessions.Store, ContextKey: csrfField,
		ErrorHandler: func(c *fiber.Ctx, _ error) error {
			return s.show(func(*page) error { return errForm })(c)
		},
	})
}

// errForm says that a form does not come from a page of the session.
var errForm = evidence.NewError(evidence.Forbidden, "The form has expired. Please go back, reload the page and try again.")

// principal returns who is signed in, or errSignedOut. A session whose key was revoked has ended.
func (s *sessions) principal(c *fiber.Ctx) (evidence.Principal, error) {
	if c.Cookies(sessionCookie) == "" {
		return evidence.Principal{}, errSignedOut
	}
	known, err := s.Get(c)
	if err != nil {
		return evidence.Principal{}, err
	}
	principal, err := s.ownerOf(c, known)
	if errors.Is(err, errSignedOut) {
		return evidence.Principal{}, err
	}
	if evidence.CodeOf(err) == evidence.Unauthorized {
		return evidence.Principal{}, errors.Join(errSignedOut, known.Destroy())
	}
	if err != nil {
		return evidence.Principal{}, err
	}
	return principal, s.extend(c, known.ID())
}

// ownerOf returns whose session it is.
func (s *sessions) ownerOf(c *fiber.Ctx, known *session.Session) (evidence.Principal, error) {
	if hash, ok := known.Get(keyMember).(string); ok {
		return s.identities.AuthenticateHash(c.UserContext(), hash)
	}
	if name, ok := known.Get(userMember).(string); ok {
		return s.identities.UserPrincipal(c.UserContext(), name)
	}
	return evidence.Principal{}, errSignedOut
}

// Principal returns who is signed in, or an evidence.Unauthorized error. It is what the API asks.
func (s *Site) Principal(c *fiber.Ctx) (evidence.Principal, error) { return s.sessions.principal(c) }

// extend extends the lifetime of a session, unless this process has done so a short time ago.
func (s *sessions) extend(c *fiber.Ctx, id string) error {
	now := s.clock()
	_, version, done := s.extended.Get(id, now)
	if done {
		return nil
	}
	s.extended.Put(id, struct{}{}, now, version)
	return s.storage.Extend(c.UserContext(), id, sessionLifetime)
}

// begin signs a person in, whom a member of the session tells. The session gets a new id, so that nobody
// knows it who has given the browser one before.
func (s *sessions) begin(c *fiber.Ctx, member, value string) error {
	fresh, err := s.Get(c)
	if err != nil {
		return err
	}
	if err := fresh.Regenerate(); err != nil {
		return err
	}
	for _, known := range fresh.Keys() {
		fresh.Delete(known)
	}
	fresh.Set(member, value)
	return fresh.Save()
}

// end signs a person out.
func (s *sessions) end(c *fiber.Ctx) error {
	known, err := s.Get(c)
	if err != nil {
		return err
	}
	return known.Destroy()
}
