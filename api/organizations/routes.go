// Package organizations has the operations on organizations and users.
package organizations

import (
	"attestry/api/resource"
	"attestry/api/server"
)

// Routes are those of organizations and users.
func Routes(base *resource.Base, stores Stores) []server.Route {
	return (&handlers{Base: base, Stores: stores}).organizationRoutes()
}
