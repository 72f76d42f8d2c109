package server

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"testing"

	"attestry/scripts/readmetest"
)

const compatibility = "../../docs/compatibility.md"

// interfaceOperations lists all operations of the interface: method, path, id and tag.
//
//go:embed testdata/operations.tsv
var interfaceOperations string

// clientCommands lists what clients do: group, command as Markdown, the operations that it calls, and what of the
// command does not work although these operations are served.
//
//go:embed testdata/commands.tsv
var clientCommands string

// rowsOf splits lines into columns. The last columns of a line may be missing.
func rowsOf(table string, columns int) [][]string {
	var rows [][]string
	for line := range strings.Lines(table) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		rows = append(rows, append(row, make([]string, columns-len(row))...))
	}
	return rows
}

func TestEveryOperationIsServed(t *testing.T) {
	listed := map[string]bool{}
	table := productRoutes()
	for _, row := range rowsOf(interfaceOperations, 4) {
		method, path, id, tag := row[0], row[1], row[2], row[3]
		listed[id] = true
		at := slices.IndexFunc(table, func(r Route) bool { return r.OperationID == id })
		if at < 0 {
			t.Errorf("%s is not served", id)
		} else if table[at].Method != method || table[at].Path != path || table[at].Tag != tag {
			t.Errorf("%s is %s %s of %s, want %s %s of %s", id, table[at].Method, table[at].Path, table[at].Tag, method, path, tag)
		}
	}
	for _, r := range table {
		if !listed[r.OperationID] {
			t.Errorf("%s is no operation of the interface", r.OperationID)
		}
	}
}

// TestCompatibilityNamesWhatClientsCanDo compares the tables of docs/compatibility.md with the commands. With
// ATTESTRY_TEST_UPDATE set it writes them.
func TestCompatibilityNamesWhatClientsCanDo(t *testing.T) {
	readmetest.Check(t, compatibility, "commands", commandsTable(t))
}

func commandsTable(t *testing.T) string {
	operations := map[string]bool{}
	for _, row := range rowsOf(interfaceOperations, 4) {
		operations[row[2]] = true
	}
	var b strings.Builder
	group := ""
	for _, row := range rowsOf(clientCommands, 4) {
		if row[0] != group {
			group = row[0]
			fmt.Fprintf(&b, "\n| %s | state |\n|---|---|\n", group)
		}
		for id := range strings.FieldsSeq(row[2]) {
			if !operations[id] {
				t.Errorf("%s calls %s, which is no operation of the interface", row[1], id)
			}
		}
		fmt.Fprintf(&b, "| %s | %s |\n", row[1], stateOf(row[3]))
	}
	return b.String() + "\n"
}

// stateOf says what works of a command.
func stateOf(limits string) string {
	if limits != "" {
		return "partly: " + limits
	}
	return "works"
}
