package governance

import (
	"context"
	"errors"
	"fmt"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/control"
	"attestry/storage"
)

// ControlVersion is a version of a control as answers show it (docs/semantics.md 18.5).
type ControlVersion struct {
	Version     int               `json:"version"`
	Status      string            `json:"status" enum:"Created,Edited,Archived,Unarchived"`
	Name        string            `json:"name"`
	Description *string           `json:"description" nullable:"true"`
	Links       map[string]string `json:"links"`
	Timestamp   float64           `json:"timestamp"`
	CreatedBy   string            `json:"created_by"`
}

func showControlVersion(v *control.Version) ControlVersion {
	return ControlVersion{
		Version: v.Version, Status: string(v.Status), Name: v.Name, Description: v.Description,
		Links: resource.EmptyIfNil(v.Links), Timestamp: v.CreatedAt, CreatedBy: v.CreatedBy,
	}
}

type listControlVersionsInput struct {
	ControlPath
	Page          int    `query:"page" minimum:"1" default:"1"`
	PerPage       int    `query:"per_page" minimum:"1" maximum:"100" default:"15"`
	SortDirection string `query:"sort_direction" enum:"asc,desc" default:"desc"`
}

// ControlVersionList is a page of versions (docs/semantics.md 1.10, style 4).
type ControlVersionList struct {
	server.PageEnvelope
	Versions []ControlVersion `json:"versions"`
}

func (h *handlers) listControlVersions(ctx context.Context, in *listControlVersionsInput) (*server.Answer[ControlVersionList], error) {
	org := server.Access(ctx)
	found, err := h.loadControl(ctx, org, in.Identifier)
	if err != nil {
		return nil, err
	}
	page := server.PageOf(ctx, h.Links, in.Page, in.PerPage, int64(found.Version))
	body := ControlVersionList{PageEnvelope: page.Envelope(), Versions: []ControlVersion{}}
	if page.Beyond() {
		return server.Answered(body), nil
	}
	versions, err := h.Controls.Versions(ctx, &found, in.SortDirection == "desc", server.OffsetOf(in.Page, in.PerPage), in.PerPage)
	for _, version := range versions {
		body.Versions = append(body.Versions, showControlVersion(&version))
	}
	return server.Answered(body), err
}

type getControlVersionInput struct {
	ControlPath
	Version int `path:"version_number"`
}

func (h *handlers) getControlVersion(ctx context.Context, in *getControlVersionInput) (*server.Answer[ControlVersion], error) {
	org := server.Access(ctx)
	found, err := h.loadControl(ctx, org, in.Identifier)
	if err != nil {
		return nil, err
	}
	version, err := h.Controls.Version(ctx, org.OrgID, in.Identifier, in.Version)
	if errors.Is(err, storage.ErrNotFound) || in.Version > found.Version {
		return nil, evidence.NewError(evidence.NotFound, fmt.Sprintf("Version %d does not exist for control '%s'", in.Version, in.Identifier))
	}
	if err != nil {
		return nil, err
	}
	return server.Answered(showControlVersion(&version)), nil
}
