// Package notify tells the targets of actions what happened (docs/semantics.md 20.4 to 20.6).
package notify

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"attestry/evidence"
	"attestry/evidence/notification"
)

type call struct {
	target   *notification.Target
	delivery *notification.Delivery
	// secrets sign it, the newest first.
	secrets []string
	at      time.Time
}

// channels are how targets of each type are notified. A new one gets a row here, and a file that sends.
var channels = map[notification.TargetType]func(*Sender, context.Context, *call) outcome{
	notification.Webhook: (*Sender).callWebhook,
	notification.Slack:   (*Sender).callChat,
	notification.Email:   func(s *Sender, ctx context.Context, c *call) outcome { return s.Mail.send(ctx, c.target, c.delivery) },
}

// Sender makes attempts to deliver notices. It may be used by several goroutines.
type Sender struct {
	// HTTP calls webhooks and chat services. It is made by outbound.NewClient, which bounds calls.
	HTTP *http.Client
	// Mail sends e-mails. It has no host if the operator has no mail server.
	Mail  MailServer
	Clock evidence.Clock
	// Log gets the technical reasons of failures, at debug level but for addresses that are not allowed.
	Log *slog.Logger
}

// outcome is what came of an attempt.
type outcome struct {
	status int
	answer string
	// reason says to people why it failed, or "". It names the target's addresses only, and no library's error.
	reason string
	// retryAfter is how long the receiver asked not to be called again.
	retryAfter time.Duration
	// left are the e-mail addresses that were refused for now, if others were notified.
	left []string
	// err is for the log alone.
	err error
}

// Send makes one attempt to deliver a notice to a target. Webhooks are signed with the secrets,
// the newest first. It ends within 10 s, or when ctx does, and never waits to try again.
func (s *Sender) Send(ctx context.Context, target *notification.Target, delivery *notification.Delivery, secrets []string) notification.Attempt {
	began := s.Clock()
	result := outcome{reason: "The type of the target is not known."}
	if send, ok := channels[target.Type]; ok {
		result = send(s, ctx, &call{target: target, delivery: delivery, secrets: secrets, at: began})
	}
	took := max(0, s.Clock().Sub(began))
	level := slog.LevelDebug
	if result.reason == notAllowed {
		// How long the look-up took tells of the host as well. Operators read the rest in the log.
		took, level = 0, slog.LevelInfo
	}
	if result.reason != "" {
		s.Log.Log(ctx, level, "an attempt to deliver a notice failed",
			"delivery", delivery.ID, "type", target.Type, "reason", result.reason, "error", result.err)
	}
	return notification.Attempt{
		At: evidence.Seconds(began), Duration: evidence.RoundSeconds(took.Seconds()),
		Status: result.status, Answer: excerpt(result.answer), Reason: result.reason,
		RetryAfter: result.retryAfter.Seconds(), Left: result.left,
	}
}

// excerpt is the beginning of an answer as it is stored: text without NUL.
func excerpt(answer string) string {
	answer = strings.ToValidUTF8(answer[:min(len(answer), notification.MaxAnswer)], "")
	return strings.ReplaceAll(answer, "\x00", "")
}
