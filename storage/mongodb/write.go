package mongodb

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"attestry/storage"
)

// duplicateKey is the server's code for an id that is taken.
const duplicateKey = 11000

// duplicate returns the index of the write whose id was taken, or -1 and any other error.
func duplicate(err error) (int, error) {
	var bulk mongo.BulkWriteException
	if !errors.As(err, &bulk) || bulk.WriteConcernError != nil || len(bulk.WriteErrors) == 0 || !bulk.WriteErrors[0].HasErrorCode(duplicateKey) {
		return -1, err
	}
	return bulk.WriteErrors[0].Index, nil
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

// runLength is how many of the first writes one command can do: those to one collection, or a check alone. A
// replacement is the last, as the server does not refuse one that finds nothing at the expected revision.
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
		var result *mongo.BulkWriteResult
		err := command(ctx, func(ctx context.Context) (err error) {
			result, err = collection.BulkWrite(ctx, models[done:])
			return err
		})
		taken, err := duplicate(explainWrite(err))
		switch {
		case err != nil:
			return err
		case taken < 0:
			last := len(run) - 1
			if run[last].Kind == storage.WriteReplace && result.MatchedCount+result.UpsertedCount < wanted {
				return &storage.RefusedWrite{Index: last, Reason: storage.ErrMoved}
			}
			return nil
		case run[done+taken].Kind == storage.WriteInsert:
			return &storage.RefusedWrite{Index: done + taken, Reason: storage.ErrExists}
		}
		// Two upserts of a new id ran at once. When this one is repeated, it finds the document.
		wanted -= result.MatchedCount + result.UpsertedCount
		done += taken
	}
}

// isUpdate reports whether the server counts the documents that a write of a kind matches or upserts.
func isUpdate(kind storage.WriteKind) bool {
	return kind == storage.WritePut || kind == storage.WriteAdd || kind == storage.WriteReplace
}

func model(w *storage.Write) mongo.WriteModel {
	id := bson.E{Key: "_id", Value: w.Record.ID}
	switch w.Kind {
	case storage.WriteInsert:
		return mongo.NewInsertOneModel().SetDocument(encode(w.Record))
	case storage.WriteAdd:
		// The id is set by the filter, all else here.
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
