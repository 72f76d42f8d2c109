package snapshot

import (
	"strconv"

	"attestry/evidence"
)

// Deployment is the start of an artifact, derived from a snapshot (docs/semantics.md 14.1).
type Deployment struct {
	Org         string `json:"org"`
	Environment string `json:"environment"` // id
	Fingerprint string `json:"fingerprint"`
	Name        string `json:"name"`
	// Snapshot is the number of the snapshot with which it began to run, Timestamp its time in Unix seconds.
	Snapshot  int64   `json:"snapshot"`
	Timestamp float64 `json:"timestamp"`
	// Repo is the id of a repository for a copy that is listed in the deployments of that repository, "" for the
	// deployment itself. There is one copy for each repository that the artifact comes from.
	Repo string `json:"repo,omitempty"`
	// Origin is that of the artifact, in the repository if there is one; nil while no flow has a record of it.
	Origin *Origin `json:"origin,omitempty"`
	// LearnedAt is the time of the snapshot that added its first origin, in Unix seconds; 0 if it had one at its start.
	LearnedAt float64 `json:"learned_at,omitempty"`
	// Start is the verdict at the start. Copies for repositories and deployments of earlier versions have none.
	Start *Start `json:"start,omitempty"`
}

// Start is the verdict on an artifact in the snapshot with which it began to run.
type Start struct {
	// Compliant is nil where no policy was applied.
	Compliant *bool `json:"compliant"`
	// Allowed is true if the environment's allow list had it.
	Allowed bool `json:"allowed,omitempty"`
	// Failures are the reasons why policies refused it.
	Failures []string `json:"failures,omitempty"`
}

// DeploymentKind says what a deployment changed in its environment (docs/semantics.md 14.1).
type DeploymentKind string

// The kinds of deployments. A restarted artifact ran there before and replaced nothing. A rollback replaced an artifact
// whose first run there was later.
const (
	NewRelease DeploymentKind = "release"
	Restart    DeploymentKind = "restart"
	Rollback   DeploymentKind = "rollback"
)

// ID is unique among all deployments and never changes.
func (d *Deployment) ID() string {
	id := d.Environment + "/" + strconv.FormatInt(d.Snapshot, 10) + "/" + d.Fingerprint
	if d.Repo != "" {
		id += "/" + d.Repo
	}
	return id
}

// Kind derives the kind of deployment from the first runs, in the environment, of the artifact and of the one that it
// replaced, in Unix seconds; 0 if unknown.
func (d *Deployment) Kind(first, previousFirst float64) DeploymentKind {
	previous := d.Replaced()
	replaces := previous != nil && !previous.Again
	switch {
	case replaces && first != 0 && first < previousFirst:
		return Rollback
	case !replaces && first != 0 && first < d.Timestamp:
		return Restart
	}
	return NewRelease
}

// LeadTime is the time from the commit to the deployment, in seconds; nil if unknown (docs/semantics.md 14.2).
func (d *Deployment) LeadTime() *float64 {
	if d.Origin == nil {
		return nil
	}
	return d.Origin.LeadTime(d.Timestamp)
}

// Replaced is the artifact of the same flow and reference name that ran there before, nil if there was none.
func (d *Deployment) Replaced() *Predecessor {
	if d.Origin == nil {
		return nil
	}
	return d.Origin.Previous
}

// Deployments are the artifact's current deployment, first, and its copy for each repository that it comes from.
func (s *Snapshot) Deployments(artifact *Artifact) []Deployment {
	deployment := Deployment{
		Org: s.Org, Environment: s.Environment, Fingerprint: artifact.Fingerprint, Name: artifact.Name,
		Snapshot: artifact.Since, Timestamp: artifact.StartedAt,
	}
	if len(artifact.Origins) > 0 {
		deployment.Origin = &artifact.Origins[0]
	}
	all := []Deployment{deployment}
	if artifact.Since == s.Number {
		all[0].Start = &Start{Compliant: artifact.Compliant, Allowed: artifact.Allowed, Failures: s.failures(artifact)}
	}
	seen := map[string]bool{"": true}
	for i := range artifact.Origins {
		origin := &artifact.Origins[i]
		if seen[origin.Repo] {
			continue
		}
		seen[origin.Repo] = true
		deployment.Repo, deployment.Origin = origin.Repo, origin
		all = append(all, deployment)
	}
	return all
}

// Succession is an entry of a lineage: an artifact that began to run in an environment.
type Succession struct {
	Environment string      `json:"environment"` // id
	At          float64     `json:"at"`          // when it began to run, Unix seconds
	Artifact    Predecessor `json:"artifact"`
	// Unapproved is that of the artifact's origin.
	Unapproved []string `json:"unapproved,omitempty"`
}

// Lineage is the lineage of the entry.
func (s *Succession) Lineage() Lineage { return LineageOf(&s.Artifact.Origin) }

// Successions are an artifact's entries, one for each of its flows.
func (s *Snapshot) Successions(artifact *Artifact) []Succession {
	return evidence.Map(artifact.Origins, func(origin Origin) Succession {
		return Succession{
			Environment: s.Environment, At: artifact.StartedAt, Unapproved: origin.Unapproved,
			Artifact: Predecessor{
				Fingerprint: artifact.Fingerprint, Name: artifact.Name, Since: artifact.Since,
				Origin: origin.Origin, Status: origin.Status,
			},
		}
	})
}

// FirstSeen is the time when a fingerprint first ran in an environment.
type FirstSeen struct {
	Environment string  `json:"environment"` // id
	Fingerprint string  `json:"fingerprint"`
	At          float64 `json:"at"` // Unix seconds
}
