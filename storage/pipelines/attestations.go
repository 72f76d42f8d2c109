package pipelines

import (
	"context"
	"slices"
	"strings"

	"attestry/evidence"
	"attestry/storage"
)

var attestationSchema = storage.NewSchema("attestations",
	storage.Index{Name: "time", Fields: []string{"org", "time"}},
	storage.Index{Name: "flow", Fields: []string{"org", "flow", "time"}},
	storage.Index{Name: "type", Fields: []string{"org", "type", "time"}},
	storage.Index{Name: "name", Fields: []string{"org", "name", "time"}},
	storage.Index{Name: "trail_name", Fields: []string{"org", "trail", "name", "time"}},
	storage.Index{Name: "flow_fingerprint", Fields: []string{"org", "flow", "fingerprint", "name", "time"}},
	storage.Index{Name: "fingerprint_trail", Fields: []string{"org", "fingerprint", "trail", "time"}},
	storage.Index{Name: "commit", Fields: []string{"org", "commit", "time"}},
	storage.Index{Name: "control", Fields: []string{"org", "control", "time"}, Required: "control"},
	storage.Index{Name: "failed", Fields: []string{"org", "compliant", "time"}, Required: "compliant", Only: false},
).With("targets", "bound_commit", "overridden", "finding", "approvers", "unapproved", "involved")

// Attestations keeps the attestations, which never change.
type Attestations struct {
	storage.Collection[evidence.Attestation]
}

// NewAttestations binds the repository to an engine.
func NewAttestations(docs storage.Documents) *Attestations {
	return &Attestations{Collection: storage.NewCollection(docs, attestationSchema,
		func(a *evidence.Attestation) string { return a.ID },
		attestationFields)}
}

// attestationFields are the fields by which attestations are found, and those from which a slot is rebuilt: targets and
// bound_commit of one that was made by name, overridden of an override, finding, approvers, unapproved and involved.
// targets is always set, to "" if the attestation was not made by name.
func attestationFields(a *evidence.Attestation) map[string]any {
	fields := map[string]any{
		"org": a.Org, "flow": a.Flow, "trail": evidence.TrailKey(a.Flow, a.Trail), "name": a.Name, "type": a.Type,
		"fingerprint": a.Fingerprint, "commit": a.CommitSHA, "compliant": a.Compliant,
		"time": a.CreatedAt, "targets": "",
	}
	if a.Fingerprint == "" && len(a.Targets) > 0 {
		fields["targets"], fields["bound_commit"] = strings.Join(a.Targets, " "), a.SlotEntry().Commit
	}
	if a.Control != "" {
		fields["control"] = a.Control
	}
	if a.Override != nil {
		fields["overridden"] = a.Override.Original
	}
	if a.Finding != "" {
		fields["finding"] = a.Finding
	}
	if a.Approvers != 0 {
		fields["approvers"] = int64(a.Approvers)
	}
	if a.Unapproved != "" {
		fields["unapproved"] = a.Unapproved
	}
	if a.Involved != "" {
		fields["involved"] = a.Involved
	}
	return fields
}

// Get returns one attestation of an organization, or ErrNotFound.
func (a *Attestations) Get(ctx context.Context, org, id string) (evidence.Attestation, error) {
	found, err := a.Collection.Get(ctx, id)
	if err == nil && found.Org != org {
		return evidence.Attestation{}, storage.ErrNotFound
	}
	return found, err
}

// NewestDecision returns when the newest decision on a control was made, in Unix seconds; 0 if there is none.
func (a *Attestations) NewestDecision(ctx context.Context, org, control string) (float64, error) {
	return storage.NewestTime(ctx, a.Collection, storage.Query{Index: "control", Equal: []any{org, control}}, "time")
}

// AttestationQuery asks for attestations of an organization, newest first. Nil or empty fields do not filter.
type AttestationQuery struct {
	Org string
	// Flows are ids; an empty set that is not nil matches nothing.
	Flows []string
	// Trail is the key of a trail.
	Trail string
	Types []string
	// Commits are SHAs in lower case.
	Commits []string
	Name    string
	// NamePattern is an RE2 pattern, searched for anywhere in the name.
	NamePattern string
	Compliant   *bool
	// From and To are Unix seconds, both inclusive.
	From, To *float64
}

