package mongodb

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"attestry/storage"
)

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
	err = command(ctx, func(ctx context.Context) error {
		cursor, err := collection.Find(ctx, filter, o)
		if err != nil {
			return err
		}
		return each(ctx, cursor, func(record storage.Record) bool {
			if bytes += len(record.Body); len(records) > 0 && bytes > maxBytes {
				return false
			}
			records = append(records, record)
			return true
		})
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}
