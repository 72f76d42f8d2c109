// Package population reads the deployments of a period (docs/semantics.md 26.2).
package population

import (
	"crypto/sha256"
	"slices"
	"strings"

	"attestry/evidence"
	"attestry/evidence/period"
	"attestry/evidence/snapshot"
)

// The verdicts on an artifact when it began to run. Earlier versions recorded none.
const (
	compliant    = "compliant"
	nonCompliant = "non_compliant"
	notJudged    = "not_judged"
	notRecorded  = "not_recorded"
)

// unapprovedTrails is the finding of deployments that bring unapproved changes of earlier trails.
const unapprovedTrails = "unapproved_trails"

// Row is a deployment as auditors see it. Unknown members are empty.
type Row struct {
	ID           string                  `json:"id" doc:"Never changes. Samples are drawn by it."`
	DeployedAt   float64                 `json:"deployed_at" doc:"Unix seconds."`
	Environment  string                  `json:"env_name" doc:"The name that the environment has now, or had when it was archived."`
	Snapshot     int64                   `json:"snapshot_index" doc:"The number of the snapshot with which it began to run."`
	Fingerprint  string                  `json:"fingerprint"`
	Artifact     string                  `json:"artifact_name"`
	Kind         snapshot.DeploymentKind `json:"kind" enum:"release,restart,rollback"`
	Flow         string                  `json:"flow_name" doc:"The flow that built it first; empty as long as no flow has a record of it."`
	Trail        string                  `json:"trail_name"`
	Commit       string                  `json:"git_commit"`
	Author       string                  `json:"author" doc:"The author of the commit."`
	LeadTime     *float64                `json:"lead_time_seconds" nullable:"true" doc:"Seconds from the commit until it ran."`
	Verdict      string                  `json:"verdict" enum:"compliant,non_compliant,not_judged,not_recorded" doc:"The verdict in the snapshot with which it began to run; not_recorded if a version of the service without this list made that snapshot."`
	Reasons      []string                `json:"reasons" doc:"Why policies refused it then, also if it was on the allow list; at most ten."`
	AllowListed  bool                    `json:"allow_listed"`
	BrokeGlass   bool                    `json:"broke_glass" doc:"Whether the cluster admitted it against the verdict, within a day before it ran."`
	GlassReason  string                  `json:"broke_glass_reason" doc:"The reason that was given for that."`
	Approval     period.Approval         `json:"approval" enum:"machine_account,approved,overridden,approved_late,not_approved,no_pull_request,no_provenance"`
	Approvers    []string                `json:"approvers" doc:"Who approved the pull request after its last commit."`
	ApprovalLack string                  `json:"approval_lack" doc:"What the approval lacks, such as an author whose commits nobody else approved."`
	Unapproved   []string                `json:"unapproved_trails" doc:"Trails of the flow that were begun after the trail of the artifact that it replaced. It contains their changes too, and others had not approved these when it began to run; at most ten."`
	Incidents    int                     `json:"incidents" doc:"How many incidents of the artifact began after it ran."`
	Restore      *float64                `json:"time_to_restore_seconds" nullable:"true" doc:"Seconds that the longest of these incidents took; null without incidents, and until all are resolved."`
	// TrailKey is the key of the trail, "" while no flow knows the artifact.
	TrailKey string `json:"-"`
	// change and replaced identify this artifact in its environment, and the one that a rollback replaced.
	change, replaced string
	incidents        []period.Incident
	// environments are the names that the environment has or had.
	environments []string
	// entries are the attestations of the artifact and of its trail, and controls the controls of decisions, by id.
	entries  []evidence.Entry
	controls map[string]string
}

// Has reports whether the row has a finding: its kind, verdict or approval, a flag, or "incident". "" is in all rows.
func (r *Row) Has(finding string) bool {
	switch finding {
	case "":
		return true
	case "allow_listed":
		return r.AllowListed
	case "broke_glass":
		return r.BrokeGlass
	case unapprovedTrails:
		return len(r.Unapproved) > 0
	case "incident":
		return r.Incidents > 0
	}
	return finding == string(r.Kind) || finding == r.Verdict || finding == string(r.Approval)
}

// newRow returns the row of a deployment from its document alone.
func newRow(d *snapshot.Deployment) Row {
	row := Row{
		ID: d.ID(), DeployedAt: d.Timestamp, Snapshot: d.Snapshot, Fingerprint: d.Fingerprint, Artifact: d.Name,
		LeadTime: d.LeadTime(), Verdict: notRecorded, Reasons: []string{}, Approval: period.NoProvenance, Approvers: []string{}, Unapproved: []string{},
		change: changeOf(d.Environment, d.Fingerprint),
	}
	if previous := d.Replaced(); previous != nil {
		row.replaced = changeOf(d.Environment, previous.Fingerprint)
	}
	if origin := d.Origin; origin != nil {
		row.Trail, row.TrailKey, row.Commit = origin.Trail, origin.TrailKey(), origin.CommitSHA
		row.Unapproved = append(row.Unapproved, origin.Unapproved...)
		if origin.Commit != nil {
			row.Author = evidence.ZeroIfNil(origin.Commit.Author)
		}
	}
	if d.Start == nil {
		return row
	}
	row.Verdict = evidence.Judged(d.Start.Compliant, notJudged, compliant, nonCompliant)
	row.AllowListed, row.Reasons = d.Start.Allowed, append(row.Reasons, d.Start.Failures...)
	return row
}

func changeOf(environment, fingerprint string) string { return environment + "/" + fingerprint }

// digest is the SHA-256 of the row as CSV and of the ids of its attestations. It leaves out the names of the environment
// and of the flow, which can change.
func (r Row) digest() [sha256.Size]byte {
	r.Environment, r.Flow = "", ""
	ids := evidence.Map(r.entries, func(entry evidence.Entry) string { return entry.ID })
	return sha256.Sum256([]byte(strings.Join(append(r.line(), ids...), "\x00")))
}

// countIncidents counts those that began in the row's environment after it.
func (r *Row) countIncidents() {
	longest, unresolved := 0.0, false
	for _, one := range r.incidents {
		if one.StartedAt < r.DeployedAt || one.Environment != "" && !slices.Contains(r.environments, one.Environment) {
			continue
		}
		r.Incidents++
		longest, unresolved = max(longest, one.ResolvedAt-one.StartedAt), unresolved || one.ResolvedAt == 0
	}
	if r.Incidents > 0 && !unresolved {
		r.Restore = &longest
	}
}
