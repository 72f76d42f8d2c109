package server

// OrganizationRoutes are those of organizations and users.
func OrganizationRoutes(base *Base) []Route { return (&handlers{base}).organizationRoutes() }
