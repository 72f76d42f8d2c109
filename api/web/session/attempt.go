package session

import (
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"
)

const (
	loginCookie = "attestry-login"
	// loginTime is how long people may take at the identity provider.
	loginTime = 10 * time.Minute
	// maxNext bounds where people go once they are signed in, as browsers drop cookies of more than 4 KiB.
	maxNext = 2048
)

// Attempt is a sign-in with the identity provider that is under way. The browser keeps it, as nothing is
// stored before somebody has signed in. Nobody else can give the browser one, which is what state and nonce
// rely on.
type Attempt struct {
	State, Nonce, Verifier string
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
	return Attempt{
		State: members.Get("state"), Nonce: members.Get("nonce"), Verifier: members.Get("verifier"), Next: members.Get("next"),
	}
}

// EndAttempt has the browser forget its attempt.
func (s *Sessions) EndAttempt(c *fiber.Ctx) { s.clearCookie(c, loginCookie) }
