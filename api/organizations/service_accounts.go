package organizations

import (
	"cmp"
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/access"
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/evidence/identity"
)

// expirySpan is how far ahead lists of service accounts show that a key expires.
const expirySpan = 30 * 24 * time.Hour

// ServiceAccountPostInput is the body of create_service_account (docs/semantics.md 2.4).
type ServiceAccountPostInput struct {
	_           struct{} `json:"-" additionalProperties:"true"`
	Name        string   `json:"name" minLength:"1" maxLength:"64" pattern:"^[a-zA-Z0-9\\-]+$"`
	Description *string  `json:"description,omitempty" nullable:"true" maxLength:"512" format:"plain-text"`
	Privilege   string   `json:"privilege,omitempty" enum:"admin,member,snapshotter,reader" default:"reader"`
}

// ServiceAccountPatchInput is the body of update_service_account (docs/semantics.md 2.4). Members that are left out are
// not changed; a null description removes the stored one.
type ServiceAccountPatchInput struct {
	_           struct{}           `json:"-" additionalProperties:"true"`
	Description AccountDescription `json:"description,omitempty"`
	Privilege   PatchedPrivilege   `json:"privilege,omitempty"`
}

// AccountDescription is a SentOrRemoved with the length limit of a description.
type AccountDescription struct{ resource.SentOrRemoved }

// Schema bounds the length.
func (d AccountDescription) Schema(registry huma.Registry) *huma.Schema {
	schema := d.SentOrRemoved.Schema(registry)
	schema.MaxLength = new(512)
	return schema
}

// PatchedPrivilege is a privilege that is not changed if it is left out or null.
type PatchedPrivilege struct{ evidence.Role }

// Schema is the schema of a privilege. Clients depend on the text of its validation error.
func (PatchedPrivilege) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, Nullable: true, Enum: []any{"admin", "member", "snapshotter", "reader"},
		Extensions: map[string]any{
			validation.ChoicesText: "<Role.ADMIN: 'admin'>, <Role.MEMBER: 'member'>, <Role.SNAPSHOTTER: 'snapshotter'> or <Role.READER: 'reader'>",
		},
	}
}

// ServiceAccount is a service account in answers (docs/semantics.md 2.4).
type ServiceAccount struct {
	Name           string        `json:"name"`
	DisplayName    string        `json:"display_name"`
	Privilege      evidence.Role `json:"privilege" enum:"admin,member,snapshotter,reader"`
	CreatingUserID *string       `json:"creating_user_id" nullable:"true" doc:"Id of the user or service account that created it."`
	Description    *string       `json:"description" nullable:"true"`
	CreatedAt      *float64      `json:"created_at" nullable:"true"`
	Left           bool          `json:"left_by_creator,omitempty" doc:"In lists: the creator does not manage it any more; administrators do."`
	KeyExpiresAt   int64         `json:"key_expires_at,omitempty" doc:"In lists: when the first of its keys expires that was not rotated, in Unix seconds, if that is within 30 days."`
	ForWebhook     *bool         `json:"for_webhook,omitempty" nullable:"true" doc:"Not in lists."`
}

func showAccount(a *identity.ServiceAccount) ServiceAccount {
	return ServiceAccount{
		Name: a.Name, DisplayName: a.Name, Privilege: a.Privilege, CreatingUserID: resource.NilIfEmpty(a.CreatorID),
		Description: a.Description, CreatedAt: &a.CreatedAt,
	}
}

func answerAccount(a *identity.ServiceAccount) *server.Answer[ServiceAccount] {
	shown := showAccount(a)
	shown.ForWebhook = new(false)
	return server.Answered(shown)
}

// AccountPath is the path of an operation on a service account.
type AccountPath struct {
	server.OrgPath
	Name string `path:"name" minLength:"1" maxLength:"64" pattern:"^[a-zA-Z0-9\\-]+$" doc:"Name of the service account."`
}

// Ref is the name of the service account.
func (p AccountPath) Ref() string { return p.Name }

