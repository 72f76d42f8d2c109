package attestations

import (
	"context"
	"errors"
	"regexp/syntax"
	"slices"
	"strings"

	"attestry/api/jsonstream"
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/evidence/attestation"
	"attestry/evidence/pattern"
	"attestry/storage"
	"attestry/storage/names"
	"attestry/storage/pipelines"
)

const (
	maxAttestationsPerPage = 100
	// maxNamedAttestations bounds the listed attestations of one name on a trail or artifact. The newest are listed.
	maxNamedAttestations = storage.MaxMany
	// maxCommitAttestations bounds the listed attestations of commits. The newest are listed.
	maxCommitAttestations = 10_000
	// maxRegexStates bounds the states of a regular expression with expanded repetitions. Matching may visit all of
	// them for each character of each name.
	maxRegexStates = 1000
	// maxRegexSize bounds the memory of a regular expression, in bytes.
	maxRegexSize = 1 << 20
)

type listAttestationsInput struct {
	server.OrgPath
	AttestationID string   `query:"attestation_id" doc:"Picks one; the other filters do not matter then."`
	IDs           []string `query:"ids,explode" maxItems:"200" doc:"Picks these, in the order of the ids; the other filters do not matter then."`
	Name          string   `query:"name" doc:"Exact; not together with name_regex."`
	NameRegex     string   `query:"name_regex" maxLength:"500" doc:"RE2 pattern, searched for anywhere in the name."`
	Flow          []string `query:"flow,explode" maxItems:"100" doc:"Names of flows."`
	Type          []string `query:"type,explode" maxItems:"100" doc:"A built-in type, or custom:<name>."`
	IsCompliant   bool     `query:"is_compliant"`
	FromTimestamp int64    `query:"from_timestamp" doc:"Unix seconds, inclusive."`
	ToTimestamp   int64    `query:"to_timestamp" doc:"Unix seconds, inclusive."`
	After         string   `query:"after" doc:"Cursor, from _links.next of the page before."`
	PerPage       int      `query:"per_page" minimum:"1" maximum:"100" default:"20"`
}

// AttestationsPage is a page of a list with cursors.
type AttestationsPage struct {
	Data       jsonstream.List[Attestation]           `json:"data" doc:"A page ends early, with a next one, when its attestations exceed 32 MiB."`
	Links      jsonstream.Map[server.Href]            `json:"_links"`
	Pagination resource.OrNull[server.PaginationInfo] `json:"pagination" doc:"Null when the filters do not let the total be told without reading all."`
}

// listAttestations lists the attestations of an organization, newest first.
func (h *handlers) listAttestations(ctx context.Context, in *listAttestationsInput) (*server.Answer[AttestationsPage], error) {
	org := server.Access(ctx)
	if in.AttestationID != "" {
		return h.findAttestation(ctx, org, in)
	}
	if len(in.IDs) > 0 {
		return h.pickAttestations(ctx, org, in.IDs), nil
	}
	query, err := h.attestationQuery(ctx, org, in)
	if err != nil {
		return nil, err
	}
	number, cursor, err := resource.ParseCursor(in.After)
	if err != nil {
		return nil, err
	}
	found, err := h.Attestations.List(ctx, query, cursor, in.PerPage)
	if err != nil {
		return nil, err
	}
	answer := server.Answered(AttestationsPage{
		Data:  resource.CursorPage(h.BatchBytes, in.After, found, h.showAttestations),
		Links: resource.LinksAfter(ctx, h.Links, number+1, found.After),
	})
	total, known, err := h.Attestations.Count(ctx, query)
	if known {
		answer.Body.Pagination.Value = new(server.PaginationOf(number, in.PerPage, total))
	}
	return answer, err
}

func (h *handlers) listOfAttestations(found *storage.Batches[evidence.Attestation]) jsonstream.List[Attestation] {
	return server.ListOf(h.BatchBytes, found, h.showAttestations)
}

// findAttestation lists the attestation by its id, or none.
func (h *handlers) findAttestation(ctx context.Context, org evidence.OrgAccess, in *listAttestationsInput) (*server.Answer[AttestationsPage], error) {
	var picked []evidence.Attestation
	found, err := h.Attestations.Get(ctx, org.OrgID, in.AttestationID)
	switch {
	case err == nil:
		picked = append(picked, found)
	case !errors.Is(err, storage.ErrNotFound):
		return nil, err
	}
	shown, err := h.showAttestations(ctx, picked)
	return server.Answered(AttestationsPage{
		Data:       jsonstream.ListOf(shown),
		Links:      resource.LinksAfter(ctx, h.Links, 0, noCursor),
		Pagination: resource.OrNull[server.PaginationInfo]{Value: new(server.PaginationOf(1, in.PerPage, int64(len(picked))))},
	}), err
}

