package web

import (
	"net/url"

	"attestry/api/audits"
	"attestry/api/packages"
	"attestry/api/resource"
	"attestry/api/web/request"
	"attestry/api/web/view"
	"attestry/app/population"
	"attestry/evidence/framework"
	"attestry/evidence/snapshot"
	"attestry/links"
)

// auditPage shows an audit with its population, a sample of it, its totals, or an assessment.
type auditPage struct {
	Org   string
	Audit audits.AuditResponse
	// Rows are those of the page or of the sample, which has Size rows and was picked with Seed.
	Rows       []population.SampledRow
	Sampled    bool
	Size, Seed string
	// Bundle is the URL of the page of the bundle with the sample.
	Bundle string
	Strata []population.Stratum
	By     string
	// Finding selects rows. Findings are its possible values.
	Finding  string
	Findings []string
	Total    int64
	CSV      string
	Pager    request.Pager
	// Totals and Assessed are nil unless they were requested. Frameworks are the choices for an assessment.
	Totals     *population.Totals
	Assessed   *audits.AssessmentResponse
	Frameworks []resource.FileVersion
}

func (s *Site) showAudit(p *page) error {
	shown := auditPage{Org: p.Org(), Finding: p.C.Query("finding"), Seed: p.C.Query("seed"), Size: p.C.Query("size"), By: p.C.Query("by")}
	address := request.Target("/audits/%s/%s", p.Org(), p.Parameter("audit"))
	if err := p.Get(address, &shown.Audit); err != nil {
		return err
	}
	shown.Findings = append([]string{string(snapshot.Restart)}, framework.Findings...)
	shown.CSV = links.Prefix + address + "/population/csv"
	read := shown.readPopulation
	switch {
	case p.C.Query("show") == "totals":
		read = shown.readTotals
	case p.C.Query("show") == "requirements":
		read = shown.readRequirements
	case shown.Size != "":
		read = shown.readSample
	}
	if err := read(p, address); err != nil {
		return err
	}
	return p.Render("audit", shown.Audit.Name, &shown)
}

// bundlePage shows the progress of the bundle of an audit.
type bundlePage struct {
	Org, Audit string
	// Again is the query of this page.
	Again   string
	Package packages.AuditPackage
}

func (s *Site) showBundle(p *page) error {
	shown := bundlePage{Org: p.Org(), Audit: p.Parameter("audit"), Again: "?" + p.Query().Encode()}
	if err := p.Post(request.Target("/audits/%s/%s/bundle", shown.Org, shown.Audit)+shown.Again, &shown.Package); err != nil {
		return err
	}
	return p.Render("bundle", "Bundle of "+shown.Audit, &shown)
}

func (a *auditPage) readTotals(p *page, address string) error {
	a.Totals, p.APIPath = &population.Totals{}, address+"/totals"
	return p.Get(p.APIPath, a.Totals)
}

// readRequirements reads the frameworks, and the assessment of the period by the selected one.
func (a *auditPage) readRequirements(p *page, address string) error {
	a.Assessed = &audits.AssessmentResponse{}
	if err := p.Get(request.Target("/frameworks/%s", a.Org), &a.Frameworks); err != nil || p.C.Query("framework") == "" {
		return err
	}
	query := "?" + url.Values{"framework": {p.C.Query("framework")}}.Encode()
	a.CSV, p.APIPath = links.Prefix+address+"/requirements/csv"+query, address+"/requirements"+query
	return p.Get(p.APIPath, a.Assessed)
}

func (a *auditPage) readSample(p *page, address string) error {
	query := url.Values{"size": {a.Size}, "seed": {a.Seed}}
	if a.By != "" {
		query.Set("by", a.By)
	}
	a.Bundle = view.Pages.Audit(a.Org, a.Audit.Name) + "/bundle?" + query.Encode()
	var found population.Sample
	p.APIPath = address + "/sample?" + query.Encode()
	err := p.Get(p.APIPath, &found)
	a.Sampled, a.Rows, a.Strata, a.Total = true, found.Rows, found.Strata, int64(found.Population)
	return err
}

func (a *auditPage) readPopulation(p *page, address string) error {
	query := p.Paged()
	if a.Finding != "" {
		query.Set("finding", a.Finding)
		a.CSV += "?finding=" + url.QueryEscape(a.Finding)
	}
	var found audits.PopulationResponse
	p.APIPath = address + "/population?" + query.Encode()
	err := p.Get(p.APIPath, &found)
	a.Rows = resource.Map(found.Population, func(row *population.Row) population.SampledRow { return population.SampledRow{Row: *row} })
	a.Total, a.Pager = found.TotalCount, p.Pager("page", p.Number("page"), found.TotalPages)
	return err
}
