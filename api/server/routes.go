package server

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"attestry/app"
	"attestry/app/evaluation"
	"attestry/evidence"
	"attestry/tasks/logical"
	"attestry/tasks/snapshot"
)

// prefix is where all operations live; the document's paths are relative to it.
const prefix = "/api/v2"

// Route is one operation: what it is called, who may call it, and what serves
// it.
type Route struct {
	Method string
	// Path is relative to /api/v2, with parameters in braces. The parameter
	// {org} names the organization that access is checked for.
	Path        string
	OperationID string
	Tag         string
	Summary     string
	// Least is the least role in the organization of the path. Operations without
	// an organization leave it out: any valid key will do.
	Least evidence.Role
	// Public operations need no key.
	Public     bool
	Deprecated bool
	// BodyLimit is in bytes; 0 means 1 MiB.
	BodyLimit int64
	// Statuses are the statuses of success, the usual one first; none means 200.
	Statuses []int
	// BasicToo declares Basic authentication beside bearer in the document; both
	// are accepted everywhere.
	BasicToo bool
	// Serve is what handle, withBody or withForm make of a handler.
	Serve binder
}

// handlers holds what the operations need.
type handlers struct {
	clock  evidence.Clock
	links  Links
	store  *app.Store
	intake *snapshot.Intake
	// evaluator judges payloads of custom attestation types.
	evaluator *evaluation.Evaluator
	// logical numbers the snapshots of logical environments.
	logical *logical.Updater
	log     *slog.Logger
	// batchBytes is how much a list reads at a time, in bytes.
	batchBytes int
}

// routes lists every operation of the API.
func routes(h *handlers) []Route {
	return slices.Concat(
		h.environmentRoutes(),
		h.environmentLifeRoutes(),
		h.eventRoutes(),
		h.allowlistRoutes(),
		h.reportRoutes(),
		h.snapshotRoutes(),
		h.envDiffRoutes(),
		h.flowRoutes(),
		h.schemaRoutes(),
		h.tagRoutes(),
		h.attestationTypeRoutes(),
		h.trailRoutes(),
		h.artifactReportRoutes(),
		h.attestationRoutes(),
		h.attestationReadRoutes(),
		h.repoRoutes(),
		h.deploymentRoutes(),
		h.buildRoutes(),
		h.liveArtifactRoutes(),
		h.artifactRoutes(),
		h.searchRoutes(),
	)
}

// environmentRoutes are those of organizations and users.
func (h *handlers) environmentRoutes() []Route {
	return []Route{
		{
			Method: http.MethodGet, Path: "/organizations/{org}", OperationID: "get_organization", Tag: "Organizations",
			Summary: "Read an organization", Least: evidence.Reader, Serve: handle(h.getOrganization),
		},
		{
			Method: http.MethodGet, Path: "/user/default-org", OperationID: "get_user_default_org", Tag: "User",
			Summary: "Read one's default organization", Serve: handle(h.getDefaultOrg),
		},
		{
			Method: http.MethodPut, Path: "/user/{org}", OperationID: "put_user_default_org", Tag: "User",
			Summary: "Make an organization one's default", Least: evidence.Reader, Serve: handle(h.putDefaultOrg),
		},
	}
}

func (r Route) ofOrganization() bool { return strings.Contains(r.Path, "{org}") }

func (r Route) bodyLimit() int64 { return cmp.Or(r.BodyLimit, jsonLimit) }

func (r Route) statuses() []int {
	if len(r.Statuses) == 0 {
		return []int{http.StatusOK}
	}
	return r.Statuses
}

// check finds faults of the table itself.
func (r Route) check() error {
	switch {
	case r.Method == "" || r.OperationID == "" || r.Tag == "" || r.Summary == "" || r.Serve == nil:
		return fmt.Errorf("route %s %s is incomplete", r.Method, r.Path)
	case !strings.HasPrefix(r.Path, "/"):
		return fmt.Errorf("route %s: path %q does not begin with a slash", r.OperationID, r.Path)
	case r.Public && r.Least != evidence.NoRole:
		return fmt.Errorf("route %s is public and asks for a role", r.OperationID)
	case !r.Public && r.ofOrganization() != (r.Least != evidence.NoRole):
		return fmt.Errorf("route %s: an organization in the path and a least role go together", r.OperationID)
	}
	return nil
}

// inOrder sorts routes so that static segments come before parameters, as the
// router takes the first that matches.
func inOrder(table []Route) []Route {
	return slices.SortedStableFunc(slices.Values(table), func(a, b Route) int {
		return slices.CompareFunc(strings.Split(a.Path, "/"), strings.Split(b.Path, "/"), compareSegments)
	})
}

func compareSegments(a, b string) int {
	isParameter := func(segment string) int {
		if strings.HasPrefix(segment, "{") {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(isParameter(a), isParameter(b)), strings.Compare(a, b))
}
