// Package session keeps people signed in to the pages.
package session

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/csrf"
	"github.com/gofiber/fiber/v2/middleware/session"

	"attestry/evidence"
	"attestry/storage/cache"
)

const (
	// lifetime is how long a session lasts since it was last used.
	lifetime = 12 * time.Hour
	// anonymousLifetime is how long one lasts of somebody who has not signed in.
	anonymousLifetime = time.Hour
	// extendAfter is how long a process leaves the lifetime of a session as it is, so that few
	// pages write.
	extendAfter = 10 * time.Minute
	// maxExtended is how many sessions a process remembers to have extended.
	maxExtended = 10_000

	sessionCookie = "attestry-session"
	csrfCookie    = "attestry-csrf"
)

// Member is a member of a session that tells whose it is.
type Member string

const (
	// Key is the hash of the API key that a person signed in with.
	Key Member = "key"
	// User is the name of a person who signed in with the identity provider.
	User Member = "user"

	// since is when the person signed in, in Unix seconds.
	since = "since"
)

// Field is the field of forms with the token that the session knows. It is as well what the handler of a
// form finds the token by: c.Locals(Field).
const Field = "csrf"

// ErrSignedOut says that nobody is signed in.
var ErrSignedOut = evidence.NewError(evidence.Unauthorized, "Nobody is signed in")

// errForm says that a form does not come from a page of the session.
var errForm = evidence.NewError(evidence.Forbidden, "The form has expired. Please go back, reload the page and try again.")

// errOrigin says that a form does not come from the address of the service, as far as a proxy tells it.
var errOrigin = evidence.NewError(evidence.Forbidden, "The form was sent from a page of another address than that of this service.")

// Identities knows who a session speaks for.
type Identities interface {
	// AuthenticateHash returns whoever the API key of a hash speaks for, or an evidence.Unauthorized
	// error.
	AuthenticateHash(ctx context.Context, hash string) (evidence.Principal, error)
	// UserPrincipal returns a user by name who signed in at a time, or an evidence.Unauthorized error if
	// there is none or if the user was removed since.
	UserPrincipal(ctx context.Context, name string, signedIn time.Time) (evidence.Principal, error)
}

// Storage keeps sessions. One that was deleted stays so, and storing never shortens a lifetime.
type Storage interface {
	fiber.Storage
	// Extend gives a session that is there another lifetime from now on.
	Extend(ctx context.Context, id string, lifetime time.Duration) error
}

// Options are what sessions are made of.
type Options struct {
	Storage    Storage
	Identities Identities
	Clock      evidence.Clock
	// Secure has browsers send the cookies over https alone.
	Secure bool
}

// Sessions are those of people who are signed in. They are kept in the database, so that all processes
// know them, and a browser forgets its own when it is closed.
type Sessions struct {
	*session.Store
	Options
	extended *cache.TTL[struct{}]
}

// New makes the sessions.
func New(o Options) *Sessions {
	return &Sessions{
		Store: session.New(session.Config{
			Expiration: anonymousLifetime, Storage: o.Storage, KeyLookup: "cookie:" + sessionCookie, KeyGenerator: rand.Text,
			CookieHTTPOnly: true, CookieSecure: o.Secure, CookieSameSite: fiber.CookieSameSiteLaxMode, CookiePath: "/",
			CookieSessionOnly: true,
		}),
		Options: o, extended: cache.NewTTL[struct{}](extendAfter, maxExtended),
	}
}

// ProtectForms refuses forms without the token that the session knows; refuse shows that.
func (s *Sessions) ProtectForms(refuse func(c *fiber.Ctx, err error) error) fiber.Handler {
	return csrf.New(csrf.Config{
		KeyLookup: "form:" + Field, CookieName: csrfCookie, CookieHTTPOnly: true, CookieSecure: s.Secure,
		CookieSameSite: fiber.CookieSameSiteLaxMode, CookiePath: "/", CookieSessionOnly: true, Expiration: lifetime,
		KeyGenerator: rand.Text, Session: s.Store, ContextKey: Field,
		ErrorHandler: func(c *fiber.Ctx, reason error) error {
			if errors.Is(reason, csrf.ErrBadReferer) || errors.Is(reason, csrf.ErrNoReferer) {
				return refuse(c, errOrigin)
			}
			return refuse(c, errForm)
		},
	})
}

// Known tells that a request comes with a session, be it one that has ended.
func Known(c *fiber.Ctx) bool { return c.Cookies(sessionCookie) != "" }

// Principal returns who is signed in, or ErrSignedOut. A session whose key was revoked is nobody's any
// more. Requests that say themselves who they come from do not take the session.
func (s *Sessions) Principal(c *fiber.Ctx) (evidence.Principal, error) {
	if !Known(c) || c.Get(fiber.HeaderAuthorization) != "" {
		return evidence.Principal{}, ErrSignedOut
	}
	known, err := s.Get(c)
	if err != nil {
		return evidence.Principal{}, err
	}
	principal, err := s.ownerOf(c, known)
	if errors.Is(err, ErrSignedOut) {
		return evidence.Principal{}, err
	}
	if evidence.CodeOf(err) == evidence.Unauthorized {
		return evidence.Principal{}, errors.Join(ErrSignedOut, abandon(known))
	}
	if err != nil {
		return evidence.Principal{}, err
	}
	return principal, s.extend(c, known.ID())
}

// ownerOf returns whose session it is.
func (s *Sessions) ownerOf(c *fiber.Ctx, known *session.Session) (evidence.Principal, error) {
	if hash, ok := known.Get(string(Key)).(string); ok {
		return s.Identities.AuthenticateHash(c.UserContext(), hash)
	}
	if name, ok := known.Get(string(User)).(string); ok {
		signedIn, _ := known.Get(since).(int64)
		return s.Identities.UserPrincipal(c.UserContext(), name, time.Unix(signedIn, 0))
	}
	return evidence.Principal{}, ErrSignedOut
}

// abandon makes a session nobody's. It stays, since the form to sign in has its token.
func abandon(known *session.Session) error {
	known.Delete(string(Key))
	known.Delete(string(User))
	return known.Save()
}

// extend extends the lifetime of a session, unless this process has done so a short time ago.
func (s *Sessions) extend(c *fiber.Ctx, id string) error {
	now := s.Clock()
	_, version, done := s.extended.Get(id, now)
	if done {
		return nil
	}
	s.extended.Put(id, struct{}{}, now, version)
	return s.Options.Storage.Extend(c.UserContext(), id, lifetime)
}

// Begin signs a person in, whom a member of the session tells. The session gets a new id, so that nobody
// knows it who has given the browser one before.
func (s *Sessions) Begin(c *fiber.Ctx, member Member, value string) error {
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
	fresh.Set(string(member), value)
	fresh.Set(since, s.Clock().Unix())
	fresh.SetExpiry(lifetime)
	return fresh.Save()
}

// End signs a person out.
func (s *Sessions) End(c *fiber.Ctx) error {
	known, err := s.Get(c)
	if err != nil {
		return err
	}
	return known.Destroy()
}
