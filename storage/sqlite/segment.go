package sqlite

import (
	"slices"
	"strings"

	"attestry/storage"
)

// statement is SQL and its arguments. The text depends on the form of a query
// only, so that the prepared statements stay few.
type statement struct {
	text string
	args []any
}

// anyValue is true of all but null. In an index over expressions, SQLite seeks by
// comparisons only, not by IS NOT NULL; nothing that a field holds is less.
const anyValue = " >= -9e999"

// limited ends a statement. SQLite plans anew whenever a bare parameter is bound as
// a limit; it does not look into a sum.
const limited = " LIMIT 0+? OFFSET 0+?"

// terms collects the conditions of a statement.
type terms struct {
	texts []string
	args  []any
}

func (t *terms) add(text string, args ...any) {
	t.texts = append(t.texts, text)
	t.args = append(t.args, args...)
}

// equal asks for values, any of which may be null.
func (t *terms) equal(fields []string, values []any) {
	for i, value := range values {
		if value == nil {
			t.add(extract(fields[i]) + " IS NULL")
			continue
		}
		t.add(extract(fields[i])+" = "+valueOf, storage.EncodeValue(value))
	}
}

// between asks for the values between two bounds; a comparison with null is never
// true.
func (t *terms) between(field string, from, to *storage.Bound) {
	if from != nil {
		t.bound(field, " >", from)
	}
	if to != nil {
		t.bound(field, " <", to)
	}
}

func (t *terms) bound(field, operator string, bound *storage.Bound) {
	if !bound.Exclusive {
		operator += "="
	}
	t.add(extract(field)+operator+" "+valueOf, storage.EncodeValue(bound.Value))
}

func (t *terms) where() string {
	if len(t.texts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(t.texts, " AND ")
}

// selectSegment returns the statement that reads a segment of an index; it lacks
// its last arguments, limit and offset.
func (t *table) selectSegment(scan *storage.Scan, equal []any, segment storage.Segment) statement {
	comparison, direction := " > ?", ""
	if scan.Descending {
		comparison, direction = " < ?", " DESC"
	}
	conditions := &terms{}
	conditions.equal(scan.Index.Fields, slices.Concat(equal, segment.Values))
	if segment.BeyondID != "" {
		conditions.add("id"+comparison, segment.BeyondID)
	}
	// Only what is not fixed is sorted by: SQLite does not see that an expression
	// is constant, and would sort.
	rest := scan.Order[len(segment.Values):]
	if len(rest) > 0 {
		conditions.between(rest[0], segment.From, segment.To)
		if segment.NotNull {
			conditions.add(extract(rest[0]) + anyValue)
		}
	}
	order := make([]string, 0, len(rest)+1)
	for _, field := range rest {
		order = append(order, extract(field)+direction)
	}
	order = append(order, "id"+direction)
	// SQLite tells the length of a body without reading it.
	text := "SELECT id, revision, fields, length(body) FROM " + t.name + " INDEXED BY " + t.indexName(scan.Index) +
		conditions.where() + " ORDER BY " + strings.Join(order, ", ") + limited
	return statement{text: text, args: conditions.args}
}

// count returns the statement that counts a query's entries; it lacks its last
// argument, the limit.
func (t *table) count(index storage.Index, equal []any, query storage.Query) statement {
	conditions := &terms{}
	conditions.equal(index.Fields, equal)
	if len(equal) < len(index.Fields) {
		conditions.between(index.Fields[len(equal)], query.From, query.To)
	}
	text := "SELECT count(*) FROM (SELECT 1 FROM " + t.name + " INDEXED BY " + t.indexName(index) +
		conditions.where() + " LIMIT 0+?)"
	return statement{text: text, args: conditions.args}
}
