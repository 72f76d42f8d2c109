package snapshot

import "encoding/json"

// Artifact is a fingerprint running in a snapshot, as it was judged when the
// snapshot was made.
type Artifact struct {
	Fingerprint string         `json:"fingerprint"`
	Name        string         `json:"name"`
	CreatedAt   []int64        `json:"created_at"` // one per instance, ascending
	Pods        map[string]Pod `json:"pods,omitempty"`
	// Compliant is nil where no policy judges (contract/README.md choice 18).
	Compliant *bool `json:"compliant"`
}

// Instances is how many instances of the artifact run.
func (a *Artifact) Instances() int { return len(a.CreatedAt) }

// NewestInstance is the start of the youngest instance, in Unix seconds.
func (a *Artifact) NewestInstance() int64 {
	if len(a.CreatedAt) == 0 {
		return 0
	}
	return a.CreatedAt[len(a.CreatedAt)-1]
}

// Evaluate judges what a report names. It is the one place where an artifact
// gets its verdict.
func Evaluate(report *Report) []Artifact {
	reported := report.Fingerprints()
	artifacts := make([]Artifact, 0, len(reported))
	for _, image := range reported {
		artifacts = append(artifacts, Artifact{
			Fingerprint: image.Fingerprint,
			Name:        image.Name,
			CreatedAt:   image.CreatedAt,
			Pods:        image.Pods,
		})
	}
	return artifacts
}

// Counts is how many running artifacts of a snapshot have each verdict. Its JSON
// keys are the contract's (contract/live-shapes.md 1).
type Counts struct {
	True  int `json:"true"`
	False int `json:"false"`
	Null  int `json:"null"`
}

// Count counts verdicts.
func Count(artifacts []Artifact) Counts {
	var counts Counts
	for _, artifact := range artifacts {
		switch {
		case artifact.Compliant == nil:
			counts.Null++
		case *artifact.Compliant:
			counts.True++
		default:
			counts.False++
		}
	}
	return counts
}

// Total is the number of running artifacts.
func (c Counts) Total() int { return c.True + c.False + c.Null }

func sameVerdict(a, b *bool) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func encode(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		panic("snapshot: plain data does not encode: " + err.Error())
	}
	return body
}