func accountNotFound(err error) error { return resource.NotFound(err, "Service account not found") }

func (h *handlers) listServiceAccounts(ctx context.Context, _ *server.OrgPath) (*server.Answer[[]ServiceAccount], error) {
	org := server.Access(ctx)
	found, err := h.Tenancy.ServiceAccounts(ctx, org.OrgID)
	if err != nil {
		return nil, err
	}
	members, err := h.Tenancy.Members(ctx, org.OrgID)
	if err != nil {
		return nil, err
	}
	ids := resource.Map(found, func(a *identity.ServiceAccount) string { return a.ID })
	expiries, err := h.Tenancy.FirstExpiries(ctx, ids, h.Clock().Add(expirySpan).Unix())
	if err != nil {
		return nil, err
	}
	roles := rolesByID(members, found)
	return server.Answered(resource.Map(found, func(a *identity.ServiceAccount) ServiceAccount {
		shown := showAccount(a)
		shown.Left, shown.KeyExpiresAt = a.Left(roles), expiries[a.ID]
		return shown
	})), nil
}

func rolesByID(members []evidence.Membership, accounts []identity.ServiceAccount) map[string]evidence.Role {
	roles := evidence.ToMap(members, func(m *evidence.Membership) (string, evidence.Role) { return m.UserID, m.Role })
	for i := range accounts {
		roles[accounts[i].ID] = accounts[i].Privilege
	}
	return roles
}

func (h *handlers) getServiceAccount(ctx context.Context, in *AccountPath) (*server.Answer[ServiceAccount], error) {
	found, err := h.Tenancy.ServiceAccount(ctx, server.Access(ctx).OrgID, in.Name)
	return answerAccount(&found), accountNotFound(err)
}

// createServiceAccount creates a service account with at most the creator's role.
func (h *handlers) createServiceAccount(ctx context.Context, _ *server.OrgPath, body *ServiceAccountPostInput) (*server.Answer[ServiceAccount], error) {
	org := server.Access(ctx)
	privilege, err := evidence.ParseRole(cmp.Or(body.Privilege, evidence.Reader.String()))
	if err != nil {
		return nil, err
	}
	if err := access.RequireRole(org, privilege); err != nil {
		return nil, err
	}
	created, err := h.Tenancy.CreateServiceAccount(ctx, org.OrgName, actor(ctx), identity.ServiceAccount{
		Name: body.Name, Description: body.Description, Privilege: privilege,
	})
	return answerAccount(&created), err
}

// managedAccount reads a service account. The principal must manage it.
func (h *handlers) managedAccount(ctx context.Context, name string) (identity.ServiceAccount, error) {
	org := server.Access(ctx)
	account, err := h.Tenancy.ServiceAccount(ctx, org.OrgID, name)
	if err != nil {
		return account, accountNotFound(err)
	}
	if !account.Manages(server.Principal(ctx), org.Role) {
		return account, access.Refused()
	}
	return account, nil
}

// updateServiceAccount changes the members that were sent. The privilege must not exceed the principal's role.
func (h *handlers) updateServiceAccount(ctx context.Context, _ *AccountPath, account identity.ServiceAccount, body *ServiceAccountPatchInput) (*server.Answer[ServiceAccount], error) {
	org := server.Access(ctx)
	if err := access.RequireRole(org, body.Privilege.Role); err != nil {
		return nil, err
	}
	changed, err := h.Tenancy.UpdateServiceAccount(ctx, org.OrgName, actor(ctx), account, func(account *identity.ServiceAccount) {
		if body.Description.Sent {
			account.Description = body.Description.Value
		}
		account.Privilege = cmp.Or(body.Privilege.Role, account.Privilege)
	})
	return answerAccount(&changed), accountNotFound(err)
}

func (h *handlers) deleteServiceAccount(ctx context.Context, _ *AccountPath, account identity.ServiceAccount) (*server.TextAnswer, error) {
	return server.OK(), accountNotFound(h.Tenancy.DeleteServiceAccount(ctx, server.Access(ctx).OrgName, actor(ctx), account))
}
