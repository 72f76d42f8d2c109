package snapshots

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/evidence/timeline"
)

// noProvenance is the flow name in a filter that selects artifacts without a flow.
const noProvenance = "no provenance"

// auditColumns are the flattened members of GetEnvironmentEventResponse (docs/semantics.md 13.2). reported_at_utc is
// the time in a form for people and spreadsheets.
var auditColumns = []string{
	"environment_name", "snapshot_index", "artifact_name", "sha256", "description", "reported_at", "reported_at_utc",
	"pipeline", "flows", "artifact_compliance", "snapshot_compliance", "type", "code_diff",
	"artifact_url", "artifact_html_url", "snapshot_url", "snapshot_html_url",
}

type auditLogInput struct {
	resource.EnvironmentPath
	From       float64 `query:"from_timestamp" doc:"Unix seconds, included."`
	To         float64 `query:"to_timestamp" doc:"Unix seconds, included."`
	EventTypes string  `query:"event_types" doc:"Comma list of started, exited and changed, which is all else."`
	FlowNames  string  `query:"flow_names" doc:"Comma list of flows that know the artifact; 'no provenance' stands for none."`
	RepoNames  string  `query:"repo_names" doc:"Comma list of repositories that the artifact comes from."`
	resource.RepoProviderQuery
}

// getAuditLog sends the events of an environment, oldest first, as CSV.
func (h *handlers) getAuditLog(ctx context.Context, in *auditLogInput) (*server.StreamOutput, error) {
	kinds, err := auditKinds(in.EventTypes)
	if err != nil {
		return nil, err
	}
	log, err := h.loadEventLog(ctx, in.Environment)
	if err != nil {
		return nil, err
	}
	filter, err := h.auditFilter(ctx, in, kinds)
	if err != nil {
		return nil, err
	}
	start, end := timeline.Beginning(), timeline.End()
	if server.QueryHas(ctx, "from_timestamp") {
		start = timeline.At(in.From)
	}
	if server.QueryHas(ctx, "to_timestamp") {
		end = timeline.At(in.To)
	}
	if err := h.restrictRange(ctx, log, start, end); err != nil {
		return nil, err
	}
	return h.StreamCSV(ctx, log.environment.Name+"-audit-log.csv", auditColumns, func(ctx context.Context, after string) ([][]string, string, error) {
		return h.auditRows(ctx, log, filter, after)
	})
}

// auditFilter selects events of an audit log. Filters that are nil select all events.
type auditFilter struct {
	kinds, repos []string
	// flows are the ids, flowNames the names in the query. Names of archived flows have no id, but are in the log.
	flows, flowNames []string
	// noFlow selects events whose artifact no flow has reported.
	noFlow bool
}

// auditFilter resolves the names of a filter. An unknown repository is an error; an unknown flow matches nothing.
func (h *handlers) auditFilter(ctx context.Context, in *auditLogInput, kinds []string) (auditFilter, error) {
	filter := auditFilter{kinds: kinds}
	var err error
	if filter.repos, err = h.repoIDs(ctx, commaList(in.RepoNames), in.Provider); err != nil {
		return filter, err
	}
	filter.flowNames = commaList(in.FlowNames)
	filter.noFlow = slices.Contains(filter.flowNames, noProvenance)
	refs, err := h.Flows.ResolveMany(ctx, server.Access(ctx).OrgID, resource.SortUnique(slices.Clone(filter.flowNames)))
	for _, ref := range refs {
		filter.flows = append(filter.flows, ref.ID)
	}
	return filter, err
}

// commaList splits a list. It ignores empty items and blanks around items.
func commaList(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// The kinds of events that an audit log can be filtered by.
const (
	kindStarted = "started"
	kindExited  = "exited"
	kindChanged = "changed"
)

// auditKinds reads event_types, nil for all.
func auditKinds(text string) ([]string, error) {
	kinds := commaList(text)
	for _, kind := range kinds {
		if kind != kindStarted && kind != kindExited && kind != kindChanged {
			return nil, validation.Fault("query.event_types", "Input should be a comma list of 'started', 'exited' or 'changed'", kind)
		}
	}
	return kinds, nil
}

func auditKind(of snapshot.Annotation) string {
	switch {
	case of.Started():
		return kindStarted
	case of == snapshot.Exited:
		return kindExited
	default:
		return kindChanged
	}
}

func (f *auditFilter) matches(event *snapshot.Event) bool {
	return (f.kinds == nil || slices.Contains(f.kinds, auditKind(event.Type))) &&
		(f.repos == nil || slices.ContainsFunc(event.Repos, func(id string) bool { return slices.Contains(f.repos, id) }))
}

// matchesFlows reports whether the filter selects one of an event's flows.
func (f *auditFilter) matchesFlows(ids []string, flows []EventFlow) bool {
	return len(f.flowNames) == 0 || f.noFlow && len(ids) == 0 ||
		slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(f.flows, id) }) ||
		slices.ContainsFunc(flows, func(flow EventFlow) bool { return slices.Contains(f.flowNames, flow.FlowName) })
}

// auditRows makes the rows of those events in the next batch that the filter selects.
func (h *handlers) auditRows(ctx context.Context, log *eventLog, filter auditFilter, after string) ([][]string, string, error) {
	events, next, err := h.Events.Walk(ctx, log.bounds, after, h.BatchBytes)
	if err != nil {
		return nil, "", err
	}
	events = slices.DeleteFunc(events, func(e snapshot.Event) bool { return !filter.matches(&e) })
	shown, err := h.showEvents(ctx, log, events)
	rows := make([][]string, 0, len(shown))
	for i := range shown {
		if filter.matchesFlows(events[i].Flows, shown[i].Flows) {
			rows = append(rows, auditRow(&shown[i]))
		}
	}
	return rows, next, err
}

func auditRow(event *GetEnvironmentEventResponse) []string {
	flows := resource.Map(event.Flows, func(flow *EventFlow) string { return flow.FlowName })
	artifact := evidence.ZeroIfNil(event.Links.Artifact.Value)
	return []string{
		event.EnvironmentName, strconv.FormatInt(event.SnapshotIndex, 10), event.ArtifactName, event.SHA256, event.Description,
		strconv.FormatFloat(event.ReportedAt, 'f', -1, 64), evidence.ZeroIfNil(resource.ISOTime(event.ReportedAt)),
		event.Pipeline, strings.Join(flows, ","), verdictText(event.ArtifactCompliance), verdictText(&event.SnapshotCompliance),
		event.Type, evidence.ZeroIfNil(event.CodeDiff), artifact.Self, artifact.HTML, event.Links.Snapshot.Self, event.Links.Snapshot.HTML,
	}
}

// verdictText returns "true" or "false", or "" if there is no verdict.
func verdictText(verdict *bool) string {
	if verdict == nil {
		return ""
	}
	return strconv.FormatBool(*verdict)
}
