// Package snapshot decodes snapshots for pages, without holding them in memory as a whole.
package snapshot

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"attestry/api/jsonstream"
	"attestry/api/resource"
	"attestry/api/web/view"
	"attestry/evidence"
	"attestry/evidence/snapshot"
)

const (
	// maxCauses is how many causes are listed, and maxOfCause how many artifacts for each.
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

// Allowed is the explanation of the allow list, "" if the artifact is not on it.
func (r *Artifact) Allowed() string {
	listed, _ := evidence.First(r.Explanation, func(one resource.Explanation) bool { return one.Cause == "allow_listed" })
	return listed.Text
}

// changers are the causes of a changed verdict in words.
var changers = map[string]string{
	"allow_list": " by the allow list", "policies": " by other policies", "evidence": " by what was recorded",
}

// Change is the artifact's change since the previous snapshot in words.
func (r *Artifact) Change() string {
	if r.Annotation.Type == "unchanged" {
		return ""
	}
	return strings.ReplaceAll(r.Annotation.Type, "-", " ") + changers[r.Annotation.By]
}

// States are the states of a filter, with their names for people.
var States = map[string]string{
	"": "all", "failing": "not compliant", "compliant": "compliant", "unknown": "not judged", "changed": "changed in this snapshot",
}

// Filter selects artifacts of a snapshot.
type Filter struct {
	State, Name, Flow string
	From              int // the index of the first selected artifact on the page
}

func (f *Filter) selects(r *Artifact) bool {
	if !f.selectsState(r) {
		return false
	}
	if f.Name != "" && !evidence.ContainsFold(r.Name, f.Name) && !strings.HasPrefix(r.Fingerprint, f.Name) {
		return false
	}
	return f.Flow == "" || slices.ContainsFunc(r.Flows, func(flow ArtifactFlow) bool { return flow.Name == f.Flow })
}

func (f *Filter) selectsState(r *Artifact) bool {
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

// Query is the filter as a query string, with another From.
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

// Snapshot is the part of a snapshot that pages show.
type Snapshot struct {
	Index     int64
	Latest    bool
	Timestamp float64
	Counts    snapshot.Counts
	// Causes are those of failing artifacts, sorted by the number of artifacts.
	Causes Causes
	// Artifacts is a page of the artifacts that the filter selects. Selected is the number of all.
	Artifacts []Artifact
	Selected  int
}

// Decode decodes a snapshot of an organization of any size. It keeps only the part that a page shows.
func (s *Snapshot) Decode(decoder *jsonstream.Decoder, org string, filter *Filter) error {
	err := decoder.Object(map[string]any{
		"index": &s.Index, "is_latest": &s.Latest, "timestamp": &s.Timestamp, "artifact_compliance_count": &s.Counts,
		"artifacts": jsonstream.Elements(decoder, func(one Artifact) error {
			s.add(one, org, filter)
			return nil
		}),
	})
	slices.SortStableFunc(s.Causes.List, func(a, b *Cause) int { return cmp.Compare(b.Count, a.Count) })
	return err
}

func (s *Snapshot) add(one Artifact, org string, filter *Filter) {
	if len(one.Flows) > 0 {
		one.Link = view.Pages.Artifact(org, one.Flows[0].Name, one.Fingerprint, "")
	}
	if one.Failing() {
		s.Causes.add(&one)
	}
	if !filter.selects(&one) {
		return
	}
	if s.Selected++; s.Selected > filter.From && len(s.Artifacts) < view.RowsPerPage {
		s.Artifacts = append(s.Artifacts, one)
	}
}
