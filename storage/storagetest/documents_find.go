package storagetest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/storage"
)

// pages reads every page of a query.
func (d *database) pages(query storage.Query) []storage.Page {
	d.t.Helper()
	var pages []storage.Page
	for {
		page, err := d.Find(d.t.Context(), d.schema, query)
		if err != nil {
			d.t.Fatalf("Find %s: %v", describe(query), err)
		}
		if len(page.Records) > query.Limit {
			d.t.Fatalf("Find %s: %d records", describe(query), len(page.Records))
		}
		pages = append(pages, page)
		if page.Next == "" {
			return pages
		}
		query.After, query.Offset = page.Next, 0
	}
}

// all reads the records of every page of a query.
func (d *database) all(query storage.Query) []storage.Record {
	d.t.Helper()
	return recordsOf(d.pages(query))
}

func recordsOf(pages []storage.Page) []storage.Record {
	var records []storage.Record
	for _, page := range pages {
		records = append(records, page.Records...)
	}
	return records
}

func testOrder(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	// Equal values are ordered by id.
	ordered := []any{
		nil, nil, int64(math.MinInt64), -1e18, int64(-3), -2.5, int64(-1), 0.0, int64(0), 0.5, int64(1), 1.0,
		1.0000000000000002, int64(2), int64(1 << 53), float64(1<<53) + 2, int64(1<<53) + 3, int64(math.MaxInt64), 1e300,
	}
	var records []storage.Record
	var want []string
	for i, value := range ordered {
		id := fmt.Sprintf("%02d", i)
		want = append(want, id)
		records = append(records, record(id, 1, map[string]any{"size": value}))
	}
	rand.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	db.insert(records...)
	for limit := 1; limit <= len(want)+1; limit += 3 {
		if got := ids(db.all(storage.Query{Index: "size", Limit: limit})); got != strings.Join(want, " ") {
			t.Errorf("pages of %d: got %s", limit, got)
		}
	}
	slices.Reverse(want)
	if got := ids(db.all(storage.Query{Index: "size", Limit: 2, Descending: true})); got != strings.Join(want, " ") {
		t.Errorf("descending: got %s", got)
	}
	testTextOrder(t, db)
}

func testTextOrder(t *testing.T, db *database) {
	texts := []string{"", " ", "A", "Z", "a", "a\x01", "aa", "b", "ä", "\uffff", "🚀"}
	for i := range texts {
		text := texts[len(texts)-1-i]
		db.insert(record("text "+text, 1, map[string]any{"org": "texts", "name": text}))
	}
	found := db.all(storage.Query{Index: "name", Equal: []any{"texts"}, Limit: 3})
	for i, text := range texts {
		if i >= len(found) || found[i].Fields["name"] != text {
			t.Fatalf("text %d is not %q: %s", i, text, ids(found))
		}
	}
	for _, text := range texts {
		if found := db.all(storage.Query{Index: "name", Equal: []any{"texts", text}, Limit: 9}); len(found) != 1 {
			t.Errorf("%d entries are equal to %q", len(found), text)
		}
	}
}

// model runs queries on a slice.
type model struct{ records []storage.Record }

func (m model) find(schema *storage.Schema, query storage.Query) []storage.Record {
	index, _ := schema.IndexNamed(query.Index)
	filter, _ := storage.NewFilter(query.Where)
	var found []storage.Record
	for _, record := range m.records {
		if m.selects(index, query, record) && filter(record.Fields) {
			found = append(found, record)
		}
	}
	slices.SortFunc(found, func(a, b storage.Record) int {
		for _, field := range index.Fields[len(query.Equal):] {
			if order := storage.CompareValues(a.Fields[field], b.Fields[field]); order != 0 {
				return order
			}
		}
		return strings.Compare(a.ID, b.ID)
	})
	if query.Descending {
		slices.Reverse(found)
	}
	return found[min(query.Offset, len(found)):]
}

