// Package mongodb keeps documents in MongoDB, or in a compatible server: the engine of a service with several machines.
// It needs only single-document writes, plain indexes, sorted finds and counts.
package mongodb

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"attestry/evidence"
	"attestry/storage"
)

const (
	// commandTimeout bounds a command. The caller's deadline may be earlier.
	commandTimeout = 30 * time.Second
	// SelectionTimeout is how long a command waits for a primary. An election takes less.
	SelectionTimeout = 10 * time.Second
	// defaultPoolSize is how many connections to a server there may be, unless the URI says so: the driver's own default.
	defaultPoolSize = 100
	// closeTimeout is how long Close waits for commands.
	closeTimeout = 5 * time.Second
)

// Options describe the database.
type Options struct {
	// URI is the connection string. It may hold a password and never appears in errors.
	URI string
	// Database is the name of the database.
	Database string
	// RootCAs are the authorities that sign the certificates of servers, nil for the system's. The URI may name others
	// instead.
	RootCAs *x509.CertPool
	// LeaveIndexes means that missing indexes are not made.
	LeaveIndexes bool
}

// DB implements storage.Documents.
type DB struct {
	client   *mongo.Client
	database *mongo.Database
	declared map[string]bool
	missing  []string
	// inUse is how many connections are in use.
	inUse          atomic.Int64
	maxConnections int
}

var _ storage.Documents = (*DB)(nil)

// Open connects to the database and makes missing indexes.
func Open(ctx context.Context, o Options, schemas []*storage.Schema) (*DB, error) {
	settings, err := clientOptions(o)
	if err != nil {
		return nil, err
	}
	db := &DB{declared: map[string]bool{}, maxConnections: int(*settings.MaxPoolSize)}
	settings.SetPoolMonitor(&event.PoolMonitor{Event: db.countConnections})
	db.client, err = mongo.Connect(settings)
	if err != nil {
		return nil, fmt.Errorf("connect to MongoDB: %w", withoutPassword(err, settings))
	}
	db.database = db.client.Database(o.Database)
	for _, schema := range schemas {
		db.declared[schema.Name] = true
	}
	if err := db.createIndexes(ctx, schemas, o.LeaveIndexes); err != nil {
		err = fmt.Errorf("check the indexes in MongoDB: %w", withoutPassword(err, settings))
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func (db *DB) countConnections(e *event.PoolEvent) {
	switch e.Type {
	case event.ConnectionCheckedOut:
		db.inUse.Add(1)
	case event.ConnectionCheckedIn:
		db.inUse.Add(-1)
	}
}

// Connections returns how many connections to the server are in use, and how many there may be, 0 for any number.
func (db *DB) Connections() (inUse, most int) { return int(db.inUse.Load()), db.maxConnections }

// clientOptions adds to the URI what storage.Documents requires: durable writes, and reads that see them.
func clientOptions(o Options) (*options.ClientOptions, error) {
	settings := options.Client().ApplyURI(o.URI)
	// The error of the driver may quote any part of the URI.
	if settings.Validate() != nil {
		return nil, errors.New("the address of MongoDB cannot be used: a parameter is wrong, " +
			"a file that it names cannot be read, or the servers of mongodb+srv cannot be looked up")
	}
	settings.SetAppName("attestry").
		SetReadConcern(readconcern.Majority()).
		SetReadPreference(readpref.Primary()).
		SetWriteConcern(&writeconcern.WriteConcern{W: writeconcern.WCMajority, Journal: new(true)})
	if settings.ServerSelectionTimeout == nil {
		settings.SetServerSelectionTimeout(SelectionTimeout)
	}
	if settings.Timeout == nil {
		settings.SetTimeout(commandTimeout)
	}
	if settings.TLSConfig != nil && settings.TLSConfig.RootCAs == nil {
		settings.TLSConfig.RootCAs = o.RootCAs
	}
	if settings.MaxPoolSize == nil {
		settings.SetMaxPoolSize(defaultPoolSize)
	}
	return settings, nil
}

func withoutPassword(err error, settings *options.ClientOptions) error {
	if settings.Auth == nil || settings.Auth.Password == "" || !strings.Contains(err.Error(), settings.Auth.Password) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), settings.Auth.Password, "***"))
}

// createIndexes makes missing indexes. Existing ones are not created again, as some servers refuse that.
func (db *DB) createIndexes(ctx context.Context, schemas []*storage.Schema, leave bool) error {
	for _, schema := range schemas {
		indexes := db.database.Collection(schema.Name).Indexes()
		known, err := indexes.ListSpecifications(ctx)
		if err != nil {
			return fmt.Errorf("collection %s: %w", schema.Name, err)
		}
		missing, names := missingIndexes(schema, known)
		if len(missing) == 0 || leave {
			db.missing = append(db.missing, names...)
			continue
		}
		if _, err := indexes.CreateMany(ctx, missing); err != nil {
			return fmt.Errorf("collection %s: %w", schema.Name, err)
		}
	}
	return nil
}

// MissingIndexes names the declared indexes that were left missing, as collection(fields).
func (db *DB) MissingIndexes() []string { return db.missing }

func missingIndexes(schema *storage.Schema, known []mongo.IndexSpecification) (missing []mongo.IndexModel, names []string) {
	exists := evidence.SetOf(known, func(index *mongo.IndexSpecification) string { return index.Name })
	for _, index := range schema.Indexes {
		name := indexName(index)
		if exists[name] {
			continue
		}
		exists[name] = true
		missing = append(missing, mongo.IndexModel{Keys: order(index.Fields, 1), Options: options.Index().SetName(name)})
		names = append(names, schema.Name+"("+name+")")
	}
	return missing, names
}

// indexName is derived from the fields: an index with other fields is another one.
func indexName(index storage.Index) string { return strings.Join(index.Fields, ",") }

// order lists fields, and then the id, as index keys or as a sort.
func order(fields []string, direction int) bson.D {
	keys := make(bson.D, 0, len(fields)+1)
	for _, field := range fields {
		keys = append(keys, bson.E{Key: path(field), Value: direction})
	}
	return append(keys, bson.E{Key: "_id", Value: direction})
}

// path is the path of a declared field in a stored document.
func path(field string) string { return "f." + field }

func (db *DB) collection(schema *storage.Schema) (*mongo.Collection, error) {
	if !db.declared[schema.Name] {
		return nil, fmt.Errorf("collection %s was not declared when the database was opened", schema.Name)
	}
	return db.database.Collection(schema.Name), nil
}

// Ping reports whether the primary answers.
func (db *DB) Ping(ctx context.Context) error {
	return command(ctx, func(ctx context.Context) error { return db.client.Ping(ctx, readpref.Primary()) })
}

// Now returns the time on the clock of the server.
func (db *DB) Now(ctx context.Context) (time.Time, error) {
	var answer struct{ LocalTime time.Time }
	err := command(ctx, func(ctx context.Context) error {
		return db.database.RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&answer)
	})
	return answer.LocalTime, err
}

// Close waits for commands and closes the connections.
func (db *DB) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := db.client.Disconnect(ctx)
	if errors.Is(err, mongo.ErrClientDisconnected) {
		return nil
	}
	return err
}
