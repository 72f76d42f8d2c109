package mongodb_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/mongodb"
	"attestry/storage/storagetest"
)

// serverURI is the environment variable with the URI of the server. FerretDB 1.24 needs maxPoolSize=1: it loses
// updates, or hangs, when several connections write.
const serverURI = "ATTESTRY_TEST_MONGODB"

func server(t *testing.T) string {
	t.Helper()
	uri := os.Getenv(serverURI)
	if uri == "" {
		t.Skip(serverURI + " is not set")
	}
	return uri
}

// newDatabase names a database that is dropped at the end of the test.
func newDatabase(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("attestry_test_%016x", rand.Uint64())
	t.Cleanup(func() {
		client, err := mongo.Connect(options.Client().ApplyURI(server(t)))
		if err != nil {
			t.Error(err)
			return
		}
		// The context of the test has ended already.
		evidencetest.Check(t, client.Database(name).Drop(context.Background()))
		_ = client.Disconnect(context.Background())
	})
	return name
}

func open(t *testing.T, uri, database string, schemas ...*storage.Schema) storage.Documents {
	t.Helper()
	db, err := mongodb.Open(t.Context(), mongodb.Options{URI: uri, Database: database}, schemas)
	evidencetest.Must(t, err)
	return db
}

func TestDocuments(t *testing.T) {
	uri := server(t)
	storagetest.Documents(t, storagetest.DocumentsEngine{
		Locate: newDatabase,
		Open: func(t *testing.T, location string, schemas ...*storage.Schema) storage.Documents {
			return open(t, uri, location, schemas...)
		},
	})
}

func TestLeaveIndexesCreatesNoIndexes(t *testing.T) {
	uri, name := server(t), newDatabase(t)
	schema := &storage.Schema{Name: "things", Fields: []string{"org", "time"}, Indexes: []storage.Index{
		{Name: "time", Fields: []string{"org", "time"}}, {Name: "org", Fields: []string{"org"}},
	}}
	for _, row := range []struct {
		leave bool
		want  string
	}{{true, "[things(org,time) things(org)]"}, {true, "[things(org,time) things(org)]"}, {false, "[]"}, {true, "[]"}} {
		db, err := mongodb.Open(t.Context(), mongodb.Options{URI: uri, Database: name, LeaveIndexes: row.leave}, []*storage.Schema{schema})
		evidencetest.Must(t, err)
		if got := fmt.Sprint(db.MissingIndexes()); got != row.want {
			t.Errorf("missing are %s, want %s", got, row.want)
		}
		now, err := db.Now(t.Context())
		if off := time.Since(now); err != nil || off.Abs() > time.Minute {
			t.Errorf("the clock of the server is off by %v: %v", off, err)
		}
		evidencetest.Check(t, db.Close())
	}
}
