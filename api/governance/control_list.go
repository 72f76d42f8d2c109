package governance

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence/control"
)

type listControlsInput struct {
	server.OrgPath
	Page          int      `query:"page" minimum:"1" default:"1"`
	PerPage       int      `query:"per_page" minimum:"1" maximum:"100" default:"15"`
	SortDirection string   `query:"sort_direction" enum:"asc,desc" default:"asc"`
	Search        string   `query:"search" doc:"Part of the name or identifier, in any letter case."`
	Tag           []string `query:"tag,explode" doc:"key or key:value"`
	Archived      bool     `query:"archived" default:"false" doc:"List archived controls instead."`
}

// matches applies the filters. An empty tag matches nothing (docs/semantics.md 1.12).
func (in *listControlsInput) matches(ctx context.Context, c *control.Control) bool {
	search := strings.ToLower(in.Search)
	if c.Archived != in.Archived || !strings.Contains(strings.ToLower(c.Name), search) && !strings.Contains(strings.ToLower(c.Identifier), search) {
		return false
	}
	return !server.QueryHas(ctx, "tag") || slices.ContainsFunc(in.Tag, func(tag string) bool { return resource.HasTag(c.Tags, tag) })
}

// ControlList is a page of controls (docs/semantics.md 1.10, style 4).
type ControlList struct {
	server.PageEnvelope
	Controls []Control `json:"controls"`
}

// listControls lists controls by name, those of one name by identifier. There are thousands at most, and so they are
// filtered and sorted in memory.
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
	body := ControlList{
		PageEnvelope: server.PageOf(ctx, h.Links, in.Page, in.PerPage, int64(len(all))).Envelope(), Controls: []Control{},
	}
	for _, one := range server.CutPage(all, in.Page, in.PerPage) {
		body.Controls = append(body.Controls, showControl(&one))
	}
	return server.Answered(body), nil
}

// ControlTagChoice is a tag that a control has.
type ControlTagChoice struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// ControlTagChoices lists distinct tags by key, then by value.
type ControlTagChoices struct {
	TagChoices []ControlTagChoice `json:"tag_choices"`
}

func (h *handlers) listControlTagChoices(ctx context.Context, _ *server.OrgPath) (*server.Answer[ControlTagChoices], error) {
	all, err := h.Controls.List(ctx, server.Access(ctx).OrgID)
	if err != nil {
		return nil, err
	}
	choices := []ControlTagChoice{}
	for _, one := range all {
		for key, value := range one.Tags {
			choices = append(choices, ControlTagChoice{Key: key, Value: value})
		}
	}
	slices.SortFunc(choices, func(a, b ControlTagChoice) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value))
	})
	return server.Answered(ControlTagChoices{TagChoices: slices.Compact(choices)}), nil
}