func (m model) selects(index storage.Index, query storage.Query, record storage.Record) bool {
	for i, wanted := range query.Equal {
		value := record.Fields[index.Fields[i]]
		set, ok := wanted.(storage.In)
		if !ok {
			set = storage.In{wanted}
		}
		if !slices.ContainsFunc(set, func(one any) bool { return storage.CompareValues(one, value) == 0 }) {
			return false
		}
	}
	if query.From == nil && query.To == nil {
		return true
	}
	value := record.Fields[index.Fields[len(query.Equal)]]
	return value != nil && above(query.From, value, 1) && above(query.To, value, -1)
}

func above(bound *storage.Bound, value any, sign int) bool {
	if bound == nil {
		return true
	}
	order := sign * storage.CompareValues(value, bound.Value)
	return order > 0 || order == 0 && !bound.Exclusive
}

func testModel(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	random := rand.New(rand.NewPCG(1, 2))
	made := maker{random}
	m := model{records: made.records(scaled(200, 100))}
	db.insert(m.records...)
	for range scaled(200, 80) {
		query := made.query(db.schema)
		want := m.find(db.schema, query)
		got := db.all(query)
		if len(got) != len(want) {
			t.Fatalf("%s\n got %s\nwant %s", describe(query), ids(got), ids(want))
		}
		for i := range got {
			if query.FieldsOnly {
				if got[i].Body != nil {
					t.Fatalf("%s: a body came with the fields", describe(query))
				}
				got[i].Body = want[i].Body
			}
			if got[i].ID != want[i].ID {
				t.Fatalf("%s\n got %s\nwant %s", describe(query), ids(got), ids(want))
			}
			mustEqual(t, got[i], want[i])
		}
	}
}

func describe(query storage.Query) string {
	text := fmt.Sprintf("%+v", query)
	for name, bound := range map[string]*storage.Bound{"From": query.From, "To": query.To} {
		if bound != nil {
			text += fmt.Sprintf(" %s: %+v", name, *bound)
		}
	}
	return text
}

// maker makes random records and queries of few different values, so that ties, nulls and empty ranges are frequent.
type maker struct{ random *rand.Rand }

func (m maker) pick(values ...any) any { return values[m.random.IntN(len(values))] }

func (m maker) value(field string) any {
	switch field {
	case "org":
		return m.pick("a", "b", "c")
	case "kind":
		return m.pick(nil, "", "x", "y", "ä")
	case "time":
		return m.pick(nil, 1.5, 2.25, 1763712345.123456, 1763712345.123457, -1.0)
	case "size":
		return m.pick(nil, int64(-1), int64(0), int64(1), 1.0, 1.5, int64(2), int64(math.MaxInt64))
	case "name":
		return m.pick(nil, "alpha", "Alpha", "beta", "ALPHABET", "β")
	}
	return m.pick(nil, true, false)
}

func (m maker) records(n int) []storage.Record {
	records := make([]storage.Record, n)
	for i := range records {
		fields := map[string]any{}
		for _, field := range things().Fields {
			fields[field] = m.value(field)
		}
		records[i] = record(fmt.Sprintf("%03d", m.random.IntN(1000)*1000+i), int64(i+1), fields)
	}
	return records
}

// query returns a random valid query.
func (m maker) query(schema *storage.Schema) storage.Query {
	for {
		if query := m.anyQuery(schema); storage.CheckQuery(schema, query) == nil {
			return query
		}
	}
}

func (m maker) anyQuery(schema *storage.Schema) storage.Query {
	index := schema.Indexes[m.random.IntN(len(schema.Indexes))]
	query := storage.Query{
		Index: index.Name, Limit: 5 + m.random.IntN(40),
		Descending: m.random.IntN(2) == 0, FieldsOnly: m.random.IntN(3) == 0,
	}
	for _, field := range index.Fields[:m.random.IntN(len(index.Fields)+1)] {
		query.Equal = append(query.Equal, m.value(field))
	}
	if n := len(query.Equal); n > 0 && m.random.IntN(2) == 0 {
		place := m.random.IntN(n)
		set := storage.In{}
		for range m.random.IntN(5) {
			set = append(set, m.value(index.Fields[place]))
		}
		query.Equal[place] = set
	}
	if len(query.Equal) < len(index.Fields) {
		field := index.Fields[len(query.Equal)]
		query.From, query.To = m.bound(field), m.bound(field)
	}
	if m.random.IntN(4) == 0 {
		query.Offset = m.random.IntN(60)
	}
	query.Where = m.conditions()
	return query
}

