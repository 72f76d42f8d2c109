package storage

import (
	"encoding/base64"
	"encoding/json"
	"errors"

	"attestry/evidence"
)

// Scan makes a page of the entries that an engine reads from an index in order. It applies the rules that all
// engines share: conditions, offset, limit, MaxBytes, MaxScan and the cursor.
type Scan struct {
	// Index is the query's index.
	Index Index
	// Order are the fields after the query's equalities.
	Order []string
	// Descending is the query's direction.
	Descending bool
	// After is the position after which the page begins; nil at the beginning.
	After *Position

	schema *Schema
	query  Query
	filter Filter
	skip   int
	seen   int
	bytes  int // of the bodies in the page
	last   Position
	page   Page
	more   bool
}

// NewScan checks a query and begins its page.
func NewScan(schema *Schema, query Query) (*Scan, error) {
	if err := CheckQuery(schema, query); err != nil {
		return nil, err
	}
	filter, err := NewFilter(query.Where)
	if err != nil {
		return nil, err
	}
	index, _ := schema.IndexNamed(query.Index)
	scan := &Scan{
		Index: index, Order: index.Fields[len(query.Equal):], Descending: query.Descending,
		schema: schema, query: query, filter: filter, skip: query.Offset,
	}
	if query.After == "" {
		return scan, nil
	}
	position, skip, err := parseCursor(schema, index, query)
	if err != nil { // a cursor of another query is the client's mistake
		return nil, evidence.NewError(evidence.Invalid, "Invalid cursor")
	}
	scan.After, scan.skip = &position, skip
	return scan, nil
}

// Need is how many entries the page may still read, and one more that shows whether there is a next page.
func (s *Scan) Need() int {
	need := MaxScan - s.seen
	if len(s.query.Where) == 0 {
		need = min(need, s.skip+s.query.Limit-len(s.page.Records))
	}
	return need + 1
}

// Skip returns how many of the first entries the engine must skip for the offset instead of calling Add. It is 0 with
// conditions, and leaves at least one entry for the cursor.
func (s *Scan) Skip() int {
	if len(s.query.Where) > 0 {
		return 0
	}
	n := min(s.skip, MaxScan-1)
	s.skip -= n
	s.seen += n
	return n
}

// Add adds the next entry, with its fields and the size of its body in bytes, or returns false if the page is complete.
func (s *Scan) Add(entry Record, size int) bool {
	if s.seen == MaxScan || len(s.page.Records) == s.query.Limit {
		s.more = true
		return false
	}
	matches := s.filter(entry.Fields)
	if matches && s.skip == 0 && s.exceeds(size) {
		s.more, s.page.Full = true, true
		return false
	}
	s.seen++
	s.last = s.PositionOf(entry)
	switch {
	case !matches:
	case s.skip > 0:
		s.skip--
	default:
		s.bytes += size
		s.page.Records = append(s.page.Records, entry)
	}
	return true
}

// exceeds reports whether a body of a size belongs to the next page.
func (s *Scan) exceeds(size int) bool {
	return s.query.MaxBytes > 0 && !s.query.FieldsOnly && len(s.page.Records) > 0 && s.bytes+size > s.query.MaxBytes
}

// PositionOf returns where an entry is in the index.
func (s *Scan) PositionOf(entry Record) Position {
	position := Position{ID: entry.ID, Values: make([]any, len(s.Order))}
	for i, field := range s.Order {
		position.Values[i] = entry.Fields[field]
	}
	return position
}

// Keep replaces the records by those that were read again, by id, without missing ones and those that no longer match.
func (s *Scan) Keep(found map[string]Record) {
	records := s.page.Records
	s.page.Records = nil
	for _, record := range records {
		if again, ok := found[record.ID]; ok && s.filter(again.Fields) {
			s.page.Records = append(s.page.Records, again)
		}
	}
}

// End ends the page after its first n records, for engines that learn the sizes of bodies only when they read them.
func (s *Scan) End(n int) {
	if n == len(s.page.Records) {
		return
	}
	s.last = s.PositionOf(s.page.Records[n-1])
	s.page.Records = s.page.Records[:n]
	s.more, s.page.Full = true, true
}

// Records are those of the page so far.
func (s *Scan) Records() []Record { return s.page.Records }

// Page returns the finished page.
func (s *Scan) Page() (Page, error) {
	if !s.more {
		return s.page, nil
	}
	next := cursor{
		Collection: s.schema.Name, Index: s.Index.Name, Descending: s.query.Descending,
		ID: s.last.ID, Skip: s.skip,
	}
	for _, value := range s.last.Values {
		encoded, err := encodeValue(value)
		if err != nil {
			return Page{}, err
		}
		next.Values = append(next.Values, encoded)
	}
	text, err := json.Marshal(next)
	s.page.Next = base64.RawURLEncoding.EncodeToString(text)
	return s.page, err
}

