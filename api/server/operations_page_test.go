package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"attestry/scripts/readmetest"
)

// TestEveryOperationIsListed compares the table in docs/api.md with the route table. With ATTESTRY_TEST_UPDATE set it
// writes it.
func TestEveryOperationIsListed(t *testing.T) {
	readmetest.Check(t, "../../docs/api.md", "operations", operationsTable())
}

// TestEveryRowIsServed finds rows of operations that have no route.
func TestEveryRowIsServed(t *testing.T) {
	served := productRoutes()
	for _, row := range operations {
		if !slices.ContainsFunc(served, func(r Route) bool { return r.OperationID == row.OperationID }) {
			t.Errorf("nothing serves %s", row.OperationID)
		}
	}
}

func operationsTable() string {
	table := productRoutes()
	slices.SortStableFunc(table, func(a, b Route) int { return strings.Compare(a.Tag, b.Tag) })
	var b strings.Builder
	b.WriteString("| tag | operation | request | least role |\n|---|---|---|---|\n")
	for _, r := range table {
		least := r.MinRole.String()
		switch {
		case r.Signed:
			least = "signature"
		case r.Public:
			least = "no key"
		case r.UsersOnly && !r.ofOrganization():
			least = "any key of a user"
		case !r.ofOrganization():
			least = "any key"
		case r.UsersOnly:
			least += ", of a user"
		case r.RefuseTokens:
			least += ", not with a token"
		}
		fmt.Fprintf(&b, "| %s | `%s` | `%s %s` | %s |\n", r.Tag, r.OperationID, r.Method, r.Path, least)
	}
	fmt.Fprintf(&b, "\n%d operations.\n", len(table))
	return b.String()
}
