// Package packages keeps what is known about audit packages: which are asked for, and which are
// ready in the object store.
package packages

import (
	"context"

	"attestry/evidence/audit"
	"attestry/evidence/job"
	"attestry/storage"
)

var assemblySchema = &storage.Schema{
	Name:   "packages",
	Fields: []string{"due", "replaced", "asked", "archive", "report", "stage"},
	Indexes: []storage.Index{
		// Only packages that are to be assembled have due, only those that have replaced others
		// have replaced, only those that are ready have asked.
		{Name: "due", Fields: []string{"due"}, Required: "due"},
		{Name: "replaced", Fields: []string{"replaced"}, Required: "replaced"},
		{Name: "asked", Fields: []string{"asked"}, Required: "asked"},
		storage.StageIndex,
	},
}

// Objects is what the keys of all objects of packages begin with.
const Objects = "packages."

// Schemas declares the collection.
func Schemas() []*storage.Schema { return []*storage.Schema{assemblySchema} }

// Assemblies keeps what is known about the package of each subject.
type Assemblies struct {
	collection storage.Collection[audit.Assembly]
}

// NewAssemblies binds the repository to an engine.
func NewAssemblies(docs storage.Documents) *Assemblies {
	return &Assemblies{collection: storage.NewCollection(docs, assemblySchema,
		func(a *audit.Assembly) string { return a.ID },
		func(a *audit.Assembly) map[string]any {
			fields := map[string]any{}
			if a.Due > 0 {
				fields["due"] = a.Due
			}
			if a.Ready != nil {
				fields["asked"], fields["archive"] = a.LastAsked(), a.Ready.Archive.Object
				if a.Ready.Report != nil {
					fields["report"] = a.Ready.Report.Object
				}
			}
			if len(a.Replaced) > 0 {
				fields["replaced"] = a.Replaced[0].At
			}
			return storage.SetStage(fields, &a.Status)
		})}
}

// Get returns the assembly of an id, or storage.ErrNotFound.
func (a *Assemblies) Get(ctx context.Context, id string) (audit.Assembly, error) {
	return a.collection.Get(ctx, id)
}

// Change changes an assembly, which is made if need be, and returns it.
func (a *Assemblies) Change(ctx context.Context, fresh audit.Assembly, change func(*audit.Assembly)) (audit.Assembly, error) {
	return storage.Upsert(ctx, a.collection, fresh.ID,
		func() audit.Assembly { return fresh },
		func(known *audit.Assembly) error {
			change(known)
			return nil
		})
}

// Update changes the assembly of an id and returns it, or storage.ErrNotFound.
func (a *Assemblies) Update(ctx context.Context, id string, change func(*audit.Assembly)) (audit.Assembly, error) {
	return a.collection.Update(ctx, id, func(known *audit.Assembly) error {
		change(known)
		return nil
	})
}

// Due names a page of the assemblies that are due at a time in Unix seconds, those that are due longest first, and
// gives the cursor of the next one. What was asked for and not begun is due at once: the clock of the process that was
// asked may be ahead.
func (a *Assemblies) Due(ctx context.Context, now float64, after string) ([]job.Ref, string, error) {
	found, next, err := a.collection.FindFields(ctx, storage.Query{
		Index: "due", From: &storage.Bound{Value: 0.0}, After: after, Limit: storage.MaxMany,
	})
	refs := make([]job.Ref, 0, len(found))
	for _, record := range found {
		due, _ := record.Fields["due"].(float64)
		if _, begun := record.Fields["stage"]; begun && due > now {
			continue
		}
		refs = append(refs, job.Ref{Kind: &job.Assemble, Key: record.ID, Payload: job.Payload{Assembly: record.ID}, Due: due})
	}
	return refs, next, err
}

// Jobs returns a page of the assemblies that have failed for good, or of those that are to be done, and the cursor of
// the next page.
func (a *Assemblies) Jobs(ctx context.Context, parked bool, after string) ([]job.Entry, string, error) {
	return storage.FindJobs(ctx, a.collection, "due", parked, after, func(assembly *audit.Assembly) job.Entry {
		return assembly.Entry(&job.Assemble, assembly.Org, assembly.ID)
	})
}

// CountJobs counts assemblies by their stage: four commands.
func (a *Assemblies) CountJobs(ctx context.Context) (map[job.Stage]int64, error) {
	return storage.CountJobs(ctx, a.collection, "due")
}

// Unasked names the assemblies whose package is ready and was last asked for before a time in Unix
// seconds, at most limit.
func (a *Assemblies) Unasked(ctx context.Context, before float64, limit int) ([]string, error) {
	found, _, err := a.collection.FindFields(ctx, storage.Query{
		Index: "asked", From: &storage.Bound{Value: 0.0}, To: &storage.Bound{Value: before}, Limit: limit,
	})
	ids := make([]string, 0, len(found))
	for _, record := range found {
		ids = append(ids, record.ID)
	}
	return ids, err
}

// Replaced returns the assemblies that replaced a package before a time in Unix seconds, at most
// limit.
func (a *Assemblies) Replaced(ctx context.Context, before float64, limit int) ([]audit.Assembly, error) {
	found, _, err := a.collection.Find(ctx, storage.Query{
		Index: "replaced", From: &storage.Bound{Value: 0.0}, To: &storage.Bound{Value: before}, Limit: limit,
	})
	return found, err
}
