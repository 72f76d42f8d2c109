package mongodb

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
)

// Outage tells whether err means that the database could not be reached, or not in
// time.
func (db *DB) Outage(err error) bool {
	var selection topology.ServerSelectionError
	return mongo.IsNetworkError(err) || mongo.IsTimeout(err) || errors.As(err, &selection)
}
