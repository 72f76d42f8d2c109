// Package webhooks has the operations that other services call without an API key: their
// addresses are secret, and their bodies are signed (docs/semantics.md 19.2).
package webhooks

import (
	"net/http"

	"attestry/api/resource"
	"attestry/api/server"
)

type handlers struct {
	*resource.Base
}

// Routes are those of inbound webhooks.
func Routes(base *resource.Base) []server.Route {
	h := &handlers{Base: base}
	return []server.Route{
		{Method: http.MethodPost, Path: "/webhooks/sonar/{hook_uid}", OperationID: "sonar_webhook", Tag: "Webhooks",
			Summary: "Record the analysis that SonarQube tells of", Public: true, Signed: true,
			Serve: server.WithSignedBody(h.verifySonar, h.recordAnalysis)},
		{Method: http.MethodPost, Path: "/webhooks/launch-darkly/{hook_uid}", OperationID: "launch_darkly_webhook", Tag: "Webhooks",
			Summary: "Record the change of a feature flag that LaunchDarkly tells of", Public: true, Signed: true,
			Serve: server.WithSignedBody(h.verifyLaunchDarkly, h.recordFlag)},
	}
}
