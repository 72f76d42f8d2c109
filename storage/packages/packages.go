// Package packages keeps audit packages: which are requested, and which are ready in the object store.
package packages

import (
	"context"

	"attestry/evidence/audit"
	"attestry/evidence/job"
	"attestry/storage"
)

var assemblySchema = storage.NewSchema("packages",
	// Only packages that are to be assembled have due, only those that have replaced others have replaced, only those
	// that are ready have asked, the time of the last request.
	storage.Index{Name: "due", Fields: []string{"due"}, Required: "due"},
	storage.Index{Name: "replaced", Fields: []string{"replaced"}, Required: "replaced"},
	storage.Index{Name: "asked", Fields: []string{"asked"}, Required: "asked"},
	storage.StageIndex,
).With("archive", "report", "trace")

// Objects is the prefix of the keys of all objects of packages.
const Objects = "packages."

// Schemas declares the collection.
func Schemas() []*storage.Schema { return []*storage.Schema{assemblySchema} }

// Assemblies keeps the state of the package of each subject.
type Assemblies struct {
	storage.JobList[audit.Assembly]
}

// NewAssemblies binds the repository to an engine.
func NewAssemblies(docs storage.Documents) *Assemblies {
	collection := storage.NewCollection(docs, assemblySchema,
		func(a *audit.Assembly) string { return a.ID },
		func(a *audit.Assembly) map[string]any {
			fields := map[string]any{}
			if a.Trace != "" {
				fields["trace"] = a.Trace
			}
			if a.Due > 0 {
				fields["due"] = a.Due
			}
			if a.Ready != nil {
				fields["asked"], fields["archive"] = a.LastRequested(), a.Ready.Archive.Object
				if a.Ready.Report != nil {
					fields["report"] = a.Ready.Report.Object
				}
			}
			if len(a.Replaced) > 0 {
				fields["replaced"] = a.Replaced[0].At
			}
			return storage.SetStage(fields, &a.Status)
		})
	return &Assemblies{storage.NewJobList(collection, "due", func(a *audit.Assembly) job.Entry {
		return a.Entry(&job.Assemble, a.Org, a.ID)
	})}
}

// Change changes an assembly, which is made if there is none, and returns it.
func (a *Assemblies) Change(ctx context.Context, fresh audit.Assembly, change func(*audit.Assembly)) (audit.Assembly, error) {
	return storage.Upsert(ctx, a.Collection, fresh, storage.WithoutError(change))
}

// Due returns a page of the assemblies that are due at a time in Unix seconds, the earliest first, and the next cursor.
// One that has not begun is due at once: the clock of the process that received the request may be ahead.
func (a *Assemblies) Due(ctx context.Context, now float64, after string) ([]job.Ref, string, error) {
	found, next, err := a.Collection.FindFields(ctx, storage.Query{
		Index: "due", From: &storage.Bound{Value: 0.0}, After: after, Limit: storage.MaxMany,
	})
	refs := make([]job.Ref, 0, len(found))
	for _, record := range found {
		due := record.Float("due")
		if _, begun := record.Fields["stage"]; begun && due > now {
			continue
		}
		refs = append(refs, job.Ref{Kind: &job.Assemble, Key: record.ID, Payload: job.Payload{Assembly: record.ID, Trace: record.Text("trace")}, Due: due})
	}
	return refs, next, err
}

// NotRequestedSince returns up to limit ids of ready assemblies that were last requested before a time in Unix seconds.
func (a *Assemblies) NotRequestedSince(ctx context.Context, before float64, limit int) ([]string, error) {
	found, _, err := a.Collection.FindFields(ctx, storage.Query{
		Index: "asked", From: &storage.Bound{Value: 0.0}, To: &storage.Bound{Value: before}, Limit: limit,
	})
	return storage.RecordIDs(found), err
}

// Replaced returns the assemblies that replaced a package before a time in Unix seconds, at most limit.
func (a *Assemblies) Replaced(ctx context.Context, before float64, limit int) ([]audit.Assembly, error) {
	found, _, err := a.Collection.Find(ctx, storage.Query{
		Index: "replaced", From: &storage.Bound{Value: 0.0}, To: &storage.Bound{Value: before}, Limit: limit,
	})
	return found, err
}

// ObjectKeys returns the keys of the objects of all packages that are ready or were replaced.
func (a *Assemblies) ObjectKeys(ctx context.Context) (map[string]bool, error) {
	keys := map[string]bool{}
	query := storage.Query{Index: "asked", From: &storage.Bound{Value: 0.0}, Limit: storage.MaxMany}
	err := storage.ForEachFields(ctx, a.Collection, query, func(record *storage.Record) error {
		for _, field := range []string{"archive", "report"} {
			if key, ok := record.Fields[field].(string); ok {
				keys[key] = true
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	// A package that was replaced meanwhile is found in this index.
	query.Index = "replaced"
	err = storage.ForEach(ctx, a.Collection, query, func(assembly *audit.Assembly) error {
		for _, replaced := range assembly.Replaced {
			keys[replaced.Object] = true
		}
		return nil
	})
	return keys, err
}
