// Package logs keeps the transparency logs of organizations: a leaf for every fact, and the logs that the leaves have
// their places in.
package logs

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"

	"attestry/evidence/translog"
	"attestry/storage"
	"attestry/storage/cache"
)

// Log is the state of the log of an organization.
type Log struct {
	Org string `json:"org"` // id
	// Origin names the log in checkpoints.
	Origin string `json:"origin"`
	// Secret is what the salts of groups follow from.
	Secret []byte        `json:"secret"`
	Tree   translog.Tree `json:"tree"`
	// Checkpoint is the last one, a signed note, "" before the first. Signed is the size that it is for, and SignedAt when
	// it was signed, in Unix seconds.
	Checkpoint string  `json:"checkpoint,omitempty"`
	Signed     int64   `json:"signed,omitempty"`
	SignedAt   float64 `json:"signed_at,omitempty"`
	// Verifiers are the public keys of the last checkpoint, name+hash+key.
	Verifiers []string `json:"verifiers,omitempty"`
	// Due is when the next checkpoint is due, in Unix seconds; 0 if nothing has changed since the last one.
	Due float64 `json:"due,omitempty"`
	// CosignAt is when witnesses are to be asked for cosignatures of the last checkpoint, in Unix seconds; 0 if all have
	// given theirs. Witnesses is what is known of each, by its name.
	CosignAt  float64            `json:"cosign_at,omitempty"`
	Witnesses map[string]Witness `json:"witnesses,omitempty"`
	// Generation is how many logs the organization had before this one, and Continues the last checkpoint that was kept of
	// the one before it, a signed note.
	Generation int    `json:"generation,omitempty"`
	Continues  string `json:"continues,omitempty"`
}

func (l *Log) fields() map[string]any {
	fields := map[string]any{}
	if l.Due != 0 {
		fields["due"] = l.Due
	}
	if l.CosignAt != 0 {
		fields["cosign"] = l.CosignAt
	}
	return fields
}

// block says which leaves have the places behind First. Inserting it gives them these places.
type block struct {
	Org    string   `json:"org"`
	First  int64    `json:"first"`
	Leaves []string `json:"leaves"` // names
}

// Checkpoint is a checkpoint that was published.
type Checkpoint struct {
	Org  string  `json:"org"`
	Size int64   `json:"size"`
	Note string  `json:"note"`
	At   float64 `json:"at"` // Unix seconds
}

// part is a full tile or bundle, which is an object.
type part struct {
	Org    string `json:"org"`
	Path   string `json:"path"`
	Object string `json:"object"` // key
}

var (
	logSchema = &storage.Schema{
		Name:    "logs",
		Fields:  []string{"due", "cosign"},
		Indexes: []storage.Index{{Name: "due", Fields: []string{"due"}, Required: "due"}, cosignIndex},
	}
	blockSchema = &storage.Schema{
		Name:    "log_blocks",
		Fields:  []string{"org", "first"},
		Indexes: []storage.Index{{Name: "first", Fields: []string{"org", "first"}}},
	}
	checkpointSchema = &storage.Schema{
		Name:    "log_checkpoints",
		Fields:  []string{"org", "size"},
		Indexes: []storage.Index{{Name: "size", Fields: []string{"org", "size"}}},
	}
	partSchema = &storage.Schema{Name: "log_tiles"}
)

// Schemas declares the collections of this package.
func Schemas() []*storage.Schema {
	return []*storage.Schema{leafSchema, logSchema, blockSchema, checkpointSchema, partSchema, progressSchema}
}

// LeafSchemas are the collections that change when something is to be logged.
func LeafSchemas() []*storage.Schema { return []*storage.Schema{leafSchema} }

// StateSchemas are the collections that change when a checkpoint is signed.
func StateSchemas() []*storage.Schema { return []*storage.Schema{logSchema} }

// maxCachedParts bounds the tiles and bundles that are kept in memory, in bytes.
const maxCachedParts = 4 << 20

// Logs keeps the logs of all organizations.
type Logs struct {
	docs        storage.Documents
	objects     storage.Objects
	leaves      storage.Collection[Leaf]
	logs        storage.Collection[Log]
	blocks      storage.Collection[block]
	checkpoints storage.Collection[Checkpoint]
	parts       storage.Collection[part]
	progress    storage.Collection[progress]
	cached      cache.LRU[[]byte]
	halted      sync.Map // why logs are not continued, by their organizations
}

