package pdf

import (
	"strings"

	"github.com/dustin/go-humanize/english"

	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/evidence/compliance"
)

const (
	// maxShownNames is how many names the reasons of a verdict list, each of at most maxShownName bytes.
	maxShownNames = 5
	maxShownName  = 80
)

func (r *report) cover() {
	r.titles(r.Trail.Name, "Trail of flow "+r.Trail.Flow.Name+", organization "+r.Trail.Organization)
	r.verdict()
	r.lossNote()
	r.table(factColumns, r.coverFacts())
}

// titles begins the first page.
func (l *layout) titles(name, of string) {
	l.newSheet()
	l.y = 30
	l.print(paragraph{text: "AUDIT REPORT", style: subheading})
	l.y += 2
	large := title
	if len(name) > 80 {
		large.size = 14
	}
	l.print(paragraph{text: shorten(name, maxName), style: large})
	l.y++
	l.print(paragraph{text: of, style: style{regular, 11, gray}})
	l.y += 6
}

func (r *report) verdict() {
	status := r.Compliance.Status
	r.box(string(status), colorOf(status), r.reasons(), "As of "+moment(r.AsOf)+", the time of the latest fact in this package.")
}

// box places the summary of the report.
func (l *layout) box(verdict string, in color, reasons []string, remark string) {
	const inset = 7.0
	broken := lines([]paragraph{
		{text: verdict, style: verdictText.in(in)},
		{text: strings.Join(reasons, " "), style: style{regular, 10, ink}, space: 1.5},
		{text: remark, style: small, space: 2},
	}, bodyWidth-2*inset)
	height := heightOf(broken) + 10
	l.need(height)
	sheet := l.sheet()
	sheet.boxes = append(sheet.boxes, box{left, l.y, bodyWidth, height, shade}, box{left, l.y, 2, height, in})
	end := l.y + height
	l.y += 5
	l.place(left+inset, broken)
	l.y = end + 6
}

// reasons explains in sentences why the trail has its verdict.
func (r *report) reasons() []string {
	var failing, missing, absent []string
	overridden := 0
	r.Compliance.Each(func(artifact string, status *compliance.AttestationStatus) {
		switch {
		case status.Entry == nil:
			missing = append(missing, nameWithin(status.Name, artifact))
		case !status.Entry.Compliant:
			failing = append(failing, nameWithin(status.Name, artifact))
		}
		if status.Entry != nil && status.Entry.Override {
			overridden++
		}
	})
	for i := range r.Compliance.Artifacts {
		if artifact := &r.Compliance.Artifacts[i]; artifact.Status == evidence.Missing {
			absent = append(absent, "'"+shorten(artifact.Name, maxShownName)+"'")
		}
	}
	var sentences []string
	add := func(names []string, one, several string) {
		if len(names) > 0 {
			sentences = append(sentences, english.Plural(len(names), one, several)+": "+some(names, maxShownNames)+".")
		}
	}
	add(failing, "attestation is not compliant", "attestations are not compliant")
	add(missing, "required attestation is missing", "required attestations are missing")
	add(absent, "artifact was not reported", "artifacts were not reported")
	switch {
	case len(sentences) > 0:
	case r.countExpected() == 1: // the row of the trail itself
		sentences = []string{"The template requires nothing, and nothing was reported that counts."}
	default:
		sentences = []string{"All that the template requires was reported, and every attestation that counts is compliant."}
	}
	if overridden > 0 {
		sentences = append(sentences, english.Plural(overridden, "verdict that counts is an override", "verdicts that count are overrides")+"; see the section on overrides.")
	}
	return sentences
}

// nameWithin names an attestation of an artifact, or of the trail if that is "".
func nameWithin(name, artifact string) string {
	name = "'" + shorten(name, maxShownName) + "'"
	if artifact == "" {
		return name + " of the trail"
	}
	return name + " of artifact '" + shorten(artifact, maxShownName) + "'"
}

// lossNote places a note if the package is incomplete.
func (r *report) lossNote() {
	if len(r.Lost) == 0 {
		return
	}
	r.print(paragraph{
		text: "This package is not complete: " + english.Plural(len(r.Lost), "file of evidence is", "files of evidence are") + " no longer in the object store as stored. " +
			"The section on lost evidence lists what is missing or was altered.",
		style: strong.in(red),
	})
	r.y += 5
}

func (r *report) coverFacts() []row {
	trail, flow := &r.Trail, &r.Trail.Flow
	rows := textFact(nil, "Organization", trail.Organization)
	rows = append(rows, fact("Flow", paragraph{text: flow.Name, style: body}, smallText(shorten(flow.Description, maxDescription))))
	rows = append(rows, fact("Trail", paragraph{text: trail.Name, style: body}, smallText(shorten(trail.Description, maxDescription))))
	rows = textFact(rows, "Web page", trail.HTMLURL)
	rows = append(rows, fact("Begun", paragraph{text: moment(trail.CreatedAt) + labelled(" by", trail.CreatedBy), style: body}))
	if sha := evidence.CommitSHA(trail.Commit); sha != "" {
		rows = append(rows, fact("Commit", paragraph{text: shorten(sha, maxName), style: longDigits}))
	}
	rows = textFact(rows, "Attestations", decimal(r.Recorded)+" recorded, of which "+decimal(len(r.counting))+" count now; "+
		decimal(r.NotCompliant)+" recorded as not compliant")
	rows = textFact(rows, "Evidence", evidence.Count(r.Files, "file")+", "+size(r.FileBytes)+"; "+decimal(len(r.Lost))+" missing or altered")
	rows = textFact(rows, "Artifacts", evidence.Count(len(r.Artifacts), "report")+" of "+evidence.Count(len(r.Compliance.Artifacts), "expected or reported artifact"))
	environments := evidence.SetOf(r.Running, func(one *audit.EnvironmentDocument) string { return one.Environment })
	rows = textFact(rows, "Runs in", evidence.Count(len(environments), "environment"))
	rows = textFact(rows, "Events", decimal(len(r.Events)))
	rows = append(rows, fact("SHA-256 of the file SHA256SUMS", paragraph{text: orDash(r.Checksum), style: digits},
		smallText("That file lists the SHA-256 of every other file of the package but manifest.json and this report.")))
	return textFact(rows, "Generated by", r.Generator)
}
