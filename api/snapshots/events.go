package snapshots

import (
	"cmp"
	"context"
	"time"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/evidence/timeline"
	"attestry/storage/environments"
)

type listEventsInput struct {
	resource.EnvironmentPath
	Interval string   `query:"interval" deprecated:"true" doc:"Two ends with '..' between them, or one snapshot expression for the events of that snapshot. It counts when neither start nor end is given."`
	Page     int      `query:"page" minimum:"1" default:"1"`
	PerPage  int      `query:"per_page" minimum:"1" maximum:"100" default:"15"`
	Reverse  bool     `query:"reverse" default:"false" doc:"Oldest first."`
	RepoName []string `query:"repo_name,explode" maxItems:"10" doc:"Only artifacts that come from one of the repositories."`
	resource.RepoProviderQuery
	StartTS float64 `query:"start_ts" doc:"Unix seconds, included. It wins over start."`
	EndTS   float64 `query:"end_ts" doc:"Unix seconds, included. It wins over end."`
	From    float64 `query:"from" doc:"Another name of start_ts, which wins over it."`
	To      float64 `query:"to" doc:"Another name of end_ts, which wins over it."`
	Start   string  `query:"start" doc:"A snapshot (5, -1, ~2), NOW, a span of time back from now (1hour, 2days, 30mins), Unix seconds, ISO 8601, or @{…}. The events of a snapshot are included; times bound those of the events." default:"1"`
	End     string  `query:"end" doc:"Like start." default:"NOW"`
}

// GetEnvironmentEventResponse is an entry of an environment's log (docs/semantics.md 13.1).
type GetEnvironmentEventResponse struct {
	EnvironmentName    string      `json:"environment_name"`
	Archived           bool        `json:"environment_archived,omitempty" doc:"Whether that environment is archived. Another one may have its name."`
	SnapshotIndex      int64       `json:"snapshot_index"`
	ArtifactName       string      `json:"artifact_name"`
	SHA256             string      `json:"sha256"`
	Description        string      `json:"description"`
	ReportedAt         float64     `json:"reported_at"`
	Pipeline           string      `json:"pipeline" doc:"The flow that built the artifact, empty when none knows it."`
	Deployments        []int64     `json:"deployments"`
	Flows              []EventFlow `json:"flows"`
	ArtifactCompliance *bool       `json:"artifact_compliance" nullable:"true" doc:"Null where no policy judged."`
	SnapshotCompliance bool        `json:"snapshot_compliance"`
	Type               string      `json:"type" enum:"started-compliant,started-non-compliant,started-unknown,became-compliant,became-non-compliant,updated-provenance,changed,exited"`
	CodeDiff           *string     `json:"code_diff" nullable:"true"`
	Links              EventLinks  `json:"_links"`
}

// EventFlow is a flow that the artifact of an event was reported to.
type EventFlow struct {
	FlowName    string  `json:"flow_name"`
	Deployments []int64 `json:"deployments" nullable:"true"`
}

// EventLinks are the addresses of an event's artifact and snapshot.
type EventLinks struct {
	Artifact resource.OrNull[EventLink] `json:"artifact" doc:"Null when no flow knows the artifact."`
	Snapshot EventLink                  `json:"snapshot"`
}

// EventLink has the addresses of a resource in the API and of its page.
type EventLink struct {
	Self string `json:"self"`
	HTML string `json:"html"`
}

// bounds returns the bounds of the log in the query. The interval is ignored if start or end is sent. A time (start_ts
// or from, end_ts or to) takes precedence over both.
func (in *listEventsInput) bounds(ctx context.Context, now time.Time) (start, end timeline.Moment, err error) {
	start, end = timeline.Beginning(), timeline.End()
	if in.Interval != "" && !server.QueryHas(ctx, "start") && !server.QueryHas(ctx, "end") {
		if start, end, err = timeline.ParseMoments(in.Interval, now); err != nil {
			return start, end, err
		}
	}
	startAt := cmp.Or(resource.IfSent(ctx, "start_ts", in.StartTS), resource.IfSent(ctx, "from", in.From))
	if start, err = sentMoment(ctx, startAt, "start", start, now); err != nil {
		return start, end, err
	}
	endAt := cmp.Or(resource.IfSent(ctx, "end_ts", in.EndTS), resource.IfSent(ctx, "to", in.To))
	end, err = sentMoment(ctx, endAt, "end", end, now)
	return start, end, err
}

