package server

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hibiken/asynq"
	"github.com/prometheus/client_golang/prometheus"

	rules "attestry/evidence/notification"
	"attestry/links"
	"attestry/notify"
	"attestry/outbound"
	"attestry/process"
	"attestry/tasks"
	"attestry/tasks/notification"
)

// notifier is what tells the targets of actions.
type notifier struct {
	relay     *notification.Relay
	fanout    *notification.Fanout
	deliverer *notification.Deliverer
}

func newNotifier(p *process.Process) (*notifier, error) {
	address, err := links.New(string(p.Settings.HTTP.BaseURL))
	if err != nil {
		return nil, err
	}
	attempts := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "attestry_delivery_attempts_total",
		Help: "Attempts to tell targets of actions, by type of target and outcome.",
	}, []string{"type", "outcome"})
	if err := p.Metrics.Register(attempts); err != nil {
		return nil, fmt.Errorf("register the metric of deliveries: %w", err)
	}
	count := func(kind rules.TargetType, delivered bool) {
		outcome := "failed"
		if delivered {
			outcome = "delivered"
		}
		attempts.WithLabelValues(string(kind), outcome).Inc()
	}
	sender := notify.NewSender(notify.Options{
		HTTP: outbound.NewClient(outbound.Options{Allowed: p.Settings.Outbound.Allow}),
		Mail: mailServer(p), Clock: p.Clock, Log: p.Log,
	})
	return &notifier{
		relay:     notification.NewRelay(p.Store, p.Tasks, p.Clock, p.Log),
		fanout:    notification.NewFanout(p.Store, address, p.Tasks, p.Clock, p.Log),
		deliverer: notification.NewDeliverer(p.Store, sender, p.Clock, p.Log, count),
	}, nil
}

// mailServer is the one of the settings, nil if they have none.
func mailServer(p *process.Process) *notify.MailServer {
	settings := p.Settings.SMTP
	if settings.Host == "" {
		return nil
	}
	return &notify.MailServer{
		Address: string(settings.Host), From: string(settings.From),
		Username: settings.Username, Password: settings.Password, TLS: notify.MailTLS(settings.TLS),
	}
}

// fanoutHandler makes the deliveries of an event to the targets of an action.
func (n *notifier) fanoutHandler() asynq.Handler {
	return asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
		var payload tasks.FanoutPayload
		if err := json.Unmarshal(task.Payload(), &payload); err != nil {
			return undecodable(task, err)
		}
		return n.fanout.Tell(ctx, payload.Event, payload.Action)
	})
}

// sendHandler tries a delivery.
func (n *notifier) sendHandler() asynq.Handler {
	return asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
		var payload tasks.SendPayload
		if err := json.Unmarshal(task.Payload(), &payload); err != nil {
			return undecodable(task, err)
		}
		return n.deliverer.Deliver(ctx, payload.Org, payload.Delivery)
	})
}