// List reads a page of attestations after a cursor. Filters that the index does not cover are applied to its entries;
// if too few match within the index pages that may be read, the page is short.
func (a *Attestations) List(ctx context.Context, q AttestationQuery, after string, limit int) (*storage.Batches[evidence.Attestation], error) {
	if q.empty() {
		return storage.SingleBatch[evidence.Attestation](nil), nil
	}
	query, err := a.listQuery(ctx, q, after)
	query.After, query.Limit = after, limit
	return storage.PageBatches(a.Collection, query), err
}

// Page reads at most limit attestations, after the first offset ones.
func (a *Attestations) Page(q AttestationQuery, offset, limit int) *storage.Batches[evidence.Attestation] {
	if q.empty() {
		return storage.SingleBatch[evidence.Attestation](nil)
	}
	query := q.query()
	query.Offset, query.Limit = offset, limit
	return storage.QueryBatches(a.Collection, query)
}

// ByCommit reads the attestations of the query's commits, by commit, the newest limit of them all. They are read at
// once if they fit a batch of maxBytes. Otherwise it reads the fields first, and then with a command for each commit.
func (a *Attestations) ByCommit(ctx context.Context, q AttestationQuery, limit, maxBytes int) (map[string]*storage.Batches[evidence.Attestation], error) {
	found, ok, err := a.within(ctx, q, limit, maxBytes)
	if err != nil {
		return nil, err
	}
	lists := make(map[string]*storage.Batches[evidence.Attestation], len(q.Commits))
	if ok {
		byCommit := map[string][]evidence.Attestation{}
		for _, attestation := range found {
			byCommit[attestation.CommitSHA] = append(byCommit[attestation.CommitSHA], attestation)
		}
		for _, commit := range q.Commits {
			lists[commit] = storage.SingleBatch(byCommit[commit])
		}
		return lists, nil
	}
	query := q.query()
	query.Limit = limit
	entries, err := storage.FindAllFields(ctx, a.Collection, query)
	if err != nil {
		return nil, err
	}
	counts := map[any]int{}
	for _, entry := range entries {
		counts[entry.Fields["commit"]]++
	}
	for _, commit := range q.Commits {
		one := q
		one.Commits = []string{commit}
		// They are read after they were counted. Below the limit, as many again may be recorded meanwhile and hide none.
		lists[commit] = a.Page(one, 0, counts[commit]+min(counts[commit], limit-len(entries)))
	}
	return lists, nil
}

// within returns all of a page; it is false if that exceeds maxBytes.
func (a *Attestations) within(ctx context.Context, q AttestationQuery, limit, maxBytes int) ([]evidence.Attestation, bool, error) {
	var found []evidence.Attestation
	for page := a.Page(q, 0, limit); page.More(); {
		batch, err := page.Next(ctx, maxBytes)
		if err != nil {
			return nil, false, err
		}
		if found = append(found, batch...); page.More() && !page.Short() || page.Bytes() > maxBytes {
			return nil, false, nil
		}
	}
	return found, true, nil
}

// Count counts what a query finds, at most MaxCount. It returns false if the query has a verdict or needs conditions.
func (a *Attestations) Count(ctx context.Context, q AttestationQuery) (int64, bool, error) {
	query := q.query()
	switch {
	case q.empty():
		return 0, true, nil
	case q.Compliant != nil || len(query.Where) > 0:
		return 0, false, nil
	}
	n, err := a.Collection.Count(ctx, query)
	return n, err == nil, err
}

func (q *AttestationQuery) empty() bool { return q.Flows != nil && len(q.Flows) == 0 }

