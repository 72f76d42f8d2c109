package mongodb_test

import (
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"attestry/storage"
)

func TestMalformedDocumentsAreDamaged(t *testing.T) {
	uri, name := server(t), newDatabase(t)
	schema := &storage.Schema{Name: "things", Fields: []string{"org"}, Indexes: []storage.Index{{Name: "org", Fields: []string{"org"}}}}
	db := open(t, uri, name, schema)
	defer db.Close()
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Disconnect(t.Context())
	type thing struct{ ID, Org string }
	things := storage.NewCollection(db, schema, func(v *thing) string { return v.ID }, func(v *thing) map[string]any { return map[string]any{"org": v.Org} })
	for id, members := range map[string]bson.D{
		"number as body":    {{Key: "f", Value: bson.D{{Key: "org", Value: "o"}}}, {Key: "body", Value: 5}},
		"no body":           {{Key: "f", Value: bson.D{{Key: "org", Value: "o"}}}},
		"text as fields":    {{Key: "f", Value: "o"}, {Key: "body", Value: "{}"}},
		"text as revision":  {{Key: "revision", Value: "one"}, {Key: "body", Value: "{}"}},
		"body that is none": {{Key: "f", Value: bson.D{{Key: "org", Value: "o"}}}, {Key: "body", Value: "{"}},
	} {
		if _, err := client.Database(name).Collection("things").InsertOne(t.Context(), append(bson.D{{Key: "_id", Value: id}}, members...)); err != nil {
			t.Fatal(err)
		}
		if _, err := things.Get(t.Context(), id); !errors.Is(err, storage.ErrDamaged) {
			t.Errorf("%s: Get: %v", id, err)
		}
		if _, err := things.GetMany(t.Context(), []string{id}); !errors.Is(err, storage.ErrDamaged) {
			t.Errorf("%s: GetMany: %v", id, err)
		}
	}
}
