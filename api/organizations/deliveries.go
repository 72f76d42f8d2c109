package organizations

import (
	"context"
	"fmt"

	"attestry/api/jsonstream"
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/notification"
	"attestry/storage"
)

type listDeliveriesInput struct {
	ActionPath
	State   string `query:"state" enum:"pending,delivered,failed"`
	After   string `query:"after" doc:"Cursor, from _links.next of the page before."`
	PerPage int    `query:"per_page" minimum:"1" maximum:"100" default:"20"`
}

// Delivery is a delivery to a target of an action (docs/semantics.md 20.3).
type Delivery struct {
	ID            string            `json:"id"`
	ActionNumber  int64             `json:"action_number"`
	Target        DeliveryTarget    `json:"target"`
	EventType     string            `json:"event_type"`
	Description   string            `json:"description"`
	State         string            `json:"state" enum:"pending,delivered,failed"`
	CreatedAt     float64           `json:"created_at"`
	NextAttemptAt *float64          `json:"next_attempt_at" nullable:"true" doc:"When the next attempt is due, null if none is."`
	Attempts      []DeliveryAttempt `json:"attempts" doc:"The last 25."`
}

// DeliveryTarget is the target of a delivery.
type DeliveryTarget struct {
	ID   string `json:"id"`
	Type string `json:"type" enum:"SLACK,WEBHOOK,EMAIL"`
}

// DeliveryAttempt is an attempt to deliver.
type DeliveryAttempt struct {
	At       float64 `json:"at"`
	Duration float64 `json:"duration" doc:"In seconds."`
	Status   *int    `json:"status" nullable:"true" doc:"Status of the HTTP answer, or code of the mail server; null if there was no answer."`
	Answer   string  `json:"answer" doc:"The beginning of the answer. Empty for roles below member, unless a mail server gave it."`
	Reason   *string `json:"reason" nullable:"true" doc:"Why the attempt failed, null if it did not."`
}

// DeliveriesPage is a page of a list with cursors.
type DeliveriesPage struct {
	Data       jsonstream.List[Delivery]              `json:"data"`
	Links      jsonstream.Map[server.Href]            `json:"_links"`
	Pagination resource.OrNull[server.PaginationInfo] `json:"pagination" doc:"Null for deliveries of one state."`
}

// listDeliveries lists the deliveries of an action, newest first.
func (h *handlers) listDeliveries(ctx context.Context, in *listDeliveriesInput) (*server.Answer[DeliveriesPage], error) {
	org := server.Access(ctx)
	number, cursor, err := resource.ParseCursor(in.After)
	if err != nil {
		return nil, err
	}
	if _, err := h.findAction(ctx, in.Number); err != nil {
		return nil, err
	}
	found := h.Deliveries.List(org.OrgID, in.Number, notification.State(in.State), cursor, in.PerPage)
	answer := server.Answered(DeliveriesPage{
		Data:  resource.CursorPage(h.BatchBytes, in.After, found, showDeliveries),
		Links: resource.LinksAfter(ctx, h.Links, number+1, found.After),
	})
	if in.State != "" {
		return answer, nil
	}
	total, err := h.Deliveries.Count(ctx, org.OrgID, in.Number)
	answer.Body.Pagination.Value = new(server.PaginationOf(number, in.PerPage, total))
	return answer, err
}

func showDeliveries(ctx context.Context, deliveries []notification.Delivery) ([]Delivery, error) {
	addresses := seesAddresses(server.Access(ctx))
	return resource.Map(deliveries, func(d *notification.Delivery) Delivery { return showDelivery(d, addresses) }), nil
}

// showDelivery shows a delivery. Without addresses, it leaves out the answers of webhooks.
func showDelivery(d *notification.Delivery, addresses bool) Delivery {
	shown := Delivery{
		ID: d.ID, ActionNumber: d.Action, Target: DeliveryTarget{ID: d.Target, Type: string(d.Type)},
		EventType: d.Notice.EventType, Description: d.Notice.Description, State: string(d.State), CreatedAt: d.CreatedAt,
		NextAttemptAt: resource.NilIfEmpty(d.Due), Attempts: []DeliveryAttempt{},
	}
	for _, attempt := range d.Attempts {
		one := DeliveryAttempt{
			At: attempt.At, Duration: attempt.Duration,
			Status: resource.NilIfEmpty(attempt.Status), Reason: resource.NilIfEmpty(attempt.Reason),
		}
		if addresses || d.Type.Channel().ByMail {
			one.Answer = attempt.Answer
		}
		shown.Attempts = append(shown.Attempts, one)
	}
	return shown
}

type redeliverInput struct {
	ActionPath
	Delivery string `path:"delivery_id" doc:"Id of the delivery."`
}

// redeliver makes a delivery in any state due. Workers poll for due deliveries.
func (h *handlers) redeliver(ctx context.Context, in *redeliverInput, action notification.Action) (*server.Answer[Delivery], error) {
	org := server.Access(ctx).OrgID
	found, err := h.Deliveries.Get(ctx, org, in.Delivery)
	if err == nil && found.Value.Action != in.Number {
		err = storage.ErrNotFound
	}
	if err != nil {
		return nil, resource.NotFound(err, "Delivery not found")
	}
	if _, ok := action.Target(found.Value.Target); !ok {
		return nil, evidence.NewError(evidence.Invalid, "The target of this delivery is no longer a target of the action")
	}
	again, err := h.Deliveries.Update(ctx, org, in.Delivery, func(d *notification.Delivery) {
		d.Again(evidence.Seconds(h.Clock()), 0)
	})
	return server.Answered(showDelivery(&again, seesAddresses(server.Access(ctx)))), resource.NotFound(err, "Delivery not found")
}

// TestDeliveries are the deliveries of a test.
type TestDeliveries struct {
	Deliveries []Delivery `json:"deliveries"`
}

// testAction sends a test to all targets of an action, including those that are switched off.
func (h *handlers) testAction(ctx context.Context, _ *ActionPath, action notification.Action) (*server.Answer[TestDeliveries], error) {
	org, now := server.Access(ctx), evidence.Seconds(h.Clock())
	notice := notification.Notice{
		ID: evidence.NewID(), EventType: notification.EventTest, Org: org.OrgName, Timestamp: now, Action: action.Name,
		Description: fmt.Sprintf("Test of the action '%s'", action.Name), Link: h.Links.Base,
	}
	deliveries := resource.Map(action.DistinctTargets(), func(target *notification.Target) notification.Delivery {
		return notification.NewDelivery(org.OrgID, action.Number, target, notice, now, 0)
	})
	if err := h.Deliveries.Add(ctx, deliveries); err != nil {
		return nil, err
	}
	shown, err := showDeliveries(ctx, deliveries)
	return server.Answered(TestDeliveries{Deliveries: shown}), err
}
