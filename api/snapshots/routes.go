// Package snapshots has the operations on snapshots, their differences and events.
package snapshots

import (
	"attestry/api/resource"
	"attestry/api/server"
)

type handlers struct{ *resource.Base }

// Routes returns the routes of snapshots, their differences and events.
func Routes(base *resource.Base) []server.Route {
	h := &handlers{base}
	return server.Routes(map[string]server.Binder{
		"get_env_events":   server.Handle(h.listEvents),
		"get_env_auditlog": server.Handle(h.getAuditLog),
		"list_snapshots":   resource.Found(h.LoadEnvironment, h.listSnapshots),
		"get_snapshot":     resource.Found(h.LoadEnvironment, h.getSnapshot),
		"environment_diff": server.Handle(h.environmentDiff),
	})
}
