package web

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"attestry/api/packages"
	"attestry/api/pipelines"
	"attestry/api/resource"
	"attestry/api/web/request"
	"attestry/evidence/audit"
)

const (
	// trailRows is how many attestations of artifacts a page lists.
	trailRows = 50
	// maxWrong is how many failed or missing attestations are listed above the tables.
	maxWrong = 20
	// maxEvents is how many events a page lists.
	maxEvents = 100
)

// trail is a trail of the API, with the members that pages add to its status and events.
type trail struct {
	pipelines.GetTrail
	Status struct {
		Entries     []entry                   `json:"attestations_statuses"`
		Artifacts   map[string]artifactStatus `json:"artifacts_statuses"`
		EvaluatedAt *float64                  `json:"evaluated_at"`
	} `json:"compliance_status"`
	Events []trailEvent `json:"events"`
}

// artifactStatus is an artifact that was reported, or that a template requires.
type artifactStatus struct {
	Name string `json:"-"`
	resource.ArtifactComplianceStatus
	Entries []entry `json:"attestations_statuses"`
	Section section `json:"-"`
}

// has reports whether an attestation counts for the artifact.
func (a *artifactStatus) has(attestation string) bool {
	return slices.ContainsFunc(a.Entries, func(e entry) bool { return !e.Missing() && *e.AttestationID == attestation })
}

// artifacts lists the artifacts of the trail: first those of its template in its order, then the others by name.
func (t *trail) artifacts() []artifactStatus {
	rank := map[string]int{}
	for i, required := range t.Template.Trail.Artifacts {
		rank[required.Name] = i - len(t.Template.Trail.Artifacts)
	}
	listed := make([]artifactStatus, 0, len(t.Status.Artifacts))
	for name, one := range t.Status.Artifacts {
		one.Name = name
		listed = append(listed, one)
	}
	slices.SortFunc(listed, func(a, b artifactStatus) int {
		return cmp.Or(cmp.Compare(rank[a.Name], rank[b.Name]), cmp.Compare(a.Name, b.Name))
	})
	return listed
}

// trailEvent is an event of a trail. Its members depend on its type.
type trailEvent struct {
	Type        string   `json:"type"`
	Timestamp   float64  `json:"timestamp"`
	Name        string   `json:"template_reference_name"`
	Artifact    string   `json:"artifact_name"`
	Target      string   `json:"target_artifact"`
	Fingerprint string   `json:"artifact_fingerprint"`
	Attestation string   `json:"attestation_id"`
	Compliant   *bool    `json:"is_compliant"`
	Environment string   `json:"environment_name"`
	Now         string   `json:"current_environment_name"` // "" if the environment is archived
	Snapshot    int64    `json:"snapshot_index"`
	Changes     []string `json:"changes"`
}

// Unreported reports whether it is about an artifact that was not reported to the trail, as that of a decision may be.
func (e *trailEvent) Unreported() bool {
	return e.Attestation != "" && e.Fingerprint != "" && e.Artifact == ""
}

// Words is the type in words.
func (e *trailEvent) Words() string { return strings.ReplaceAll(e.Type, "_", " ") }

// wrong is a reason why a trail is not compliant.
type wrong struct {
	Artifact string // "" for the trail itself
	State    any
	// Entry is the failed or missing attestation, nil if the artifact is missing.
	Entry *entry
}

// trailPage shows a trail: the requirements of its template and the reported facts.
type trailPage struct {
	Org       string
	Trail     trail
	Own       section
	Artifacts []artifactStatus
	// Number is the number of artifacts. Older and Newer are links to those on other pages.
	Number       int
	Older, Newer string
	// Wrong are the first of WrongTotal reasons why the trail is not compliant.
	Wrong      []wrong
	WrongTotal int
	// Asked is the trail's attestation with the id AskedID of the query, or nil.
	Asked   *attestation
	AskedID string
	// Events are the latest, newest first, of EventsTotal.
	Events      []trailEvent
	EventsTotal int
}

func (s *Site) showTrail(p *page) error {
	org, flow, name := p.Org(), p.Parameter("flow"), p.Parameter("trail")
	shown := trailPage{Org: org, AskedID: p.C.Query("attestation_id")}
	p.APIPath = request.Target("/trails/%s/%s/%s", org, flow, name)
	if err := p.Get(p.APIPath, &shown.Trail); err != nil {
		return err
	}
	if shown.Trail.Flow.Name != flow { // it was renamed
		return p.Redirect(shown.Trail.Flow.Name)
	}
	shown.prepare(p.C.Query("from"))
	if err := shown.load(p); err != nil {
		return err
	}
	return p.Render("trail", shown.Trail.Name, &shown)
}

