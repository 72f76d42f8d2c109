package server

import (
	"cmp"
	_ "embed" // operations.tsv
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"attestry/api/access"
)

// Route is one operation with its access rule and handler.
type Route struct {
	Method string
	// Path is relative to /api/v2, with parameters in braces. Access is checked for the organization {org}.
	Path        string
	OperationID string
	Tag         string
	Summary     string
	access.Rule
	// Public operations need no key.
	Public bool
	// Signed operations are public, but need a signature of the body: see WithSignedBody.
	Signed     bool
	Deprecated bool
	// BodyLimit is in bytes; 0 means 1 MiB.
	BodyLimit int64
	// Statuses are the statuses of success, the default first; none means 200.
	Statuses []int
	// BasicToo documents Basic authentication in addition to bearer; both are accepted everywhere.
	BasicToo bool
	// Serve is made by Handle, WithBody or WithForm.
	Serve Binder
}

//go:embed operations.tsv
var operationsFile string

// operations are the rows of operations.tsv, one for each operation of the API: method, path, id, tag, minimum role,
// flags, statuses of success and summary. They have no handlers yet.
var operations = readOperations(operationsFile)

var flags = map[string]func(*Route){
	"users-only":    func(r *Route) { r.UsersOnly = true },
	"refuse-tokens": func(r *Route) { r.RefuseTokens = true },
	"members-only":  func(r *Route) { r.MembersOnly = true },
	"beta":          func(r *Route) { r.Beta = true },
	"public":        func(r *Route) { r.Public = true },
	"signed":        func(r *Route) { r.Signed = true },
	"deprecated":    func(r *Route) { r.Deprecated = true },
	"basic-too":     func(r *Route) { r.BasicToo = true },
}

// readOperations panics on a malformed table, which is embedded in the program.
func readOperations(table string) []Route {
	var read []Route
	for line := range strings.Lines(table) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		route := Route{Method: row[0], Path: row[1], OperationID: row[2], Tag: row[3], Summary: row[7]}
		err := route.MinRole.UnmarshalText([]byte(row[4]))
		for _, name := range strings.Fields(row[5]) {
			set, ok := flags[name]
			if !ok {
				panic(fmt.Sprintf("operations.tsv: %s: unknown flag %s", route.OperationID, name))
			}
			set(&route)
		}
		for _, text := range strings.Fields(row[6]) {
			status, malformed := strconv.Atoi(text)
			route.Statuses, err = append(route.Statuses, status), cmp.Or(err, malformed)
		}
		if err != nil {
			panic(fmt.Sprintf("operations.tsv: %s: %v", route.OperationID, err))
		}
		read = append(read, route)
	}
	return read
}

// Routes returns the operations with the given ids, served by the given binders, in the order of operations.tsv.
func Routes(serve map[string]Binder) []Route {
	var routes []Route
	for _, route := range operations {
		if binder, ok := serve[route.OperationID]; ok {
			route.Serve = binder
			routes = append(routes, route)
		}
	}
	if len(routes) != len(serve) {
		panic(fmt.Sprintf("%d of the operations %v are in operations.tsv", len(routes), slices.Sorted(maps.Keys(serve))))
	}
	return routes
}

func (r Route) ofOrganization() bool { return strings.Contains(r.Path, "{org}") }

func (r Route) rule() access.Rule {
	rule := r.Rule
	rule.OfOrg = r.ofOrganization()
	return rule
}

func (r Route) bodyLimit() int64 { return cmp.Or(r.BodyLimit, jsonLimit) }

func (r Route) statuses() []int {
	if len(r.Statuses) == 0 {
		return []int{http.StatusOK}
	}
	return r.Statuses
}

// inOrder sorts routes so that static segments come before parameters, as the router takes the first match.
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
