package mongodb

import (
	"context"
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"attestry/storage"
)

// duplicateKey is the server's code for an id that is taken.
const duplicateKey = 11000

// Insert stores a new document, or returns storage.ErrExists.
func (db *DB) Insert(ctx context.Context, schema *storage.Schema, record storage.Record) error {
	collection, err := db.writable(schema, record)
	if err != nil {
		return err
	}
	err = write(ctx, func(ctx context.Context) error {
		_, err := collection.InsertOne(ctx, encode(record))
		return err
	})
	if mongo.IsDuplicateKeyError(err) {
		return storage.ErrExists
	}
	return err
}

// InsertMany stores those of the records whose ids are free and returns their number.
func (db *DB) InsertMany(ctx context.Context, schema *storage.Schema, records []storage.Record) (int, error) {
	collection, err := db.writable(schema, records...)
	if err != nil || len(records) == 0 {
		return 0, err
	}
	documents := make([]any, 0, len(records))
	for _, record := range records {
		documents = append(documents, encode(record))
	}
	err = write(ctx, func(ctx context.Context) error {
		_, err := collection.InsertMany(ctx, documents, options.InsertMany().SetOrdered(false))
		return err
	})
	taken, err := duplicates(err)
	if err != nil {
		return 0, err
	}
	return len(records) - len(taken), nil
}

// Put stores documents, whether or not their ids are taken.
func (db *DB) Put(ctx context.Context, schema *storage.Schema, records ...storage.Record) error {
	collection, err := db.writable(schema, records...)
	if err != nil || len(records) == 0 {
		return err
	}
	// An unordered command may do its writes in any order, so only the last record of each id is written.
	latestFirst := slices.Clone(records)
	slices.Reverse(latestFirst)
	var models []mongo.WriteModel
	for _, record := range storage.FirstOfEach(latestFirst, func(record storage.Record) string { return record.ID }) {
		models = append(models, model(&storage.Write{Kind: storage.WritePut, Record: record}))
	}
	_, err = bulkWrite(ctx, collection, models, false)
	raced, err := duplicates(err)
	if err != nil || len(raced) == 0 {
		return err
	}
	// Two upserts of one new id may both try to insert it. The one that lost finds it the second time.
	again := make([]mongo.WriteModel, 0, len(raced))
	for _, i := range raced {
		again = append(again, models[i])
	}
	_, err = bulkWrite(ctx, collection, again, false)
	return err
}

// Replace overwrites a document at a revision, or returns storage.ErrMoved.
func (db *DB) Replace(ctx context.Context, schema *storage.Schema, record storage.Record, revision int64) error {
	collection, err := db.writable(schema, record)
	if err != nil {
		return err
	}
	filter := bson.D{{Key: "_id", Value: record.ID}, {Key: "revision", Value: revision}}
	return write(ctx, func(ctx context.Context) error {
		result, err := collection.ReplaceOne(ctx, filter, encode(record))
		if err == nil && result.MatchedCount == 0 {
			return storage.ErrMoved
		}
		return err
	})
}

// Delete removes documents; absent ones are no error.
func (db *DB) Delete(ctx context.Context, schema *storage.Schema, ids ...string) error {
	collection, err := db.collection(schema)
	if err != nil || len(ids) == 0 {
		return err
	}
	if err := storage.CheckIDs(ids...); err != nil {
		return err
	}
	return write(ctx, func(ctx context.Context) error {
		_, err := collection.DeleteMany(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}})
		return err
	})
}

func (db *DB) writable(schema *storage.Schema, records ...storage.Record) (*mongo.Collection, error) {
	collection, err := db.collection(schema)
	if err != nil {
		return nil, err
	}
	return collection, storage.CheckRecords(schema, records...)
}

// duplicates returns the indexes of the writes whose id was taken, or the error if there was any other.
func duplicates(err error) ([]int, error) {
	var bulk mongo.BulkWriteException
	if !errors.As(err, &bulk) || bulk.WriteConcernError != nil {
		return nil, err
	}
	indexes := make([]int, 0, len(bulk.WriteErrors))
	for _, failed := range bulk.WriteErrors {
		if !failed.HasErrorCode(duplicateKey) {
			return nil, err
		}
		indexes = append(indexes, failed.Index)
	}
	return indexes, nil
}
