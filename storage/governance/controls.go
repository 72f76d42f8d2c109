package governance

import (
	"context"
	"errors"
	"net/url"

	"attestry/evidence"
	"attestry/evidence/control"
	"attestry/storage"
)

var (
	controlSchema        = storage.NewSchema("controls", storage.Index{Name: "identifier", Fields: []string{"org", "identifier"}})
	controlVersionSchema = storage.NewSchema("control_versions", storage.Index{Name: "control", Fields: []string{"org", "control", "version"}})
)

// Controls keeps controls and their versions. A change is committed by storing its version. The control is updated
// after it, or, if a crash comes in between, with the next change.
type Controls struct {
	controls storage.Collection[control.Control]
	versions storage.Collection[control.Version]
}

// NewControls binds the repository to an engine.
func NewControls(docs storage.Documents) *Controls {
	return &Controls{
		controls: storage.NewCollection(docs, controlSchema,
			func(c *control.Control) string { return controlID(c.Org, c.Identifier) },
			func(c *control.Control) map[string]any {
				return map[string]any{"org": c.Org, "identifier": c.Identifier}
			}),
		versions: storage.NewCollection(docs, controlVersionSchema,
			func(v *control.Version) string { return versionID(v.Org, url.PathEscape(v.Control), v.Version) },
			func(v *control.Version) map[string]any {
				return map[string]any{"org": v.Org, "control": v.Control, "version": int64(v.Version)}
			}),
	}
}

func controlID(org, identifier string) string { return org + "/" + url.PathEscape(identifier) }

// Create stores a new control as its version 1. ErrExists means that a control, maybe an archived one, has the
// identifier.
func (c *Controls) Create(ctx context.Context, fresh control.Control) (control.Control, error) {
	fresh.Version = 0
	version, _ := fresh.Next(control.Change{}, fresh.CreatedBy, fresh.CreatedAt)
	version.Status = control.Created
	fresh.Follow(&version)
	err := c.versions.Insert(ctx, version)
	if errors.Is(err, storage.ErrExists) {
		// The control may be missing if an earlier process was killed here.
		_, err = c.Get(ctx, fresh.Org, fresh.Identifier)
		if err == nil {
			err = storage.ErrExists
		}
		return fresh, err
	}
	if err != nil {
		return fresh, err
	}
	return fresh, c.controls.Add(ctx, fresh)
}

// Change applies a change to a control and returns it, or ErrNotFound. One that changes nothing makes no version.
func (c *Controls) Change(ctx context.Context, org, identifier string, change control.Change, by string, at float64) (control.Control, error) {
	current, err := c.Get(ctx, org, identifier)
	for range versionAttempts {
		if err != nil {
			return current, err
		}
		next, ok := current.Next(change, by, at)
		if !ok {
			return current, nil
		}
		err = c.versions.Insert(ctx, next)
		if err == nil {
			return c.updateControl(ctx, &next)
		}
		if !errors.Is(err, storage.ErrExists) {
			return current, err
		}
		if next, err = c.Version(ctx, org, identifier, next.Version); err == nil {
			current, err = c.updateControl(ctx, &next)
		}
	}
	return current, evidence.Errorf(evidence.Conflict,
		"Control '%s' is being changed by many requests at once, please try again", identifier)
}

func (c *Controls) updateControl(ctx context.Context, version *control.Version) (control.Control, error) {
	return c.controls.Update(ctx, controlID(version.Org, version.Control), storage.WithoutError(func(current *control.Control) {
		current.Follow(version)
	}))
}

// Get returns a control, or ErrNotFound. It completes an interrupted creation.
func (c *Controls) Get(ctx context.Context, org, identifier string) (control.Control, error) {
	found, err := c.controls.Get(ctx, controlID(org, identifier))
	if !errors.Is(err, storage.ErrNotFound) {
		return found, err
	}
	first, err := c.Version(ctx, org, identifier, 1)
	if err != nil {
		return control.Control{}, err
	}
	created := control.Control{Org: org, Identifier: identifier, CreatedBy: first.CreatedBy, CreatedAt: first.CreatedAt}
	created.Follow(&first)
	return storage.Ensure(ctx, c.controls, created)
}

// GetMany returns the controls that exist among identifiers, by identifier: one command per MaxMany.
func (c *Controls) GetMany(ctx context.Context, org string, identifiers []string) (map[string]control.Control, error) {
	ids := evidence.Map(evidence.Distinct(identifiers), func(identifier string) string { return controlID(org, identifier) })
	found, err := c.controls.GetMany(ctx, ids)
	return evidence.ByKey(found, func(one *control.Control) string { return one.Identifier }), err
}

// List returns the controls of an organization by identifier: one command per MaxMany.
func (c *Controls) List(ctx context.Context, org string) ([]control.Control, error) {
	return storage.FindAll(ctx, c.controls, storage.Query{Index: "identifier", Equal: []any{org}, Limit: storage.Unlimited})
}

// Version returns a version of a control, or ErrNotFound.
func (c *Controls) Version(ctx context.Context, org, identifier string, version int) (control.Version, error) {
	return c.versions.Get(ctx, versionID(org, url.PathEscape(identifier), version))
}

// Versions returns a page of the versions of a control, by number.
func (c *Controls) Versions(ctx context.Context, of *control.Control, descending bool, offset, limit int) ([]control.Version, error) {
	return storage.FindAll(ctx, c.versions, storage.Query{
		Index: "control", Equal: []any{of.Org, of.Identifier}, To: &storage.Bound{Value: int64(of.Version)},
		Descending: descending, Offset: offset, Limit: limit,
	})
}

// LatestVersion returns the number of a control's latest version, 0 if the control does not exist: one command.
func (c *Controls) LatestVersion(ctx context.Context, org, identifier string) (int, error) {
	found, err := c.controls.Get(ctx, controlID(org, identifier))
	return found.Version, storage.IgnoreMissing(err)
}

// SetTags removes and sets tags of a control, or returns ErrNotFound. It makes no version.
func (c *Controls) SetTags(ctx context.Context, org, identifier string, set map[string]string, remove []string) error {
	_, err := c.controls.Update(ctx, controlID(org, identifier), func(current *control.Control) (err error) {
		current.Tags, err = evidence.ChangeTags(current.Tags, set, remove)
		return err
	})
	return err
}

// Schemas declares the collections of this package.
func Schemas() []*storage.Schema {
	return []*storage.Schema{policySchema, policyVersionSchema, controlSchema, controlVersionSchema, approvalSchema, periodSchema, frameworkSchema, peopleSchema}
}
