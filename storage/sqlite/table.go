package sqlite

import (
	"fmt"
	"strings"

	"attestry/storage"
)

// table holds the statements of a collection. Names and fields are of letters,
// digits and underscores (storage.CheckSchemas), so that they can stand in SQL.
type table struct {
	name   string
	create []string

	get, getMany, list, bodies, revision    string
	insert, put, replace, delete, deleteOne string
}

// valueOf turns a parameter, the JSON of a value, into the value. Whatever a field
// is compared with is read by the same parser as the field, so that floats which
// were equal in Go are equal here.
const valueOf = "json_extract(?, '$')"

// idsOf turns a parameter, a JSON list, into rows.
const idsOf = "(SELECT value FROM json_each(?))"

func newTable(schema *storage.Schema) *table {
	name := `"` + schema.Name + `"`
	t := &table{
		name:     name,
		get:      "SELECT id, revision, fields, body FROM " + name + " WHERE id = ?",
		getMany:  "SELECT id, revision, fields, body FROM " + name + " WHERE id IN " + idsOf,
		list:     "SELECT id, revision, fields, body FROM " + name + " WHERE id > ? ORDER BY id" + limited,
		bodies:   "SELECT id, body FROM " + name + " WHERE id IN " + idsOf,
		revision: "SELECT revision FROM " + name + " WHERE id = ?",
		insert: "INSERT INTO " + name + " (id, revision, fields, body) VALUES (?, ?, ?, ?)" +
			" ON CONFLICT (id) DO NOTHING",
		put: "INSERT INTO " + name + " (id, revision, fields, body) VALUES (?, ?, ?, ?)" +
			" ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, fields = excluded.fields, body = excluded.body",
		replace:   "UPDATE " + name + " SET revision = ?, fields = ?, body = ? WHERE id = ? AND revision = ?",
		delete:    "DELETE FROM " + name + " WHERE id IN " + idsOf,
		deleteOne: "DELETE FROM " + name + " WHERE id = ?",
	}
	t.create = append(t.create, "CREATE TABLE IF NOT EXISTS "+name+
		" (id TEXT PRIMARY KEY NOT NULL, revision INTEGER NOT NULL, fields TEXT NOT NULL, body BLOB NOT NULL)")
	for _, index := range schema.Indexes {
		t.create = append(t.create, t.createIndex(index))
	}
	return t
}

func (t *table) createIndex(index storage.Index) string {
	terms := make([]string, 0, len(index.Fields)+1)
	for _, field := range index.Fields {
		terms = append(terms, extract(field))
	}
	terms = append(terms, "id")
	return fmt.Sprintf("CREATE INDEX IF NOT EXISTS %s ON %s (%s)",
		t.indexName(index), t.name, strings.Join(terms, ", "))
}

// indexName is made of the fields, not of the index's name: an index that is
// declared otherwise than before is another one.
func (t *table) indexName(index storage.Index) string {
	return `"` + strings.Trim(t.name, `"`) + "(" + strings.Join(index.Fields, ",") + `)"`
}

// extract is the expression that is indexed for a field; queries must repeat it to
// the letter.
func extract(field string) string { return "json_extract(fields, '$." + field + "')" }
