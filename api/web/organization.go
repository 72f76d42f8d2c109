package web

import (
	"net/http"
	"slices"
	"time"

	"attestry/api/environments"
	"attestry/api/web/request"
	"attestry/api/web/view"
	"attestry/evidence"
)

// silentAfter is how long an environment may send no report until it is shown as silent. Reporters report every minute.
const silentAfter = 15 * time.Minute

type environment struct {
	environments.GetEnvironmentResponse
	// Silent is set if its last report is older than silentAfter.
	Silent bool `json:"-"`
}

// prepare sets the members that the answer of the API lacks.
func (e *environment) prepare(now time.Time) {
	if e.Type != "logical" && e.LastReportedAt != nil {
		e.Silent = now.Sub(evidence.Time(*e.LastReportedAt)) > silentAfter
	}
}

type organizationPage struct {
	Org string
	// Red and Silent count the environments that need attention, of Total.
	Red, Silent, Total int
	Environments       []environment
	Pager              request.Pager
	Attention          attention
}

// showHome redirects to the viewer's default organization, or to the list of organizations.
func (s *Site) showHome(p *page) error {
	org, err := s.Identities.DefaultOrganization(p.C.UserContext(), p.Viewer)
	if err != nil {
		return err
	}
	address := view.Pages.Organizations()
	if org != "" {
		address = view.Pages.Organization(org)
	}
	return p.C.Redirect(address, http.StatusSeeOther)
}

// organizationsPage lists the organizations of the viewer.
type organizationsPage struct {
	Organizations []string
	Pager         request.Pager
}

func (s *Site) showOrganizations(p *page) error {
	names, err := s.Identities.OrganizationsOf(p.C.UserContext(), p.Viewer)
	if err != nil {
		return err
	}
	var shown organizationsPage
	shown.Organizations, shown.Pager = request.Cut(p.Request, names)
	return p.Render("organizations", "Organizations", shown)
}

func (s *Site) showOrganization(p *page) error {
	p.APIPath = request.Target("/environments/%s", p.Org())
	shown := organizationPage{Org: p.Org()}
	if err := p.Get(p.APIPath, &shown.Environments); err != nil {
		return err
	}
	for i := range shown.Environments {
		one := &shown.Environments[i]
		one.prepare(s.Clock())
		switch one.rank() {
		case rankRed:
			shown.Red++
		case rankSilent:
			shown.Silent++
		}
	}
	shown.Total = len(shown.Environments)
	slices.SortStableFunc(shown.Environments, func(a, b environment) int { return a.rank() - b.rank() })
	shown.Environments, shown.Pager = request.Cut(p.Request, shown.Environments)
	if err := shown.Attention.load(p, evidence.Seconds(s.Clock())); err != nil {
		return err
	}
	return p.Render("organization", shown.Org, &shown)
}

// The ranks of environments. Those that need attention come first.
const (
	rankRed = iota
	rankSilent
	rankUnknown
	rankGreen
)

func (e *environment) rank() int {
	switch {
	case e.State != nil && !*e.State:
		return rankRed
	case e.Silent:
		return rankSilent
	case e.State == nil:
		return rankUnknown
	}
	return rankGreen
}
