package pdf

import "attestry/evidence"

var artifactColumns = []column{{"Artifact", 46}, {"Fingerprint (SHA-256) and origin", 94}, {"Result", 34}}

func (r *report) artifacts() {
	r.section("Artifacts")
	status := map[string]evidence.Status{} // by the id of the record that counts
	for _, artifact := range r.Compliance.Artifacts {
		if artifact.Artifact != nil {
			status[artifact.Artifact.Record] = artifact.Status
		}
	}
	list(&r.layout, artifactColumns, r.Artifacts, maxArtifacts, "artifact report", "No artifact was reported.", func(record evidence.ArtifactRecord) []cell {
		return []cell{artifactName(&record), artifactOrigin(&record), artifactResult(&record, status[record.ID])}
	})
}

func artifactName(record *evidence.ArtifactRecord) cell {
	return cell{
		{text: record.Name, style: strong},
		smallText(shorten(record.Filename, maxName)),
		smallText(shorten(record.Description, maxDescription)),
	}
}

func artifactOrigin(record *evidence.ArtifactRecord) cell {
	return cell{
		{text: record.Fingerprint, style: digits},
		smallText(labelled("Commit", shorten(record.CommitSHA, maxName))),
		smallText(labelled("Branch", shorten(record.Branch(), maxName))),
		smallText(labelled("Build", shorten(record.BuildURL, maxName))),
		smallText(labelled("Source", shorten(record.CommitURL, maxName))),
	}
}

// artifactResult returns who reported an artifact, and its status, "" if a later report replaced it.
func artifactResult(record *evidence.ArtifactRecord, status evidence.Status) cell {
	verdict := statusText(status)
	if status == "" {
		verdict = paragraph{text: "replaced by a later report", style: body.in(gray)}
	}
	return cell{verdict, smallText(moment(record.CreatedAt)), smallText(labelled("by", record.ReportedBy))}
}
