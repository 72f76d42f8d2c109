package pdf

import (
	"cmp"

	"attestry/evidence"
	"attestry/evidence/approval"
)

var (
	approvalColumns = []column{{"Approval", 94}, {"State", 30}, {"Reviews", 50}}

	approvalStates = map[approval.State]evidence.Status{
		approval.Approved: evidence.Compliant, approval.Unapproved: evidence.NonCompliant, approval.Pending: evidence.Incomplete,
	}
)

// approvals lays out the approvals of the trail's artifacts, if there are any.
func (r *report) approvals() {
	if len(r.Approvals) == 0 {
		return
	}
	r.section("Approvals")
	list(&r.layout, approvalColumns, r.Approvals, maxOthers, "approval", "", func(one approval.Approval) []cell {
		return []cell{
			r.approvalTarget(&one),
			{{text: string(one.State), style: strong.in(colorOf(approvalStates[one.State]))}, smallText(moment(one.CreatedAt)), smallText(labelled("by", one.ReportedBy))},
			reviews(one.Reviews),
		}
	})
}

func (r *report) approvalTarget(one *approval.Approval) cell {
	return cell{
		{text: "Release " + decimal(one.Number) + labelled(":", one.ArtifactName), style: strong},
		{text: one.Target, style: digits},
		smallText(labelled("For environment", cmp.Or(r.EnvironmentNames[one.Environment], one.Environment))),
		smallText(shorten(one.Description, maxDescription)),
	}
}

func reviews(all []approval.Review) cell {
	if len(all) == 0 {
		return cell{{text: "none", style: body}}
	}
	shown, more := lastOf(all, maxApprovers)
	var reviews cell
	if more > 0 {
		reviews = append(reviews, smallText(evidence.Count(more, "earlier review")))
	}
	for _, one := range shown {
		reviews = append(reviews,
			paragraph{text: string(one.State) + labelled(" by", shorten(one.ApprovedBy, maxName)), style: body},
			smallText(shorten(one.Comment, maxDescription)), smallText(shorten(one.URL, maxName)))
	}
	return reviews
}
