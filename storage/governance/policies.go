// Package governance has the repositories of policies, controls, frameworks, approvals, audited periods and people.
package governance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"attestry/evidence"
	"attestry/evidence/policy"
	"attestry/storage"
	"attestry/storage/cache"
)

const (
	// maxCachedPolicies bounds the cache by the size of files and patterns; parsed policies are several times larger.
	maxCachedPolicies = 8 << 20
	// policyOverhead is the size of a policy without its file, in bytes.
	policyOverhead = 1 << 10
	// versionAttempts bounds how many numbers are tried for a version: one for each that is made at the same time.
	versionAttempts = 1000
)

var (
	policySchema        = storage.NewSchema("policies", storage.Index{Name: "name", Fields: []string{"org", "name"}})
	policyVersionSchema = storage.NewSchema("policy_versions", storage.Index{Name: "policy", Fields: []string{"org", "policy", "version"}})
)

// Policies keeps policies and their versions. A version is stored before its policy's head. One above the head's latest
// was never acknowledged; it becomes visible when it is sent again or the next version is made.
type Policies struct {
	heads    storage.Collection[policy.Head]
	versions storage.Collection[policy.Version]
	parsed   cache.LRU[*policy.Policy]
}

// NewPolicies binds the repository to an engine.
func NewPolicies(docs storage.Documents) *Policies {
	return &Policies{
		parsed: cache.NewLRU[*policy.Policy](maxCachedPolicies),
		heads: storage.NewCollection(docs, policySchema,
			func(h *policy.Head) string { return policyID(h.Org, h.Name) },
			func(h *policy.Head) map[string]any { return map[string]any{"org": h.Org, "name": h.Name} }),
		versions: storage.NewCollection(docs, policyVersionSchema,
			func(v *policy.Version) string { return versionID(v.Org, v.Policy, v.Version) },
			func(v *policy.Version) map[string]any {
				return map[string]any{"org": v.Org, "policy": v.Policy, "version": int64(v.Version)}
			}),
	}
}

func policyID(org, name string) string { return org + "/" + name }

// versionID is the id of a version of what has a name in an organization.
func versionID(org, name string, version int) string {
	return org + "/" + name + "/" + strconv.Itoa(version)
}

// Change is a requested change of a policy.
type Change struct {
	Org, Name, Description string
	// By is the name of the sender, At the time in Unix seconds.
	By string
	At float64
	// Content is the file, nil to keep that of an existing policy, and Comment is what the sender says about it.
	Content []byte
	Comment string
	// Controls are those that the file names.
	Controls []string
}

// Put creates or changes the policy of a name. A file that differs from the latest version becomes the next one.
// ErrNotFound means that there is neither a policy nor a file.
func (p *Policies) Put(ctx context.Context, change Change) (created bool, err error) {
	head, err := p.Get(ctx, change.Org, change.Name)
	if err != nil && (!errors.Is(err, storage.ErrNotFound) || change.Content == nil) {
		return false, err
	}
	change.At = max(change.At, head.LastModifiedAt)
	number := 0
	if change.Content != nil && evidence.SHA256(change.Content) != head.Sum {
		if number, err = p.insertVersion(ctx, change, head.Latest+1); err != nil {
			return false, err
		}
	}
	fresh := policy.Head{
		ID: evidence.NewID(), Org: change.Org, Name: change.Name, Description: change.Description,
		CreatedBy: change.By, CreatedAt: change.At, LastModifiedAt: change.At,
	}
	stored, err := storage.Upsert(ctx, p.heads, fresh, storage.WithoutError(func(head *policy.Head) {
		head.Describe(change.Description, change.By, change.At)
		if number > head.Latest {
			head.Latest, head.Sum, head.Controls = number, evidence.SHA256(change.Content), change.Controls
			head.LastModifiedAt = max(head.LastModifiedAt, change.At)
		}
	}))
	return err == nil && stored.ID == fresh.ID, err
}

// insertVersion stores a version under the first free number from the given one on. If it meets a version with the same
// content, it returns that one, which an earlier request has stored without updating the head.
func (p *Policies) insertVersion(ctx context.Context, change Change, number int) (int, error) {
	version := policy.Version{
		Org: change.Org, Policy: change.Name, Comment: change.Comment,
		CreatedBy: change.By, CreatedAt: change.At, Content: change.Content,
	}
	for range versionAttempts {
		version.Version = number
		err := p.versions.Insert(ctx, version)
		if !errors.Is(err, storage.ErrExists) {
			return number, err
		}
		taken, err := p.versions.Get(ctx, versionID(change.Org, change.Name, number))
		if err != nil || bytes.Equal(taken.Content, change.Content) {
			return number, err
		}
		number++
	}
	return 0, evidence.Errorf(evidence.Conflict, "Policy '%s' is being changed by many requests at once, please try again", change.Name)
}

// Get returns a policy without its versions, or ErrNotFound.
func (p *Policies) Get(ctx context.Context, org, name string) (policy.Head, error) {
	return p.heads.Get(ctx, policyID(org, name))
}

// GetMany returns the policies that exist among names, by name: one command per MaxMany.
func (p *Policies) GetMany(ctx context.Context, org string, names []string) (map[string]policy.Head, error) {
	found, err := p.heads.GetMany(ctx, evidence.Map(evidence.Distinct(names), func(name string) string { return policyID(org, name) }))
	return evidence.ByKey(found, func(head *policy.Head) string { return head.Name }), err
}

