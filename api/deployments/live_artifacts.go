package deployments

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage/environments"
)

// RepoLiveStatusResponse lists what runs of a repository (docs/semantics.md 14.5), without archived environments.
type RepoLiveStatusResponse struct {
	Links         map[string]server.Href      `json:"_links"`
	Embedded      RepoLiveStatusEmbedded      `json:"_embedded"`
	LiveArtifacts []LiveArtifactEntryResponse `json:"live_artifacts" doc:"By environment; there, what began to run last comes first."`
}

// RepoLiveStatusEmbedded has the artifacts and environments of the entries, each once.
type RepoLiveStatusEmbedded struct {
	Artifacts    []EmbeddedArtifactResponse    `json:"artifacts"`
	Environments []EmbeddedEnvironmentResponse `json:"environments"`
}

// EmbeddedArtifactResponse is a running artifact.
type EmbeddedArtifactResponse struct {
	ID          string                 `json:"id" doc:"That of its newest report from the repository."`
	Fingerprint string                 `json:"fingerprint" pattern:"^[a-f0-9]{64}$"`
	CommitSHA   *string                `json:"commit_sha" nullable:"true"`
	CommitURL   *string                `json:"commit_url" nullable:"true"`
	Links       map[string]server.Href `json:"_links"`
}

// EmbeddedEnvironmentResponse is an environment with running artifacts.
type EmbeddedEnvironmentResponse struct {
	ID    string                 `json:"id"`
	Name  string                 `json:"name"`
	Type  string                 `json:"type"`
	Links map[string]server.Href `json:"_links"`
}

// LiveArtifactEntryResponse is an artifact and an environment that it runs in.
type LiveArtifactEntryResponse struct {
	EnvironmentID string                 `json:"environment_id"`
	ArtifactID    string                 `json:"artifact_id"`
	ArtifactName  string                 `json:"artifact_name"`
	Fingerprint   string                 `json:"fingerprint" pattern:"^[a-f0-9]{64}$"`
	CommitSHA     *string                `json:"commit_sha" nullable:"true"`
	SnapshotIndex int64                  `json:"snapshot_index" doc:"The environment's latest snapshot."`
	Compliance    *string                `json:"compliance" nullable:"true" doc:"COMPLIANT or NON-COMPLIANT, null where no policy judges."`
	StartedAt     float64                `json:"started_at" doc:"Unix seconds."`
	Links         map[string]server.Href `json:"_links"`
}

// getLiveArtifacts takes a constant number of commands for up to a thousand artifacts.
func (h *handlers) getLiveArtifacts(ctx context.Context, in *resource.GetRepoInput) (*server.Answer[RepoLiveStatusResponse], error) {
	org := server.Access(ctx)
	repo, err := h.loadLiveRepo(ctx, in)
	if err != nil {
		return nil, err
	}
	live, err := h.liveArtifacts(ctx, repo.ID)
	return server.Answered(RepoLiveStatusResponse{
		Links: map[string]server.Href{
			"self": {Href: h.Links.LiveArtifacts(org.OrgName, repo.Name, repo.ID)},
			"repo": {Href: h.Links.RepoSelf(org.OrgName, repo.Name, repo.ID)},
		},
		Embedded:      RepoLiveStatusEmbedded{Artifacts: h.showLiveArtifacts(org, &live), Environments: h.showLiveEnvironments(org, &live)},
		LiveArtifacts: h.showLiveEntries(org, &live),
	}), err
}

// loadLiveRepo returns the repository of a request. Other than for operations on a repository, the newest one of an
// ambiguous name is taken (docs/semantics.md 17.4).
func (h *handlers) loadLiveRepo(ctx context.Context, in *resource.GetRepoInput) (evidence.Repo, error) {
	if in.ID != "" || in.Provider != "" {
		return h.LoadRepoOf(ctx, in)
	}
	repos, err := h.Repos.Named(ctx, server.Access(ctx).OrgID, in.Name)
	if err != nil || len(repos) == 0 {
		return evidence.Repo{}, cmp.Or(err, resource.RepoNotFound(in.Name))
	}
	return resource.NewestRepo(repos), nil
}

type runningKey struct{ environment, fingerprint string }

// liveArtifacts has the running artifacts of a repository and the documents that they refer to.
type liveArtifacts struct {
	// entries are in the order of the answer.
	entries      []environments.Running
	environments map[string]evidence.Environment // by id
	heads        map[string]snapshot.Head        // by environment
	origins      map[string]evidence.Origin      // by fingerprint
	flows        map[string]evidence.Flow        // by id
	verdicts     map[runningKey]*bool
}

// liveArtifacts reads the running artifacts of a repository, without archived environments.
func (h *handlers) liveArtifacts(ctx context.Context, repo string) (liveArtifacts, error) {
	var live liveArtifacts
	found, err := h.Running.OfRepo(ctx, repo)
	if err != nil {
		return live, err
	}
	ids := resource.UniqueOf(found, func(entry *environments.Running) string { return entry.Environment })
	if live.environments, err = h.Environments.Names(ctx, server.Access(ctx).OrgID, ids); err != nil {
		return live, err
	}
	maps.DeleteFunc(live.environments, func(_ string, e evidence.Environment) bool { return e.Archived })
	live.addRunning(found)
	if live.heads, err = h.Heads.GetMany(ctx, slices.Collect(maps.Keys(live.environments))); err != nil {
		return live, err
	}
	fingerprints := live.fingerprints()
	if err := h.findOrigins(ctx, repo, fingerprints, &live); err != nil {
		return live, err
	}
	live.verdicts, err = h.latestVerdicts(ctx, fingerprints)
	return live, err
}