// prepare selects what the page shows of the answer. from is the index of the first artifact. Without it, the page
// begins with the artifact that has the attestation AskedID.
func (t *trailPage) prepare(from string) {
	all := t.Trail.artifacts()
	t.Number = len(all)
	t.addFailing("", t.Trail.Status.Entries)
	for _, artifact := range all {
		if artifact.ArtifactFingerprint == nil {
			t.Wrong = append(t.Wrong, wrong{Artifact: artifact.Name, State: artifact.Status})
		}
		t.addFailing(artifact.Name, artifact.Entries)
	}
	t.WrongTotal = len(t.Wrong)
	t.Wrong, _ = first(t.Wrong, maxWrong)
	t.Own = t.section("the trail itself", t.Trail.Status.Entries)
	begin, err := strconv.Atoi(from)
	if err != nil {
		begin = max(0, slices.IndexFunc(all, func(a artifactStatus) bool { return a.has(t.AskedID) }))
	}
	t.cutArtifacts(all, min(max(0, begin), len(all)))
	t.EventsTotal = len(t.Trail.Events)
	t.Events = t.Trail.Events[max(0, len(t.Trail.Events)-maxEvents):]
	slices.Reverse(t.Events)
}

// cutArtifacts sets Artifacts to a page of all, from an index on. It limits the rows, as an artifact may have many.
func (t *trailPage) cutArtifacts(all []artifactStatus, from int) {
	rows, end := 0, from
	for end < len(all) && rows < trailRows {
		one := all[end]
		one.Section = t.section("artifact "+one.Name, one.Entries)
		if rows += 1 + len(one.Section.Entries); rows > trailRows && end > from {
			break
		}
		t.Artifacts = append(t.Artifacts, one)
		end++
	}
	if end < len(all) {
		t.Older = "?from=" + strconv.Itoa(end)
	}
	if from > 0 {
		t.Newer = "?from=" + strconv.Itoa(max(0, from-max(1, len(t.Artifacts))))
	}
}

func (t *trailPage) section(label string, entries []entry) section {
	return newSection(label, t.Org, t.Trail.Flow.Name, t.Trail.Name, entries)
}

// addFailing adds the failed and missing ones of entries to Wrong.
func (t *trailPage) addFailing(artifact string, entries []entry) {
	for i := range entries {
		if one := &entries[i]; one.Missing() || one.failing() {
			t.Wrong = append(t.Wrong, wrong{Artifact: artifact, State: one.State(), Entry: one})
		}
	}
}

// load reads the details of the listed attestations and of AskedID.
func (t *trailPage) load(p *page) error {
	sections := []*section{&t.Own}
	for i := range t.Artifacts {
		sections = append(sections, &t.Artifacts[i].Section)
	}
	found, _, err := p.loadDetails(t.AskedID, nil, sections...)
	if found != nil && found.FlowName == t.Trail.Flow.Name && found.TrailName == t.Trail.Name {
		t.Asked = found
	}
	return err
}

// packagePage shows the audit package of a trail, or its progress.
type packagePage struct {
	Org, Flow, Trail string
	// Package is the state of the package and the PDF. Report has the size of the PDF, once both are complete.
	Package, Report packages.AuditPackage
}

func (s *Site) showPackage(p *page) error {
	shown := packagePage{Org: p.Org(), Trail: p.Parameter("trail")}
	var found pipelines.FlowGet
	if err := p.Get(request.Target("/flows/%s/%s", shown.Org, p.Parameter("flow")), &found); err != nil {
		return err
	}
	if shown.Flow = found.Name; shown.Flow != p.Parameter("flow") { // it was renamed
		return p.Redirect(shown.Flow)
	}
	target := request.Target("/trails/%s/%s/%s", shown.Org, shown.Flow, shown.Trail)
	if err := p.Post(target+"/audit_package", &shown.Package); err != nil {
		return err
	}
	// One job makes both. A second request would restart a failed job.
	if shown.Package.State == audit.Complete {
		if err := p.Post(target+"/audit_pdf", &shown.Report); err != nil {
			return err
		}
	}
	return p.Render("package", "Audit package of "+shown.Trail, &shown)
}
