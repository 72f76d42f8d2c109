package organizations

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"attestry/api/jsonstream"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/notification"
)

// environmentNotificationRoutes are those of a second address of environment actions.
func (h *handlers) environmentNotificationRoutes() []server.Route {
	return []server.Route{
		{Method: http.MethodGet, Path: "/organizations/{org}/environments_notifications", OperationID: "get_environment_notifications", Tag: "Organizations",
			Summary: "List the actions that fire on events in environments", MinRole: evidence.Reader, MembersOnly: true,
			Serve: server.Handle(h.listEnvironmentNotifications)},
		{Method: http.MethodPut, Path: "/organizations/{org}/environments_notifications", OperationID: "put_environment_notifications", Tag: "Organizations",
			Summary: "Create or replace an action that fires on events in environments", MinRole: evidence.Member,
			Statuses: []int{http.StatusOK, http.StatusCreated}, Serve: server.WithBody(h.putEnvironmentNotification)},
		{Method: http.MethodGet, Path: "/organizations/{org}/environments_notifications/{notification_number}", OperationID: "get_environment_notification", Tag: "Organizations",
			Summary: "Read an action that fires on events in environments", MinRole: evidence.Reader, MembersOnly: true,
			Serve: server.Handle(h.getEnvironmentNotification)},
		{Method: http.MethodPut, Path: "/organizations/{org}/environments_notifications/{notification_number}", OperationID: "update_environment_notification", Tag: "Organizations",
			Summary: "Replace an action that fires on events in environments, by its number", MinRole: evidence.Member,
			Serve: server.WithBody(h.replaceEnvironmentNotification)},
		{Method: http.MethodDelete, Path: "/organizations/{org}/environments_notifications/{notification_number}", OperationID: "delete_environment_notification", Tag: "Organizations",
			Summary: "Delete an action that fires on events in environments", MinRole: evidence.Member,
			Serve: server.Handle(h.deleteEnvironmentNotification)},
	}
}

// NotificationPath is the path of an environment action at its second address.
type NotificationPath struct {
	server.OrgPath
	Number int64 `path:"notification_number" doc:"Number of the action in its organization."`
}

// EnvNotificationsResponse is an environment action as answers of its second address show it.
type EnvNotificationsResponse struct {
	ActionHead
	Environments []string `json:"environments" doc:"Names of environments."`
}

func (r *actionReader) showNotification(a *notification.Action) EnvNotificationsResponse {
	return EnvNotificationsResponse{ActionHead: r.head(a), Environments: r.subjects(a)}
}

func (h *handlers) listEnvironmentNotifications(ctx context.Context, _ *server.OrgPath) (*server.Answer[jsonstream.List[EnvNotificationsResponse]], error) {
	stored, err := h.Actions.Of(ctx, server.Access(ctx).OrgID)
	if err != nil {
		return nil, err
	}
	actions := slices.DeleteFunc(stored.All, func(a notification.Action) bool { return a.Kind != notification.OfEnvironments })
	read, err := h.readAround(ctx, actions...)
	return server.Answered(jsonstream.Show(actions, read.showNotification)), err
}

func (h *handlers) getEnvironmentNotification(ctx context.Context, in *NotificationPath) (*server.Answer[EnvNotificationsResponse], error) {
	found, err := h.findAction(ctx, in.Number)
	if err != nil {
		return nil, err
	}
	if found.Kind != notification.OfEnvironments {
		return nil, actionNotFound()
	}
	read, err := h.readAround(ctx, found)
	return server.Answered(read.showNotification(&found)), err
}

func (h *handlers) putEnvironmentNotification(ctx context.Context, _ *server.OrgPath, body *EnvActionPutInput) (*server.TextAnswer, error) {
	sent, err := h.envAction(ctx, body)
	if err != nil {
		return nil, invalidNotification(err)
	}
	answer, err := h.putAction(ctx, sent)
	return answer, invalidNotification(err)
}

// replaceEnvironmentNotification replaces an action by its number, which may change its name.
func (h *handlers) replaceEnvironmentNotification(ctx context.Context, in *NotificationPath, body *EnvActionPutInput) (*server.TextAnswer, error) {
	sent, err := h.envAction(ctx, body)
	if err != nil {
		return nil, invalidNotification(err)
	}
	sent.Number = in.Number
	err = h.storeAction(ctx, func(all *notification.Actions) (former, stored notification.Action, err error) {
		former, _ = all.Find(in.Number)
		stored, ok, err := all.Replace(sent)
		if !ok {
			return former, stored, actionNotFound()
		}
		return former, stored, err
	})
	return server.OK(), invalidNotification(err)
}

func (h *handlers) deleteEnvironmentNotification(ctx context.Context, in *NotificationPath) (*server.TextAnswer, error) {
	return h.removeAction(ctx, in.Number, notification.OfEnvironments)
}

// invalidNotification sets the message that the contract has for findings on these bodies. It returns other errors
// unchanged.
func invalidNotification(err error) error {
	if found, ok := errors.AsType[*evidence.Error](err); ok && found.Code == evidence.Invalid && found.Fields != nil {
		return &evidence.Error{Code: found.Code, Message: "Invalid notification payload", Fields: found.Fields}
	}
	return err
}
