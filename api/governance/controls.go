package governance

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/control"
	"attestry/evidence/policy"
	"attestry/storage"
)

// ControlPostInput is the body of post_control (docs/semantics.md 18.5).
type ControlPostInput struct {
	Identifier  string       `json:"identifier" maxLength:"256" pattern:"^[a-zA-Z0-9\\-._~]+$"`
	Name        string       `json:"name" minLength:"1" format:"plain-text"`
	Description *string      `json:"description,omitempty" nullable:"true" format:"plain-text"`
	Links       ControlLinks `json:"links,omitempty"`
}

// ControlPutInput is the body of put_control (docs/semantics.md 18.5). Members that are left out are not changed; a
// null description removes the stored one.
type ControlPutInput struct {
	Name        *string                `json:"name,omitempty" minLength:"1" nullable:"true" format:"plain-text"`
	Description resource.SentOrRemoved `json:"description,omitempty"`
	Links       ControlLinks           `json:"links,omitempty"`
}

// ControlLinks maps labels to URLs. It may be absent or null.
type ControlLinks map[string]string

// Schema describes the values.
func (ControlLinks) Schema(huma.Registry) *huma.Schema {
	return resource.KeyedBy("", &huma.Schema{Type: huma.TypeString})
}

// Control is a control in answers (docs/semantics.md 18.5).
type Control struct {
	Identifier  string            `json:"identifier"`
	Name        string            `json:"name"`
	Version     int               `json:"version"`
	CreatedAt   *float64          `json:"created_at" nullable:"true"`
	CreatedBy   string            `json:"created_by"`
	Description *string           `json:"description" nullable:"true"`
	Links       map[string]string `json:"links"`
	Tags        map[string]string `json:"tags"`
	Archived    bool              `json:"archived"`
	// PoliciesReferencing are the names of the policies whose latest version refers to the control; null in lists.
	PoliciesReferencing []string `json:"policies_referencing" nullable:"true"`
}

func showControl(c *control.Control) Control {
	return Control{
		Identifier: c.Identifier, Name: c.Name, Version: c.Version, CreatedAt: &c.CreatedAt, CreatedBy: c.CreatedBy,
		Description: c.Description, Links: resource.EmptyIfNil(c.Links), Tags: resource.EmptyIfNil(c.Tags), Archived: c.Archived,
	}
}

// answerControl shows a control with the policies that refer to it.
func (h *handlers) answerControl(ctx context.Context, c *control.Control) (*server.Answer[Control], error) {
	policies, err := h.Policies.List(ctx, server.Access(ctx).OrgID)
	if err != nil {
		return nil, err
	}
	shown := showControl(c)
	shown.PoliciesReferencing = []string{}
	for _, head := range policies {
		if slices.Contains(head.Controls, c.Identifier) {
			shown.PoliciesReferencing = append(shown.PoliciesReferencing, head.Name)
		}
	}
	return server.Answered(shown), nil
}

// ControlPath is the path of an operation on a control.
type ControlPath struct {
	server.OrgPath
	Identifier string `path:"identifier" doc:"Identifier of the control."`
}

// Ref is the identifier of the control.
func (p ControlPath) Ref() string { return p.Identifier }

func controlNotFound(ctx context.Context, identifier string, err error) error {
	return resource.NotFound(err, "Control '%s' does not exist in organization '%s'", identifier, server.Access(ctx).OrgName)
}

func (h *handlers) loadControl(ctx context.Context, identifier string) (control.Control, error) {
	found, err := h.Controls.Get(ctx, server.Access(ctx).OrgID, identifier)
	return found, controlNotFound(ctx, identifier, err)
}

// postControl creates a control. The identifier of an archived one cannot be used again.
func (h *handlers) postControl(ctx context.Context, _ *server.OrgPath, body *ControlPostInput) (*server.Answer[Control], error) {
	org := server.Access(ctx)
	created, err := h.Controls.Create(ctx, control.Control{
		Org: org.OrgID, Identifier: body.Identifier, Name: body.Name, Description: body.Description, Links: body.Links,
		CreatedBy: server.Principal(ctx).Name, CreatedAt: evidence.Seconds(h.Clock()),
	})
	if errors.Is(err, storage.ErrExists) {
		return nil, evidence.Errorf(evidence.Conflict, "A control with identifier '%s' already exists in organization '%s'", body.Identifier, org.OrgName)
	}
	if err != nil {
		return nil, err
	}
	return h.answerControl(ctx, &created)
}

