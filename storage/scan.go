package storage

import "encoding/json"

// Scan makes a page of the entries that an engine reads off an index in order. It applies the rules that all
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
	position, skip, err := decodeCursor(schema, index, query)
	scan.After, scan.skip = &position, skip
	return scan, err
}

// Need is how many entries the page can still take, and one more that tells whether there is a next page.
func (s *Scan) Need() int {
	need := MaxScan - s.seen
	if len(s.query.Where) == 0 {
		need = min(need, s.skip+s.query.Limit-len(s.page.Records))
	}
	return need + 1
}

// Skip returns how many of the first entries an engine may leave unread because of the offset. It is 0 with
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

// Add takes the next entry, with its fields and the size of its body in bytes, and reports whether it wants
// another.
func (s *Scan) Add(entry Record, size int) bool {
	if s.seen == MaxScan || len(s.page.Records) == s.query.Limit {
		s.more = true
		return false
	}
	wanted := s.filter(entry.Fields)
	if wanted && s.skip == 0 && s.exceeds(size) {
		s.more, s.page.Full = true, true
		return false
	}
	s.seen++
	s.last = s.PositionOf(entry)
	switch {
	case !wanted:
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

// Keep replaces the page's records by those that an engine has read again, by id, without those that are gone or no
// longer meet the conditions.
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

// Records are those taken so far.
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
		next.Values = append(next.Values, json.RawMessage(EncodeValue(value)))
	}
	var err error
	s.page.Next, err = next.encode()
	return s.page, err
}
