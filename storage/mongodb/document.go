package mongodb

import (
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"

	"attestry/storage"
)

type document struct {
	ID       string         `bson:"_id"`
	Revision int64          `bson:"revision"`
	Fields   map[string]any `bson:"f"`
	// Body is a string, which is legible in the database, or binary if it is not text.
	Body bson.RawValue `bson:"body"`
}

// encode makes the document of a checked record; null fields are left out.
func encode(record storage.Record) bson.D {
	fields := bson.D{}
	for _, name := range slices.Sorted(maps.Keys(record.Fields)) {
		if value := record.Fields[name]; value != nil {
			fields = append(fields, bson.E{Key: name, Value: value})
		}
	}
	return bson.D{
		{Key: "_id", Value: record.ID},
		{Key: "revision", Value: record.Revision},
		{Key: "f", Value: fields},
		{Key: "body", Value: encodeBody(record.Body)},
	}
}

func encodeBody(body []byte) any {
	if utf8.Valid(body) {
		return string(body)
	}
	return bson.Binary{Data: body}
}

// record is the inverse of encode. A body that was not read stays nil.
func (d *document) record() (storage.Record, error) {
	record := storage.Record{ID: d.ID, Revision: d.Revision, Fields: d.Fields}
	if d.Body.IsZero() {
		return record, nil
	}
	if text, ok := d.Body.StringValueOK(); ok {
		record.Body = []byte(text)
		return record, nil
	}
	_, data, ok := d.Body.BinaryOK()
	if !ok {
		return storage.Record{}, fmt.Errorf("the body of %s is a %s", d.ID, d.Body.Type)
	}
	record.Body = slices.Clone(data)
	return record, nil
}
