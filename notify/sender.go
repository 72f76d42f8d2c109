// Package notify sends notices to the targets of actions (docs/semantics.md 20.4 to 20.6).
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

// Sender makes attempts to deliver notices. It may be used by several goroutines.
type Sender struct {
	// HTTP calls webhooks and chat services. It must be made by outbound.NewClient, which bounds calls.
	HTTP *http.Client
	// Mail sends e-mails. Its host is empty if no mail server is configured.
	Mail  MailServer
	Clock evidence.Clock
	// Log gets the errors of failed attempts, at debug level except for addresses that are not allowed.
	Log *slog.Logger
}

type outcome struct {
	status int
	answer string
	// reason tells users why the attempt failed, "" after a success. It may name e-mail addresses, but not quote err.
	reason string
	// retryAfter is the receiver's Retry-After.
	retryAfter time.Duration
	// left are the e-mail addresses with a temporary failure, if others were notified.
	left []string
	err  error // only for the log
}

// Send makes one attempt to deliver a notice to a target, without retries. It signs webhooks with the secrets, newest
// first. It ends within 10 s, or when ctx does.
func (s *Sender) Send(ctx context.Context, target *notification.Target, delivery *notification.Delivery, secrets []string) notification.Attempt {
	began := s.Clock()
	result := outcome{reason: "The type of the target is not known."}
	switch target.Type {
	case notification.Webhook:
		result = s.callWebhook(ctx, target, delivery, secrets, began)
	case notification.Slack:
		result = s.callChat(ctx, target, delivery)
	case notification.Email:
		result = s.Mail.send(ctx, target, delivery)
	}
	duration := max(0, s.Clock().Sub(began))
	level := slog.LevelDebug
	if result.reason == notAllowed {
		// The duration would also reveal whether the name exists. Operators find the error in the log.
		duration, level = 0, slog.LevelInfo
	}
	if result.reason != "" {
		s.Log.Log(ctx, level, "an attempt to deliver a notice failed",
			"delivery", delivery.ID, "type", target.Type, "reason", result.reason, "error", result.err)
	}
	return notification.Attempt{
		At: evidence.Seconds(began), Duration: evidence.RoundSeconds(duration.Seconds()),
		Status: result.status, Answer: excerpt(result.answer), Reason: result.reason,
		RetryAfter: result.retryAfter.Seconds(), Left: result.left,
	}
}

// excerpt returns the beginning of an answer as it is stored: valid UTF-8 without NUL.
func excerpt(answer string) string {
	answer = strings.ToValidUTF8(answer[:min(len(answer), notification.MaxAnswer)], "")
	return strings.ReplaceAll(answer, "\x00", "")
}
