package mongodb

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"

	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/storagetest"
)

func TestUnreachableServerIsAnOutage(t *testing.T) {
	schema := &storage.Schema{Name: "things"}
	db, err := Open(t.Context(), Options{
		URI:      "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=50",
		Database: "none",
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.declared[schema.Name] = true
	record := storage.Record{ID: "a", Revision: 1, Body: []byte("{}")}
	for name, run := range map[string]func() error{
		"ping":     func() error { return db.Ping(t.Context()) },
		"get":      func() error { _, err := db.Get(t.Context(), schema, "a"); return err },
		"get many": func() error { _, err := db.GetMany(t.Context(), schema, []string{"a"}); return err },
		"insert":   func() error { return storagetest.Insert(t.Context(), db, schema, record) },
		"add":      func() error { return storagetest.Add(t.Context(), db, schema, record) },
		"put":      func() error { return storagetest.Put(t.Context(), db, schema, record) },
		"replace":  func() error { return storagetest.Replace(t.Context(), db, schema, record, 1) },
		"delete":   func() error { return storagetest.Delete(t.Context(), db, schema, "a") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			evidencetest.Is(t, run(), storage.ErrOutage)
		})
	}
}

func TestOutagesAreDistinguishedFromOtherErrors(t *testing.T) {
	late := func() (context.Context, context.CancelFunc) { return context.WithTimeout(t.Context(), time.Hour) }
	later := func() (context.Context, context.CancelFunc) { return context.WithTimeout(t.Context(), 20*time.Second) }
	soon := func() (context.Context, context.CancelFunc) { return context.WithTimeout(t.Context(), time.Second) }
	ended := func() (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return ctx, cancel
	}
	timeout := fmt.Errorf("read: %w", context.DeadlineExceeded)
	for name, c := range map[string]struct {
		caller func() (context.Context, context.CancelFunc)
		err    error
		want   bool
	}{
		"a torn connection":                         {late, mongo.CommandError{Labels: []string{"NetworkError"}}, true},
		"a server that does not answer":             {late, timeout, true},
		"a timeout long before the deadline":        {later, timeout, true},
		"the deadline of the caller":                {soon, timeout, false},
		"a time limit made of the caller's":         {soon, mongo.CommandError{Code: 50}, false},
		"a caller who has given up":                 {ended, mongo.CommandError{Labels: []string{"NetworkError"}}, false},
		"a primary that stepped down":               {late, mongo.CommandError{Code: 189}, true},
		"a primary that stepped down, in a write":   {soon, mongo.WriteException{WriteConcernError: &mongo.WriteConcernError{Code: 11602}}, true},
		"a query that a restart has ended":          {late, mongo.CommandError{Code: 43}, true},
		"a query that an index build has ended":     {late, mongo.CommandError{Code: 175}, true},
		"a full disk":                               {late, mongo.WriteException{WriteErrors: mongo.WriteErrors{{Code: 14031}}}, true},
		"a client that is closed":                   {late, mongo.ErrClientDisconnected, true},
		"a document that is too large":              {late, mongo.WriteException{WriteErrors: mongo.WriteErrors{{Code: 10334}}}, false},
		"a document that is missing":                {late, storage.ErrNotFound, false},
		"a document that somebody else has changed": {late, storage.ErrMoved, false},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := c.caller()
			defer cancel()
			err := command(ctx, func(context.Context) error { return c.err })
			if errors.Is(err, storage.ErrOutage) != c.want {
				t.Errorf("got %v", err)
			}
		})
	}
	ctx, cancel := soon()
	defer cancel()
	err := command(ctx, func(context.Context) error { return mongo.CommandError{Code: 50} })
	evidencetest.Is(t, err, context.DeadlineExceeded)
}

func TestErrorsThatTheDriverRetriesAreOutages(t *testing.T) {
	retried := 0
	for code := range int32(20_000) {
		failure := driver.Error{Code: code}
		if !failure.RetryableRead() && !failure.NotPrimary() && !failure.NodeIsRecovering() {
			continue
		}
		retried++
		for name, err := range map[string]error{
			"a command": mongo.CommandError{Code: code},
			"a write":   mongo.WriteException{WriteConcernError: &mongo.WriteConcernError{Code: int(code)}},
		} {
			got := command(t.Context(), func(context.Context) error { return err })
			if !errors.Is(got, storage.ErrOutage) {
				t.Errorf("code %d of %s: %v", code, name, got)
			}
		}
	}
	if retried < 13 {
		t.Errorf("the driver retries %d codes", retried)
	}
}
