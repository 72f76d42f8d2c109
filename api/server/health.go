package server

import (
	"net/http"
	"time"

	"github.com/gofiber/fiber/v2"
)

// ready is the public probe: `OK`, or 503 with a sentence on each store that does not
// answer or refuses writes. Causes are for operators, on the monitoring port.
func (s *Server) ready(c *fiber.Ctx) error {
	states, ready := s.readiness.States(c.UserContext())
	if ready {
		c.Set(fiber.HeaderContentType, fiber.MIMETextPlainCharsetUTF8)
		return c.SendString("OK")
	}
	message := "Not ready:"
	for _, state := range states {
		if state.Required && !state.Ready {
			message += " " + state.Message
		}
	}
	return retryable(newProblem(http.StatusServiceUnavailable, message), time.Second)
}
