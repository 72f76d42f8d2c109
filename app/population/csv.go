package population

import (
	"strconv"
	"strings"

	"attestry/evidence"
)

// Columns are the columns of the population as CSV: the members of a row, and the time in a readable format.
var Columns = []string{
	"id", "deployed_at", "deployed_at_utc", "env_name", "snapshot_index", "fingerprint", "artifact_name", "kind", "flow_name", "trail_name",
	"git_commit", "author", "lead_time_seconds", "verdict", "reasons", "allow_listed", "broke_glass", "broke_glass_reason", "approval",
	"approvers", "approval_lack", "unapproved_trails", "incidents", "time_to_restore_seconds",
}

func (r *Row) line() []string {
	return []string{
		r.ID, seconds(&r.DeployedAt), evidence.ISOTime(r.DeployedAt), r.Environment, strconv.FormatInt(r.Snapshot, 10),
		r.Fingerprint, r.Artifact, string(r.Kind), r.Flow, r.Trail, r.Commit, r.Author, seconds(r.LeadTime), r.Verdict,
		strings.Join(r.Reasons, "; "), strconv.FormatBool(r.AllowListed), strconv.FormatBool(r.BrokeGlass), r.GlassReason,
		string(r.Approval), strings.Join(r.Approvers, ", "), r.ApprovalLack,
		strings.Join(r.Unapproved, ", "), strconv.Itoa(r.Incidents), seconds(r.Restore),
	}
}

// seconds is "" for an unknown value.
func seconds(value *float64) string {
	if value == nil {
		return ""
	}
	return strconv.FormatFloat(*value, 'f', -1, 64)
}
