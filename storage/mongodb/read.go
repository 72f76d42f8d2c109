package mongodb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"attestry/storage"
)

// Get returns one document, or storage.ErrNotFound.
func (db *DB) Get(ctx context.Context, schema *storage.Schema, id string) (storage.Record, error) {
	collection, err := db.collection(schema)
	if err != nil {
		return storage.Record{}, err
	}
	if err := storage.CheckIDs(id); err != nil {
		return storage.Record{}, err
	}
	var found document
	err = command(ctx, func(ctx context.Context) error {
		result := collection.FindOne(ctx, bson.D{{Key: "_id", Value: id}})
		if result.Err() != nil {
			return result.Err()
		}
		return damaged(result.Decode(&found))
	})
	if errors.Is(err, mongo.ErrNoDocuments) {
		return storage.Record{}, storage.ErrNotFound
	}
	if err != nil {
		return storage.Record{}, err
	}
	record, err := found.record()
	if err != nil {
		return storage.Record{}, err
	}
	return record, storage.ChargeRead(ctx, len(record.Body))
}

// GetMany returns the documents that exist among ids, in the order of ids.
func (db *DB) GetMany(ctx context.Context, schema *storage.Schema, ids []string) ([]storage.Record, error) {
	collection, err := db.collection(schema)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	if err := storage.CheckIDs(ids...); err != nil {
		return nil, err
	}
	found, _, err := findByID(ctx, collection, ids, 0, 1)
	return storage.InOrder(ids, found), err
}

// findByID reads documents in the order of their ids, or in reverse if direction is -1, until their bodies exceed
// maxBytes, unless that is 0. all means that none was left unread.
func findByID(ctx context.Context, collection *mongo.Collection, ids []string, maxBytes, direction int) (found map[string]storage.Record, all bool, err error) {
	filter := bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}}
	o := options.Find().SetBatchSize(int32(len(ids))).SetSort(bson.D{{Key: "_id", Value: direction}})
	found = make(map[string]storage.Record, len(ids))
	all, bytes := true, 0
	err = each(ctx, collection, filter, o, func(record storage.Record) bool {
		bytes += len(record.Body)
		all = maxBytes == 0 || len(found) == 0 || bytes <= maxBytes
		if all {
			found[record.ID] = record
		}
		return all
	})
	return found, all, err
}

// each calls take with the records that a filter selects until it returns false, and charges the records: one command.
func each(ctx context.Context, collection *mongo.Collection, filter bson.D, o *options.FindOptionsBuilder, take func(storage.Record) bool) error {
	return command(ctx, func(ctx context.Context) error {
		cursor, err := collection.Find(ctx, filter, o)
		if err != nil {
			return err
		}
		return errors.Join(takeAll(ctx, cursor, take), cursor.Close(context.WithoutCancel(ctx)))
	})
}

func takeAll(ctx context.Context, cursor *mongo.Cursor, take func(storage.Record) bool) error {
	for cursor.Next(ctx) {
		var found document
		if err := cursor.Decode(&found); err != nil {
			return damaged(err)
		}
		record, err := found.record()
		if err != nil || !take(record) {
			return err
		}
		if err := storage.ChargeRead(ctx, len(record.Body)); err != nil {
			return err
		}
	}
	return cursor.Err()
}

// List returns documents in the order of their ids. Without a collation, the server compares strings by their bytes.
func (db *DB) List(ctx context.Context, schema *storage.Schema, after string, limit, maxBytes int) ([]storage.Record, error) {
	collection, err := db.collection(schema)
	if err != nil {
		return nil, err
	}
	if err := storage.CheckList(after, limit, maxBytes); err != nil {
		return nil, err
	}
	filter := bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: after}}}}
	o := options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}).SetLimit(int64(limit)).SetBatchSize(int32(limit + 1))
	var records []storage.Record
	bytes := 0
	err = each(ctx, collection, filter, o, func(record storage.Record) bool {
		if bytes += len(record.Body); len(records) > 0 && bytes > maxBytes {
			return false
		}
		records = append(records, record)
		return true
	})
	return records, err
}

type document struct {
	ID       string         `bson:"_id"`
	Revision int64          `bson:"revision"`
	Fields   map[string]any `bson:"f"`
	// Body is a string, which people can read in the database, or binary if it is not text.
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
		return storage.Record{}, damaged(fmt.Errorf("the body of %s is a %s", d.ID, d.Body.Type))
	}
	record.Body = slices.Clone(data)
	return record, nil
}

// damaged marks an error of decoding: the document does not have the form that encode gives it.
func damaged(err error) error {
	if err == nil {
		return nil
	}
	return storage.Damaged("A stored document is damaged", err)
}