// New binds the repository to engines.
func New(docs storage.Documents, objects storage.Objects) *Logs {
	return &Logs{
		docs: docs, objects: objects, cached: cache.NewLRU[[]byte](maxCachedParts),
		leaves: storage.NewCollection(docs, leafSchema, (*Leaf).key, (*Leaf).fields),
		logs:   storage.NewCollection(docs, logSchema, func(l *Log) string { return l.Org }, (*Log).fields),
		blocks: storage.NewCollection(docs, blockSchema,
			func(b *block) string { return numbered(b.Org, b.First) },
			func(b *block) map[string]any { return map[string]any{"org": b.Org, "first": b.First} }),
		checkpoints: storage.NewCollection(docs, checkpointSchema,
			func(c *Checkpoint) string { return numbered(c.Org, c.Size) },
			func(c *Checkpoint) map[string]any { return map[string]any{"org": c.Org, "size": c.Size} }),
		parts:    storage.NewCollection(docs, partSchema, func(p *part) string { return p.Org + "/" + p.Path }, nil),
		progress: storage.NewCollection(docs, progressSchema, func(p *progress) string { return p.Collection }, nil),
	}
}

func numbered(org string, number int64) string { return fmt.Sprintf("%s/%d", org, number) }

// Get returns the log of an organization, or storage.ErrNotFound.
func (l *Logs) Get(ctx context.Context, org string) (Log, error) { return l.logs.Get(ctx, org) }

// GetVersioned is Get with the revision, for Commit.
func (l *Logs) GetVersioned(ctx context.Context, org string) (storage.Versioned[Log], error) {
	return l.logs.GetVersioned(ctx, org)
}

// Begin makes the log of an organization, with an origin, unless there is one by now.
func (l *Logs) Begin(ctx context.Context, org, origin string) error {
	secret := make([]byte, translog.SaltSize)
	_, _ = rand.Read(secret) // never fails
	_, err := storage.Ensure(ctx, l.logs, org, Log{Org: org, Origin: origin, Secret: secret})
	return err
}

// Pending returns the leaves of an organization that have no place yet, those that were stored first, at most limit.
func (l *Logs) Pending(ctx context.Context, org string, limit int) ([]Leaf, error) {
	found, _, err := l.leaves.Find(ctx, storage.Query{Index: "pending", Equal: []any{org}, Limit: limit})
	return found, err
}

// Leaf returns the leaf of a fact, or storage.ErrNotFound.
func (l *Logs) Leaf(ctx context.Context, org, kind, id string) (Leaf, error) {
	return l.leaves.Get(ctx, leafKey(org, leafName(kind, id)))
}

// Placed returns the leaves that have the places from first on, as a block that was stored gives them; none if nobody has
// stored one. All of them have their places when it returns, also if a process was killed before it had noted them.
func (l *Logs) Placed(ctx context.Context, org string, first int64) ([]Leaf, error) {
	found, err := l.blocks.Get(ctx, numbered(org, first))
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	leaves, err := l.leavesOf(ctx, &found)
	if err != nil {
		return nil, err
	}
	batch := &storage.Batch{}
	for i := range leaves {
		leaves[i].Index = first + int64(i) + 1
	}
	l.leaves.PutIn(batch, leaves...)
	return leaves, batch.Write(ctx, l.docs)
}

func (l *Logs) leavesOf(ctx context.Context, of *block) ([]Leaf, error) {
	leaves, err := l.leaves.GetMany(ctx, storage.IDs(of.Leaves, func(name string) string { return leafKey(of.Org, name) }))
	if err == nil && len(leaves) < len(of.Leaves) {
		err = storage.Damaged(fmt.Sprintf("Entries of the log behind entry %d are lost", of.First), storage.ErrNotFound)
	}
	return leaves, err
}

// Place gives leaves the places from first on with one command. ErrExists means that others have got them.
func (l *Logs) Place(ctx context.Context, org string, first int64, leaves []Leaf) error {
	placed := block{Org: org, First: first}
	for i := range leaves {
		leaves[i].Index = first + int64(i) + 1
		placed.Leaves = append(placed.Leaves, leaves[i].name())
	}
	batch := &storage.Batch{}
	l.blocks.InsertIn(batch, &placed)
	l.leaves.PutIn(batch, leaves...)
	return batch.Write(ctx, l.docs)
}

