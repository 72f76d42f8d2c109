// Package session manages the sessions of people who are signed in to the pages.
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
	// lifetime is how long a session lasts after its last use.
	lifetime = 12 * time.Hour
	// extendAfter is the minimum time between two extensions of a session by one process, so that few pages write.
	extendAfter = 10 * time.Minute
	// maxExtended is the number of sessions whose extension a process caches.
	maxExtended = 10_000

	sessionCookie = "attestry-session"
)

// ErrSignedOut is the error if nobody is signed in.
var ErrSignedOut = evidence.NewError(evidence.Unauthorized, "Nobody is signed in")

// Sessions are the sessions of people who are signed in. They are stored in the database, which all processes share.
// The browser deletes its cookie when it is closed.
type Sessions struct {
	storage    *sessions.Sessions
	identities *tenancy.Tenancy
	clock      evidence.Clock
	// base is the URL of the service, a scheme and a host.
	base     string
	extended cache.TTL[struct{}]
}

// New makes the sessions of the service with a base URL.
func New(storage *sessions.Sessions, identities *tenancy.Tenancy, clock evidence.Clock, base string) *Sessions {
	return &Sessions{storage: storage, identities: identities, clock: clock, base: base, extended: cache.NewTTL[struct{}](extendAfter, maxExtended)}
}

// Principal returns the signed-in user, or ErrSignedOut. It ends a session whose key was revoked. Sessions of requests
// with an Authorization header are ignored.
func (s *Sessions) Principal(c *fiber.Ctx) (evidence.Principal, error) {
	id := s.cookie(c, sessionCookie)
	if id == "" || c.Get(fiber.HeaderAuthorization) != "" {
		return evidence.Principal{}, ErrSignedOut
	}
	stored, ok, err := s.storage.Get(c.UserContext(), id)
	if err != nil {
		return evidence.Principal{}, err
	}
	if !ok {
		return evidence.Principal{}, ErrSignedOut
	}
	principal, err := s.ownerOf(c.UserContext(), stored)
	if evidence.CodeOf(err) == evidence.Unauthorized {
		return evidence.Principal{}, errors.Join(ErrSignedOut, s.storage.End(c.UserContext(), id))
	}
	if err != nil {
		return evidence.Principal{}, err
	}
	return principal, s.extend(c.UserContext(), id)
}

func (s *Sessions) ownerOf(ctx context.Context, stored identity.Session) (evidence.Principal, error) {
	if stored.KeyHash != "" {
		return s.identities.AuthenticateHash(ctx, stored.KeyHash)
	}
	return s.identities.UserPrincipal(ctx, stored.User, time.Unix(stored.SignedInAt, 0))
}

// extend extends the lifetime of a session, unless this process has done so within extendAfter.
func (s *Sessions) extend(ctx context.Context, id string) error {
	_, err := s.extended.Load(id, s.clock(), func() (done struct{}, err error) { return done, s.storage.Extend(ctx, id, lifetime) })
	return err
}

// Begin begins a session, and ends the previous session of the browser. The new id prevents session fixation.
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

// End ends the session and deletes its cookie.
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

func (s *Sessions) secure() bool { return strings.HasPrefix(s.base, "https:") }

// nameOf is the full name of a cookie. Over https it has a prefix, with which browsers accept the cookie only from this
// host, and not from others of the same domain (RFC 6265bis 4.1.3.2).
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

// setCookie sets a cookie that scripts cannot read and that forms of other sites do not send.
func (s *Sessions) setCookie(c *fiber.Ctx, set fiber.Cookie) {
	set.Name, set.Path, set.Secure = s.nameOf(set.Name), "/", s.secure()
	set.HTTPOnly, set.SameSite = true, fiber.CookieSameSiteLaxMode
	c.Cookie(&set)
}

func (s *Sessions) clearCookie(c *fiber.Ctx, name string) {
	s.setCookie(c, fiber.Cookie{Name: name, Expires: time.Unix(1, 0)})
}

// CheckForm refuses cross-site request forgery: a form that was not sent by a page of this service. Browsers send the
// origin of a form: over https in Sec-Fetch-Site, else in Origin. A request with neither is refused.
func (s *Sessions) CheckForm(c *fiber.Ctx) error {
	switch site := c.Get("Sec-Fetch-Site"); {
	case site == "same-origin" || site == "none":
		return nil
	case site == "" && c.Get(fiber.HeaderOrigin) == s.origin():
		return nil
	}
	return evidence.NewError(evidence.Forbidden, "The form was not sent from a page of this service, which is at "+s.base+".")
}

// origin is the service's origin as browsers send it: in lower case, without the scheme's default port.
func (s *Sessions) origin() string {
	base := strings.ToLower(s.base)
	if s.secure() {
		return strings.TrimSuffix(base, ":443")
	}
	return strings.TrimSuffix(base, ":80")
}

const (
	loginCookie = "attestry-login"
	// loginTime bounds the time at the identity provider.
	loginTime = 10 * time.Minute
	// maxNext bounds Attempt.Next in bytes as it is escaped, as browsers drop cookies of more than 4 KiB.
	maxNext = 3072
)

// Attempt is a pending sign-in with the identity provider. It is kept in a cookie, as nothing is stored for visitors
// who are not signed in. State and nonce are safe because no other site can set the cookie.
type Attempt struct {
	oidc.Attempt
	// Next is the path to redirect to after signing in.
	Next string
}

// KeepAttempt stores an attempt in the cookie.
func (s *Sessions) KeepAttempt(c *fiber.Ctx, kept Attempt) {
	if len(url.QueryEscape(kept.Next)) > maxNext {
		kept.Next = ""
	}
	members := url.Values{"state": {kept.State}, "nonce": {kept.Nonce}, "verifier": {kept.Verifier}, "next": {kept.Next}}
	s.setCookie(c, fiber.Cookie{Name: loginCookie, Value: members.Encode(), MaxAge: int(loginTime.Seconds())})
}

// Attempt returns the attempt in the cookie, the zero value for none.
func (s *Sessions) Attempt(c *fiber.Ctx) Attempt {
	members, err := url.ParseQuery(s.cookie(c, loginCookie))
	if err != nil {
		return Attempt{}
	}
	sent := oidc.Attempt{State: members.Get("state"), Nonce: members.Get("nonce"), Verifier: members.Get("verifier")}
	return Attempt{Attempt: sent, Next: members.Get("next")}
}

// EndAttempt deletes the cookie of the attempt.
func (s *Sessions) EndAttempt(c *fiber.Ctx) { s.clearCookie(c, loginCookie) }
