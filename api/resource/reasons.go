package resource

import (
	"encoding/json"

	"attestry/evidence/policy"
)

const (
	// maxListedReasons bounds each list of reasons that an artifact has in an answer about many, and
	// MaxReasons that of an answer about one artifact, in bytes.
	maxListedReasons = 128 << 10
	MaxReasons       = 1 << 20
	// resolutionFrame and explanationFrame are what a resolution and an explanation take up
	// beside the names and texts in them, in bytes.
	resolutionFrame  = 200
	explanationFrame = 350
)

// Reasons bounds what an answer says about why artifacts are compliant or not, in bytes
// (docs/semantics.md 18.10). Verdicts do not depend on it.
type Reasons struct{ left int }

// NewReasons bounds the reasons of an answer about many artifacts.
func NewReasons(bytes int) *Reasons { return &Reasons{left: bytes} }

// Left is how many bytes there may still be.
func (r *Reasons) Left() int { return r.left }

// List bounds one list of an artifact, too.
func (r *Reasons) List() *ReasonList { return &ReasonList{reasons: r, left: maxListedReasons} }

// OneList bounds the only list of an answer.
func OneList() *ReasonList {
	return &ReasonList{reasons: NewReasons(MaxReasons), left: MaxReasons}
}

// ReasonList bounds a list, or several that count as one. It takes the first that fit.
type ReasonList struct {
	reasons *Reasons
	left    int
	full    bool
}

// take reports whether so many bytes fit behind what was taken before.
func (l *ReasonList) take(bytes int) bool {
	if l.full = l.full || bytes > min(l.left, l.reasons.left); l.full {
		return false
	}
	l.left -= bytes
	l.reasons.left -= bytes
	return true
}

// sizeOf is what a rule takes up in an answer.
func sizeOf(rule *PolicyRule) int {
	encoded, err := json.Marshal(rule)
	if err != nil {
		return maxListedReasons // it cannot be shown at all
	}
	return len(encoded)
}

// resolutionSize is what a resolution takes up in an answer, about.
func resolutionSize(resolution *policy.Resolution, flows []policy.Flow, rule *policy.AttestationRule) int {
	size := resolutionFrame
	if resolution.Flow != policy.NoFlow {
		size += len(flows[resolution.Flow].Name) + len(flows[resolution.Flow].Trail)
	}
	if rule != nil {
		size += len(rule.Name) + len(rule.Type) + len(rule.ForControl)
	}
	if found := resolution.Attestation; found != nil {
		size += len(found.ID) + len(found.Name) + len(found.Type)
	}
	return size
}

// size is what an explanation takes up in an answer, about.
func (e *Explanation) size() int {
	size := explanationFrame + len(e.Text)
	for _, text := range []*string{e.Remedy, e.PolicyName, e.FlowName, e.TrailName, e.Control} {
		if text != nil {
			size += len(*text)
		}
	}
	if e.Attestation != nil {
		size += len(e.Attestation.ID) + len(e.Attestation.Name) + len(e.Attestation.Type)
	}
	for _, link := range e.Links {
		size += len(link)
	}
	return size
}
