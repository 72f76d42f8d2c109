package server

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"attestry/evidence/job"
	rules "attestry/evidence/notification"
	"attestry/links"
	"attestry/notify"
	"attestry/process"
	"attestry/tasks/notification"
	"attestry/tasks/relay"
)

const (
	// notificationInterval bounds the time until the task of an event is enqueued.
	notificationInterval = 500 * time.Millisecond
	// relayLease elects the one worker that enqueues notifications.
	relayLease = "notifications"
)

type notifier struct {
	relay     *relay.Relay
	fanout    *notification.Fanout
	deliverer *notification.Deliverer
}

func newNotifier(p *process.Process, address links.Links) *notifier {
	attempts := promauto.With(p.Metrics).NewCounterVec(prometheus.CounterOpts{
		Name: "attestry_delivery_attempts_total",
		Help: "Attempts to tell targets of actions, by type of target and outcome.",
	}, []string{"type", "outcome"})
	for _, kind := range []rules.TargetType{rules.Slack, rules.Webhook, rules.Email} {
		// They exist from the start, so that a rate shows the first increase.
		attempts.WithLabelValues(string(kind), "delivered")
		attempts.WithLabelValues(string(kind), "failed")
	}
	count := func(kind rules.TargetType, delivered bool) {
		outcome := map[bool]string{true: "delivered", false: "failed"}[delivered]
		attempts.WithLabelValues(string(kind), outcome).Inc()
	}
	sender := &notify.Sender{
		HTTP: p.OutboundClient(), Mail: notify.MailServer{SMTP: p.Settings.SMTP, RootCAs: p.Roots}, Clock: p.Clock, Log: p.Log,
	}
	elect := func(ctx context.Context) (bool, error) {
		return p.Store.Leases.Acquire(ctx, relayLease, job.EnqueueAgain)
	}
	return &notifier{
		relay:     relay.New(job.QueueNotifications, p.Tasks, p.Clock, elect, p.Store.Outbox.Due, p.Store.Deliveries.Due),
		fanout:    notification.NewFanout(p.Store, address, p.Tasks, p.Clock, p.Log),
		deliverer: notification.NewDeliverer(p.Store, sender, p.Clock, p.Log, count),
	}
}
