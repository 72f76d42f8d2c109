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
	// maxPlaces is for how many environments the page of an artifact shows a verdict.
	maxPlaces = 10
	// maxOthers is how many more environments a page lists, and how many in which the artifact ran before.
	maxOthers = 50
	// maxHistory is how many entries of an artifact's history a page lists.
	maxHistory = 50
	// maxRecords is how many trails are searched for an older record.
	maxRecords = 100
)

// verdict is the verdict of an environment's policies on an artifact that runs there.
type verdict struct {
	pipelines.ArtifactPlace
	governance.ArtifactExplanation
	// Deployment is the start of the artifact there, nil if it is not known.
	Deployment *deployments.Deployment
}

type artifactPage struct {
	Org      string
	Artifact pipelines.ArtifactResponse
	// Attested are its attestations in its trail.
	Attested section
	// Verdicts are of the first maxPlaces environments where it runs. Unasked are other such environments.
	Verdicts []verdict
	Unasked  []pipelines.ArtifactPlace
	// MoreUnasked, MoreExited and MoreHistory are how many entries are left out.
	MoreUnasked, MoreExited, MoreHistory int
	// Superseded is set if an older record is shown, Unknown if the newest is shown because the requested is unknown.
	Superseded, Unknown bool
	// Logged is the entry of the report in the transparency log, nil if there is none.
	Logged *request.Logged
}

func (s *Site) showArtifact(p *page) error {
	shown := artifactPage{Org: p.Org()}
	flow, id := p.Parameter("flow"), p.C.Query("artifact_id")
	p.APIPath = request.Target("/artifacts/%s/%s/fingerprint/%s", shown.Org, flow, p.Parameter("fingerprint"))
	if err := p.Get(p.APIPath, &shown.Artifact); err != nil {
		return err
	}
	if shown.Artifact.FlowName != flow { // it was renamed
		return p.Redirect(shown.Artifact.FlowName)
	}
	read := shown.loadNewest
	if id != "" && id != shown.Artifact.ID {
		read = func(p *page) error { return shown.loadRecord(p, id) }
	}
	if err := read(p); err != nil {
		return err
	}
	if err := shown.loadVerdicts(p); err != nil {
		return err
	}
	artifact := &shown.Artifact
	artifact.Exited, shown.MoreExited = first(artifact.Exited, maxOthers)
	slices.Reverse(artifact.History) // newest first
	artifact.History, shown.MoreHistory = first(artifact.History, maxHistory)
	return p.Render("artifact", artifact.Filename, &shown)
}

// first returns the first elements of a list, and the number of the others.
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
	return a.loadAttestations(p, asserted.Status.Entries)
}

// loadRecord reads the record with an id. The API has no operation for this, but the trails of a fingerprint list the
// ids of their records.
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
				return a.loadFrom(p, id, one.Name, status.Entries)
			}
		}
	}
	a.Unknown = true
	return a.loadNewest(p)
}

// loadFrom reads the record with an id in a trail. The API answers for the newest one there, which may have another name.
func (a *artifactPage) loadFrom(p *page, id, trail string, entries []entry) error {
	path := request.Target("/artifacts/%s/%s/fingerprint/%s", a.Org, a.Artifact.FlowName, a.Artifact.Fingerprint) +
		"?" + url.Values{"trail": {trail}}.Encode()
	var found pipelines.ArtifactResponse
	if err := p.Get(path, &found); err != nil {
		return err
	}
	if found.ID != id {
		a.Unknown = true
		return a.loadNewest(p)
	}
	p.APIPath, a.Artifact, a.Superseded = path, found, true
	return a.loadAttestations(p, entries)
}

func (a *artifactPage) loadAttestations(p *page, entries []entry) error {
	a.Attested = newSection("the artifact", a.Org, a.Artifact.FlowName, a.Artifact.TrailName, entries)
	fact := "artifact/" + a.Artifact.ID
	_, found, err := p.loadDetails("", []string{fact}, &a.Attested)
	a.Logged = found[fact]
	return err
}

func (a *artifactPage) loadVerdicts(p *page) error {
	judged := min(len(a.Artifact.Running), maxPlaces)
	a.Unasked, a.MoreUnasked = first(a.Artifact.Running[judged:], maxOthers)
	for _, place := range a.Artifact.Running[:judged] {
		one, err := a.verdict(p, place)
		if err != nil {
			return err
		}
		a.Verdicts = append(a.Verdicts, one)
	}
	return nil
}

func (a *artifactPage) verdict(p *page, place pipelines.ArtifactPlace) (verdict, error) {
	v := verdict{ArtifactPlace: place}
	query := url.Values{"environment_name": {place.EnvironmentName}}
	err := p.Get(request.Target("/asserts/%s/fingerprint/%s/explanation", a.Org, a.Artifact.Fingerprint)+"?"+query.Encode(), &v.ArtifactExplanation)
	if err != nil {
		return v, err
	}
	var deployment deployments.Deployment
	found, err := p.GetIfThere(request.Target("/deployments/%s/%s/%s", a.Org, place.EnvironmentName, a.Artifact.Fingerprint), &deployment)
	if found {
		v.Deployment = &deployment
	}
	return v, err
}