func (m maker) bound(field string) *storage.Bound {
	value := m.value(field)
	if value == nil || m.random.IntN(2) == 0 {
		return nil
	}
	return &storage.Bound{Value: value, Exclusive: m.random.IntN(2) == 0}
}

func (m maker) conditions() []storage.Condition {
	possible := []storage.Condition{
		{Field: "kind", Operator: storage.Equals, Value: m.value("kind")},
		{Field: "size", Operator: storage.OneOf, Value: storage.In{m.value("size"), m.value("size")}},
		{Field: "name", Operator: storage.Contains, Value: "lpha"},
		{Field: "name", Operator: storage.ContainsFold, Value: "ALPHA"},
		{Field: "name", Operator: storage.Matches, Value: "^(?i:a)l.*a$"},
		{Field: "flag", Operator: storage.Equals, Value: m.value("flag")},
		{Field: "size", Operator: storage.AtLeast, Value: m.value("size")},
		{Field: "size", Operator: storage.AtMost, Value: m.value("size")},
	}
	m.random.Shuffle(len(possible), func(i, j int) { possible[i], possible[j] = possible[j], possible[i] })
	return possible[:m.random.IntN(3)*m.random.IntN(2)]
}

func testBigSet(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	set := storage.In{}
	var records []storage.Record
	for i := range storage.MaxMany {
		org := fmt.Sprintf("org-%04d", i)
		set = append(set, org)
		if i%10 != 0 {
			continue
		}
		for j := range 3 {
			id := fmt.Sprintf("%d-%04d", j, i)
			records = append(records, record(id, 1, map[string]any{"org": org, "time": float64(j)}))
		}
	}
	db.insert(records...)
	m := model{records: records}
	for _, descending := range []bool{false, true} {
		query := storage.Query{Index: "time", Equal: []any{set}, Limit: 70, Descending: descending}
		if got, want := ids(db.all(query)), ids(m.find(db.schema, query)); got != want {
			t.Errorf("descending %v:\n got %s\nwant %s", descending, got, want)
		}
	}
}

func testTies(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	var records []storage.Record
	for i := range 100 {
		fields := map[string]any{"org": "o", "kind": "k", "time": float64(i / 40)}
		if i < 30 {
			delete(fields, "time")
		}
		records = append(records, record(fmt.Sprintf("%02d", i), 1, fields))
	}
	db.insert(records...)
	for _, equal := range [][]any{{"o"}, {"o", "k"}} {
		for _, descending := range []bool{false, true} {
			query := storage.Query{Index: "kind", Equal: equal, Limit: 7, Descending: descending}
			want := ids(model{records}.find(db.schema, query))
			if got := ids(db.all(query)); got != want {
				t.Errorf("%s\n got %s\nwant %s", describe(query), got, want)
			}
		}
	}
}

func testFloats(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	random := rand.New(rand.NewPCG(3, 4))
	var records []storage.Record
	for i := range scaled(300, 80) {
		value := 1.7e9 + random.Float64()*1e8
		if i%3 == 0 {
			value = math.Float64frombits(random.Uint64()&^(0x7ff<<52) | uint64(1000+random.IntN(50))<<52)
		}
		for j := range 2 {
			records = append(records, record(fmt.Sprintf("%03d-%d", i, j), 1, map[string]any{"org": "o", "time": value}))
		}
	}
	db.insert(records...)
	query := storage.Query{Index: "time", Equal: []any{"o"}, Limit: 7}
	if got, want := ids(db.all(query)), ids(model{records}.find(db.schema, query)); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for _, one := range records[:60] {
		query := storage.Query{Index: "time", Equal: []any{"o", one.Fields["time"]}, Limit: 10}
		if found := db.all(query); len(found) != 2 {
			t.Errorf("%d records are found by %v", len(found), one.Fields["time"])
		}
	}
}