// Position is a position in an index: the values of the fields that follow a query's equalities, and the id.
type Position struct {
	Values []any
	ID     string
}

// cursor is the content of Page.Next for all engines. Values are JSON of encodeValue, which keeps their types.
type cursor struct {
	Collection string            `json:"c"`
	Index      string            `json:"x"`
	Descending bool              `json:"d,omitempty"`
	Values     []json.RawMessage `json:"v"`
	ID         string            `json:"i"`
	// Skip is what is left of the query's offset.
	Skip int `json:"s,omitempty"`
}

// CursorIndex returns the index that a cursor was made for, "" if it is malformed.
func CursorIndex(text string) string {
	c, err := unmarshalCursor(text)
	if err != nil {
		return ""
	}
	return c.Index
}

func unmarshalCursor(text string) (cursor, error) {
	var c cursor
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(decoded, &c)
	}
	return c, err
}

// parseCursor returns the position in the cursor of a query, and what is left of the query's offset.
func parseCursor(schema *Schema, index Index, query Query) (Position, int, error) {
	c, err := unmarshalCursor(query.After)
	if err != nil {
		return Position{}, 0, err
	}
	if c.Collection != schema.Name || c.Index != index.Name || c.Descending != query.Descending ||
		len(c.Values) != len(index.Fields)-len(query.Equal) || c.ID == "" || c.Skip < 0 {
		return Position{}, 0, errors.New("the cursor of another query")
	}
	position := Position{ID: c.ID, Values: make([]any, len(c.Values))}
	for i, raw := range c.Values {
		var value any
		if err := decodeExact(string(raw), &value); err != nil {
			return Position{}, 0, err
		}
		if position.Values[i], err = exactValue(value); err != nil {
			return Position{}, 0, err
		}
		if err := CheckValue(position.Values[i]); err != nil {
			return Position{}, 0, err
		}
	}
	return position, c.Skip, CheckText(c.ID)
}

// Segment is a range of an index after a query's equalities. "After the entry (1, 2, x) of an index (a, b, id)" is
// three of them: a = 1, b = 2, id after x; then a = 1, b after 2; then a after 1. So engines need only simple
// conditions to seek, and nulls are in order.
type Segment struct {
	// Values are what the first fields of Scan.Order are equal to.
	Values []any
	// From and To bound the field that follows, if there is one. Null is outside of every bound.
	From, To *Bound
	// NotNull leaves out null in the field that follows.
	NotNull bool
	// BeyondID leaves out this id and those before it in the query's direction.
	BeyondID string
}

// Segments returns the ranges with the entries after a position, or all entries if it is nil, in the query's order.
func (s *Scan) Segments(after *Position) []Segment {
	if after == nil {
		return []Segment{{From: s.query.From, To: s.query.To}}
	}
	var segments []Segment
	values := after.Values
	if len(values) == 0 || within(values[0], s.query.From, s.query.To) {
		segments = append(segments, Segment{Values: values, BeyondID: after.ID})
		for depth := len(values) - 1; depth > 0; depth-- {
			segments = s.beyond(segments, values[:depth], values[depth], nil, nil)
		}
	}
	if len(values) > 0 {
		segments = s.beyond(segments, nil, values[0], s.query.From, s.query.To)
	}
	return segments
}

// beyond adds the ranges in which the field after the given values comes after current, between from and to.
func (s *Scan) beyond(segments []Segment, values []any, current any, from, to *Bound) []Segment {
	open := from == nil && to == nil
	bound := &Bound{Value: current, Exclusive: true}
	switch {
	case current == nil && s.query.Descending:
		return segments // null is the last
	case current == nil:
		return append(segments, Segment{Values: values, From: from, To: to, NotNull: open})
	case !s.query.Descending:
		return append(segments, Segment{Values: values, From: tighter(from, bound, 1), To: to})
	}
	segments = append(segments, Segment{Values: values, From: from, To: tighter(to, bound, -1)})
	if open {
		nulls := append(values[:len(values):len(values)], nil)
		segments = append(segments, Segment{Values: nulls})
	}
	return segments
}

func within(value any, from, to *Bound) bool {
	if value == nil {
		return from == nil && to == nil
	}
	return inside(value, from, 1) && inside(value, to, -1)
}

func inside(value any, bound *Bound, sign int) bool {
	if bound == nil {
		return true
	}
	order := sign * CompareValues(value, bound.Value)
	return order > 0 || (order == 0 && !bound.Exclusive)
}

// tighter returns the tighter of two bounds: the greater lower one (sign 1), or the lesser upper one (sign -1).
func tighter(bound, other *Bound, sign int) *Bound {
	if bound == nil || sign*CompareValues(other.Value, bound.Value) >= 0 {
		return other
	}
	return bound
}
