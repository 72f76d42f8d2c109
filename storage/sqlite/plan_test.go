package sqlite

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"attestry/storage"
)

func planSchema() *storage.Schema {
	return &storage.Schema{
		Name:   "things",
		Fields: []string{"org", "env", "time"},
		Indexes: []storage.Index{
			{Name: "time", Fields: []string{"time"}},
			{Name: "org_time", Fields: []string{"org", "time"}},
			{Name: "org_env_time", Fields: []string{"org", "env", "time"}},
		},
	}
}

func openForTest(t testing.TB, schemas ...*storage.Schema) *DB {
	t.Helper()
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), schemas)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// TestEveryStatementSeeksInItsIndex runs queries of every form and asks SQLite how
// it does the statements that came of them.
func TestEveryStatementSeeksInItsIndex(t *testing.T) {
	schema := planSchema()
	db := openForTest(t, schema)
	var records []storage.Record
	for i := range 30 {
		fields := map[string]any{"org": "o", "env": fmt.Sprint(i % 2), "time": float64(i / 4)}
		if i < 8 {
			fields = map[string]any{"org": "o"}
		}
		records = append(records, storage.Record{ID: fmt.Sprint(i), Revision: 1, Fields: fields})
	}
	if err := db.Put(t.Context(), schema, records...); err != nil {
		t.Fatal(err)
	}
	statements := map[string]int{}
	for _, query := range everyForm(schema) {
		collectStatements(t, db, schema, query, statements)
	}
	if len(statements) < 60 {
		t.Fatalf("only %d statements were seen", len(statements))
	}
	for text, arguments := range statements {
		mustSeek(t, db, text, arguments)
	}
}

func everyForm(schema *storage.Schema) []storage.Query {
	var queries []storage.Query
	low, high := &storage.Bound{Value: 1.0}, &storage.Bound{Value: 6.0, Exclusive: true}
	for _, index := range schema.Indexes {
		for n := range len(index.Fields) + 1 {
			equal := []any{"o", "1", 4.0}[:n]
			if index.Name == "time" {
				equal = []any{4.0}[:n]
			}
			for _, descending := range []bool{false, true} {
				queries = append(queries, storage.Query{Index: index.Name, Equal: equal, Descending: descending, Limit: 1})
				if n == len(index.Fields) || index.Fields[n] != "time" {
					continue
				}
				for _, bounds := range [][2]*storage.Bound{{low, nil}, {nil, high}, {low, high}} {
					queries = append(queries, storage.Query{
						Index: index.Name, Equal: equal, From: bounds[0], To: bounds[1], Descending: descending, Limit: 1,
					})
				}
			}
		}
	}
	return queries
}

// collectStatements pages through a query, and counts it, and notes the statements
// on the index with the number of their arguments.
func collectStatements(t *testing.T, db *DB, schema *storage.Schema, query storage.Query, statements map[string]int) {
	t.Helper()
	counted := query
	counted.Limit = 0
	if _, err := db.Count(t.Context(), schema, counted); err != nil {
		t.Fatal(err)
	}
	for more := true; more; more = query.After != "" {
		page, err := db.Find(t.Context(), schema, query)
		if err != nil {
			t.Fatal(err)
		}
		query.After = page.Next
	}
	for range readers {
		reader := <-db.readers
		for text := range reader.statements {
			if strings.Contains(text, "INDEXED BY") {
				statements[text] = strings.Count(text, "?")
			}
		}
		db.readers <- reader
	}
}

// mustSeek wants every condition of a statement to be part of the seek, and its
// order to be that of the index.
func mustSeek(t *testing.T, db *DB, text string, arguments int) {
	t.Helper()
	reader := <-db.readers
	defer func() { db.readers <- reader }()
	var plan string
	err := reader.query("EXPLAIN QUERY PLAN "+text, make([]any, arguments), func(rows *sql.Rows) error {
		var id, parent, unused int
		var detail string
		err := rows.Scan(&id, &parent, &unused, &detail)
		plan += detail + "\n"
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	_, conditions, restricted := strings.Cut(text, " WHERE ")
	conditions, _, _ = strings.Cut(conditions, " ORDER BY ")
	_, seek, seeks := strings.Cut(plan, ") (")
	seek, _, _ = strings.Cut(seek, "\n")
	used, wanted := strings.Count(seek, " AND "), strings.Count(conditions, " AND ")
	if restricted != seeks || used != wanted || strings.Contains(plan, "TEMP B-TREE") {
		t.Errorf("%s\nis done by\n%s", text, plan)
	}
}
