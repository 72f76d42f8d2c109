package mongodb_test

import (
	"errors"
	"testing"

	"attestry/storage"
	"attestry/storage/mongodb"
)

func TestServerOutOfReachIsAnOutage(t *testing.T) {
	db, err := mongodb.Open(t.Context(), mongodb.Options{
		URI:      "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=200",
		Database: "none",
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Ping(t.Context()); err == nil || !db.Outage(err) {
		t.Errorf("no outage: %v", err)
	}
	if db.Outage(storage.ErrNotFound) || db.Outage(errors.New("some fault")) {
		t.Error("any error is taken for an outage")
	}
}
