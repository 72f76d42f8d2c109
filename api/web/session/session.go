// Package session keeps people signed in to the pages.
package session

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"attestry/api/oidc"
	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage/cache"
	"attestry/storage/sessions"
	"attestry/storage/tenancy"
)

const (
	// lifetime is how long a session lasts since it was last used.
	lifetime = 12 * time.Hour
	// extendAfter is how long a process leaves the lifetime of a session as it is, so that few pages write.
	extendAfter = 10 * time.Minute
	// maxExtended is how many sessions a process remembers to have extended.
	maxExtended = 10_000

	sessionCookie = "attestry-session"
)

// ErrSignedOut says that nobody is signed in.
var ErrSignedOut = evidence.NewError(evidence.Unauthorized, "Nobody is signed in")

// Sessions are those of people who are signed in. They are kept in the database, so that all processes
// know them, and a browser forgets its own when it is closed. Nothing is stored of anybody else.
type Sessions struct {
	storage    *sessions.Sessions
	identities *tenancy.Tenancy
	clock      evidence.Clock
	// base is the address of the service, a scheme and a host.
	base     string
	extended cache.TTL[struct{}]
}

// New makes the sessions of a service at an address, a scheme and a host.
func New(storage *sessions.Sessions, identities *tenancy.Tenancy, clock evidence.Clock, base string) *Sessions {
	return &Sessions{storage: storage, identities: identities, clock: clock, base: base, extended: cache.NewTTL[struct{}](extendAfter, maxExtended)}
}

// Principal returns who is signed in, or ErrSignedOut. A session whose key was revoked ends. Requests that
// say themselves who they come from do not take the session.
func (s *Sessions) Principal(c *fiber.Ctx) (evidence.Principal, error) {
	id := s.cookie(c, sessionCookie)
	if id == "" || c.Get(fiber.HeaderAuthorization) != "" {
		return evidence.Principal{}, ErrSignedOut
	}
	known, ok, err := s.storage.Get(c.UserContext(), id)
	if err != nil {
		return evidence.Principal{}, err
	}
	if !ok {
		return evidence.Principal{}, ErrSignedOut
	}
	principal, err := s.ownerOf(c.UserContext(), known)
	if evidence.CodeOf(err) == evidence.Unauthorized {
		return evidence.Principal{}, errors.Join(ErrSignedOut, s.storage.End(c.UserContext(), id))
	}
	if err != nil {
		return evidence.Principal{}, err
	}
	return principal, s.extend(c.UserContext(), id)
}

// ownerOf returns whose session it is.
func (s *Sessions) ownerOf(ctx context.Context, known identity.Session) (evidence.Principal, error) {
	if known.KeyHash != "" {
		return s.identities.AuthenticateHash(ctx, known.KeyHash)
	}
	return s.identities.UserPrincipal(ctx, known.User, time.Unix(known.SignedInAt, 0))
}

// extend extends the lifetime of a session, unless this process has done so a short time ago.
func (s *Sessions) extend(ctx context.Context, id string) error {
	_, err := s.extended.Load(id, s.clock(), func() (done struct{}, err error) { return done, s.storage.Extend(ctx, id, lifetime) })
	return err
}

// Begin signs a person in who has a key or a name, and ends the session that the browser had. The new session has a
// new id, so that an attacker who planted an id before does not know it.
func (s *Sessions) Begin(c *fiber.Ctx, begun identity.Session) error {
	if err := s.end(c); err != nil {
		return err
	}
	begun.SignedInAt = s.clock().Unix()
	id := rand.Text()
	if err := s.storage.Begin(c.UserContext(), id, begun, lifetime); err != nil {
		return err
	}
	s.setCookie(c, fiber.Cookie{Name: sessionCookie, Value: id, SessionOnly: true})
	return nil
}

// End signs a person out.
func (s *Sessions) End(c *fiber.Ctx) error {
	s.clearCookie(c, sessionCookie)
	return s.end(c)
}