func testForeignCursor(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	for i := range 5 {
		db.insert(record(fmt.Sprint(i), 1, map[string]any{"org": "o", "time": float64(i), "size": int64(i)}))
	}
	query := storage.Query{Index: "time", Equal: []any{"o"}, Limit: 2}
	page, err := db.Find(t.Context(), db.schema, query)
	if err != nil || page.Next == "" {
		t.Fatalf("no cursor: %v", err)
	}
	narrow := query
	narrow.After, narrow.From = page.Next, &storage.Bound{Value: 3.0}
	if got := ids(db.all(narrow)); got != "3 4" {
		t.Errorf("a cursor before the range leads to %s", got)
	}
	narrow.From, narrow.To = nil, &storage.Bound{Value: 1.0, Exclusive: true}
	if got := ids(db.all(narrow)); got != "" {
		t.Errorf("a cursor behind the range leads to %s", got)
	}
	encode := base64.RawURLEncoding.EncodeToString
	garbled := []string{
		"x", "!", page.Next[1:], page.Next + "A", page.Next[:len(page.Next)-3], encode([]byte("null")), encode([]byte("[]")),
		encode([]byte(`{"c":"things","x":"time","v":[{}],"i":"1"}`)), encode([]byte(`{"c":"things","x":"time","v":[1e999],"i":"1"}`)),
		encode([]byte(`{"c":"things","x":"time","v":["\u0000"],"i":"1"}`)), encode([]byte(`{"c":"things","x":"time","v":[1],"i":""}`)),
		encode([]byte(`{"c":"others","x":"time","v":[1],"i":"1"}`)),
	}
	queries := []storage.Query{
		{Index: "size", Limit: 2, After: page.Next},
		{Index: "time", Equal: []any{"o"}, Limit: 2, After: page.Next, Descending: true},
		{Index: "time", Equal: []any{"o", 1.0}, Limit: 2, After: page.Next},
	}
	for _, after := range garbled {
		query.After = after
		queries = append(queries, query)
	}
	for _, query := range queries {
		_, err := db.Find(t.Context(), db.schema, query)
		var refused *evidence.Error
		if !errors.As(err, &refused) || refused.Code != evidence.Invalid || refused.Message != "Invalid cursor" {
			t.Errorf("%s: got %v", describe(query), err)
		}
	}
}

func testIndexOfOneValue(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	for i, flag := range []any{true, false, nil, true} {
		db.insert(record(fmt.Sprint(i), 1, map[string]any{"org": "a", "time": float64(i), "flag": flag}))
	}
	query := storage.Query{Index: "flagged", Equal: []any{"a", true}, Limit: 10}
	if page, err := db.Find(t.Context(), db.schema, query); err != nil || ids(page.Records) != "0 3" {
		t.Errorf("found %s, %v", ids(page.Records), err)
	}
}

