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
	// Subject is a fingerprint, the key of a trail, or, for an artifact attested by name, the key and the name,
	// followed by @ and the commit if the decision has one.
	Subject string         `json:"subject"`
	Entry   evidence.Entry `json:"entry"`
	Flow    string         `json:"flow"`  // id
	Trail   string         `json:"trail"` // name
	// Commit binds a decision made by an artifact's name to its commit.
	Commit string `json:"commit,omitempty"`
}

// Decisions keeps the latest decisions.
type Decisions struct {
	storage.Collection[Decision]
}

// NewDecisions binds the repository to an engine.
func NewDecisions(docs storage.Documents) *Decisions {
	return &Decisions{Collection: storage.NewCollection(docs, decisionSchema,
		func(d *Decision) string { return decisionID(d.Org, d.Control, d.Subject) }, nil)}
}

func decisionID(org, control, subject string) string {
	return org + "/" + url.PathEscape(control) + "/" + subject
}

// DecisionsOf returns the decision of an attestation on its control, once for each of its subjects.
func DecisionsOf(attestation *evidence.Attestation) []Decision {
	if attestation.Control == "" {
		return nil
	}
	var made []Decision
	for _, subject := range attestation.Subjects() {
		made = append(made, Decision{
			Org: attestation.Org, Control: attestation.Control, Subject: decisionSubject(subject), Entry: attestation.Entry(),
			Flow: attestation.Flow, Trail: attestation.Trail, Commit: attestation.SlotEntry().Commit,
		})
	}
	return made
}

// Key identifies the control and the subject of a decision in its organization.
func (d *Decision) Key() DecisionKey { return DecisionKey{Control: d.Control, Subject: d.Subject} }

// LaterThan reports whether a decision was made after another one.
func (d *Decision) LaterThan(other *Decision) bool {
	return evidence.CompareEntries(d.Entry, other.Entry) > 0
}

// Add stores a decision if it is the latest. Concurrent ones on one subject in this process share one write.
func (d *Decisions) Add(ctx context.Context, made *Decision) error {
	_, err := storage.Upsert(ctx, d.Collection, *made, storage.WithoutError(func(known *Decision) {
		if made.LaterThan(known) {
			*known = *made
		}
	}))
	return err
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

// ArtifactSubjects are the subjects that decisions about an artifact may have: itself, and the trails of its origins,
// by name and commit too.
func ArtifactSubjects(fingerprint string, origins []evidence.Origin) []string {
	subjects := evidence.Fingerprints(fingerprint, origins)
	for i := range origins {
		trail, slot := origins[i].TrailKey(), origins[i].Slot
		subjects = append(subjects,
			decisionSubject(evidence.Subject{Trail: trail}),
			decisionSubject(evidence.Subject{Trail: trail, Name: slot}))
		if origins[i].CommitSHA != "" {
			subjects = append(subjects, decisionSubject(evidence.Subject{Trail: trail, Name: slot, Commit: origins[i].CommitSHA}))
		}
	}
	return subjects
}

// DecisionKey names a control and a subject of ArtifactSubjects.
type DecisionKey struct {
	Control, Subject string
}

// Latest returns the latest decisions that exist on controls about subjects: one command per MaxMany pairs. They are
// read by id, although most do not exist: an index would need a query for each pair.
func (d *Decisions) Latest(ctx context.Context, org string, controls, subjects []string) (map[DecisionKey]Decision, error) {
	var ids []string
	for _, control := range controls {
		for _, subject := range subjects {
			ids = append(ids, decisionID(org, control, subject))
		}
	}
	found, err := d.Collection.GetMany(ctx, ids)
	return evidence.ByKey(found, (*Decision).Key), err
}

// DecisionQuery asks for decisions on a control. Nil fields do not filter.
type DecisionQuery struct {
	Org, Control string
	Compliant    *bool
	// Flows are ids; an empty set that is not nil matches nothing.
	Flows []string
	// From and To are Unix seconds, both inclusive.
	From, To   *float64
	Descending bool
}

func (q *DecisionQuery) query() storage.Query {
	query := storage.Query{
		Index: "control", Equal: []any{q.Org, q.Control}, Descending: q.Descending, From: storage.BoundOf(q.From), To: storage.BoundOf(q.To),
	}
	if q.Compliant != nil {
		query.Narrow(true, "compliant", storage.Equals, *q.Compliant)
	}
	query.Narrow(q.Flows != nil, "flow", storage.OneOf, storage.TextSet(q.Flows))
	return query
}

// Decisions returns a page of the decisions on a control by time, and how many there are, at most MaxCount: two
// commands. With a verdict or flows, the fields of all decisions of the time are read, with one command per MaxMany.
func (a *Attestations) Decisions(ctx context.Context, q DecisionQuery, offset, limit int) ([]evidence.Attestation, int64, error) {
	if q.Flows != nil && len(q.Flows) == 0 {
		return nil, 0, nil
	}
	return storage.FindPage(ctx, a.Collection, q.query(), offset, limit)
}
