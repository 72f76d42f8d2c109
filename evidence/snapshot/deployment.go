package snapshot

import "strconv"

// Deployment is a fingerprint that newly runs, as derived from a snapshot (docs/semantics.md 14.1).
type Deployment struct {
	Org         string `json:"org"`
	Environment string `json:"environment"` // id
	Fingerprint string `json:"fingerprint"`
	Name        string `json:"name"`
	// Snapshot is the number of the snapshot with which it began to run, Timestamp that one's, in Unix seconds.
	Snapshot  int64   `json:"snapshot"`
	Timestamp float64 `json:"timestamp"`
	// Repo is the id of the repository of which this is a deployment; "" is the
	// deployment as such. What comes from several repositories is listed in each.
	Repo string `json:"repo,omitempty"`
	// Origin is where the artifact comes from, in the repository if there is one; nil while no flow knows it.
	Origin *Origin `json:"origin,omitempty"`
	// LearnedAt is the time of the snapshot with which a flow came to know it, in Unix seconds; 0 if one did from the beginning.
	LearnedAt float64 `json:"learned_at,omitempty"`
	// Start is the verdict on it then: only of a deployment as such, and of none that an earlier version recorded.
	Start *Start `json:"start,omitempty"`
}

// Start is the verdict on an artifact in the snapshot with which it began to run.
type Start struct {
	// Compliant is nil where no policy was applied.
	Compliant *bool `json:"compliant"`
	// Allowed tells that the environment's allow list had it.
	Allowed bool `json:"allowed,omitempty"`
	// Failures say why policies refused it.
	Failures []string `json:"failures,omitempty"`
}

// DeploymentKind says what a deployment changed in its environment (docs/semantics.md 14.1).
type DeploymentKind string

// The kinds of deployments. A restarted artifact ran there before and replaced nothing. A rollback replaced what first ran
// there later than itself.
const (
	NewRelease DeploymentKind = "release"
	Restart    DeploymentKind = "restart"
	Rollback   DeploymentKind = "rollback"
)

// ID tells the deployment from all others, for good.
func (d *Deployment) ID() string {
	id := d.Environment + "/" + strconv.FormatInt(d.Snapshot, 10) + "/" + d.Fingerprint
	if d.Repo != "" {
		id += "/" + d.Repo
	}
	return id
}

// Kind is that of the deployment, by when it and what it replaced first ran in the environment, in Unix seconds, 0 if that
// is not known.
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

// LeadTime is the time from the commit until it ran, in seconds; nil if unknown (docs/semantics.md 14.2).
func (d *Deployment) LeadTime() *float64 {
	if d.Origin == nil {
		return nil
	}
	return d.Origin.LeadTime(d.Timestamp)
}

// Replaced is what ran there before of the same flow and reference name, nil if nothing did.
func (d *Deployment) Replaced() *Predecessor {
	if d.Origin == nil {
		return nil
	}
	return d.Origin.Previous
}

// Deployments are the artifact's current one as such, first, and that of each repository it comes from.
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

// Lineage is the one that the entry is in.
func (s *Succession) Lineage() Lineage { return LineageOf(&s.Artifact.Origin) }

// Successions are an artifact's entries, one for each of its flows.
func (s *Snapshot) Successions(artifact *Artifact) []Succession {
	entries := make([]Succession, 0, len(artifact.Origins))
	for _, origin := range artifact.Origins {
		entries = append(entries, Succession{
			Environment: s.Environment, At: artifact.StartedAt, Unapproved: origin.Unapproved,
			Artifact: Predecessor{
				Fingerprint: artifact.Fingerprint, Name: artifact.Name, Since: artifact.Since,
				Origin: origin.Origin, Status: origin.Status,
			},
		})
	}
	return entries
}

// FirstSeen tells when a fingerprint first ran in an environment.
type FirstSeen struct {
	Environment string  `json:"environment"` // id
	Fingerprint string  `json:"fingerprint"`
	At          float64 `json:"at"` // Unix seconds
}
