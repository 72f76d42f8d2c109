package web

import "attestry/api/web/view"

// assembled says how far an audit package has come.
type assembled struct {
	State  string  `json:"state"`
	Size   *int64  `json:"size"`
	SHA256 *string `json:"sha256"`
	Reason *string `json:"reason"`
}

// Ready tells that it can be downloaded.
func (a *assembled) Ready() bool { return a.State == "ready" }

// Failed tells that it was given up.
func (a *assembled) Failed() bool { return a.State == "failed" }

// packagePage shows the audit package of a trail, or how far it has come.
type packagePage struct {
	Org, Flow, Trail string
	// Package has the progress of both. Report is the size of the PDF, once they are ready.
	Package, Report assembled
	// Archive and PDF are where to download them.
	Archive, PDF string
}

func (s *Site) showPackage(p *page) error {
	shown := packagePage{Org: p.org(), Trail: p.parameter("trail")}
	var found flow
	if err := p.get(target("/flows/%s/%s", shown.Org, p.parameter("flow")), &found); err != nil {
		return err
	}
	if shown.Flow = found.Name; shown.Flow != p.parameter("flow") { // it was renamed
		return p.redirect(shown.Flow)
	}
	self := view.Pages.TrailSelf(shown.Org, shown.Flow, shown.Trail)
	shown.Archive, shown.PDF = self+"/audit_package", self+"/audit_pdf"
	of := target("/trails/%s/%s/%s", shown.Org, shown.Flow, shown.Trail)
	if err := p.post(of+"/audit_package", &shown.Package); err != nil {
		return err
	}
	// Both are made at once. To ask for the other one as well would begin an attempt anew that has failed.
	if shown.Package.Ready() {
		if err := p.post(of+"/audit_pdf", &shown.Report); err != nil {
			return err
		}
	}
	return p.render("package", "Audit package of "+shown.Trail, &shown)
}
