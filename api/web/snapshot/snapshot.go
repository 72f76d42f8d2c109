// Package snapshot reads the snapshots that pages show, which may be too large to be held.
package snapshot

import (
	"cmp"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"attestry/api/jsonstream"
	"attestry/api/resource"
	"attestry/api/web/view"
	"attestry/evidence/snapshot"
)

const (
	// maxCauses is how many causes of failure are told apart, and maxOfCause how many artifacts are named for each.
	maxCauses  = 10
	maxOfCause = 10
)

// Artifact is an artifact of a snapshot.
type Artifact struct {
	Name        string                 `json:"name"`
	Fingerprint string                 `json:"fingerprint"`
	Compliant   *bool                  `json:"compliant"`
	Explanation []resource.Explanation `json:"explanation"`
	Commit      *string                `json:"git_commit"`
	CommitURL   *string                `json:"commit_url"`
	Annotation  struct {
		Type string `json:"type"`
		Now  int    `json:"now"`
		By   string `json:"by"`
	} `json:"annotation"`
	Flows []ArtifactFlow `json:"flows"`
	Link  string         `json:"-"`
}

// ArtifactFlow is a flow that an artifact was reported to, with the trail of its newest record.
type ArtifactFlow struct {
	Name  string `json:"flow_name"`
	Trail string `json:"trail_name"`
}

// Exited reports whether the artifact has stopped running.
func (r *Artifact) Exited() bool { return r.Annotation.Type == "exited" }

// Failing reports whether the artifact runs and is not compliant.
func (r *Artifact) Failing() bool { return !r.Exited() && r.Compliant != nil && !*r.Compliant }

// Allowed says who allowed the artifact to run whatever policies say, "" if nobody did.
func (r *Artifact) Allowed() string {
	if i := slices.IndexFunc(r.Explanation, func(said resource.Explanation) bool { return said.Cause == "allow_listed" }); i >= 0 {
		return r.Explanation[i].Text
	}
	return ""
}

// changers say what changed the verdict of an artifact.
var changers = map[string]string{
	"allow_list": " by the allow list", "policies": " by other policies", "evidence": " by what was recorded",
}

// Change says in words what has happened to the artifact since the snapshot before.
func (r *Artifact) Change() string {
	if r.Annotation.Type == "unchanged" {
		return ""
	}
	return strings.ReplaceAll(r.Annotation.Type, "-", " ") + changers[r.Annotation.By]
}

// States are the states that a filter takes, with what people call them.
var States = map[string]string{
	"": "all", "failing": "not compliant", "compliant": "compliant", "unknown": "not judged", "changed": "changed in this snapshot",
}

// Filter selects artifacts of a snapshot.
type Filter struct {
	State, Name, Flow string
	From              int // how many selected ones are skipped
}

// takes reports whether an artifact is selected.
func (f *Filter) takes(r *Artifact) bool {
	if !f.takesState(r) {
		return false
	}
	if f.Name != "" && !strings.Contains(strings.ToLower(r.Name), strings.ToLower(f.Name)) && !strings.HasPrefix(r.Fingerprint, f.Name) {
		return false
	}
	return f.Flow == "" || slices.ContainsFunc(r.Flows, func(flow ArtifactFlow) bool { return flow.Name == f.Flow })
}

func (f *Filter) takesState(r *Artifact) bool {
	switch f.State {
	case "failing":
		return r.Failing()
	case "compliant":
		return !r.Exited() && r.Compliant != nil && *r.Compliant
	case "unknown":
		return !r.Exited() && r.Compliant == nil
	case "changed":
		return r.Annotation.Type != "unchanged"
	}
	return true
}

// Query is the filter as a query, from another artifact on.
func (f Filter) Query(from int) string {
	values := url.Values{}
	for name, value := range map[string]string{"state": f.State, "name": f.Name, "flow": f.Flow} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if from > 0 {
		values.Set("from", strconv.Itoa(from))
	}
	return "?" + values.Encode()
}

// Snapshot is what pages show of a snapshot.
type Snapshot struct {
	Index     int64
	Latest    bool
	Timestamp float64
	Counts    snapshot.Counts
	// Causes are why artifacts may not run, those of the most artifacts first.
	Causes Causes
	// Artifacts are those that the filter selects, a page of them; Selected is how many there are.
	Artifacts []Artifact
	Selected  int
}

// Decode reads a snapshot of an organization, however large it is, and keeps no more of it than a page
// shows: of what is selected, the page that begins with selected.From.
func (s *Snapshot) Decode(content io.Reader, org string, selected *Filter) error {
	decoder := jsonstream.NewDecoder(content)
	err := decoder.Object(map[string]any{
		"index": &s.Index, "is_latest": &s.Latest, "timestamp": &s.Timestamp, "artifact_compliance_count": &s.Counts,
		"artifacts": func() error { return s.decodeArtifact(decoder, org, selected) },
	})
	slices.SortStableFunc(s.Causes.List, func(a, b *Cause) int { return cmp.Compare(b.Count, a.Count) })
	return err
}

func (s *Snapshot) decodeArtifact(decoder *jsonstream.Decoder, org string, selected *Filter) error {
	var one Artifact
	if err := decoder.Decode(&one); err != nil {
		return err
	}
	if len(one.Flows) > 0 {
		one.Link = view.Pages.Artifact(org, one.Flows[0].Name, one.Fingerprint, "")
	}
	if one.Failing() {
		s.Causes.add(&one)
	}
	if !selected.takes(&one) {
		return nil
	}
	if s.Selected++; s.Selected > selected.From && len(s.Artifacts) < view.RowsPerPage {
		s.Artifacts = append(s.Artifacts, one)
	}
	return nil
}