// query uses the most selective index.
func (q *AttestationQuery) query() storage.Query {
	switch {
	case q.Trail != "" && q.Name != "":
		return q.withIndex("trail_name", q.Trail, q.Name)
	case len(q.Commits) > 0:
		return q.withIndex("commit", storage.TextSet(q.Commits))
	case q.Name != "":
		return q.withIndex("name", q.Name)
	case q.Flows != nil:
		return q.withIndex("flow", storage.TextSet(q.Flows))
	case len(q.Types) > 0:
		return q.withIndex("type", storage.TextSet(q.Types))
	case q.Compliant != nil && !*q.Compliant:
		return q.withIndex("failed", false)
	default:
		return q.withIndex("time")
	}
}

// withIndex queries an index with values of its fields after the organization. The other filters become conditions.
func (q *AttestationQuery) withIndex(name string, values ...any) storage.Query {
	index, _ := attestationSchema.IndexNamed(name)
	query := storage.Query{
		Index: name, Equal: append([]any{q.Org}, values...), Descending: true, From: storage.BoundOf(q.From), To: storage.BoundOf(q.To),
	}
	where := func(wanted bool, field string, operator storage.Operator, value any) {
		query.Narrow(wanted && !slices.Contains(index.Fields[:len(query.Equal)], field), field, operator, value)
	}
	where(q.Flows != nil, "flow", storage.OneOf, storage.TextSet(q.Flows))
	where(q.Trail != "", "trail", storage.Equals, q.Trail)
	where(len(q.Types) > 0, "type", storage.OneOf, storage.TextSet(q.Types))
	where(len(q.Commits) > 0, "commit", storage.OneOf, storage.TextSet(q.Commits))
	where(q.Name != "", "name", storage.Equals, q.Name)
	if q.Compliant != nil {
		where(true, "compliant", storage.Equals, *q.Compliant)
	}
	if q.NamePattern != "" {
		query.Where = append(query.Where, q.pattern())
	}
	return query
}

func (q *AttestationQuery) pattern() storage.Condition {
	return storage.Condition{Field: "name", Operator: storage.Matches, Value: q.NamePattern}
}

// OfArtifact reads the attestations of a name that an artifact of a flow has, at most limit, newest first: those made
// by its fingerprint, and those made by its name in a trail, if their commit is its own (docs/semantics.md 6.2).
// reports are its records.
func (a *Attestations) OfArtifact(ctx context.Context, org, flow, fingerprint, name string, reports []evidence.ArtifactRecord, limit int) (*storage.Batches[evidence.Attestation], error) {
	made := storage.Query{Index: "flow_fingerprint", Equal: []any{org, flow, fingerprint, name}, Descending: true, Limit: limit}
	if len(reports) == 0 {
		return storage.QueryBatches(a.Collection, made), nil
	}
	found, err := storage.FindAllFields(ctx, a.Collection, made)
	if err != nil {
		return nil, err
	}
	named, err := a.named(ctx, org, name, reports)
	found = append(found, named...)
	slices.SortFunc(found, func(x, y storage.Record) int {
		return evidence.CompareEntries(slotEntryOf(&y).Entry, slotEntryOf(&x).Entry)
	})
	return a.OfIDs(storage.RecordIDs(found[:min(len(found), limit)])), err
}

// maxNamed bounds the attestations by an artifact's name among which OfArtifact looks for those of its commit.
const maxNamed = 20 * storage.MaxMany

// named returns those of OfArtifact that were made by the artifact's name, without their bodies.
func (a *Attestations) named(ctx context.Context, org, name string, reports []evidence.ArtifactRecord) ([]storage.Record, error) {
	trails := evidence.Distinct(evidence.Map(reports, func(report evidence.ArtifactRecord) string { return evidence.TrailKey(report.Flow, report.Trail) }))
	found, err := storage.FindAllFields(ctx, a.Collection, storage.Query{
		Index: "trail_name", Equal: []any{org, storage.TextSet(trails[:min(len(trails), storage.MaxMany)]), name},
		Descending: true, Limit: maxNamed,
		Where: []storage.Condition{{Field: "fingerprint", Operator: storage.Equals, Value: ""}},
	})
	subjects := evidence.SubjectsOfArtifact(reports)
	return slices.DeleteFunc(found, func(one storage.Record) bool {
		return !slices.ContainsFunc(subjectsIn(&one), func(about evidence.Subject) bool { return subjects[about] })
	}), err
}

