package organizations

import (
	"bytes"
	"context"
	"fmt"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/evidence/people"
	"attestry/storage"
	"attestry/storage/governance"
)

type getPeopleInput struct {
	server.OrgPath
	Version int `query:"version" minimum:"0" doc:"The latest unless given."`
}

func (h *handlers) getPeople(ctx context.Context, in *getPeopleInput) (*server.Answer[resource.FileVersion], error) {
	org := server.Access(ctx)
	found, err := h.People.Version(ctx, org.OrgID, in.Version)
	return server.Answered(resource.ShowFile(found.File)), resource.NotFound(err, "Version %d of the people of organization '%s' does not exist", in.Version, org.OrgName)
}

// putPeople stores the next version, unless the latest has the same content, in one batch with its audit log entry.
func (h *handlers) putPeople(ctx context.Context, _ *server.OrgPath, body *resource.FilePutInput) (*server.Answer[resource.FileVersion], error) {
	accounts, err := people.Parse([]byte(body.Content))
	if err != nil {
		return nil, resource.FileFault("content", err)
	}
	by := actor(ctx)
	stored := governance.PeopleVersion{Accounts: accounts, File: governance.File{
		Content: []byte(body.Content), Comment: body.Comment, CreatedAt: evidence.Seconds(h.Clock()), CreatedBy: by.Name,
	}}
	err = h.Tenancy.Record(ctx, server.Access(ctx).OrgName, by, identity.AuditPeople, func(org *evidence.Organization, batch *storage.Batch) (string, error) {
		latest, err := h.People.Version(ctx, org.ID, 0)
		if err != nil || bytes.Equal(latest.Content, stored.Content) {
			stored = latest
			return "", err
		}
		org.PeopleVersion++
		stored.Org, stored.Version = org.ID, org.PeopleVersion
		h.People.PutIn(batch, stored)
		return fmt.Sprintf("version %d of the accounts of people", stored.Version), nil
	})
	return server.Answered(resource.ShowFile(stored.File)), err
}
