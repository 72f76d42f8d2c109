package mongodb

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

func TestWritesAreMajorityAndJournaledWhateverTheURISays(t *testing.T) {
	settings, err := clientOptions(Options{
		URI:         "mongodb://127.0.0.1/?w=1&journal=false&readPreference=secondary&readConcernLevel=local&maxPoolSize=7",
		MaxPoolSize: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	if wc := settings.WriteConcern; wc.W != "majority" || wc.Journal == nil || !*wc.Journal {
		t.Errorf("write concern %+v", wc)
	}
	if settings.ReadConcern.Level != "majority" || settings.ReadPreference.Mode() != readpref.PrimaryMode {
		t.Errorf("read concern %s, preference %s", settings.ReadConcern.Level, settings.ReadPreference)
	}
	if *settings.MaxPoolSize != 3 {
		t.Errorf("pool of %d", *settings.MaxPoolSize)
	}
}
