package server

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestReadmeListsEveryOperation keeps the table in README.md true to the route
// table. With ATTESTRY_TEST_UPDATE set it writes it.
func TestReadmeListsEveryOperation(t *testing.T) {
	const readme, begin, end = "../../README.md", "<!-- operations -->\n", "<!-- /operations -->"
	content, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(content), begin)
	table, after, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatalf("%s has no table of operations", readme)
	}
	want := operationsTable()
	if os.Getenv("ATTESTRY_TEST_UPDATE") != "" {
		if err := os.WriteFile(readme, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != want {
		t.Errorf("the table of operations in %s is not\n%s", readme, want)
	}
}

func operationsTable() string {
	table := routes(&handlers{})
	slices.SortStableFunc(table, func(a, b Route) int { return strings.Compare(a.Tag, b.Tag) })
	var b strings.Builder
	b.WriteString("| tag | operation | request | least role |\n|---|---|---|---|\n")
	for _, r := range table {
		least := r.Least.String()
		if !r.ofOrganization() {
			least = "any key"
		}
		fmt.Fprintf(&b, "| %s | `%s` | `%s %s` | %s |\n", r.Tag, r.OperationID, r.Method, r.Path, least)
	}
	fmt.Fprintf(&b, "\n%d operations.\n", len(table))
	return b.String()
}
