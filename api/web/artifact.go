package web

import (
	"net/url"
	"slices"
	"strconv"

	"attestry/api/deployments"
	"attestry/api/governance"
	"attestry/api/pipelines"
	"attestry/api/web/request"
)

const (
	// maxPlaces is for how many environments the page of an artifact asks for a verdict.
	maxPlaces = 10
	// maxOthers is how many more environments a page lists, and how many that the artifact has left.
	maxOthers = 50
	// maxHistory is how many entries of an artifact's history a page lists.
	maxHistory = 50
	// maxRecords is how many trails are searched for a record that is not the newest.
	maxRecords = 100
)

// verdict is what the policies of an environment say of an artifact that runs there.
type verdict struct {
	pipelines.ArtifactPlace
	governance.ArtifactExplanation
	// Deployment is when the artifact began to run there, nil if that is not known.
	Deployment *deployments.Deployment
}

type artifactPage struct {
	Org      string
	Artifact pipelines.ArtifactResponse
	// Attested are its attestations in its trail.
	Attested section
	// Verdicts are those of where it runs, of the first maxPlaces. Unasked are more places, without verdicts.
	Verdicts []verdict
	Unasked  []pipelines.ArtifactPlace
	// MoreUnasked, MoreExited and MoreHistory are how many entries are left out.
	MoreUnasked, MoreExited, MoreHistory int
	// Superseded is set if an older record than the newest is shown. Unknown is set if the record of the
	// address was not found, so that the newest is shown.
	Superseded, Unknown bool
	// Logged is where the transparency log has the report, nil if it has not.
	Logged *request.Logged
}

func (s *Site) showArtifact(p *page) error {
	shown := artifactPage{Org: p.Org()}
	flow, asked := p.Parameter("flow"), p.C.Query("artifact_id")
	p.APIPath = request.Target("/artifacts/%s/%s/fingerprint/%s", shown.Org, flow, p.Parameter("fingerprint"))
	if err := p.Get(p.APIPath, &shown.Artifact); err != nil {
		return err
	}
	if shown.Artifact.FlowName != flow { // it was renamed
		return p.Redirect(shown.Artifact.FlowName)
	}
	read := shown.loadNewest
	if asked != "" && asked != shown.Artifact.ID {
		read = func(p *page) error { return shown.loadRecord(p, asked) }
	}
	if err := read(p); err != nil {
		return err
	}
	if err := shown.loadVerdicts(p); err != nil {
		return err
	}
	of := &shown.Artifact
	of.Exited, shown.MoreExited = first(of.Exited, maxOthers)
	slices.Reverse(of.History) // the newest first
	of.History, shown.MoreHistory = first(of.History, maxHistory)
	return p.Render("artifact", of.Filename, &shown)
}

// first are the first ones of a list, and how many more there are.
func first[T any](list []T, limit int) ([]T, int) {
	end := min(len(list), limit)
	return list[:end], len(list) - end
}

// loadNewest reads the attestations of the newest record.
func (a *artifactPage) loadNewest(p *page) error {
	var asserted struct {
		Status artifactStatus `json:"compliance_status"`
	}
	query := url.Values{"flow_name": {a.Artifact.FlowName}}
	if err := p.Get(request.Target("/asserts/%s/fingerprint/%s", a.Org, a.Artifact.Fingerprint)+"?"+query.Encode(), &asserted); err != nil {
		return err
	}
	return a.attest(p, asserted.Status.Entries)
}

// loadRecord shows the record of an id instead of the newest. The API does not read records by id, but
// the trails of a fingerprint list their records.
func (a *artifactPage) loadRecord(p *page, id string) error {
	var found struct {
		Data []trail `json:"data"`
	}
	query := url.Values{"flow": {a.Artifact.FlowName}, "fingerprint": {a.Artifact.Fingerprint}, "per_page": {strconv.Itoa(maxRecords)}}
	if err := p.Get(request.Target("/trails/%s", a.Org)+"?"+query.Encode(), &found); err != nil {
		return err
	}
	for _, one := range found.Data {
		for _, status := range one.Status.Artifacts {
			if status.ArtifactID != nil && *status.ArtifactID == id {
				return a.loadFrom(p, one.Name, status.Entries)
			}
		}
	}
	a.Unknown = true
	return a.loadNewest(p)
}

// loadFrom shows the record in a trail instead of the newest.
func (a *artifactPage) loadFrom(p *page, trail string, entries []entry) error {
	a.Superseded = true
	p.APIPath = request.Target("/artifacts/%s/%s/fingerprint/%s", a.Org, a.Artifact.FlowName, a.Artifact.Fingerprint) +
		"?" + url.Values{"trail": {trail}}.Encode()
	a.Artifact = pipelines.ArtifactResponse{}
	if err := p.Get(p.APIPath, &a.Artifact); err != nil {
		return err
	}
	return a.attest(p, entries)
}

func (a *artifactPage) attest(p *page, entries []entry) error {
	a.Attested = newSection("the artifact", a.Org, a.Artifact.FlowName, a.Artifact.TrailName, entries)
	mark("", &a.Attested)
	own := "artifact/" + a.Artifact.ID
	_, found, err := p.detail(a.Org, "", []string{own}, &a.Attested)
	a.Logged = found[own]
	return err
}

// loadVerdicts reads the verdicts on the artifact where it runs.
func (a *artifactPage) loadVerdicts(p *page) error {
	asked := min(len(a.Artifact.Running), maxPlaces)
	a.Unasked, a.MoreUnasked = first(a.Artifact.Running[asked:], maxOthers)
	for _, place := range a.Artifact.Running[:asked] {
		one, err := a.verdict(p, place)
		if err != nil {
			return err
		}
		a.Verdicts = append(a.Verdicts, one)
	}
	return nil
}

func (a *artifactPage) verdict(p *page, at pipelines.ArtifactPlace) (verdict, error) {
	said := verdict{ArtifactPlace: at}
	query := url.Values{"environment_name": {at.EnvironmentName}}
	err := p.Get(request.Target("/asserts/%s/fingerprint/%s/explanation", a.Org, a.Artifact.Fingerprint)+"?"+query.Encode(), &said.ArtifactExplanation)
	if err != nil {
		return said, err
	}
	var known deployments.Deployment
	found, err := p.GetIfThere(request.Target("/deployments/%s/%s/%s", a.Org, at.EnvironmentName, a.Artifact.Fingerprint), &known)
	if found {
		said.Deployment = &known
	}
	return said, err
}
