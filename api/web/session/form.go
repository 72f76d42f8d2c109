package session

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"attestry/evidence"
)

// CheckForm refuses a form that was not sent by a page of this service. Browsers say where a form comes
// from: over https in Sec-Fetch-Site, and else in Origin. What says nothing is no browser, and has no
// business with forms.
func (s *Sessions) CheckForm(c *fiber.Ctx) error {
	switch site := c.Get("Sec-Fetch-Site"); {
	case site == "same-origin" || site == "none":
		return nil
	case site == "" && c.Get(fiber.HeaderOrigin) == s.origin():
		return nil
	}
	return evidence.NewError(evidence.Forbidden, "The form was not sent from a page of this service, which is at "+s.Base+".")
}

// origin is what browsers call the address of the service: in lower case, without the port that the
// scheme implies.
func (s *Sessions) origin() string {
	base := strings.ToLower(s.Base)
	if s.secure() {
		return strings.TrimSuffix(base, ":443")
	}
	return strings.TrimSuffix(base, ":80")
}
