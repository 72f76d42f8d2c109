package doctor

import (
	"context"
	"errors"
	"strings"
	"time"

	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/guard"
	"attestry/storage/mongodb"
)

const (
	// probeKey is the key of the write that tests a store.
	probeKey = "doctor"
	// slow is the time of a ping and a write above which there is a warning.
	slow = time.Second
	// maxSkew is the tolerated difference of clocks. Some servers return whole seconds.
	maxSkew = 5 * time.Second
)

// try measures the times of a ping and of a write. It returns the error of ping; that of write is a finding.
func try(ctx context.Context, ping, write func(context.Context) error) ([]Finding, error) {
	began := time.Now()
	if err := ping(ctx); err != nil {
		return nil, err
	}
	answered := time.Since(began)
	if err := write(ctx); err != nil {
		return []Finding{{State: Error, Measured: "takes no writes: " + err.Error(), Advice: "make room on its disk, or let the service write to it"}}, nil
	}
	took := time.Since(began)
	return measured(took > slow, "look at its load, its disk and the network", "answers in %v, takes a write in %v",
		answered.Round(time.Microsecond), (took - answered).Round(time.Microsecond)), nil
}

func examineDatabase(ctx context.Context, s *Subject) ([]Finding, error) {
	engines := s.Engines
	found, err := try(ctx, engines.Documents.Ping, func(ctx context.Context) error { return guard.ProbeDocuments(ctx, engines.Documents, probeKey) })
	if engines.Embedded != nil && engines.Embedded.Damage() != "" {
		found = append(found, Finding{State: Error, Measured: engines.Embedded.Damage(), Advice: "restore it from a backup"})
	}
	return found, err
}

func examineObjects(ctx context.Context, s *Subject) ([]Finding, error) {
	var kept error
	found, err := try(ctx, s.Engines.Objects.Ping, func(ctx context.Context) (err error) {
		_, kept, err = guard.ProbeObjects(ctx, s.Engines.Objects)
		return err
	})
	if kept != nil {
		found = append(found, warning("let the service delete objects, and give the bucket no retention of its own", "keeps what is deleted: %v", kept))
	}
	return found, err
}

// examineRedis applies only if a Redis is set: a standalone may have one in memory.
func examineRedis(ctx context.Context, s *Subject) ([]Finding, error) {
	if s.Settings.Stores.Redis.URL == "" {
		return nil, nil
	}
	const key = "attestry:" + probeKey
	return try(ctx, func(ctx context.Context) error { return s.Redis.Ping(ctx).Err() }, func(ctx context.Context) error {
		return errors.Join(s.Redis.Set(ctx, key, "", time.Minute).Err(), s.Redis.Del(ctx, key).Err())
	})
}

// examineIndexes applies only to MongoDB: an open Pebble database has all indexes.
func examineIndexes(_ context.Context, s *Subject) (found []Finding, _ error) {
	db, ok := s.Engines.Documents.(*mongodb.DB)
	if !ok {
		return nil, nil
	}
	if missing := db.MissingIndexes(); len(missing) > 0 {
		found = append(found, warning("restart an api or a worker, which makes them", "missing: %s", strings.Join(missing, ", ")))
	}
	return orOK(found, "as declared"), nil
}

func examineRetention(ctx context.Context, s *Subject) ([]Finding, error) {
	if !s.Settings.Retention.On() {
		return orOK(nil, "off"), nil
	}
	return orOK(nil, "objects are kept from deletion, in %s mode", s.Settings.Retention.Mode), s.Store.Retention.Test(ctx)
}

// examineClocks compares this clock with those of the database and object store, and with the newest attestation.
func examineClocks(ctx context.Context, s *Subject) (found []Finding, err error) {
	for _, store := range []any{s.Engines.Documents, s.Engines.Objects} {
		server, ok := store.(interface {
			Now(ctx context.Context) (time.Time, error)
		})
		if !ok {
			continue
		}
		theirs, err := server.Now(ctx)
		if err != nil {
			return nil, err
		}
		if off := s.Clock().Sub(theirs); off.Abs() > maxSkew {
			found = append(found, warning("have both machines set their clocks by NTP", "this clock is %v off that of a store", off.Round(time.Second)))
		}
	}
	newest := 0.0
	err = s.Store.Tenancy.EachOrganization(ctx, func(org *evidence.Organization) error {
		at, err := storage.NewestTime(ctx, s.Store.Attestations.Collection, storage.Query{Index: "time", Equal: []any{org.ID}}, "time")
		newest = max(newest, at)
		return err
	})
	if ahead := seconds(newest - evidence.Seconds(s.Clock())); ahead > maxSkew {
		found = append(found, warning("have all machines set their clocks by NTP", "the newest attestation is %v ahead of this clock", ahead))
	}
	return orOK(found, "agrees with stores and records"), err
}

func seconds(n float64) time.Duration {
	return time.Duration(n * float64(time.Second)).Round(time.Second)
}