// noCursor is the next cursor of a list with only one page.
func noCursor() string { return "" }

// pickAttestations lists attestations by id. Ids that do not exist in the organization are skipped.
func (h *handlers) pickAttestations(ctx context.Context, org evidence.OrgAccess, ids []string) *server.Answer[AttestationsPage] {
	show := func(ctx context.Context, batch []evidence.Attestation) ([]Attestation, error) {
		own := slices.DeleteFunc(batch, func(a evidence.Attestation) bool { return a.Org != org.OrgID })
		return h.showAttestations(ctx, own)
	}
	return server.Answered(AttestationsPage{
		Data:  server.ListOf(h.BatchBytes, h.Attestations.OfIDs(resource.SortUnique(ids)), show),
		Links: resource.LinksAfter(ctx, h.Links, 0, noCursor),
	})
}

// attestationQuery returns the query of the filters. Empty filters are ignored. An unknown flow has no attestations.
func (h *handlers) attestationQuery(ctx context.Context, org evidence.OrgAccess, in *listAttestationsInput) (pipelines.AttestationQuery, error) {
	query := pipelines.AttestationQuery{Org: org.OrgID, Name: in.Name, NamePattern: in.NameRegex}
	if in.Name != "" && in.NameRegex != "" {
		return query, validation.Fault("query.name_regex", "Input should not be given together with name", in.NameRegex)
	}
	if err := checkRegex(in.NameRegex); err != nil {
		return query, err
	}
	query.Compliant = resource.IfSent(ctx, "is_compliant", in.IsCompliant)
	query.From, query.To = createdRange(ctx, in.FromTimestamp, in.ToTimestamp)
	for _, kind := range in.Type {
		if kind != "" {
			query.Types = append(query.Types, storedType(kind))
		}
	}
	var err error
	query.Flows, err = h.resolveFlows(ctx, org, in.Flow)
	return query, err
}

func createdRange(ctx context.Context, from, to int64) (first, last *float64) {
	return resource.IfSent(ctx, "from_timestamp", float64(from)), resource.IfSent(ctx, "to_timestamp", float64(to))
}

// storedType returns the stored name of a type in a query, in which decisions may lack their prefix.
func storedType(kind string) string {
	if evidence.SystemPrefix+kind == evidence.TypeDecision {
		return evidence.TypeDecision
	}
	return kind
}

// resolveFlows returns the ids of flows by name, nil if there are no names.
func (h *handlers) resolveFlows(ctx context.Context, org evidence.OrgAccess, flows []string) ([]string, error) {
	flows = evidence.WithoutEmpty(flows)
	if len(flows) == 0 {
		return nil, nil
	}
	refs, err := h.Flows.ResolveMany(ctx, org.OrgID, resource.SortUnique(flows))
	return resource.UniqueOf(refs, func(ref *names.Entry) string { return ref.ID }), err
}

func checkRegex(text string) error {
	_, err := pattern.NewSet(maxRegexSize, maxRegexStates).Compile(text)
	if err == nil {
		return nil
	}
	reason := "expression repeats too much"
	if malformed, ok := errors.AsType[*syntax.Error](err); ok {
		reason = malformed.Code.String()
	}
	return validation.Fault("query.name_regex", "Input should be a valid regular expression, "+reason, text)
}

type commitAttestationsInput struct {
	server.OrgPath
	Flow            string   `query:"flow_name" doc:"Name of a flow."`
	CommitList      []string `query:"commit_list,explode" pattern:"^[a-f0-9]{40}$" doc:"SHAs of commits; at least one."`
	AttestationName string   `query:"attestation_name"`
	AttestationID   string   `query:"attestation_id" doc:"Ignored."`
	AttestationType string   `query:"attestation_type" doc:"A built-in type, or custom:<name>."`
}

