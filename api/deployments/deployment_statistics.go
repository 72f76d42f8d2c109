package deployments

import (
	"cmp"
	"context"
	"slices"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/storage/environments"
)

type deploymentFrequencyInput struct {
	resource.EnvironmentPath
	FlowID string `query:"flow_id" doc:"The id of a flow: deployments of its artifacts alone."`
}

// DeploymentFrequencyResponse lists the times of deployments to an environment in the last 28 days.
type DeploymentFrequencyResponse struct {
	EnvironmentName string    `json:"environment_name"`
	FlowID          *string   `json:"flow_id" nullable:"true"`
	StartTS         float64   `json:"start_ts" doc:"Unix seconds, included."`
	EndTS           float64   `json:"end_ts" doc:"Unix seconds, included."`
	Count           int       `json:"count"`
	DeployedAt      []float64 `json:"deployed_at" doc:"Unix seconds, oldest first; the newest 100,000."`
}

// getDeploymentFrequency lists the times of deployments to an environment, or to the members of a logical one.
func (h *handlers) getDeploymentFrequency(ctx context.Context, in *deploymentFrequencyInput) (*server.Answer[DeploymentFrequencyResponse], error) {
	now := evidence.Seconds(h.Clock())
	span := resource.Window{From: now - resource.DefaultWindow, To: now}
	environment, err := h.loadCurrentEnvironment(ctx, in.Environment)
	if err != nil {
		return nil, err
	}
	moments, err := h.deployedAt(ctx, resource.PhysicalIDs(&environment), in.FlowID, span)
	if err != nil {
		return nil, err
	}
	slices.Reverse(moments)
	body := DeploymentFrequencyResponse{
		EnvironmentName: environment.Name, StartTS: span.From, EndTS: span.To,
		Count: len(moments), DeployedAt: append([]float64{}, moments...),
	}
	if server.QueryHas(ctx, "flow_id") {
		body.FlowID = &in.FlowID
	}
	return server.Answered(body), nil
}

// deployedAt returns the times of deployments to environments, newest first. A flow_id in the query selects a flow.
func (h *handlers) deployedAt(ctx context.Context, ids []string, flow string, span resource.Window) ([]float64, error) {
	org := server.Access(ctx)
	if server.QueryHas(ctx, "flow_id") {
		known, err := h.Flows.Names(ctx, org.OrgID, []string{flow})
		if err != nil {
			return nil, err
		}
		if _, ok := known[flow]; !ok {
			return nil, evidence.Errorf(evidence.NotFound, "Flow '%s' not found", flow)
		}
		return h.Successions.Moments(ctx, ids, flow, span.From, span.To, resource.MaxSeries)
	}
	found, err := h.Deployments.Moments(ctx, environments.DeploymentQuery{
		Org: org.OrgID, Environments: ids, From: span.From, To: span.To, Limit: resource.MaxSeries,
	})
	return resource.Map(found, func(one *environments.DeploymentMoment) float64 { return one.At }), err
}

type repoDeploymentStatisticsInput struct {
	RepoIDPath
	Environments []string `query:"env,explode" maxItems:"1000" default:"[]" doc:"Names of environments; a logical one stands for its members. None means all."`
	resource.WindowQuery
}

// RepoDeploymentStatisticsResponse lists the deployments of a repository within a window with their lead times. Clients
// compute buckets, medians and percentiles.
type RepoDeploymentStatisticsResponse struct {
	StartTS      float64                           `json:"start_ts" doc:"Unix seconds, included."`
	EndTS        float64                           `json:"end_ts" doc:"Unix seconds, included."`
	Environments []EnvironmentDeploymentStatistics `json:"environments" doc:"Those that the repository reached within the window, by name. Archived ones are among them, logical ones are not."`
}

// EnvironmentDeploymentStatistics are two series with an entry for each deployment, oldest first. All environments
// together have the newest 100,000.
type EnvironmentDeploymentStatistics struct {
	EnvironmentID   string     `json:"environment_id"`
	EnvironmentName string     `json:"environment_name"`
	DeployedAt      []float64  `json:"deployed_at" doc:"Unix seconds."`
	LeadTimeSeconds []*float64 `json:"lead_time_seconds" doc:"From the commit until it ran; null when the commit's time is not known."`
}

func (h *handlers) getRepoDeploymentStatistics(ctx context.Context, in *repoDeploymentStatisticsInput) (*server.Answer[RepoDeploymentStatisticsResponse], error) {
	span := h.WindowOf(ctx, in.WindowQuery)
	query, err := h.repoQuery(ctx, in.Repo, in.Environments, span)
	if err != nil {
		return nil, err
	}
	query.Limit = resource.MaxSeries
	moments, err := h.Deployments.Moments(ctx, query)
	if err != nil {
		return nil, err
	}
	reached, err := h.groupByEnvironment(ctx, moments)
	return server.Answered(RepoDeploymentStatisticsResponse{StartTS: span.From, EndTS: span.To, Environments: reached}), err
}

// groupByEnvironment groups moments, which are newest first, into series that are oldest first.
func (h *handlers) groupByEnvironment(ctx context.Context, moments []environments.DeploymentMoment) ([]EnvironmentDeploymentStatistics, error) {
	series := map[string]*EnvironmentDeploymentStatistics{}
	var ids []string
	for _, moment := range slices.Backward(moments) {
		one := series[moment.Environment]
		if one == nil {
			one = &EnvironmentDeploymentStatistics{EnvironmentID: moment.Environment}
			series[moment.Environment] = one
			ids = append(ids, moment.Environment)
		}
		one.DeployedAt = append(one.DeployedAt, moment.At)
		one.LeadTimeSeconds = append(one.LeadTimeSeconds, moment.LeadTime)
	}
	named, err := h.Environments.Names(ctx, server.Access(ctx).OrgID, ids)
	reached := make([]EnvironmentDeploymentStatistics, 0, len(ids))
	for _, id := range ids {
		series[id].EnvironmentName = named[id].Name
		reached = append(reached, *series[id])
	}
	slices.SortFunc(reached, func(a, b EnvironmentDeploymentStatistics) int {
		return cmp.Or(cmp.Compare(a.EnvironmentName, b.EnvironmentName), cmp.Compare(a.EnvironmentID, b.EnvironmentID))
	})
	return reached, err
}
