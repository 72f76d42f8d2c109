package workload

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"attestry/evidence/translog"
	"attestry/storage"
	"attestry/storage/logs"
)

// awaitLogged waits until a checkpoint covers size entries.
func awaitLogged(ctx context.Context, f *fixture, size int) error {
	for {
		log, err := f.store.Logs.Get(ctx, f.org)
		if err != nil && !errors.Is(err, storage.ErrNotFound) || log.Signed >= int64(size) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// getProofs gets the proofs of artifacts spread over the log.
func getProofs(c *client) (service, baseline requests, err error) {
	ctx := context.Background()
	log, err := c.store.Logs.Get(ctx, c.org)
	if err != nil {
		return nil, nil, err
	}
	ids, err := c.artifactsOf(ctx, &log)
	if err != nil {
		return nil, nil, err
	}
	path, sent := c.path("/log/{org}/proof/artifact/"), 0
	next := func() request {
		sent++
		return request{method: http.MethodGet, path: path + ids[sent%len(ids)], want: answer{status: http.StatusOK}}
	}
	return next, next, nil
}

// artifactsOf returns the ids of the artifacts in some bundles of a log.
func (f *fixture) artifactsOf(ctx context.Context, log *logs.Log) (ids []string, err error) {
	const bundles = 16
	step := max(1, log.Signed/translog.Width/bundles) * translog.Width
	for from := int64(0); from < log.Signed; from += step {
		texts, err := f.store.Logs.Entries(ctx, log, from, min(from+translog.Width, log.Signed))
		if err != nil {
			return nil, err
		}
		for _, text := range texts {
			var entry translog.Entry
			if err := json.Unmarshal(text, &entry); err != nil {
				return nil, err
			}
			if entry.Kind == "artifact" {
				ids = append(ids, entry.ID)
			}
		}
	}
	return ids, nil
}
