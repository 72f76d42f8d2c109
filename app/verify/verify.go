// Package verify checks the integrity of all documents and objects of the service.
package verify

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"attestry/app"
	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/pipelines"
	"attestry/storage/transfer"
)

const (
	// attempts is how often a document that changes meanwhile is checked.
	attempts = 3
	// pageSize is how many documents are checked together, and how many others are read for that with one command. It
	// is large enough that commands do not count, and small enough for memory even if each document is large.
	pageSize = 100
)

// Finding is a violation of integrity.
type Finding struct {
	// Where names a document, collection/id, an object by its key, or a collection.
	Where string `json:"where"`
	What  string `json:"what"`
}

// Result is how much was read.
type Result struct {
	Documents   int64 `json:"documents"`
	Objects     int64 `json:"objects"`
	ObjectBytes int64 `json:"object_bytes"`
	Findings    int64 `json:"findings"`
}

// Options of a verification.
type Options struct {
	// Documents is the database without a guard, with which one damaged document would hide others.
	Documents storage.Documents
	// Objects is the object store, without a guard for the same reason.
	Objects storage.Objects
	// WithoutContent skips reading the content of the objects.
	WithoutContent bool
	// Report is called with each finding. An error ends the verification.
	Report func(Finding) error
	// Progress is called with the result so far, after each page of documents and each object; it may be nil.
	Progress func(Result)
}

type verification struct {
	Options
	catalog *storage.Catalog
	// templates are read through a cache.
	templates *pipelines.Templates
	schemas   map[string]*storage.Schema
	result    Result
}

// Run verifies that every document decodes, every object that a document names exists, every object has the SHA-256 of
// its key, the trees of snapshots are complete, and trails follow from their facts. The stores may be in use: documents
// that changed during their check are checked again. An error means that some were not read.
func Run(ctx context.Context, options Options) (Result, error) {
	v := &verification{Options: options, catalog: storage.NewCatalog(options.Documents), schemas: map[string]*storage.Schema{}}
	// The repositories register in the catalog how their documents are decoded.
	store := app.NewStore(v.catalog, options.Objects, time.Now, slog.New(slog.DiscardHandler))
	defer store.Tenancy.Close()
	v.templates = store.Templates
	for _, schema := range app.Schemas() {
		v.schemas[schema.Name] = schema
	}
	for _, schema := range app.Schemas() {
		if err := v.eachPage(ctx, schema, storage.MaxMany, v.checkDocuments); err != nil {
			return v.result, err
		}
	}
	for _, of := range []struct {
		collection string
		check      checker
	}{
		{"trails", v.checkTrails}, {"slots", v.checkSlots}, {"artifacts", v.checkArtifacts}, {"attestations", v.checkAttestations},
		{"trail_events", v.checkEvents},
	} {
		if err := v.eachPage(ctx, v.schemas[of.collection], pageSize, of.check); err != nil {
			return v.result, err
		}
	}
	if options.WithoutContent {
		return v.result, nil
	}
	return v.result, v.readObjects(ctx)
}

// findings are the findings about documents, by id.
type findings map[string][]string

func (f findings) add(id, what string) { f[id] = append(f[id], what) }

// checker checks documents of a collection.
type checker func(ctx context.Context, schema *storage.Schema, records []storage.Record) (findings, error)

// eachPage checks all documents of a collection, at most size together. Documents that cannot be read are a finding.
func (v *verification) eachPage(ctx context.Context, schema *storage.Schema, size int, check checker) error {
	for after := ""; ; {
		page, err := v.Documents.List(ctx, schema, after, size, transfer.BatchBytes)
		if errors.Is(err, storage.ErrDamaged) {
			return v.report(schema.Name, "the documents behind \""+after+"\" cannot be read: "+err.Error())
		}
		if err != nil || len(page) == 0 {
			return err
		}
		err = v.settle(ctx, schema, page, check)
		if errors.Is(err, storage.ErrDamaged) {
			err = v.report(schema.Name, "the documents behind \""+after+"\" cannot be compared with others: "+err.Error())
		}
		if err != nil {
			return err
		}
		after = page[len(page)-1].ID
		v.progress()
	}
}

// settle reports findings about documents that have not changed since they were read, and checks the others again.
func (v *verification) settle(ctx context.Context, schema *storage.Schema, records []storage.Record, check checker) error {
	for range attempts {
		found, err := check(ctx, schema, records)
		if err != nil || len(found) == 0 {
			return err
		}
		revisions := evidence.ToMap(records, func(r *storage.Record) (string, int64) { return r.ID, r.Revision })
		again, err := v.Documents.GetMany(ctx, schema, slices.Sorted(maps.Keys(found)))
		if err != nil {
			return err
		}
		records = nil
		for _, record := range again {
			if record.Revision != revisions[record.ID] {
				records = append(records, record)
				continue
			}
			for _, what := range found[record.ID] {
				if err := v.report(schema.Name+"/"+record.ID, what); err != nil {
					return err
				}
			}
		}
		if len(records) == 0 {
			return nil
		}
	}
	return nil // the other documents change too often to be checked
}

func (v *verification) report(where, what string) error {
	v.result.Findings++
	return v.Report(Finding{Where: where, What: what})
}

func (v *verification) progress() {
	if v.Progress != nil {
		v.Progress(v.result)
	}
}
