// Package organizations has the operations on organizations with their members, service accounts, identity providers
// and actions, and on users.
package organizations

import (
	"context"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence/identity"
)

// Routes returns the routes of the package.
func Routes(base *resource.Base) []server.Route {
	h := &handlers{Base: base, targets: newTargetReader()}
	return server.Routes(map[string]server.Binder{
		"get_organization":                server.Handle(h.getOrganization),
		"create_organization":             server.WithBody(h.createOrganization),
		"update_experimental_features":    server.WithBody(h.updateExperimentalFeatures),
		"get_user_default_org":            server.Handle(h.getDefaultOrg),
		"put_user_default_org":            server.Handle(h.putDefaultOrg),
		"list_members":                    server.Handle(h.listMembers),
		"get_member":                      server.Handle(h.getMember),
		"put_member":                      server.WithBody(h.putMember),
		"delete_member":                   server.Handle(h.deleteMember),
		"list_invitations":                server.Handle(h.listInvitations),
		"create_invitation":               server.WithBody(h.createInvitation),
		"delete_invitation":               server.Handle(h.deleteInvitation),
		"accept_invitation":               server.WithBody(h.acceptInvitation),
		"list_service_accounts":           server.Handle(h.listServiceAccounts),
		"create_service_account":          server.WithBody(h.createServiceAccount),
		"get_service_account":             server.Handle(h.getServiceAccount),
		"update_service_account":          resource.FoundWithBody(h.managedAccount, h.updateServiceAccount),
		"delete_service_account":          resource.Found(h.managedAccount, h.deleteServiceAccount),
		"list_service_account_api_keys":   server.Handle(keysOperation[AccountKeysPath](h, h.listKeys)),
		"create_service_account_api_key":  server.WithBody(keysChange[AccountKeysPath](h, h.issueKey)),
		"get_service_account_api_key":     server.Handle(keysOperation[AccountKeyPath](h, h.readKey)),
		"delete_service_account_api_key":  server.Handle(keysOperation[AccountKeyPath](h, h.revokeKey)),
		"rotate_service_account_api_key":  server.WithBody(keysChange[AccountKeyPath](h, h.rotateKey)),
		"list_user_api_keys":              server.Handle(keysOperation[UserKeysPath](h, h.listKeys)),
		"create_user_api_key":             server.WithBody(keysChange[UserKeysPath](h, h.issueKey)),
		"get_user_api_key":                server.Handle(keysOperation[UserKeyPath](h, h.readKey)),
		"delete_user_api_key":             server.Handle(keysOperation[UserKeyPath](h, h.revokeKey)),
		"rotate_user_api_key":             server.WithBody(keysChange[UserKeyPath](h, h.rotateKey)),
		"list_identity_providers":         server.Handle(h.listIdentityProviders),
		"get_identity_provider":           server.Handle(h.getIdentityProvider),
		"put_identity_provider":           server.WithBody(h.putIdentityProvider),
		"delete_identity_provider":        server.Handle(h.deleteIdentityProvider),
		"try_identity_token":              server.WithBody(h.tryIdentityToken),
		"get_people":                      server.Handle(h.getPeople),
		"put_people":                      server.WithBody(h.putPeople),
		"list_audit_log":                  server.Handle(h.listAuditLog),
		"download_audit_log":              server.Handle(h.downloadAuditLog),
		"list_actions":                    server.Handle(h.listActions),
		"create_or_update_env_action":     server.WithBody(h.putEnvAction),
		"create_or_update_flow_action":    server.WithBody(h.putFlowAction),
		"get_action":                      resource.Found(h.findAction, h.getAction),
		"delete_action":                   server.Handle(h.deleteAction),
		"get_environment_notifications":   server.Handle(h.listEnvironmentNotifications),
		"put_environment_notifications":   server.WithBody(h.putEnvironmentNotification),
		"get_environment_notification":    resource.Found(h.findAction, h.getEnvironmentNotification),
		"update_environment_notification": server.WithBody(h.replaceEnvironmentNotification),
		"delete_environment_notification": server.Handle(h.deleteEnvironmentNotification),
		"rotate_target_secret":            resource.Found(h.findAction, h.rotateTargetSecret),
		"list_deliveries":                 server.Handle(h.listDeliveries),
		"redeliver":                       resource.Found(h.findAction, h.redeliver),
		"get_notification_config":         server.Handle(h.getNotificationConfig),
		"put_notification_config":         server.WithBody(h.putNotificationConfig),
		"delete_notification_config":      server.Handle(h.deleteNotificationConfig),
		"test_action":                     resource.Found(h.findAction, h.testAction),
	})
}

type handlers struct {
	*resource.Base
	targets *targetReader
}

func actor(ctx context.Context) identity.Actor {
	return identity.ActorOf(server.Principal(ctx), server.Access(ctx).Role)
}
