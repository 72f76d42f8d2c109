package environments

import "attestry/evidence/snapshot"

// AzureAppsReport is the body of azure_apps_report (docs/semantics.md 10.1).
type AzureAppsReport struct {
	Type      ReportType          `json:"type,omitempty" enum:"azure-apps" default:"azure-apps"`
	Artifacts []AzureAppsArtifact `json:"artifacts"`
}

// AzureAppsArtifact is one web app or function app.
type AzureAppsArtifact struct {
	Digests           PartialDigests `json:"digests"`
	DigestsSource     string         `json:"digests_source" enum:"acr,logs,kosli-cli" doc:"Where the digests were learned."`
	AppName           string         `json:"app_name"`
	AppKind           string         `json:"app_kind"`
	CreationTimestamp int64          `json:"creationTimestamp" doc:"Unix seconds"`
}

// Check reports whether the report surely meets its schema.
func (r *AzureAppsReport) Check() bool {
	if r.Artifacts == nil || !r.Type.matches("azure-apps") {
		return false
	}
	for _, app := range r.Artifacts {
		if app.AppName == "" || app.AppKind == "" || app.CreationTimestamp == 0 || !app.Digests.complete() {
			return false
		}
		switch app.DigestsSource {
		case "acr", "logs", "kosli-cli":
		default:
			return false
		}
	}
	return true
}

func (r *AzureAppsReport) instances() []snapshot.Instance {
	instances := make([]snapshot.Instance, 0, len(r.Artifacts))
	for _, app := range r.Artifacts {
		instances = append(instances, snapshot.Instance{
			Digests:   app.Digests.toMap(),
			CreatedAt: app.CreationTimestamp,
			Context: &snapshot.Context{Azure: &snapshot.AzureContext{
				AppName:       app.AppName,
				AppKind:       app.AppKind,
				DigestsSource: app.DigestsSource,
			}},
		})
	}
	return instances
}
