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

// People is a version of the file that says which accounts one person has (docs/semantics.md 18.13).
type People struct {
	Version   int     `json:"version" doc:"0 if no file was stored yet."`
	CreatedAt float64 `json:"created_at" doc:"When this version was stored, Unix seconds."`
	CreatedBy string  `json:"created_by"`
	Comment   string  `json:"comment,omitempty"`
	Content   string  `json:"content" doc:"The file, in YAML."`
}

func showPeople(p *governance.PeopleVersion) People {
	return People{Version: p.Version, CreatedAt: p.CreatedAt, CreatedBy: p.CreatedBy, Comment: p.Comment, Content: string(p.Content)}
}

type getPeopleInput struct {
	server.OrgPath
	Version int `query:"version" minimum:"0" doc:"The latest unless given."`
}

func (h *handlers) getPeople(ctx context.Context, in *getPeopleInput) (*server.Answer[People], error) {
	org := server.Access(ctx)
	if in.Version == 0 {
		found, err := h.People.Latest(ctx, org.OrgID)
		return server.Answered(showPeople(&found)), err
	}
	found, err := h.People.Version(ctx, org.OrgID, in.Version)
	return server.Answered(showPeople(&found)), resource.NotFound(err, "Version %d of the people of organization '%s' does not exist", in.Version, org.OrgName)
}

// PeoplePutInput is the body of put_people.
type PeoplePutInput struct {
	Content string `json:"content" minLength:"1" maxLength:"524288" doc:"The file, in YAML."`
	Comment string `json:"comment,omitempty" maxLength:"1000" format:"plain-text" doc:"What this version changes."`
}

// putPeople stores the next version, unless it is that of the latest, in one batch with the entry of the audit log that tells of it.
func (h *handlers) putPeople(ctx context.Context, _ *server.OrgPath, body *PeoplePutInput) (*server.Answer[People], error) {
	accounts, err := people.Parse([]byte(body.Content))
	if err != nil {
		return nil, resource.FileFault("content", err)
	}
	by := actor(ctx)
	stored := governance.PeopleVersion{
		Content: []byte(body.Content), Accounts: accounts, Comment: body.Comment, CreatedAt: evidence.Seconds(h.Clock()), CreatedBy: by.Name,
	}
	err = h.Tenancy.Record(ctx, server.Access(ctx).OrgName, by, identity.AuditPeople, func(org *evidence.Organization, batch *storage.Batch) (string, error) {
		latest, err := h.People.Latest(ctx, org.ID)
		if err != nil || bytes.Equal(latest.Content, stored.Content) {
			stored = latest
			return "", err
		}
		org.PeopleVersion++
		stored.Org, stored.Version = org.ID, org.PeopleVersion
		h.People.PutIn(batch, stored)
		return fmt.Sprintf("version %d of the accounts of people", stored.Version), nil
	})
	return server.Answered(showPeople(&stored)), err
}