// List returns the policies of an organization by name: one command per MaxMany.
func (p *Policies) List(ctx context.Context, org string) ([]policy.Head, error) {
	return storage.FindAll(ctx, p.heads, storage.Query{Index: "name", Equal: []any{org}, Limit: storage.Unlimited})
}

// History is a policy with its versions, oldest first.
type History struct {
	policy.Head
	Versions *storage.Batches[policy.Version]
}

// History returns a policy with its versions, or ErrNotFound: one command, and one more per batch of versions.
func (p *Policies) History(ctx context.Context, org, name string) (History, error) {
	head, err := p.Get(ctx, org, name)
	return History{Head: head, Versions: p.versionsOf(&head)}, err
}

// Histories reads the policies of an organization by name, with their versions: one command per batch of policies, and
// one for all versions. If these exceed a batch, there is one command for each policy instead.
func (p *Policies) Histories(org string) *storage.Batches[History] {
	heads := storage.QueryBatches(p.heads, storage.Query{Index: "name", Equal: []any{org}, Limit: storage.Unlimited})
	versions := storage.Query{Index: "policy", Equal: []any{org}}
	return storage.JoinVersions(heads, p.versions, versions, func(v *policy.Version) string { return v.Policy }, func(head *policy.Head, all map[string][]policy.Version) History {
		if all == nil {
			return History{Head: *head, Versions: p.versionsOf(head)}
		}
		acknowledged := slices.DeleteFunc(all[head.Name], func(v policy.Version) bool { return v.Version > head.Latest })
		return History{Head: *head, Versions: storage.SingleBatch(acknowledged)}
	})
}

func (p *Policies) versionsOf(head *policy.Head) *storage.Batches[policy.Version] {
	return storage.QueryBatches(p.versions, storage.Query{
		Index: "policy", Equal: []any{head.Org, head.Name}, To: &storage.Bound{Value: int64(head.Latest)}, Limit: storage.Unlimited,
	})
}

// Latest returns the policies that exist among names in their latest versions, in that order: two commands, or one if
// all are cached.
func (p *Policies) Latest(ctx context.Context, org string, names []string) ([]policy.Applied, error) {
	if len(names) == 0 {
		return nil, nil
	}
	heads, err := p.GetMany(ctx, org, names)
	if err != nil {
		return nil, err
	}
	var references []policy.Reference
	for _, name := range names {
		if head, ok := heads[name]; ok {
			references = append(references, policy.Reference{ID: head.ID, Name: name, Version: head.Latest})
		}
	}
	return p.Applied(ctx, org, references)
}

// Applied returns versions of policies, parsed, in the order of references: one command per MaxMany of those not in
// memory. A version that cannot be read is Damaged. The policies are shared, and must not be changed.
func (p *Policies) Applied(ctx context.Context, org string, references []policy.Reference) ([]policy.Applied, error) {
	applied := make([]policy.Applied, 0, len(references))
	var missing []string
	for _, reference := range references {
		parsed, _ := p.parsed.Get(versionID(org, reference.Name, reference.Version))
		if parsed == nil {
			missing = append(missing, versionID(org, reference.Name, reference.Version))
		}
		applied = append(applied, policy.Applied{Reference: reference, Policy: parsed})
	}
	found, err := p.read(ctx, evidence.Distinct(missing))
	if err != nil {
		return nil, err
	}
	for i := range applied {
		one := &applied[i]
		if one.Policy == nil {
			one.Policy = found[versionID(org, one.Name, one.Version)]
		}
		if one.Policy == nil {
			return nil, damagedPolicy(one.Name, one.Version, storage.ErrNotFound)
		}
	}
	return applied, nil
}

// Files returns versions of policies with their files, in the order of references. A lost version is Damaged.
func (p *Policies) Files(ctx context.Context, org string, references []policy.Reference) ([]policy.Version, error) {
	ids := evidence.Map(references, func(of policy.Reference) string { return versionID(org, of.Name, of.Version) })
	found, err := p.versions.GetMany(ctx, ids)
	if err == nil && len(found) < len(ids) {
		for i, reference := range references {
			if i == len(found) || found[i].Policy != reference.Name || found[i].Version != reference.Version {
				return nil, damagedPolicy(reference.Name, reference.Version, storage.ErrNotFound)
			}
		}
	}
	return found, err
}

func (p *Policies) read(ctx context.Context, ids []string) (map[string]*policy.Policy, error) {
	versions, err := p.versions.GetMany(ctx, ids)
	if err != nil {
		return nil, err
	}
	read := make(map[string]*policy.Policy, len(versions))
	for _, version := range versions {
		parsed, err := policy.ParseStored(version.Content)
		if err != nil {
			return nil, damagedPolicy(version.Policy, version.Version, err)
		}
		id := versionID(version.Org, version.Policy, version.Version)
		read[id] = &parsed
		p.parsed.Put(id, &parsed, len(version.Content)+policyOverhead+parsed.PatternSize)
	}
	return read, nil
}

func damagedPolicy(name string, version int, cause error) error {
	return storage.Damaged(fmt.Sprintf("Version %d of policy '%s' is damaged or lost", version, name), cause)
}
