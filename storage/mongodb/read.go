package mongodb

import (
	"context"
	"errors"

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
		return collection.FindOne(ctx, bson.D{{Key: "_id", Value: id}}).Decode(&found)
	})
	if errors.Is(err, mongo.ErrNoDocuments) {
		return storage.Record{}, storage.ErrNotFound
	}
	if err != nil {
		return storage.Record{}, err
	}
	return found.record()
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
	found, err := findByID(ctx, collection, ids)
	return storage.InOrder(ids, found), err
}

func findByID(ctx context.Context, collection *mongo.Collection, ids []string) (map[string]storage.Record, error) {
	filter := bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}}
	found := make(map[string]storage.Record, len(ids))
	err := command(ctx, func(ctx context.Context) error {
		cursor, err := collection.Find(ctx, filter, options.Find().SetBatchSize(int32(len(ids))))
		if err != nil {
			return err
		}
		return each(ctx, cursor, func(record storage.Record) bool {
			found[record.ID] = record
			return true
		})
	})
	return found, err
}

// each calls take for the records of a cursor until it returns false, and closes
// the cursor.
func each(ctx context.Context, cursor *mongo.Cursor, take func(storage.Record) bool) (err error) {
	defer func() { err = errors.Join(err, cursor.Close(context.WithoutCancel(ctx))) }()
	for cursor.Next(ctx) {
		var found document
		if err := cursor.Decode(&found); err != nil {
			return err
		}
		record, err := found.record()
		if err != nil || !take(record) {
			return err
		}
	}
	return cursor.Err()
}