// end ends the session of a browser, if it has one.
func (s *Sessions) end(c *fiber.Ctx) error {
	id := s.cookie(c, sessionCookie)
	if id == "" {
		return nil
	}
	return s.storage.End(c.UserContext(), id)
}

// secure reports whether the service is used over https.
func (s *Sessions) secure() bool { return strings.HasPrefix(s.base, "https:") }

// nameOf is what a cookie is called in the browser. Over https its name has a prefix by which browsers
// take it from this host alone, and not from hosts of the same domain (RFC 6265bis 4.1.3.2).
func (s *Sessions) nameOf(cookie string) string {
	if s.secure() {
		return "__Host-" + cookie
	}
	return cookie
}

// cookie returns the value of a cookie, "" for none.
func (s *Sessions) cookie(c *fiber.Ctx, name string) string {
	return strings.Clone(c.Cookies(s.nameOf(name)))
}

// setCookie gives the browser a cookie that no script can read, and no form of another site sends.
func (s *Sessions) setCookie(c *fiber.Ctx, set fiber.Cookie) {
	set.Name, set.Path, set.Secure = s.nameOf(set.Name), "/", s.secure()
	set.HTTPOnly, set.SameSite = true, fiber.CookieSameSiteLaxMode
	c.Cookie(&set)
}

// clearCookie has the browser forget a cookie.
func (s *Sessions) clearCookie(c *fiber.Ctx, name string) {
	s.setCookie(c, fiber.Cookie{Name: name, Expires: time.Unix(1, 0)})
}

// CheckForm refuses a form that was not sent by a page of this service, as cross-site request forgery would. Browsers name
// the origin of a form: over https in Sec-Fetch-Site, else in Origin. A request with neither is refused.
func (s *Sessions) CheckForm(c *fiber.Ctx) error {
	switch site := c.Get("Sec-Fetch-Site"); {
	case site == "same-origin" || site == "none":
		return nil
	case site == "" && c.Get(fiber.HeaderOrigin) == s.origin():
		return nil
	}
	return evidence.NewError(evidence.Forbidden, "The form was not sent from a page of this service, which is at "+s.base+".")
}

// origin is what browsers call the address of the service: in lower case, without the port that the scheme implies.
func (s *Sessions) origin() string {
	base := strings.ToLower(s.base)
	if s.secure() {
		return strings.TrimSuffix(base, ":443")
	}
	return strings.TrimSuffix(base, ":80")
}

const (
	loginCookie = "attestry-login"
	// loginTime is how long people may take at the identity provider.
	loginTime = 10 * time.Minute
	// maxNext bounds where people go once they are signed in, as browsers drop cookies of more than 4 KiB.
	maxNext = 2048
)

// Attempt is a sign-in with the identity provider that has begun. The browser keeps it in a cookie, as nothing is stored
// before somebody has signed in. State and nonce are safe because no other site can set the cookie.
type Attempt struct {
	oidc.Attempt
	// Next is where the person goes once signed in.
	Next string
}

// KeepAttempt has the browser keep an attempt.
func (s *Sessions) KeepAttempt(c *fiber.Ctx, kept Attempt) {
	if len(kept.Next) > maxNext {
		kept.Next = ""
	}
	members := url.Values{"state": {kept.State}, "nonce": {kept.Nonce}, "verifier": {kept.Verifier}, "next": {kept.Next}}
	s.setCookie(c, fiber.Cookie{Name: loginCookie, Value: members.Encode(), MaxAge: int(loginTime.Seconds())})
}

// Attempt returns the attempt that the browser has kept, the zero value for none.
func (s *Sessions) Attempt(c *fiber.Ctx) Attempt {
	members, err := url.ParseQuery(s.cookie(c, loginCookie))
	if err != nil {
		return Attempt{}
	}
	sent := oidc.Attempt{State: members.Get("state"), Nonce: members.Get("nonce"), Verifier: members.Get("verifier")}
	return Attempt{Attempt: sent, Next: members.Get("next")}
}

// EndAttempt has the browser forget its attempt.
func (s *Sessions) EndAttempt(c *fiber.Ctx) { s.clearCookie(c, loginCookie) }
