package pipelines

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"attestry/evidence"
	"attestry/evidence/attestation"
	"attestry/storage"
	"attestry/storage/cache"
)

const (
	// maxInlineSchema is the largest JSON Schema kept in its version's document; larger ones are objects.
	maxInlineSchema = 64 << 10
	// maxDefinitionBytes bounds the definitions in memory, by the size of their sources.
	maxDefinitionBytes = 16 << 20
	// definitionOverhead is the size of an empty definition.
	definitionOverhead = 1 << 10
	// versionAttempts bounds how many numbers are tried for a version: one for each that is made at the same time.
	versionAttempts = 1000
)

var (
	attestationTypeSchema = storage.NewSchema("attestation_types",
		storage.Index{Name: "created", Fields: []string{"org", "created"}})
	attestationTypeVersionSchema = storage.NewSchema("attestation_type_versions",
		storage.Index{Name: "name", Fields: []string{"org", "name", "version"}})
)

// AttestationTypeHistory is a custom type with its versions, newest first. Large schemas are left to LoadSchema.
type AttestationTypeHistory struct {
	evidence.AttestationType
	Versions *storage.Batches[evidence.AttestationTypeVersion]
}

// AttestationTypes keeps custom attestation types. A version is stored before its type's head. One above the head's
// latest was never acknowledged; it becomes visible with the next version.
type AttestationTypes struct {
	heads       storage.Collection[evidence.AttestationType]
	versions    storage.Collection[evidence.AttestationTypeVersion]
	objects     storage.Objects
	definitions cache.LRU[attestation.Definition]
}

// NewAttestationTypes binds the repository to an engine.
func NewAttestationTypes(docs storage.Documents, objects storage.Objects) *AttestationTypes {
	return &AttestationTypes{
		objects:     objects,
		definitions: cache.NewLRU[attestation.Definition](maxDefinitionBytes),
		heads: storage.NewCollection(docs, attestationTypeSchema,
			func(t *evidence.AttestationType) string { return idIn(t.Org, t.Name) },
			func(t *evidence.AttestationType) map[string]any {
				return map[string]any{"org": t.Org, "created": t.CreatedAt}
			}),
		versions: storage.NewCollection(docs, attestationTypeVersionSchema,
			func(v *evidence.AttestationTypeVersion) string {
				return attestationTypeVersionID(v.Org, v.Name, v.Version)
			},
			func(v *evidence.AttestationTypeVersion) map[string]any {
				return map[string]any{"org": v.Org, "name": v.Name, "version": int64(v.Version)}
			}),
	}
}

func attestationTypeVersionID(org, name string, version int) string {
	return idIn(org, name) + "/" + strconv.Itoa(version)
}

// Put stores the next version of a type, which it makes or revives if need be, and returns the version's number.
// Concurrent ones get numbers of their own. The definition must be one that compiles.
func (a *AttestationTypes) Put(ctx context.Context, fresh evidence.AttestationTypeVersion) (int, error) {
	head, err := a.Head(ctx, fresh.Org, fresh.Name)
	if storage.IgnoreMissing(err) != nil {
		return 0, err
	}
	if err := a.moveSchema(ctx, &fresh); err != nil {
		return 0, err
	}
	if fresh.Version, err = a.insertVersion(ctx, fresh, head.Latest+1); err != nil {
		return 0, err
	}
	return fresh.Version, a.updateHead(ctx, fresh)
}

// moveSchema stores a large schema as an object.
func (a *AttestationTypes) moveSchema(ctx context.Context, fresh *evidence.AttestationTypeVersion) error {
	if len(fresh.Schema) <= maxInlineSchema {
		return nil
	}
	object, err := a.objects.Put(ctx, fresh.Org, bytes.NewReader(fresh.Schema), int64(len(fresh.Schema)))
	if err != nil {
		return fmt.Errorf("store the schema of an attestation type: %w", err)
	}
	fresh.Schema, fresh.SchemaObject = nil, object.Key
	return nil
}

// insertVersion stores a version under the first free number from the given one on.
func (a *AttestationTypes) insertVersion(ctx context.Context, fresh evidence.AttestationTypeVersion, number int) (int, error) {
	for range versionAttempts {
		fresh.Version = number
		err := a.versions.Insert(ctx, fresh)
		if !errors.Is(err, storage.ErrExists) {
			return number, err
		}
		number++
	}
	return 0, evidence.Errorf(evidence.Conflict,
		"Custom attestation type '%s' is being changed by many requests at once, please try again", fresh.Name)
}

func (a *AttestationTypes) updateHead(ctx context.Context, fresh evidence.AttestationTypeVersion) error {
	made := evidence.AttestationType{Org: fresh.Org, Name: fresh.Name, CreatedBy: fresh.CreatedBy, CreatedAt: fresh.Timestamp}
	_, err := storage.Upsert(ctx, a.heads, made, storage.WithoutError(func(head *evidence.AttestationType) {
		if fresh.Version > head.Latest {
			head.Latest, head.Description, head.Archived = fresh.Version, fresh.Description, false
			head.LastModifiedAt = max(head.LastModifiedAt, fresh.Timestamp)
		}
	}))
	return err
}