func (h *handlers) getControl(ctx context.Context, _ *ControlPath, found control.Control) (*server.Answer[Control], error) {
	return h.answerControl(ctx, &found)
}

func (h *handlers) putControl(ctx context.Context, in *ControlPath, body *ControlPutInput) (*server.Answer[Control], error) {
	change := control.Change{Name: body.Name}
	if body.Description.Sent {
		change.Description = &body.Description.Value
	}
	if body.Links != nil {
		change.Links = (*map[string]string)(&body.Links)
	}
	return h.changeControl(ctx, in, change)
}

// setArchived makes the operation that archives or unarchives a control.
func (h *handlers) setArchived(archived bool) server.Binder {
	return server.Handle(func(ctx context.Context, in *ControlPath) (*server.Answer[Control], error) {
		return h.changeControl(ctx, in, control.Change{Archived: &archived})
	})
}

func (h *handlers) changeControl(ctx context.Context, in *ControlPath, change control.Change) (*server.Answer[Control], error) {
	changed, err := h.Controls.Change(ctx, server.Access(ctx).OrgID, in.Identifier, change, server.Principal(ctx).Name, evidence.Seconds(h.Clock()))
	if err != nil {
		return nil, controlNotFound(ctx, in.Identifier, err)
	}
	return h.answerControl(ctx, &changed)
}

type listControlsInput struct {
	server.OrgPath
	Page          int    `query:"page" minimum:"1" default:"1"`
	PerPage       int    `query:"per_page" minimum:"1" maximum:"100" default:"15"`
	SortDirection string `query:"sort_direction" enum:"asc,desc" default:"asc"`
	Search        string `query:"search" doc:"Part of the name or identifier, in any letter case."`
	resource.TagQuery
	Archived bool `query:"archived" default:"false" doc:"List archived controls instead."`
}

func (in *listControlsInput) matches(ctx context.Context, c *control.Control) bool {
	found := evidence.ContainsFold(c.Name, in.Search) || evidence.ContainsFold(c.Identifier, in.Search)
	return c.Archived == in.Archived && found && in.Matches(ctx, c.Tags)
}

// ControlList is a page of controls (docs/semantics.md 1.10, style 4).
type ControlList struct {
	server.PageEnvelope
	Controls []Control `json:"controls"`
}

// listControls lists controls by name, then by identifier. There are thousands at most, filtered and sorted in memory.
func (h *handlers) listControls(ctx context.Context, in *listControlsInput) (*server.Answer[ControlList], error) {
	all, err := h.Controls.List(ctx, server.Access(ctx).OrgID)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(c control.Control) bool { return !in.matches(ctx, &c) })
	slices.SortFunc(all, func(a, b control.Control) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Identifier, b.Identifier))
	})
	if in.SortDirection == "desc" {
		slices.Reverse(all)
	}
	return server.Answered(ControlList{
		PageEnvelope: server.PageOf(ctx, h.Links, in.Page, in.PerPage, int64(len(all))).Envelope(),
		Controls:     resource.Map(server.CutPage(all, in.Page, in.PerPage), showControl),
	}), nil
}

// ControlTagChoice is a tag of a control.
type ControlTagChoice resource.Tag

// ControlTagChoices lists distinct tags by key, then by value.
type ControlTagChoices struct {
	TagChoices []ControlTagChoice `json:"tag_choices"`
}

func (h *handlers) listControlTagChoices(ctx context.Context, _ *server.OrgPath) (*server.Answer[ControlTagChoices], error) {
	all, err := h.Controls.List(ctx, server.Access(ctx).OrgID)
	choices := resource.TagChoices(all, func(c *control.Control) map[string]string { return c.Tags })
	return server.Answered(ControlTagChoices{TagChoices: resource.Map(choices, func(tag *resource.Tag) ControlTagChoice {
		return ControlTagChoice(*tag)
	})}), err
}

// ControlVersion is a version of a control in answers (docs/semantics.md 18.5).
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