// Entries returns the entries of a log from one place to before another, which are in one bundle.
func (l *Logs) Entries(ctx context.Context, log *Log, from, to int64) ([][]byte, error) {
	blocks, _, err := l.blocks.Find(ctx, storage.Query{
		Index: "first", Equal: []any{log.Org}, From: &storage.Bound{Value: from}, To: &storage.Bound{Value: to, Exclusive: true}, Limit: translog.Width,
	})
	if err != nil {
		return nil, err
	}
	var all block
	for _, one := range blocks {
		all.Leaves = append(all.Leaves, one.Leaves...)
	}
	all.Org, all.First = log.Org, from
	if int64(len(all.Leaves)) < to-from {
		return nil, storage.Damaged(fmt.Sprintf("Entries of the log behind entry %d are lost", from), storage.ErrNotFound)
	}
	all.Leaves = all.Leaves[:to-from]
	leaves, err := l.leavesOf(ctx, &all)
	texts := make([][]byte, 0, len(leaves))
	for i := range leaves {
		texts = append(texts, leaves[i].Entry(log.Secret).Text())
	}
	return texts, err
}

// Object is a full tile or bundle that is stored.
type Object struct {
	translog.Part
	Key string
}

// PutPart stores the content of a full tile or bundle. It is found once Commit was told of it.
func (l *Logs) PutPart(ctx context.Context, org string, of translog.Part, content []byte) (Object, error) {
	if of.Level == translog.Entries {
		content = compressed(content)
	}
	stored, err := l.objects.Put(ctx, org, bytes.NewReader(content), int64(len(content)))
	return Object{Part: of, Key: stored.Key}, err
}

// compressed is a bundle as it is stored: half of it are hexadecimal digits.
func compressed(content []byte) []byte {
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	_, _ = writer.Write(content) // a buffer takes all
	_ = writer.Close()
	return buffer.Bytes()
}

// Commit replaces the state of a log that is at a revision, together with its new parts and, if it was signed anew, the
// checkpoint. It returns the new revision, or storage.ErrMoved.
func (l *Logs) Commit(ctx context.Context, log *Log, revision int64, parts []Object, checkpoint *Checkpoint) (int64, error) {
	batch := &storage.Batch{}
	for _, one := range parts {
		l.parts.PutIn(batch, part{Org: log.Org, Path: one.Path(), Object: one.Key})
	}
	if checkpoint != nil {
		l.checkpoints.AddIn(batch, *checkpoint)
	}
	next := l.logs.ReplaceIn(batch, log, revision)
	return next, batch.Write(ctx, l.docs)
}

// Part returns the content of a part of a log, which must be within its tree.
func (l *Logs) Part(ctx context.Context, log *Log, asked translog.Part) ([]byte, error) {
	full := asked.Full()
	if full.Within(log.Tree.Size) {
		content, err := l.fullPart(ctx, log.Org, full)
		if err != nil || asked.Width == translog.Width {
			return content, err
		}
		return beginning(content, asked)
	}
	if asked.Level == translog.Entries {
		from := asked.Number * translog.Width
		texts, err := l.Entries(ctx, log, from, from+int64(asked.Width))
		return translog.Bundle(texts), err
	}
	return log.Tree.Edge[asked.Level][:asked.Width*translog.HashSize], nil
}

func beginning(content []byte, asked translog.Part) ([]byte, error) {
	if asked.Level != translog.Entries {
		return content[:asked.Width*translog.HashSize], nil
	}
	texts, err := translog.ReadBundle(content, asked.Width)
	return translog.Bundle(texts), err
}

func (l *Logs) fullPart(ctx context.Context, org string, of translog.Part) ([]byte, error) {
	path := of.Path()
	if content, ok := l.cached.Get(org + "/" + path); ok {
		return content, nil
	}
	content, err := l.readPart(ctx, org, path)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, storage.Damaged("The part "+path+" of the log is lost", err)
	}
	if err == nil && of.Level == translog.Entries {
		content, err = uncompressed(content)
	}
	if err == nil {
		l.cached.Put(org+"/"+path, content, len(content))
	}
	return content, err
}

func (l *Logs) readPart(ctx context.Context, org, path string) ([]byte, error) {
	found, err := l.parts.Get(ctx, org+"/"+path)
	if err != nil {
		return nil, err
	}
	return l.readObject(ctx, found.Object)
}

func (l *Logs) readObject(ctx context.Context, key string) ([]byte, error) {
	reader, err := l.objects.Get(ctx, key, 0, -1)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	return io.ReadAll(reader)
}

func uncompressed(content []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}
