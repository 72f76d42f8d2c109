package pipelines

import (
	"context"
	"net/url"

	"attestry/evidence"
	"attestry/storage"
)

var decisionSchema = &storage.Schema{Name: "decisions"}

// Decision is the latest decision on a control for one subject.
type Decision struct {
	Org     string `json:"org"`
	Control string `json:"control"`
	// Subject is a fingerprint, the key of a trail, or, for an artifact attested
	// by name, the key and the name, followed by @ and the commit if the decision
	// has one.
	Subject string         `json:"subject"`
	Entry   evidence.Entry `json:"entry"`
	Flow    string         `json:"flow"`  // id
	Trail   string         `json:"trail"` // name
	// Commit binds a decision made by an artifact's name to its commit.
	Commit string `json:"commit,omitempty"`
}

// Decisions keeps the latest decisions.
type Decisions struct {
	collection *storage.Collection[Decision]
}

// NewDecisions binds the repository to an engine.
func NewDecisions(docs storage.Documents) *Decisions {
	return &Decisions{collection: storage.NewCollection(docs, decisionSchema,
		func(d *Decision) string { return decisionID(d.Org, d.Control, d.Subject) }, nil)}
}

func decisionID(org, control, subject string) string {
	return org + "/" + url.PathEscape(control) + "/" + subject
}

// Add notes a decision for each of its subjects, if it is the latest.
func (d *Decisions) Add(ctx context.Context, attestation *evidence.Attestation) error {
	if attestation.Control == "" {
		return nil
	}
	for _, subject := range attestation.Subjects() {
		fresh := Decision{
			Org: attestation.Org, Control: attestation.Control, Subject: decisionSubject(subject), Entry: attestation.Entry(),
			Flow: attestation.Flow, Trail: attestation.Trail, Commit: attestation.SlotEntry().Commit,
		}
		_, err := storage.Upsert(ctx, d.collection, decisionID(fresh.Org, fresh.Control, fresh.Subject),
			func() Decision { return fresh },
			func(known *Decision) error {
				if evidence.CompareEntries(fresh.Entry, known.Entry) > 0 {
					*known = fresh
				}
				return nil
			})
		if err != nil {
			return err
		}
	}
	return nil
}

func decisionSubject(of evidence.Subject) string {
	switch {
	case of.Fingerprint != "":
		return of.Fingerprint
	case of.Name == "":
		return of.Trail
	case of.Commit == "":
		return of.Trail + "/" + of.Name
	default:
		return of.Trail + "/" + of.Name + "@" + of.Commit
	}
}
