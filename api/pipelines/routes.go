// Package pipelines has the operations on flows, trails, artifacts, repositories and their tags, and the search.
package pipelines

import (
	"attestry/api/resource"
	"attestry/api/server"
)

type handlers struct{ *resource.Base }

// Routes returns the routes of flows, trails, artifacts, repositories, tags and the search.
func Routes(base *resource.Base) []server.Route {
	h := &handlers{base}
	return server.Routes(map[string]server.Binder{
		"get_flows":                   server.Handle(h.listFlows),
		"create_flow":                 server.WithBody(h.createLegacyFlow),
		"create_flow_with_template":   server.WithForm("data_json", templateField, h.createFlow),
		"get_flow":                    resource.Found(h.ResolveFlow, h.getFlow),
		"archive_flow":                server.Handle(h.archiveFlow),
		"rename_flow":                 server.WithBody(h.renameFlow),
		"list_trails_for_org":         server.Handle(h.listOrgTrails),
		"list_trails":                 resource.Found(h.ResolveFlow, h.listFlowTrails),
		"create_trail":                server.WithForm("data_json", templateField, h.beginTrail),
		"get_trail":                   resource.Found(h.LoadTrail, h.getTrail),
		"create_artifact":             server.WithBody(h.reportArtifact),
		"list_artifacts":              server.Handle(h.listArtifacts),
		"list_flow_artifacts":         resource.Found(h.ResolveFlow, h.listFlowArtifacts),
		"get_artifact_by_fingerprint": resource.Found(h.ResolveFlow, h.getArtifact),
		"get_artifact_by_commit_sha":  resource.Found(h.ResolveFlow, h.getArtifactsOfCommit),
		"get_latest_artifact_commit":  resource.Found(h.ResolveFlow, h.getLatestCommit),
		"list_repos":                  server.Handle(h.listRepos),
		"list_repo_filter_options":    server.Handle(h.listRepoFilterOptions),
		"list_repo_tag_choices":       server.Handle(h.listRepoTagChoices),
		"get_repo":                    server.Handle(h.getRepo),
		"patch_tags":                  server.WithBody(h.patchTags),
		"get_search":                  server.Handle(h.search),
	})
}
