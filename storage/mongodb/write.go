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
	slices.Reverse(models) // ascending ids are the fastest to insert
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

// Write does the writes with one ordered command per run. A crash between two runs leaves the first ones done.
func (db *DB) Write(ctx context.Context, writes ...storage.Write) error {
	if err := storage.CheckWrites(writes); err != nil {
		return err
	}
	for i := range writes {
		if _, err := db.collection(writes[i].Schema); err != nil {
			return err
		}
	}
	for start := 0; start < len(writes); {
		end := start + runLength(writes[start:])
		err := db.writeRun(ctx, writes[start:end])
		if refused, ok := errors.AsType[*storage.RefusedWrite](err); ok {
			refused.Index += start
		}
		if err != nil {
			return err
		}
		start = end
	}
	return nil
}

// runLength is how many of the first writes one command can do: those to one collection, up to a replacement. The
// server does not refuse a replacement that finds nothing at the expected revision, so it must be the last of its
// command.
func runLength(writes []storage.Write) int {
	for i := range writes {
		switch {
		case writes[i].Schema.Name != writes[0].Schema.Name:
			return i
		case writes[i].Kind == storage.WriteCheck:
			return max(i, 1)
		case writes[i].Kind == storage.WriteReplace:
			return i + 1
		}
	}
	return len(writes)
}

// writeRun does the writes of a run; only the last one may be a replacement.
func (db *DB) writeRun(ctx context.Context, run []storage.Write) error {
	collection := db.database.Collection(run[0].Schema.Name)
	if run[0].Kind == storage.WriteCheck {
		return check(ctx, collection, run[0])
	}
	models := make([]mongo.WriteModel, 0, len(run))
	wanted := int64(0)
	for i := range run {
		models = append(models, model(&run[i]))
		if isUpdate(run[i].Kind) {
			wanted++
		}
	}
	for done := 0; ; {
		result, err := bulkWrite(ctx, collection, models[done:], true)
		taken, err := duplicates(err)
		switch {
		case err != nil:
			return err
		case len(taken) == 0:
			last := len(run) - 1
			if run[last].Kind == storage.WriteReplace && result.MatchedCount+result.UpsertedCount < wanted {
				return &storage.RefusedWrite{Index: last, Reason: storage.ErrMoved}
			}
			return nil
		case run[done+taken[0]].Kind == storage.WriteInsert:
			return &storage.RefusedWrite{Index: done + taken[0], Reason: storage.ErrExists}
		}
		// An upsert of a new id met another one. It finds the document there the next time.
		wanted -= result.MatchedCount + result.UpsertedCount
		done += taken[0]
	}
}

// isUpdate reports whether the server counts what a write of a kind matches or upserts.
func isUpdate(kind storage.WriteKind) bool {
	return kind == storage.WritePut || kind == storage.WriteAdd || kind == storage.WriteReplace
}

func bulkWrite(ctx context.Context, collection *mongo.Collection, models []mongo.WriteModel, ordered bool) (result *mongo.BulkWriteResult, err error) {
	err = write(ctx, func(ctx context.Context) error {
		result, err = collection.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(ordered))
		return err
	})
	return result, err
}

func model(w *storage.Write) mongo.WriteModel {
	id := bson.E{Key: "_id", Value: w.Record.ID}
	switch w.Kind {
	case storage.WriteInsert:
		return mongo.NewInsertOneModel().SetDocument(encode(w.Record))
	case storage.WriteAdd:
		// What is set is all but the id, which the filter gives.
		return mongo.NewUpdateOneModel().SetUpsert(true).SetFilter(bson.D{id}).
			SetUpdate(bson.D{{Key: "$setOnInsert", Value: encode(w.Record)[1:]}})
	case storage.WriteReplace:
		return mongo.NewReplaceOneModel().SetFilter(bson.D{id, {Key: "revision", Value: w.Revision}}).SetReplacement(encode(w.Record))
	case storage.WritePut:
		return mongo.NewReplaceOneModel().SetUpsert(true).SetFilter(bson.D{id}).SetReplacement(encode(w.Record))
	default:
		return mongo.NewDeleteOneModel().SetFilter(bson.D{id})
	}
}

// check reports whether a document is at the expected revision.
func check(ctx context.Context, collection *mongo.Collection, w storage.Write) error {
	var found document
	filter := bson.D{{Key: "_id", Value: w.Record.ID}}
	err := command(ctx, func(ctx context.Context) error {
		return collection.FindOne(ctx, filter, options.FindOne().SetProjection(bson.D{{Key: "revision", Value: 1}})).Decode(&found)
	})
	if err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
		return err
	}
	if found.Revision != w.Revision {
		return &storage.RefusedWrite{Reason: storage.ErrMoved}
	}
	return nil
}
