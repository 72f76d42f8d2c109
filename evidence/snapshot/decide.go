package snapshot

import (
	"maps"
	"slices"

	"attestry/evidence"
	"attestry/evidence/notification"
	"attestry/evidence/policy"
)

// ReportRecord is a report without its list of artifacts.
type ReportRecord struct {
	// ID distinguishes reports that had the same arrival number one after the other. It is short, as heads store many.
	ID          string                   `json:"id"`
	Org         string                   `json:"org"`
	Environment string                   `json:"environment"` // id
	Arrival     int64                    `json:"arrival"`     // 1, 2, 3, … per environment
	AcceptedAt  float64                  `json:"accepted_at"` // Unix seconds
	ReportedBy  string                   `json:"reported_by"`
	Type        evidence.EnvironmentType `json:"type"`
	Digest      string                   `json:"digest"`
	// Repeat requests another evaluation of the last snapshot's artifacts, without a report, because the environment's
	// policies or its allow list have changed.
	Repeat bool `json:"repeat,omitempty"`
}

// Input is everything that the decision about a report depends on.
type Input struct {
	Head   Head
	Report ReportRecord
	// Generation is that of the environment and its organization. It was read before everything else.
	Generation string
	// EnvironmentName is the environment's current name.
	EnvironmentName string
	// Last is the tree of the last snapshot, Artifacts its artifacts in order, Before the same by fingerprint.
	Last      Tree
	Artifacts []Artifact
	Before    map[string]Artifact
	// Images are the images of the report, one per fingerprint, sorted by fingerprint. Starting are the fingerprints
	// that did not run before, renamed those that keep running under another name.
	Images            []Reported
	Starting, renamed []string
	// Policies are the latest versions of the policies that are attached to the environment.
	Policies []policy.Reference
	// Known has the evaluations of the fingerprints of ToEvaluate. The facts themselves, of thousands of artifacts, would
	// be too large to hold at once.
	Known map[string]Known
	// Scaling is that of the previous report.
	Scaling Scaling
}

// SetLast sets the artifacts that ran before the report.
func (in *Input) SetLast(tree Tree) {
	in.Last, in.Artifacts = tree, tree.Artifacts()
	in.Before = ByFingerprint(in.Artifacts)
}

// SetImages sets the images of the report, or those of the last snapshot if nothing was reported.
func (in *Input) SetImages(report *Report) {
	if in.Report.Repeat {
		in.Images = evidence.Map(in.Artifacts, func(artifact Artifact) Reported { return artifact.Reported })
		return
	}
	in.Images = report.Resolve(in.Before)
	for _, image := range in.Images {
		running, runs := in.Before[image.Fingerprint]
		switch {
		case !runs:
			in.Starting = append(in.Starting, image.Fingerprint)
		case running.Name != image.Name:
			in.renamed = append(in.renamed, image.Fingerprint)
		}
	}
}

// SameDigest reports whether the report is identical to the last one.
func (in *Input) SameDigest() bool {
	return !in.Report.Repeat && in.Head.Last > 0 && in.Head.Digest == in.Report.Digest
}

// Unchanged reports whether nothing has to be evaluated: the report is identical to the last one, which was evaluated
// in the same generation, or there is no snapshot to evaluate again.
func (in *Input) Unchanged() bool {
	if in.Report.Repeat {
		return in.Head.Last == 0
	}
	return in.SameDigest() && in.Generation == in.Head.Generation
}

// Number is that of the next snapshot.
func (in *Input) Number() int64 { return in.Head.Last + 1 }

// ToEvaluate returns the fingerprints whose facts have to be read: all if the generation or the policies have changed.
// Otherwise what keeps running keeps its evaluation, unless its name has changed, which policies may read.
func (in *Input) ToEvaluate() []string {
	switch {
	case in.Head.Last > 0 && (in.Generation != in.Head.SnapshotGeneration || in.policiesChanged()):
		return evidence.Map(in.Images, func(image Reported) string { return image.Fingerprint })
	case len(in.Policies) > 0:
		return slices.Concat(in.Starting, in.renamed)
	}
	return in.Starting
}

func (in *Input) policiesChanged() bool { return !slices.Equal(in.Policies, in.Head.Policies) }