func (h *handlers) listControlVersions(ctx context.Context, in *listControlVersionsInput, found control.Control) (*server.Answer[ControlVersionList], error) {
	page := server.PageOf(ctx, h.Links, in.Page, in.PerPage, int64(found.Version))
	var versions []control.Version
	var err error
	if !page.Beyond() {
		versions, err = h.Controls.Versions(ctx, &found, in.SortDirection == "desc", server.OffsetOf(in.Page, in.PerPage), in.PerPage)
	}
	return server.Answered(ControlVersionList{PageEnvelope: page.Envelope(), Versions: resource.Map(versions, showControlVersion)}), err
}

type getControlVersionInput struct {
	ControlPath
	Version int `path:"version_number"`
}

func (h *handlers) getControlVersion(ctx context.Context, in *getControlVersionInput, found control.Control) (*server.Answer[ControlVersion], error) {
	version, err := h.Controls.Version(ctx, server.Access(ctx).OrgID, in.Identifier, in.Version)
	if errors.Is(err, storage.ErrNotFound) || in.Version > found.Version {
		return nil, evidence.Errorf(evidence.NotFound, "Version %d does not exist for control '%s'", in.Version, in.Identifier)
	}
	return server.Answered(showControlVersion(&version)), err
}

// ControlCoverage says which environments a control covers: those with an attached policy whose latest version refers
// to it (docs/semantics.md 18.5).
type ControlCoverage struct {
	server.PageEnvelope
	Total           int                  `json:"total"`
	Covered         int                  `json:"covered"`
	CoveragePercent float64              `json:"coverage_percent"`
	Environments    []ControlEnvironment `json:"environments"`
}

// ControlEnvironment is an environment in the coverage of a control.
type ControlEnvironment struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	Covered  bool     `json:"covered"`
	Policies []string `json:"policies" doc:"The attached policies that name the control."`
}

type controlCoverageInput struct {
	ControlPath
	Page    int    `query:"page" minimum:"1" default:"1"`
	PerPage int    `query:"per_page" minimum:"1" maximum:"100" default:"15"`
	Search  string `query:"search" doc:"Part of the environment's name, in any letter case."`
	Covered bool   `query:"covered" doc:"Only covered environments, or only those that are not."`
}

// getControlCoverage shows the coverage without archived and logical environments. The totals ignore the filters.
func (h *handlers) getControlCoverage(ctx context.Context, in *controlCoverageInput, _ control.Control) (*server.Answer[ControlCoverage], error) {
	org := server.Access(ctx)
	policies, err := h.Policies.List(ctx, org.OrgID)
	if err != nil {
		return nil, err
	}
	environments, err := h.Environments.List(ctx, org.OrgID)
	if err != nil {
		return nil, err
	}
	covered := resource.IfSent(ctx, "covered", in.Covered)
	body := ControlCoverage{}
	var listed []ControlEnvironment
	for _, shown := range coverage(in.Identifier, policies, environments) {
		body.Total++
		if shown.Covered {
			body.Covered++
		}
		if evidence.ContainsFold(shown.Name, in.Search) && (covered == nil || *covered == shown.Covered) {
			listed = append(listed, shown)
		}
	}
	if body.Total > 0 {
		body.CoveragePercent = 100 * float64(body.Covered) / float64(body.Total)
	}
	body.PageEnvelope = server.PageOf(ctx, h.Links, in.Page, in.PerPage, int64(len(listed))).Envelope()
	body.Environments = append([]ControlEnvironment{}, server.CutPage(listed, in.Page, in.PerPage)...)
	return server.Answered(body), nil
}

// coverage lists the physical environments that are not archived, by name.
func coverage(identifier string, policies []policy.Head, environments []evidence.Environment) []ControlEnvironment {
	refersTo := evidence.ToMap(policies, func(head *policy.Head) (string, bool) {
		return head.Name, slices.Contains(head.Controls, identifier)
	})
	var shown []ControlEnvironment
	for _, environment := range environments {
		if environment.Logical() || environment.Archived {
			continue
		}
		one := ControlEnvironment{Name: environment.Name, Type: string(environment.Type), Policies: []string{}}
		for _, name := range environment.Policies {
			if refersTo[name] {
				one.Covered, one.Policies = true, append(one.Policies, name)
			}
		}
		shown = append(shown, one)
	}
	slices.SortFunc(shown, func(a, b ControlEnvironment) int { return cmp.Compare(a.Name, b.Name) })
	return shown
}
