package server

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"testing"

	"attestry/scripts/readme"
)

const compatibility = "../../docs/compatibility.md"

// interfaceOperations lists all operations of the interface: method, path, id,
// tag, and the release that brings the operation unless it is served.
//
//go:embed testdata/operations.tsv
var interfaceOperations string

// clientCommands lists what clients do: group, command, the operations that it
// calls, and what does not work of it although they are served.
//
//go:embed testdata/commands.tsv
var clientCommands string

// parts are the releases to come and what they bring.
var parts = map[string]string{
	"0.9": "Web pages",
}

// rowsOf reads lines of columns, which may lack the last ones.
func rowsOf(table string, columns int) [][]string {
	var rows [][]string
	for line := range strings.Lines(table) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		rows = append(rows, append(row, make([]string, columns-len(row))...))
	}
	return rows
}

func TestEveryOperationIsServedOrNamesItsRelease(t *testing.T) {
	listed := map[string]bool{}
	table := productRoutes()
	for _, row := range rowsOf(interfaceOperations, 5) {
		method, path, id, tag, release := row[0], row[1], row[2], row[3], row[4]
		listed[id] = true
		at := slices.IndexFunc(table, func(r Route) bool { return r.OperationID == id })
		switch {
		case at < 0 && parts[release] == "":
			t.Errorf("%s is neither served nor promised for a release", id)
		case at >= 0 && release != "":
			t.Errorf("%s is served and promised for %s", id, release)
		case at >= 0 && (table[at].Method != method || table[at].Path != path || table[at].Tag != tag):
			t.Errorf("%s is %s %s of %s, want %s %s of %s", id, table[at].Method, table[at].Path, table[at].Tag, method, path, tag)
		}
	}
	for _, r := range table {
		if !listed[r.OperationID] {
			t.Errorf("%s is no operation of the interface", r.OperationID)
		}
	}
	for release, part := range parts {
		if row := "| " + release + " | " + part; !strings.Contains(readme.Read(t, compatibility), row) {
			t.Errorf("%s has no row %q", compatibility, row)
		}
	}
}

// TestCompatibilityNamesWhatIsMissing keeps the tables of docs/compatibility.md
// true to the route table. With ATTESTRY_TEST_UPDATE set it writes them.
func TestCompatibilityNamesWhatIsMissing(t *testing.T) {
	readme.Check(t, compatibility, "commands", commandsTable(t))
	readme.Check(t, compatibility, "missing", missingTable())
}

func missingTable() string {
	missing := slices.DeleteFunc(rowsOf(interfaceOperations, 5), func(row []string) bool { return row[4] == "" })
	slices.SortStableFunc(missing, func(a, b []string) int { return strings.Compare(a[4], b[4]) })
	var b strings.Builder
	b.WriteString("| release | tag | operation | request |\n|---|---|---|---|\n")
	for _, row := range missing {
		fmt.Fprintf(&b, "| %s | %s | `%s` | `%s %s` |\n", row[4], row[3], row[2], row[0], row[1])
	}
	return b.String()
}

func commandsTable(t *testing.T) string {
	releases := map[string]string{}
	for _, row := range rowsOf(interfaceOperations, 5) {
		releases[row[2]] = row[4]
	}
	var b strings.Builder
	group := ""
	for _, row := range rowsOf(clientCommands, 4) {
		if row[0] != group {
			group = row[0]
			fmt.Fprintf(&b, "\n| %s | state |\n|---|---|\n", group)
		}
		release := ""
		for id := range strings.FieldsSeq(row[2]) {
			if _, ok := releases[id]; !ok {
				t.Errorf("%s calls %s, which is no operation of the interface", row[1], id)
			}
			release = max(release, releases[id])
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", row[1], stateOf(release, row[3]))
	}
	return b.String() + "\n"
}

// stateOf words what can be done with a command.
func stateOf(release, limits string) string {
	switch {
	case release != "":
		return "comes with " + release
	case limits != "":
		return "partly: " + limits
	default:
		return "works"
	}
}