// Head returns a type without its versions, an archived one too, or ErrNotFound.
func (a *AttestationTypes) Head(ctx context.Context, org, name string) (evidence.AttestationType, error) {
	return a.heads.Get(ctx, idIn(org, name))
}

// Get returns a type, or ErrNotFound: one command, and one more per MaxMany versions.
func (a *AttestationTypes) Get(ctx context.Context, org, name string) (AttestationTypeHistory, error) {
	head, err := a.Head(ctx, org, name)
	return AttestationTypeHistory{AttestationType: head, Versions: a.versionsOf(&head)}, err
}

func (a *AttestationTypes) versionsOf(head *evidence.AttestationType) *storage.Batches[evidence.AttestationTypeVersion] {
	return storage.QueryBatches(a.versions, storage.Query{
		Index: "name", Equal: []any{head.Org, head.Name}, To: &storage.Bound{Value: int64(head.Latest)}, Descending: true, Limit: storage.Unlimited,
	})
}

// Version returns one version of a type, or ErrNotFound.
func (a *AttestationTypes) Version(ctx context.Context, head evidence.AttestationType, number int) (evidence.AttestationTypeVersion, error) {
	if number < 1 || number > head.Latest {
		return evidence.AttestationTypeVersion{}, storage.ErrNotFound
	}
	version, err := a.versions.Get(ctx, attestationTypeVersionID(head.Org, head.Name, number))
	if err != nil {
		return version, err
	}
	return version, a.LoadSchema(ctx, &version)
}

// List reads all types of an organization in the order they were made, archived ones too: one command per MaxMany
// types, and one for all versions. If these exceed a batch, there is one command for each type instead.
func (a *AttestationTypes) List(org string) *storage.Batches[AttestationTypeHistory] {
	heads := storage.QueryBatches(a.heads, storage.Query{Index: "created", Equal: []any{org}, Limit: storage.Unlimited})
	versions := storage.Query{Index: "name", Equal: []any{org}, Descending: true}
	nameOf := func(v *evidence.AttestationTypeVersion) string { return v.Name }
	return storage.JoinVersions(heads, a.versions, versions, nameOf, func(head *evidence.AttestationType, all map[string][]evidence.AttestationTypeVersion) AttestationTypeHistory {
		if all == nil {
			return AttestationTypeHistory{AttestationType: *head, Versions: a.versionsOf(head)}
		}
		acknowledged := slices.DeleteFunc(all[head.Name], func(v evidence.AttestationTypeVersion) bool { return v.Version > head.Latest })
		return AttestationTypeHistory{AttestationType: *head, Versions: storage.SingleBatch(acknowledged)}
	})
}

// LoadSchema reads a large schema from its object.
func (a *AttestationTypes) LoadSchema(ctx context.Context, version *evidence.AttestationTypeVersion) error {
	if version.SchemaObject == "" {
		return nil
	}
	lost := func(cause error) error {
		return storage.Damaged(fmt.Sprintf("The schema of version %d of attestation type '%s' is damaged or lost", version.Version, version.Name), cause)
	}
	content, err := storage.ReadObject(ctx, a.objects, version.SchemaObject, "the schema of an attestation type", lost)
	version.Schema = json.RawMessage(content)
	return err
}

// Archive marks a type as archived, or returns ErrNotFound. Doing so again changes nothing.
func (a *AttestationTypes) Archive(ctx context.Context, org, name string, now float64) error {
	_, err := a.heads.Update(ctx, idIn(org, name), func(head *evidence.AttestationType) error {
		if !head.Archived {
			head.Archived, head.LastModifiedAt = true, max(head.LastModifiedAt, now)
		}
		return nil
	})
	return err
}

// Current returns a type, an archived one too, the number of its latest version, and its definition, or ErrNotFound. It
// takes one command, and one more if the version is not in memory.
func (a *AttestationTypes) Current(ctx context.Context, org, name string) (evidence.AttestationType, int, attestation.Definition, error) {
	head, err := a.Head(ctx, org, name)
	if err != nil {
		return head, 0, attestation.Definition{}, err
	}
	key := attestationTypeVersionID(org, name, head.Latest)
	if definition, ok := a.definitions.Get(key); ok {
		return head, head.Latest, definition, nil
	}
	version, err := a.Version(ctx, head, head.Latest)
	if errors.Is(err, storage.ErrNotFound) {
		return head, 0, attestation.Definition{}, storage.Damaged(fmt.Sprintf("Version %d of attestation type '%s' is lost", head.Latest, name), err)
	}
	if err != nil {
		return head, 0, attestation.Definition{}, err
	}
	definition := attestation.Definition{Schema: version.Schema, Rules: version.Rules()}
	a.definitions.Put(key, definition, sizeOf(definition))
	return head, head.Latest, definition, nil
}

func sizeOf(definition attestation.Definition) int {
	size := definitionOverhead + len(definition.Schema)
	for _, rule := range definition.Rules {
		size += definitionOverhead + len(rule)
	}
	return size
}
