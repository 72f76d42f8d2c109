package web

import (
	"net/http"

	"attestry/api/pipelines"
	"attestry/api/server"
	"attestry/api/web/request"
	"attestry/evidence/template"
)

// maxRequirements is how many requirements of a template a page lists.
const maxRequirements = 100

type flowsPage struct {
	Org  string `json:"-"`
	Name string `json:"-"` // the text searched for in names
	// Refused is the API's error for the search, "" for none.
	Refused    string                `json:"-"`
	Flows      []pipelines.FlowList  `json:"data"`
	Pagination server.PaginationInfo `json:"pagination"`
	Pager      request.Pager         `json:"-"`
}

func (s *Site) showFlows(p *page) error {
	shown := flowsPage{Org: p.Org(), Name: p.C.Query("name")}
	query := p.Paged()
	if shown.Name != "" {
		query.Set("search_by_name", shown.Name)
		query.Set("case_sensitive", "false")
	}
	p.APIPath = request.Target("/flows/%s", shown.Org) + "?" + query.Encode()
	err := p.Get(p.APIPath, &shown)
	if request.IsRefused(err, http.StatusBadRequest) && shown.Name != "" {
		p.C.Status(http.StatusBadRequest)
		shown.Refused, p.APIPath, err = err.Error(), "", nil
	}
	if err != nil {
		return err
	}
	shown.Pager = p.Pager("page", shown.Pagination.Page, shown.Pagination.PageCount)
	return p.Render("flows", "Flows", &shown)
}

// flowPage shows a flow with a page of its trails, newest first.
type flowPage struct {
	Org        string                `json:"-"`
	Flow       pipelines.FlowGet     `json:"-"`
	Required   required              `json:"-"`
	Trails     []trail               `json:"data"`
	Pagination server.PaginationInfo `json:"pagination"`
	Pager      request.Pager         `json:"-"`
}

func (s *Site) showFlow(p *page) error {
	shown := flowPage{Org: p.Org()}
	p.APIPath = request.Target("/flows/%s/%s", shown.Org, p.Parameter("flow"))
	if err := p.Get(p.APIPath, &shown.Flow); err != nil {
		return err
	}
	if shown.Flow.Name != p.Parameter("flow") { // it was renamed
		return p.Redirect(shown.Flow.Name)
	}
	if shown.Flow.Template != nil {
		shown.Required.read(*shown.Flow.Template)
	}
	trails := request.Target("/trails/%s/%s", shown.Org, shown.Flow.Name) + "?" + p.Paged().Encode()
	if err := p.Get(trails, &shown); err != nil {
		return err
	}
	shown.Pager = p.Pager("page", shown.Pagination.Page, shown.Pagination.PageCount)
	return p.Render("flow", shown.Flow.Name, &shown)
}

// required lists the requirements of a template.
type required struct {
	Rows []requirement
	// Total counts all requirements, not only Rows.
	Total int
	// Unread is set if the template cannot be read.
	Unread bool
}

// requirement is an attestation that a template requires, or an artifact without any.
type requirement struct {
	Artifact string // "" for the trail itself
	Name     string
	Type     string
	// Approved and Separated are set if it requires independent approval or separation of duties.
	Approved, Separated bool
}

// read parses a template. If a stored template is no longer valid, the page shows only its text.
func (r *required) read(text string) {
	parsed, err := template.Parse([]byte(text))
	if err != nil {
		r.Unread = true
		return
	}
	r.add("", parsed.Trail.Attestations)
	for _, artifact := range parsed.Trail.Artifacts {
		if len(artifact.Attestations) == 0 {
			r.Rows = append(r.Rows, requirement{Artifact: artifact.Name})
		}
		r.add(artifact.Name, artifact.Attestations)
	}
	r.Total = len(r.Rows)
	r.Rows, _ = first(r.Rows, maxRequirements)
}

func (r *required) add(artifact string, attestations []template.Attestation) {
	for _, one := range attestations {
		r.Rows = append(r.Rows, requirement{Artifact: artifact, Name: one.Name, Type: one.Type, Approved: one.Independent != nil, Separated: one.Separated})
	}
}
