package web

import (
	"strconv"

	"attestry/api/web/request"
	"attestry/api/web/view"
)

// listed is how an answer is divided into pages.
type listed struct {
	Last  int   `json:"total_pages"`
	Total int64 `json:"total_count"`
}

type control struct {
	Identifier  string            `json:"identifier"`
	Name        string            `json:"name"`
	Version     int               `json:"version"`
	CreatedAt   *float64          `json:"created_at"`
	CreatedBy   string            `json:"created_by"`
	Description *string           `json:"description"`
	Links       map[string]string `json:"links"`
	Tags        map[string]string `json:"tags"`
	Archived    bool              `json:"archived"`
	Policies    []string          `json:"policies_referencing"`
}

type controlPage struct {
	Org       string
	Control   control
	Versions  controlVersions
	Coverage  controlCoverage
	Decisions controlDecisions
}

type controlVersion struct {
	Version int     `json:"version"`
	Status  string  `json:"status"`
	Name    string  `json:"name"`
	At      float64 `json:"timestamp"`
	By      string  `json:"created_by"`
}

type controlVersions struct {
	listed
	Versions []controlVersion `json:"versions"`
	// Logged are the entries of the transparency log, by version.
	Logged map[int]*request.Logged `json:"-"`
	Pager  request.Pager           `json:"-"`
}

// controlCoverage is a page of the environments that a control covers or not.
type controlCoverage struct {
	listed
	Of           int     `json:"total"`
	Covered      int     `json:"covered"`
	Percent      float64 `json:"coverage_percent"`
	Environments []struct {
		Name     string   `json:"name"`
		Type     string   `json:"type"`
		Covered  bool     `json:"covered"`
		Policies []string `json:"policies"`
	} `json:"environments"`
	Pager request.Pager `json:"-"`
}

type controlDecisions struct {
	listed
	Decisions []decision    `json:"decisions"`
	Pager     request.Pager `json:"-"`
}

type decision struct {
	ID          string  `json:"id"`
	Compliant   bool    `json:"is_compliant"`
	At          float64 `json:"timestamp"`
	Name        string  `json:"attestation_name"`
	Version     *int    `json:"control_version"`
	Flow        *string `json:"flow_name"`
	Trail       *string `json:"trail_name"`
	Fingerprint *string `json:"artifact_fingerprint"`
	Artifact    *string `json:"artifact_name"`
	Description *string `json:"description"`
	Origin      *string `json:"origin_url"`
	// Link is the page of the decision, ArtifactLink that of what was decided on.
	Link, ArtifactLink string `json:"-"`
}

func (s *Site) showControl(p *page) error {
	org, identifier := p.Org(), p.Parameter("control")
	shown := controlPage{Org: org}
	p.APIPath = request.Target("/controls/%s/%s", org, identifier)
	if err := p.Get(p.APIPath, &shown.Control); err != nil {
		return err
	}
	if text := shown.Control.Description; text != nil {
		*text = view.Cut(*text, maxDescription)
	}
	var err error
	if shown.Versions.Pager, err = p.part("versions", &shown.Versions.listed, &shown.Versions); err != nil {
		return err
	}
	number := func(v *controlVersion) int { return v.Version }
	if shown.Versions.Logged, err = request.LoggedVersions(p.Request, "control", shown.Control.Identifier, shown.Versions.Versions, number); err != nil {
		return err
	}
	if shown.Coverage.Pager, err = p.part("coverage", &shown.Coverage.listed, &shown.Coverage); err != nil {
		return err
	}
	if shown.Decisions.Pager, err = p.part("decisions", &shown.Decisions.listed, &shown.Decisions); err != nil {
		return err
	}
	for i := range shown.Decisions.Decisions {
		shown.Decisions.Decisions[i].link(org)
	}
	return p.Render("control", shown.Control.Identifier, shown)
}

// part reads a page of one of the lists that a control has. The parameter of the list's page has its name.
func (p *page) part(name string, head *listed, into any) (request.Pager, error) {
	number := p.Number(name)
	address := p.APIPath + "/" + name + "?per_page=" + strconv.Itoa(view.RowsPerPage) + "&page=" + strconv.Itoa(number)
	err := p.Get(address, into)
	return p.Pager(name, number, head.Last), err
}

// link sets the addresses of what a decision is about.
func (d *decision) link(org string) {
	if d.Flow == nil || d.Trail == nil {
		return
	}
	d.Link = view.Pages.Attestation(org, *d.Flow, *d.Trail, d.ID)
	if d.Fingerprint != nil {
		d.ArtifactLink = view.Pages.Artifact(org, *d.Flow, *d.Fingerprint, "")
	}
}