// Result is the decision about a report.
type Result struct {
	Report     ReportRecord
	Generation string
	// Snapshot is the next snapshot, nil if none is made.
	Snapshot *Snapshot
	// Chunks are those that only the snapshot has, Superseded the ids of those that only the last one has.
	Chunks     map[string]Chunk
	Superseded []string
	Effects    Effects
	// Scaled are the artifacts that keep running with another number of instances than in the previous report. Scaling is
	// to be stored for the next report; it is nil if the stored one stays valid or none is needed.
	Scaled  notification.ArtifactsScaled
	Scaling Scaling
	// ScaledAt and Renamed are the new values of Head.Scaled and Head.Renamed, nil to keep them.
	ScaledAt *int64
	Renamed  *bool
}

// Decide decides about a report. It depends on nothing but its input.
func Decide(in *Input) (Result, error) {
	result := Result{Report: in.Report, Generation: in.Generation}
	if in.Unchanged() {
		return result, nil
	}
	next := in.next()
	artifacts := in.evaluate(next)
	newPolicies := in.Head.Last > 0 && in.policiesChanged()
	changes := diff(in.Artifacts, artifacts, newPolicies)
	significant := in.Head.Last == 0 || newPolicies || Significant(changes)
	result.scale(in, changes, significant)
	if !in.Report.Repeat {
		result.Renamed = new(len(in.renamed) > 0 && !significant)
	}
	if !significant {
		return result, nil
	}
	return result, result.add(in, next, artifacts, changes)
}

// next returns the next snapshot without its artifacts.
func (in *Input) next() *Snapshot {
	report := &in.Report
	next := &Snapshot{
		Org: report.Org, Environment: report.Environment, Number: in.Number(), Type: report.Type,
		Timestamp: evidence.TimeAfter(in.Head.Timestamp, report.AcceptedAt), Policies: in.Policies, EventsBefore: in.Head.Events,
		Arrival: report.Arrival, Report: report.ID, Digest: report.Digest, Generation: in.Generation,
		ReportedBy: report.ReportedBy, ReportedAt: report.AcceptedAt,
	}
	if report.Repeat {
		next.Digest, next.ReportedAt = in.Head.Digest, in.Head.LastReportedAt
	}
	return next
}

// scale compares the numbers of instances with the previous report's. If a new snapshot has them, they are not stored.
func (r *Result) scale(in *Input, changes []Change, significant bool) {
	if r.Report.Repeat {
		return
	}
	scaling, scaled := Scale(in.Before, changes, in.Scaling)
	r.Scaled = notification.ArtifactsScaled{Environment: r.Report.Environment, Snapshot: in.Head.Last, Artifacts: scaled}
	switch {
	case significant || len(scaling) == 0:
		r.ScaledAt = new(int64(0))
	case !maps.Equal(scaling, in.Scaling):
		r.Scaling, r.ScaledAt = scaling, new(r.Report.Arrival)
	}
}

// add adds the next snapshot and its effects.
func (r *Result) add(in *Input, next *Snapshot, artifacts []Artifact, changes []Change) error {
	tree := in.Last.Next(artifacts)
	difference, err := tree.Compare(in.Last.Root, in.Last.Fetch)
	if err != nil {
		return err
	}
	next.Root, next.Changes = tree.Root, changes
	next.Sum(artifacts)
	for _, change := range changes {
		if change.Type != Unchanged {
			next.Events++
		}
	}
	r.Snapshot, r.Chunks, r.Superseded = next, difference.Chunks, difference.Superseded
	if !Inline(changes) {
		changeTree := NewChangeTree(changes)
		next.Changes, next.ChangesRoot = nil, changeTree.Root
		maps.Copy(r.Chunks, changeTree.Chunks)
	}
	r.Effects = EffectsOf(next, changes, artifacts, in.EnvironmentName)
	return nil
}

// ApplyTo updates the head with the result. Only its lease, attempts and report time can differ from the input's head.
func (r *Result) ApplyTo(head *Head) {
	outcome := Outcome{Report: r.Report.ID}
	if r.ScaledAt != nil {
		head.Scaled = *r.ScaledAt
	}
	if r.Renamed != nil {
		head.Renamed = *r.Renamed
	}
	switch {
	case r.Snapshot != nil:
		head.Advance(r.Snapshot)
		outcome.Snapshot = r.Snapshot.Number
	case !r.Report.Repeat:
		head.Digest, head.Generation = r.Report.Digest, r.Generation
		head.LastReportedAt = max(head.LastReportedAt, r.Report.AcceptedAt)
	}
	head.MarkProcessed(r.Report.Arrival, outcome)
}
