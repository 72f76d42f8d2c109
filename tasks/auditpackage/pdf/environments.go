package pdf

import (
	"attestry/evidence"
	"attestry/evidence/audit"
)

// maxSentences is how many sentences explain a verdict.
const maxSentences = 50

var runningColumns = []column{{"Artifact and explanation", 140}, {"Verdict", 34}}

// environments lays out where the artifacts run, and their verdicts there.
func (r *report) environments() {
	r.section("Where it runs")
	shown, more := first(r.Running, maxOthers)
	var rows []row
	for i := range shown {
		one := &shown[i]
		if i == 0 || one.Environment != shown[i-1].Environment {
			rows = append(rows, groupRow(paragraph{text: "Environment " + one.Environment, style: strong}))
		}
		rows = append(rows, row{cells: []cell{explained(one), {runningVerdict(one)}}})
	}
	r.listRows(runningColumns, rows, more, "running artifact", "No artifact of the trail is known to run in an environment.")
}

func runningVerdict(one *audit.EnvironmentDocument) paragraph {
	if one.Compliant == nil {
		return paragraph{text: "UNKNOWN: no policy is applied", style: strong.in(gray)}
	}
	return statusText(evidence.StatusOf(*one.Compliant))
}

// explained names an artifact that runs, and why it has its verdict.
func explained(one *audit.EnvironmentDocument) cell {
	cell := cell{
		{text: shorten(one.Facts.Name, maxName), style: strong},
		{text: one.Fingerprint, style: digits},
		smallText("Runs since " + moment(one.StartedAt) + ", snapshot " + decimal(one.Since)),
	}
	if one.Allowed != nil {
		cell = append(cell, allowed(one.Allowed)...)
	}
	sentences := 0
	for i := range one.Policies {
		shown, _ := first(one.Policies[i].Findings, max(0, maxSentences-sentences))
		for j := range shown {
			cell = append(cell, sentence(&one.Policies[i], &shown[j])...)
		}
		sentences += len(one.Policies[i].Findings)
	}
	if more := sentences - maxSentences; more > 0 {
		cell = append(cell, smallText("and "+decimal(more)+" more"))
	}
	return cell
}

func allowed(one *audit.Allowance) []paragraph {
	until := ""
	if one.Until != 0 {
		until = ", until " + moment(one.Until)
	}
	return []paragraph{
		{text: "On the allow list of the environment" + labelled(" by", one.By) + ", " + moment(one.At) + until + ".", style: strong.in(blue), space: 1},
		{text: shorten(one.Reason, maxDescription), style: body},
	}
}

func sentence(policy *audit.PolicyEvaluation, one *audit.Sentence) []paragraph {
	sign := paragraph{text: "Fulfilled: ", style: body, space: 1}
	if one.Failing {
		sign = paragraph{text: "Not fulfilled: ", style: body.in(red), space: 1}
	}
	sign.text += shorten(one.Text, maxReason)
	paragraphs := []paragraph{sign, smallText("Policy " + policy.Policy + ", version " + decimal(policy.Version))}
	if one.Remedy != "" {
		paragraphs = append(paragraphs, smallText("Remedy: "+shorten(one.Remedy, maxReason)))
	}
	return paragraphs
}