// listCommitAttestations returns a map with a key for each commit of the query, to its attestations, newest first.
func (h *handlers) listCommitAttestations(ctx context.Context, in *commitAttestationsInput) (*server.Answer[jsonstream.Map[jsonstream.List[Attestation]]], error) {
	if len(in.CommitList) == 0 {
		return nil, evidence.NewError(evidence.Invalid, "commit_list is required: provide one or more commit SHAs to search.")
	}
	query := pipelines.AttestationQuery{Org: server.Access(ctx).OrgID, Commits: resource.SortUnique(in.CommitList), Name: in.AttestationName}
	if in.AttestationType != "" {
		kind := storedType(in.AttestationType)
		if !isKnownType(kind) {
			return nil, evidence.FieldError("query.attestation_type",
				"Input should be a built-in attestation type or custom:<name> [input: %s]", validation.Cut(in.AttestationType))
		}
		query.Types = []string{kind}
	}
	if in.Flow != "" {
		flow, err := h.ResolveFlow(ctx, in.Flow)
		if err != nil {
			return nil, err
		}
		query.Flows = []string{flow}
	}
	found, err := h.Attestations.ByCommit(ctx, query, maxCommitAttestations, h.BatchBytes)
	return server.Answered(jsonstream.NewMap(func(yield func(string, jsonstream.List[Attestation]) bool) {
		for _, commit := range query.Commits {
			if !yield(commit, h.listOfAttestations(found[commit])) {
				return
			}
		}
	})), err
}

func isKnownType(kind string) bool {
	_, builtIn := attestation.TypeOf(kind)
	return builtIn || strings.HasPrefix(kind, evidence.CustomPrefix) || strings.HasPrefix(kind, evidence.SystemPrefix)
}

type flowAttestationsInput struct {
	resource.FlowPath
	Page          int   `query:"page" default:"1"`
	PerPage       int   `query:"per_page" default:"20" doc:"At most 100."`
	FromTimestamp int64 `query:"from_timestamp" doc:"Unix seconds, inclusive."`
	ToTimestamp   int64 `query:"to_timestamp" doc:"Unix seconds, inclusive."`
}

// listFlowAttestations lists the attestations of a flow, newest first. The API does not state bounds of page and
// per_page, so other values are replaced by the nearest valid ones.
func (h *handlers) listFlowAttestations(ctx context.Context, in *flowAttestationsInput, flowID string) (*server.Answer[resource.DataPage[Attestation]], error) {
	query := pipelines.AttestationQuery{Org: server.Access(ctx).OrgID, Flows: []string{flowID}}
	query.From, query.To = createdRange(ctx, in.FromTimestamp, in.ToTimestamp)
	total, _, err := h.Attestations.Count(ctx, query)
	if err != nil {
		return nil, err
	}
	number, size := max(in.Page, 1), min(max(in.PerPage, 1), maxAttestationsPerPage)
	page := resource.DataPage[Attestation]{Pagination: server.PaginationOf(number, size, total)}
	// If the total is MaxCount, there may be more attestations, so read also a page after it.
	if offset := server.OffsetOf(number, size); int64(offset) < total || total == storage.MaxCount {
		page.Data = h.listOfAttestations(h.Attestations.Page(query, offset, size))
	}
	return server.Answered(page), nil
}

// ArtifactAttestationPath is the path of the attestations of a name on an artifact.
type ArtifactAttestationPath struct {
	resource.FlowPath
	Fingerprint string `path:"fingerprint" pattern:"^[a-f0-9]{5,64}$" doc:"Fingerprint of an artifact, or its beginning."`
	Name        string `path:"attestation_name"`
}

// getArtifactAttestations lists the attestations of a name on an artifact, newest first. If several artifacts match the
// beginning of a fingerprint, it uses the newest.
func (h *handlers) getArtifactAttestations(ctx context.Context, in *ArtifactAttestationPath, flowID string) (*server.Answer[jsonstream.List[Attestation]], error) {
	org := server.Access(ctx)
	reports, err := h.Artifacts.Reported(ctx, org.OrgID, flowID, in.Fingerprint)
	if err != nil {
		return nil, resource.Unambiguous(err, in.Fingerprint)
	}
	fingerprint := in.Fingerprint
	if len(reports) > 0 {
		fingerprint = reports[0].Fingerprint
	}
	found, err := h.Attestations.OfArtifact(ctx, org.OrgID, flowID, fingerprint, in.Name, reports, maxNamedAttestations)
	if err != nil {
		return nil, err
	}
	return server.Answered(h.listOfAttestations(found)), nil
}

// TrailAttestationPath is the path of the attestations of a name on a trail.
type TrailAttestationPath struct {
	resource.TrailPath
	Name string `path:"attestation_name"`
}

// getTrailAttestations lists the attestations of a name on a trail and on its artifacts, newest first.
func (h *handlers) getTrailAttestations(ctx context.Context, in *TrailAttestationPath, trail evidence.Trail) (*server.Answer[jsonstream.List[Attestation]], error) {
	found := h.Attestations.Page(pipelines.AttestationQuery{Org: server.Access(ctx).OrgID, Trail: trail.Key(), Name: in.Name}, 0, maxNamedAttestations)
	return server.Answered(h.listOfAttestations(found)), nil
}