// addRunning sets l.entries to the artifacts that run in l.environments, sorted. found may have an artifact twice while
// it is being restarted; only the later entry is kept.
func (l *liveArtifacts) addRunning(found []environments.Running) {
	latest := map[runningKey]environments.Running{}
	for _, entry := range found {
		at := runningKey{environment: entry.Environment, fingerprint: entry.Fingerprint}
		if _, shown := l.environments[entry.Environment]; shown && entry.Since > latest[at].Since {
			latest[at] = entry
		}
	}
	l.entries = slices.SortedFunc(maps.Values(latest), func(a, b environments.Running) int {
		return cmp.Or(
			cmp.Compare(l.environments[a.Environment].Name, l.environments[b.Environment].Name),
			cmp.Compare(b.StartedAt, a.StartedAt), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
}

func (l *liveArtifacts) fingerprints() []string {
	return resource.UniqueOf(l.entries, func(entry *environments.Running) string { return entry.Fingerprint })
}

// findOrigins sets each fingerprint's origin: the newest in the repository, else that of the flow which built it first.
func (h *handlers) findOrigins(ctx context.Context, repo string, fingerprints []string, live *liveArtifacts) error {
	org := server.Access(ctx)
	known, err := h.Provenances.GetMany(ctx, org.OrgID, fingerprints)
	if err != nil {
		return err
	}
	live.origins = make(map[string]evidence.Origin, len(known))
	var flows []string
	for _, one := range known {
		origins := one.Origins()
		chosen := origins[0]
		for _, origin := range origins {
			if origin.Repo == repo && (chosen.Repo != repo || origin.Later(&chosen)) {
				chosen = origin
			}
		}
		live.origins[one.Fingerprint] = chosen
		flows = append(flows, chosen.Flow)
	}
	live.flows, err = h.Flows.Names(ctx, org.OrgID, resource.SortUnique(flows))
	return err
}

// latestVerdicts returns the latest verdict by environment and fingerprint. Each change of a verdict is an event.
func (h *handlers) latestVerdicts(ctx context.Context, fingerprints []string) (map[runningKey]*bool, error) {
	events, err := h.Events.OfArtifacts(ctx, server.Access(ctx).OrgID, fingerprints)
	verdicts := map[runningKey]*bool{}
	for _, event := range events {
		at := runningKey{environment: event.Environment, fingerprint: event.Fingerprint}
		if _, later := verdicts[at]; !later {
			verdicts[at] = event.Compliant
		}
	}
	return verdicts, err
}

func (h *handlers) showLiveArtifacts(org evidence.OrgAccess, live *liveArtifacts) []EmbeddedArtifactResponse {
	return resource.Map(live.fingerprints(), func(fingerprint *string) EmbeddedArtifactResponse {
		origin := live.origins[*fingerprint]
		return EmbeddedArtifactResponse{
			ID: origin.Record, Fingerprint: *fingerprint, CommitSHA: resource.NilIfEmpty(origin.CommitSHA), CommitURL: resource.NilIfEmpty(origin.CommitURL),
			Links: h.artifactLinks(org, live.flows[origin.Flow].Name, *fingerprint, origin.Record),
		}
	})
}

func (h *handlers) artifactLinks(org evidence.OrgAccess, flow, fingerprint, record string) map[string]server.Href {
	return map[string]server.Href{
		"self": {Href: h.Links.ArtifactSelf(org.OrgName, flow, fingerprint)},
		"html": {Href: h.Links.Artifact(org.OrgName, flow, fingerprint, record)},
	}
}

func (h *handlers) showLiveEnvironments(org evidence.OrgAccess, live *liveArtifacts) []EmbeddedEnvironmentResponse {
	sorted := slices.SortedFunc(maps.Values(live.environments), func(a, b evidence.Environment) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return resource.Map(sorted, func(environment *evidence.Environment) EmbeddedEnvironmentResponse {
		return EmbeddedEnvironmentResponse{
			ID: environment.ID, Name: environment.Name, Type: string(environment.Type),
			Links: map[string]server.Href{
				"self": {Href: h.Links.EnvironmentSelf(org.OrgName, environment.Name)},
				"html": {Href: h.Links.Environment(org.OrgName, environment.Name)},
			},
		}
	})
}

func (h *handlers) showLiveEntries(org evidence.OrgAccess, live *liveArtifacts) []LiveArtifactEntryResponse {
	return resource.Map(live.entries, func(entry *environments.Running) LiveArtifactEntryResponse {
		origin, environment := live.origins[entry.Fingerprint], live.environments[entry.Environment]
		number := max(live.heads[entry.Environment].Last, entry.Since)
		return LiveArtifactEntryResponse{
			EnvironmentID: entry.Environment, ArtifactID: origin.Record, ArtifactName: entry.Name, Fingerprint: entry.Fingerprint,
			CommitSHA: resource.NilIfEmpty(origin.CommitSHA), SnapshotIndex: number, StartedAt: entry.StartedAt,
			Compliance: complianceText(live.verdicts[runningKey{environment: entry.Environment, fingerprint: entry.Fingerprint}]),
			Links: map[string]server.Href{
				"artifact": {Href: h.Links.ArtifactSelf(org.OrgName, live.flows[origin.Flow].Name, entry.Fingerprint)},
				"snapshot": {Href: h.Links.SnapshotSelf(org.OrgName, environment.Name, number)},
				"html":     {Href: h.Links.Snapshot(org.OrgName, environment.Name, number)},
			},
		}
	})
}

// complianceText returns a verdict as text, nil if there is none.
func complianceText(verdict *bool) *string {
	return resource.NilIfEmpty(string(evidence.Judged(verdict, "", evidence.Compliant, evidence.NonCompliant)))
}
