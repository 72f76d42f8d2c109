package governance

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/policy"
)

// ControlCoverage says which environments a control covers: those with an attached policy
// whose latest version names it (docs/semantics.md 18.5).
type ControlCoverage struct {
	server.PageEnvelope
	Total           int                  `json:"total"`
	Covered         int                  `json:"covered"`
	CoveragePercent float64              `json:"coverage_percent"`
	Environments    []ControlEnvironment `json:"environments"`
}

// ControlEnvironment is an environment that a control covers, or not.
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

// getControlCoverage leaves out archived and logical environments. The totals are those of
// all others, whatever the page is narrowed down to.
func (h *handlers) getControlCoverage(ctx context.Context, in *controlCoverageInput) (*server.Answer[ControlCoverage], error) {
	org := server.Access(ctx)
	if _, err := h.loadControl(ctx, org, in.Identifier); err != nil {
		return nil, err
	}
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
		if strings.Contains(strings.ToLower(shown.Name), strings.ToLower(in.Search)) && (covered == nil || *covered == shown.Covered) {
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

// coverage lists the physical environments by name.
func coverage(identifier string, policies []policy.Head, environments []evidence.Environment) []ControlEnvironment {
	naming := map[string]bool{}
	for _, head := range policies {
		naming[head.Name] = slices.Contains(head.Controls, identifier)
	}
	var shown []ControlEnvironment
	for _, environment := range environments {
		if environment.Logical() || environment.Archived {
			continue
		}
		one := ControlEnvironment{Name: environment.Name, Type: string(environment.Type), Policies: []string{}}
		for _, name := range environment.Policies {
			if naming[name] {
				one.Covered, one.Policies = true, append(one.Policies, name)
			}
		}
		shown = append(shown, one)
	}
	slices.SortFunc(shown, func(a, b ControlEnvironment) int { return cmp.Compare(a.Name, b.Name) })
	return shown
}