// sentMoment returns a bound of the log: the time that was sent, else the text of the parameter, else the fallback.
func sentMoment(ctx context.Context, at *float64, parameter string, fallback timeline.Moment, now time.Time) (timeline.Moment, error) {
	switch {
	case at != nil:
		return timeline.At(*at), nil
	case server.QueryHas(ctx, parameter):
		return timeline.ParseMoment(server.SentText(ctx, parameter), now)
	}
	return fallback, nil
}

type listEventsAnswer struct {
	server.PageHeaders
	Body []GetEnvironmentEventResponse
}

// listEvents lists the events of an environment, newest first. All pages cost the same, unless filtered by repository.
func (h *handlers) listEvents(ctx context.Context, in *listEventsInput) (*listEventsAnswer, error) {
	start, end, err := in.bounds(ctx, h.Clock())
	if err != nil {
		return nil, err
	}
	log, err := h.loadEventLog(ctx, in.Environment)
	if err != nil {
		return nil, err
	}
	repos, err := h.repoIDs(ctx, in.RepoName, in.Provider)
	if err != nil {
		return nil, err
	}
	if err := h.restrictRange(ctx, log, start, end); err != nil {
		return nil, err
	}
	found, total, err := h.Events.OfRepos(ctx, log.bounds, repos, environments.EventPage{
		Offset: server.OffsetOf(in.Page, in.PerPage), Limit: in.PerPage, Descending: !in.Reverse,
	})
	if err != nil {
		return nil, err
	}
	shown, err := h.showEvents(ctx, log, found)
	return &listEventsAnswer{PageHeaders: server.PageOf(ctx, h.Links, in.Page, in.PerPage, total).Headers(), Body: shown}, err
}

// repoIDs resolves repositories by name: one command. An empty name is unknown, too.
func (h *handlers) repoIDs(ctx context.Context, names []string, provider string) ([]string, error) {
	org := server.Access(ctx)
	names = resource.SortUnique(names)
	var found []evidence.Repo
	var err error
	switch len(names) {
	case 0:
		return nil, nil
	case 1:
		found, err = h.Repos.Named(ctx, org.OrgID, names[0])
	default:
		found, err = h.Repos.List(ctx, org.OrgID) // one command, not one for each name
	}
	if err != nil {
		return nil, err
	}
	byName := make(map[string][]evidence.Repo, len(names))
	for _, repo := range found {
		byName[repo.Name] = append(byName[repo.Name], repo)
	}
	ids := make([]string, 0, len(names))
	for _, name := range names {
		repo, err := resource.PickRepo(byName[name], name, provider)
		if err != nil {
			return nil, err
		}
		ids = append(ids, repo.ID)
	}
	return ids, nil
}

// showEvents shows events with the current names of environments and flows: one command for up to a thousand flows, and
// one for the members of a logical environment.
func (h *handlers) showEvents(ctx context.Context, log *eventLog, events []snapshot.Event) ([]GetEnvironmentEventResponse, error) {
	var flowIDs, memberIDs []string
	for _, event := range events {
		flowIDs = append(flowIDs, event.Flows...)
		if event.Member != "" {
			memberIDs = append(memberIDs, event.Member)
		}
	}
	flows, err := h.Flows.Names(ctx, log.org.OrgID, resource.SortUnique(flowIDs))
	if err != nil {
		return nil, err
	}
	members, err := h.Environments.Names(ctx, log.org.OrgID, resource.SortUnique(memberIDs))
	if err != nil {
		return nil, err
	}
	return resource.Map(events, func(e *snapshot.Event) GetEnvironmentEventResponse {
		return h.showEvent(log, e, flows, members)
	}), nil
}