// Reported returns the newest MaxMany records of an artifact of a flow. fingerprint may be the beginning of one: then
// the artifact is the newest one with it.
func (a *Artifacts) Reported(ctx context.Context, org, flow, fingerprint string) ([]evidence.ArtifactRecord, error) {
	newest, err := a.Latest(ctx, org, flow, "", fingerprint)
	if err != nil {
		return nil, storage.IgnoreMissing(err)
	}
	return storage.FindAll(ctx, a.Collection, storage.Query{
		Index: "flow_fingerprint", Equal: []any{org, flow, newest.Fingerprint}, Descending: true, Limit: storage.MaxMany,
	})
}

// maxPatternNames bounds the names that a pattern is applied to. Finding each name takes one command.
const maxPatternNames = 100

// listQuery returns the query of List without its cursor and limit. If only the index of the time or of failures fits,
// a pattern is replaced by the set of names that match it, unless there are too many names. A cursor continues in the
// index that it was made for: in earlier versions that was the time.
func (a *Attestations) listQuery(ctx context.Context, q AttestationQuery, after string) (storage.Query, error) {
	query := q.query()
	if query.Index != "time" && query.Index != "failed" {
		return query, nil
	}
	bound := maxPatternNames
	switch index := storage.CursorIndex(after); {
	case index == "time":
		return q.withIndex(index), nil
	case q.NamePattern == "" || index == "failed":
		return query, nil
	case index == "name":
		bound = storage.MaxMany // names may have been added since
	}
	names, ok, err := a.namesMatching(ctx, q.Org, q.pattern(), bound)
	if err != nil || !ok {
		return query, err
	}
	q.NamePattern = ""
	return q.withIndex("name", storage.TextSet(names)), nil
}

// namesMatching returns the names of attestations that meet a condition, or false if there are more names than bound.
// It reads only the first attestation of each name: the next after those of the previous name.
func (a *Attestations) namesMatching(ctx context.Context, org string, condition storage.Condition, bound int) ([]string, bool, error) {
	matches, err := storage.NewFilter([]storage.Condition{condition})
	if err != nil {
		return nil, false, err
	}
	var names []string
	query := storage.Query{Index: "name", Equal: []any{org}, Limit: 1}
	for range bound {
		found, next, err := a.Collection.FindFields(ctx, query)
		if err != nil {
			return nil, false, err
		}
		if len(found) == 0 {
			return names, true, nil
		}
		name := found[0].Text("name")
		if matches(found[0].Fields) {
			names = append(names, name)
		}
		if next == "" {
			return names, true, nil
		}
		query.From = &storage.Bound{Value: name, Exclusive: true}
	}
	return nil, false, nil
}

// TrailAttestation is what is needed of an attestation to evaluate its trail.
type TrailAttestation struct {
	evidence.SlotEntry
	Trail string // key
	// Targets are the names of the artifacts of an attestation made by name. Without them and a fingerprint, an
	// attestation is about the trail itself.
	Targets []string
	// Control is the identifier of the control that a decision decides, "" of others.
	Control string
}

// Subjects returns what the attestation is about.
func (t *TrailAttestation) Subjects() []evidence.Subject {
	return evidence.SubjectsOf(t.Trail, t.Fingerprint, t.Targets, t.Commit)
}

// OfTrails returns all attestations of trails, by their keys: one command per MaxMany.
func (a *Attestations) OfTrails(ctx context.Context, org string, trails []string) ([]TrailAttestation, error) {
	var all []TrailAttestation
	query := storage.Query{Index: "trail_name", Equal: []any{org, storage.OneOrSet(trails)}, Limit: storage.MaxMany}
	err := storage.ForEachFields(ctx, a.Collection, query, func(found *storage.Record) error {
		all = append(all, TrailAttestation{
			SlotEntry: slotEntryOf(found), Trail: found.Text("trail"), Targets: strings.Fields(found.Text("targets")), Control: found.Text("control"),
		})
		return nil
	})
	return all, err
}
