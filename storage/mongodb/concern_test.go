package mongodb

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"attestry/evidence/evidencetest"
)

func TestWritesAreMajorityAndJournaledWhateverTheURISays(t *testing.T) {
	settings, err := clientOptions(Options{URI: "mongodb://127.0.0.1/?w=1&journal=false&readPreference=secondary&readConcernLevel=local"})
	evidencetest.Must(t, err)
	if wc := settings.WriteConcern; wc.W != "majority" || wc.Journal == nil || !*wc.Journal {
		t.Errorf("write concern %+v", wc)
	}
	if settings.ReadConcern.Level != "majority" || settings.ReadPreference.Mode() != readpref.PrimaryMode {
		t.Errorf("read concern %s, preference %s", settings.ReadConcern.Level, settings.ReadPreference)
	}
}

// The events check out two connections and return one.
func TestConnectionsInUseAreCounted(t *testing.T) {
	for uri, want := range map[string]int{"mongodb://127.0.0.1/": 100, "mongodb://127.0.0.1/?maxPoolSize=7": 7} {
		settings, err := clientOptions(Options{URI: uri})
		evidencetest.Must(t, err)
		db := &DB{maxConnections: int(*settings.MaxPoolSize)}
		for _, kind := range []string{
			event.ConnectionCreated, event.ConnectionReady, event.ConnectionCheckedOut, event.ConnectionCheckedOut,
			event.ConnectionCheckOutFailed, event.ConnectionCheckedIn, event.ConnectionClosed,
		} {
			db.countConnections(&event.PoolEvent{Type: kind})
		}
		if inUse, most := db.Connections(); inUse != 1 || most != want {
			t.Errorf("%s: %d of %d connections are in use", uri, inUse, most)
		}
	}
}
