package organizations

import (
	"context"
	"strconv"
	"strings"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage/tenancy"
)

// AuditLogFilter selects entries of the audit log. It is exported because huma ignores unexported embedded types.
type AuditLogFilter struct {
	Search    string   `query:"search" doc:"Part of the name of whom a change concerns, or of who made it, in upper or lower case."`
	EventType string   `query:"event_type" enum:"added,changed,removed"`
	Role      []string `query:"role,explode" maxItems:"1000" doc:"New role."`
	Source    []string `query:"source,explode" maxItems:"1000" doc:"app, scim, invitation or script."`
	From      float64  `query:"from_timestamp" doc:"Unix seconds, inclusive."`
	To        float64  `query:"to_timestamp" doc:"Unix seconds, inclusive."`
}

func (f *AuditLogFilter) query(ctx context.Context) tenancy.AuditQuery {
	return tenancy.AuditQuery{
		OrgID: server.Access(ctx).OrgID, Search: f.Search, Event: identity.AuditEvent(f.EventType),
		Roles: evidence.WithoutEmpty(f.Role), Sources: evidence.WithoutEmpty(f.Source),
		From: resource.IfSent(ctx, "from_timestamp", f.From), To: resource.IfSent(ctx, "to_timestamp", f.To),
	}
}

type listAuditLogInput struct {
	server.OrgPath
	AuditLogFilter
	Page    int    `query:"page" minimum:"1" default:"1"`
	PerPage int    `query:"per_page" minimum:"1" maximum:"100" default:"15"`
	SortBy  string `query:"sort_by" enum:"when,user,role,changed_by,source" default:"when"`
	SortDir string `query:"sort_dir" enum:"asc,desc" default:"desc"`
}

// AuditLogEntry is a change of the permissions in an organization (docs/semantics.md 2.7).
type AuditLogEntry struct {
	ID                  string       `json:"id"`
	When                float64      `json:"when" doc:"Unix seconds."`
	EventType           string       `json:"event_type" enum:"added,changed,removed"`
	Source              string       `json:"source" enum:"app,scim,invitation,script"`
	Kind                string       `json:"kind" enum:"user,service_account,identity_provider,invitation,database,environment,people"`
	User                string       `json:"user" doc:"Name of the user, service account or identity provider that the change concerns; the id of an invitation; of a database, what was missing when the operator accepted its loss; of an environment, how its admission settings were changed."`
	OldRole             *string      `json:"old_role" nullable:"true"`
	NewRole             *string      `json:"new_role" nullable:"true"`
	APIKey              *AuditAPIKey `json:"api_key,omitempty" doc:"Only if an API key was issued, changed or revoked."`
	LeftServiceAccounts []string     `json:"left_service_accounts,omitempty" doc:"Names of the service accounts that the user has created and does not manage any more since this change."`
	ChangedBy           *string      `json:"changed_by" nullable:"true" doc:"Null for the operator."`
}

// AuditAPIKey is an API key in the audit log.
type AuditAPIKey identity.AuditKey

// AuditLogPage is a page of the audit log (docs/semantics.md 1.10, style 4).
type AuditLogPage struct {
	server.PageEnvelope
	Entries []AuditLogEntry `json:"entries"`
}

func (h *handlers) listAuditLog(ctx context.Context, in *listAuditLogInput) (*server.Answer[AuditLogPage], error) {
	query := in.query(ctx)
	query.Order, query.Ascending = tenancy.AuditOrder(in.SortBy), in.SortDir == "asc"
	query.Offset, query.Limit = server.OffsetOf(in.Page, in.PerPage), in.PerPage
	entries, total, err := h.Tenancy.AuditLog(ctx, query)
	return server.Answered(AuditLogPage{
		PageEnvelope: server.PageOf(ctx, h.Links, in.Page, in.PerPage, total).Envelope(), Entries: resource.Map(entries, showAuditEntry),
	}), err
}

// auditColumns are the members of AuditLogEntry. when_utc is the time in a form for people.
var auditColumns = []string{
	"id", "when", "when_utc", "event_type", "source", "kind", "user", "old_role", "new_role", "changed_by", "api_key", "left_service_accounts",
}

type downloadAuditLogInput struct {
	server.OrgPath
	AuditLogFilter
}

// downloadAuditLog sends the audit log, oldest first.
func (h *handlers) downloadAuditLog(ctx context.Context, in *downloadAuditLogInput) (*server.StreamOutput, error) {
	query := in.query(ctx)
	query.Order, query.Ascending = tenancy.AuditByTime, true
	name := server.Access(ctx).OrgName + "-audit-log.csv"
	return h.StreamCSV(ctx, name, auditColumns, func(ctx context.Context, after string) ([][]string, string, error) {
		entries, next, err := h.Tenancy.WalkAuditLog(ctx, query, after, h.BatchBytes)
		return resource.Map(entries, auditRow), next, err
	})
}

func auditRow(e *identity.AuditEntry) []string {
	entry := showAuditEntry(e)
	return []string{
		e.ID, strconv.FormatFloat(e.Time, 'f', -1, 64), evidence.ZeroIfNil(resource.ISOTime(e.Time)), entry.EventType, entry.Source, entry.Kind, e.Name,
		evidence.ZeroIfNil(entry.OldRole), evidence.ZeroIfNil(entry.NewRole), e.ChangedBy, evidence.ZeroIfNil(entry.APIKey).ID, strings.Join(e.LeftAccounts, ","),
	}
}

func showAuditEntry(e *identity.AuditEntry) AuditLogEntry {
	return AuditLogEntry{
		ID: e.ID, When: e.Time, EventType: string(e.Event), Source: string(e.Source), Kind: string(e.Subject), User: e.Name,
		OldRole: showRole(e.OldRole), NewRole: showRole(e.NewRole), ChangedBy: resource.NilIfEmpty(e.ChangedBy),
		APIKey: (*AuditAPIKey)(e.Key), LeftServiceAccounts: e.LeftAccounts,
	}
}

// showRole returns nil for no role.
func showRole(role evidence.Role) *string {
	if role == evidence.NoRole {
		return nil
	}
	return new(role.String())
}