// showEvent shows an event. One of a logical environment has the member's name, but the logical environment's snapshot.
func (h *handlers) showEvent(log *eventLog, event *snapshot.Event, flows map[string]evidence.Flow, members map[string]evidence.Environment) GetEnvironmentEventResponse {
	org, environment := log.org.OrgName, log.environment.Name
	physical := log.environment
	if event.Member != "" {
		physical = members[event.Member]
	}
	shown := GetEnvironmentEventResponse{
		EnvironmentName:    physical.Name,
		Archived:           physical.Archived,
		SnapshotIndex:      event.Snapshot,
		ArtifactName:       event.Name,
		SHA256:             event.Fingerprint,
		Description:        event.Description,
		ReportedAt:         event.Timestamp,
		Deployments:        []int64{},
		Flows:              resource.Map(event.Flows, func(id *string) EventFlow { return EventFlow{FlowName: flows[*id].Name} }),
		ArtifactCompliance: event.Compliant,
		SnapshotCompliance: event.SnapshotCompliant,
		Type:               string(event.Type),
		CodeDiff:           event.CodeDiff,
		Links: EventLinks{Snapshot: EventLink{
			Self: h.Links.SnapshotSelf(org, environment, event.Snapshot),
			HTML: h.Links.Snapshot(org, environment, event.Snapshot),
		}},
	}
	if len(shown.Flows) > 0 {
		shown.Pipeline = shown.Flows[0].FlowName
		shown.Links.Artifact.Value = &EventLink{
			Self: h.Links.ArtifactSelf(org, shown.Pipeline, event.Fingerprint),
			HTML: h.Links.Artifact(org, shown.Pipeline, event.Fingerprint, event.Record),
		}
	}
	return shown
}

type eventLog struct {
	org         evidence.OrgAccess
	environment evidence.Environment
	bounds      environments.EventRange // the part to read
	latest      int64                   // number of the last snapshot
}

// loadEventLog returns the log of the environment with a name. The log ends with the head's last snapshot, as the
// events of a snapshot that is still being made may not all be stored.
func (h *handlers) loadEventLog(ctx context.Context, name string) (*eventLog, error) {
	environment, err := h.LoadEnvironment(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := h.catchUp(ctx, &environment); err != nil {
		return nil, err
	}
	head, err := h.Heads.Get(ctx, environment.ID)
	return &eventLog{
		org: server.Access(ctx), environment: environment,
		bounds: environments.EventRange{Environment: environment.ID, To: head.Timestamp},
		latest: head.Last,
	}, err
}

// restrictRange restricts a log to the range between two bounds. It is empty if they are times in the wrong order.
func (h *handlers) restrictRange(ctx context.Context, log *eventLog, start, end timeline.Moment) error {
	if start.IsBeginning() && end.IsEnd() {
		return nil
	}
	timeline := h.timelineUntil(ctx, log.environment, log.latest)
	first, last, err := timeline.Ends(start, end)
	if err != nil {
		return err
	}
	if log.bounds.From, err = h.timeOf(ctx, log, start, first); err != nil {
		return err
	}
	until, err := h.timeOf(ctx, log, end, last)
	log.bounds.To = min(log.bounds.To, until)
	return err
}

// timeOf returns the time of a moment. If the moment is a snapshot, number is its number; the time is 0 if it does not
// exist.
func (h *handlers) timeOf(ctx context.Context, log *eventLog, moment timeline.Moment, number int64) (float64, error) {
	if moment.Snapshot == nil || number == 0 {
		return moment.At, nil
	}
	found, err := h.Snapshots.GetMany(ctx, log.environment.ID, []int64{number})
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return found[0].Timestamp, nil
}
