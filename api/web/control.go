package web

import (
	"strconv"

	"attestry/api/governance"
	"attestry/api/server"
	"attestry/api/web/request"
	"attestry/api/web/view"
)

// controlPage shows a control, with a page of each of its lists.
type controlPage struct {
	Org       string
	Control   governance.Control
	Versions  governance.ControlVersionList
	Coverage  governance.ControlCoverage
	Decisions governance.ControlDecisionList
	// Logged are the entries of the transparency log, by version.
	Logged map[int]*request.Logged
	Pagers map[string]request.Pager // by list
}

func (s *Site) showControl(p *page) error {
	org, identifier := p.Org(), p.Parameter("control")
	shown := controlPage{Org: org, Pagers: map[string]request.Pager{}}
	p.APIPath = request.Target("/controls/%s/%s", org, identifier)
	if err := p.Get(p.APIPath, &shown.Control); err != nil {
		return err
	}
	if text := shown.Control.Description; text != nil {
		*text = view.Cut(*text, maxDescription)
	}
	for _, list := range []struct {
		name string
		head *server.PageEnvelope
		into any
	}{
		{"versions", &shown.Versions.PageEnvelope, &shown.Versions},
		{"coverage", &shown.Coverage.PageEnvelope, &shown.Coverage},
		{"decisions", &shown.Decisions.PageEnvelope, &shown.Decisions},
	} {
		number := p.Number(list.name)
		address := p.APIPath + "/" + list.name + "?per_page=" + strconv.Itoa(view.RowsPerPage) + "&page=" + strconv.Itoa(number)
		if err := p.Get(address, list.into); err != nil {
			return err
		}
		shown.Pagers[list.name] = p.Pager(list.name, number, list.head.TotalPages)
	}
	number := func(v *governance.ControlVersion) int { return v.Version }
	var err error
	if shown.Logged, err = request.LoggedVersions(p.Request, "control", shown.Control.Identifier, shown.Versions.Versions, number); err != nil {
		return err
	}
	return p.Render("control", shown.Control.Identifier, shown)
}