func testFaultyQueries(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	big := make(storage.In, storage.MaxMany+1)
	faulty := map[string]storage.Query{
		"undeclared index":        {Index: "colour", Limit: 1},
		"too many equalities":     {Index: "time", Equal: []any{"a", 1.0, 2.0}, Limit: 1},
		"two sets":                {Index: "time", Equal: []any{storage.In{"a"}, storage.In{1.0}}, Limit: 1},
		"large set":               {Index: "time", Equal: []any{big}, Limit: 1},
		"no limit":                {Index: "time", Equal: []any{"a"}},
		"large limit":             {Index: "time", Equal: []any{"a"}, Limit: storage.MaxMany + 1},
		"range after the index":   {Index: "time", Equal: []any{"a", 1.0}, From: &storage.Bound{Value: 1.0}, Limit: 1},
		"range bounded by null":   {Index: "time", Equal: []any{"a"}, From: &storage.Bound{}, Limit: 1},
		"value of a wrong type":   {Index: "time", Equal: []any{7}, Limit: 1},
		"required field left out": {Index: "named", Equal: []any{"a"}, Limit: 1},
		"required field null":     {Index: "named", Equal: []any{"a", nil}, Limit: 1},
		"null in a required set":  {Index: "named", Equal: []any{"a", storage.In{"b", nil}}, Limit: 1},
		"only value left out":     {Index: "flagged", Equal: []any{"a"}, Limit: 1},
		"other than only value":   {Index: "flagged", Equal: []any{"a", false}, Limit: 1},
		"negative offset":         {Index: "time", Equal: []any{"a"}, Offset: -1, Limit: 1},
		"cursor and offset":       {Index: "time", Equal: []any{"a"}, Offset: 1, After: "x", Limit: 1},
		"condition on an unknown": {Index: "time", Equal: []any{"a"}, Limit: 1, Where: []storage.Condition{{Field: "colour"}}},
		"malformed pattern":       {Index: "time", Equal: []any{"a"}, Limit: 1, Where: []storage.Condition{{Field: "name", Operator: storage.Matches, Value: "("}}},
		"pattern that is no text": {Index: "time", Equal: []any{"a"}, Limit: 1, Where: []storage.Condition{{Field: "name", Operator: storage.Matches, Value: int64(1)}}},
	}
	for name, query := range faulty {
		if _, err := db.Find(t.Context(), db.schema, query); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := db.Count(t.Context(), db.schema, storage.Query{Index: "time", Limit: 1}); err == nil {
		t.Error("a count with a limit was accepted")
	}
}

func testMaxScan(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	const total = storage.MaxScan + 60
	records := make([]storage.Record, 0, total)
	for i := range total {
		name := "hay"
		if i == total-1 {
			name = "needle"
		}
		records = append(records, storage.Record{
			ID: fmt.Sprintf("%05d", i), Revision: 1, Body: []byte("1"),
			Fields: map[string]any{"org": "o", "time": float64(i / 7), "name": name},
		})
	}
	db.insert(records...)
	base := storage.Query{Index: "time", Equal: []any{"o"}, Limit: 3}
	needle := base
	needle.Where = []storage.Condition{{Field: "name", Operator: storage.Equals, Value: "needle"}}
	far := base
	far.Offset = total - 1
	farNeedle := needle
	farNeedle.Offset = 1
	for name, query := range map[string]storage.Query{"condition": needle, "offset": far} {
		pages := db.pages(query)
		if len(pages) < 2 || len(pages[0].Records) != 0 {
			t.Errorf("%s: the first of %d pages has %d records", name, len(pages), len(pages[0].Records))
		}
		if got := ids(recordsOf(pages)); got != records[total-1].ID {
			t.Errorf("%s: got %q", name, got)
		}
	}
	if got := ids(db.all(farNeedle)); got != "" {
		t.Errorf("condition and offset: got %q", got)
	}
	near := base
	near.Offset, near.Limit = storage.MaxScan-2, 100
	if got, want := ids(db.all(near)), ids(records[near.Offset:]); got != want {
		t.Errorf("offset before the end of the scan: got %s, want %s", got, want)
	}
}

func testCount(t *testing.T, engine DocumentsEngine) {
	db := newDatabase(t, engine)
	random := rand.New(rand.NewPCG(5, 6))
	made := maker{random}
	m := model{records: made.records(scaled(200, 100))}
	db.insert(m.records...)
	for range scaled(100, 50) {
		query := made.query(db.schema)
		query.Limit, query.Offset, query.Where = 0, 0, nil
		got, err := db.Count(t.Context(), db.schema, query)
		if want := len(m.find(db.schema, query)); err != nil || int(got) != want {
			t.Fatalf("%s: counted %d, want %d: %v", describe(query), got, want, err)
		}
	}
}
