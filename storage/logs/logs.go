// Package logs keeps the transparency logs of organizations: a leaf for every fact, and the logs of these leaves.
package logs

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"

	"attestry/evidence"
	"attestry/evidence/translog"
	"attestry/storage"
	"attestry/storage/cache"
)

// Log is the state of the log of an organization.
type Log struct {
	Org string `json:"org"` // id
	// Origin names the log in checkpoints.
	Origin string `json:"origin"`
	// Secret is the key from which the salts of groups are derived.
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
	// CosignAt is when a witness is next to be asked to cosign the last checkpoint, in Unix seconds; 0 if all have
	// cosigned it. Witnesses has the state of each, by its name.
	CosignAt  float64            `json:"cosign_at,omitempty"`
	Witnesses map[string]Witness `json:"witnesses,omitempty"`
	// Generation is how many logs the organization had before this one, and Continues the last checkpoint of the
	// previous one in the object store, a signed note.
	Generation int    `json:"generation,omitempty"`
	Continues  string `json:"continues,omitempty"`
	// Restored says why checkpoints may have been published that the database lacks, "" if that is impossible.
	Restored string `json:"restored,omitempty"`
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

// block has the leaves with the indexes after First. Inserting it assigns them.
type block struct {
	Org    string `json:"org"`
	First  int64  `json:"first"`
	Leaves []Leaf `json:"leaves"`
}

// leaves returns the leaves with their indexes.
func (b *block) leaves() []Leaf {
	for i := range b.Leaves {
		b.Leaves[i].Index = b.First + int64(i) + 1
	}
	return b.Leaves
}

// location says which block contains the leaf of a name.
type location struct {
	Org   string `json:"org"`
	Name  string `json:"name"`
	First int64  `json:"first"`
}

// Checkpoint is a checkpoint that was published.
type Checkpoint struct {
	Org  string  `json:"org"`
	Size int64   `json:"size"`
	Note string  `json:"note"`
	At   float64 `json:"at"` // Unix seconds
}

// Part is a full tile or bundle, which is an object.
type Part struct {
	Org    string `json:"org"`
	Path   string `json:"path"`
	Object string `json:"object"` // key
}

// ObjectKeys returns the keys of the objects that the part names.
func (p *Part) ObjectKeys() []string { return []string{p.Object} }

var (
	// LogSchema changes when a checkpoint is signed.
	LogSchema = storage.NewSchema("log_states",
		storage.Index{Name: "due", Fields: []string{"due"}, Required: "due"}, cosignIndex)
	blockSchema = storage.NewSchema("log_entries", storage.Index{Name: "first", Fields: []string{"org", "first"}})
	// CheckpointSchema changes when a checkpoint is published.
	CheckpointSchema = storage.NewSchema("log_notes", storage.Index{Name: "size", Fields: []string{"org", "size"}})
	partSchema       = &storage.Schema{Name: "log_parts"}
	locationSchema   = &storage.Schema{Name: "log_places", Unconditional: true}
)

// Schemas declares the collections of this package.
func Schemas() []*storage.Schema {
	return []*storage.Schema{PendingSchema, versionSchema, locationSchema, LogSchema, blockSchema, CheckpointSchema, partSchema, progressSchema}
}

// maxCachedParts bounds the tiles and bundles that are kept in memory, in bytes.
const maxCachedParts = 4 << 20

// Logs keeps the logs of all organizations.
type Logs struct {
	storage.Collection[Log]
	docs        storage.Documents
	objects     storage.Objects
	pending     storage.Collection[Leaf]
	versions    storage.Collection[Leaf]
	locations   storage.Collection[location]
	blocks      storage.Collection[block]
	checkpoints storage.Collection[Checkpoint]
	parts       storage.Collection[Part]
	progress    storage.Collection[progress]
	cached      cache.LRU[[]byte]
	halted      sync.Map // why logs are not continued, by their organizations
}

// New binds the repository to engines.
func New(docs storage.Documents, objects storage.Objects) *Logs {
	return &Logs{
		docs: docs, objects: objects, cached: cache.NewLRU[[]byte](maxCachedParts),
		pending:    storage.NewCollection(docs, PendingSchema, (*Leaf).pendingKey, nil),
		versions:   storage.NewCollection(docs, versionSchema, (*Leaf).key, nil),
		locations:  storage.NewCollection(docs, locationSchema, func(p *location) string { return leafKey(p.Org, p.Name) }, nil),
		Collection: storage.NewCollection(docs, LogSchema, func(l *Log) string { return l.Org }, (*Log).fields),
		blocks: storage.NewCollection(docs, blockSchema,
			func(b *block) string { return numbered(b.Org, b.First) },
			func(b *block) map[string]any { return map[string]any{"org": b.Org, "first": b.First} }),
		checkpoints: storage.NewCollection(docs, CheckpointSchema,
			func(c *Checkpoint) string { return numbered(c.Org, c.Size) },
			func(c *Checkpoint) map[string]any { return map[string]any{"org": c.Org, "size": c.Size} }),
		parts:    storage.NewCollection(docs, partSchema, func(p *Part) string { return p.Org + "/" + p.Path }, nil),
		progress: storage.NewCollection(docs, progressSchema, func(p *progress) string { return p.Collection }, nil),
	}
}

func numbered(org string, number int64) string { return fmt.Sprintf("%s/%d", org, number) }

// Begin makes the log of an organization, with an origin, unless there is one by now.
func (l *Logs) Begin(ctx context.Context, org, origin string) error {
	secret := make([]byte, translog.SaltSize)
	_, _ = rand.Read(secret) // never fails
	_, err := storage.Ensure(ctx, l.Collection, Log{Org: org, Origin: origin, Secret: secret})
	return err
}

// Block returns the leaves of the block after the index first; none if it is not stored.
func (l *Logs) Block(ctx context.Context, org string, first int64) ([]Leaf, error) {
	found, err := l.blocks.Get(ctx, numbered(org, first))
	return found.leaves(), storage.IgnoreMissing(err)
}

func lost(after int64, err error) error {
	return storage.Damaged(fmt.Sprintf("Entries of the log after entry %d are lost", after), err)
}

// Entries returns the entries of a log at the positions [from, to), counted from 0: the beginning of a bundle.
func (l *Logs) Entries(ctx context.Context, log *Log, from, to int64) ([][]byte, error) {
	blocks, _, err := l.blocks.Find(ctx, storage.Query{
		Index: "first", Equal: []any{log.Org}, From: &storage.Bound{Value: from}, To: &storage.Bound{Value: to, Exclusive: true}, Limit: translog.Width,
	})
	if err != nil {
		return nil, err
	}
	texts := make([][]byte, 0, to-from)
	for i := range blocks {
		for _, leaf := range blocks[i].Leaves {
			texts = append(texts, leaf.Entry(log.Secret).Text())
		}
	}
	if int64(len(texts)) < to-from {
		return nil, lost(from, storage.ErrNotFound)
	}
	return texts[:to-from], nil
}

// PutPart stores the content of a full tile or bundle. It can be read once Commit has stored the part.
func (l *Logs) PutPart(ctx context.Context, org string, of translog.Part, content []byte) (Part, error) {
	if of.Level == translog.Entries {
		content = compressed(content)
	}
	stored, err := l.objects.Put(ctx, org, bytes.NewReader(content), int64(len(content)))
	return Part{Org: org, Path: of.Path(), Object: stored.Key}, err
}

// compressors are reused, as each takes up 1 MiB.
var compressors = sync.Pool{New: func() any {
	writer, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // a level that exists
	return writer
}}

// compressed is a bundle as it is stored: half of it are hexadecimal digits.
func compressed(content []byte) []byte {
	writer := compressors.Get().(*gzip.Writer)
	defer compressors.Put(writer)
	var buffer bytes.Buffer
	writer.Reset(&buffer)
	_, _ = writer.Write(content) // a buffer takes all
	_ = writer.Close()
	return buffer.Bytes()
}

// Change is what one command does to a log.
type Change struct {
	// Leaves get the next indexes. BlockStored means that their block is stored already.
	Leaves      []Leaf
	BlockStored bool
	// Parts are those that have become full.
	Parts []Part
	// Checkpoint was signed, nil if none was.
	Checkpoint *Checkpoint
}

// Commit replaces the state of a log at a revision by its next one, and returns the new revision. It returns
// storage.ErrExists if the indexes are taken, and storage.ErrMoved if the log has another revision.
func (l *Logs) Commit(ctx context.Context, log *Log, revision int64, change *Change) (int64, error) {
	batch := &storage.Batch{}
	if len(change.Leaves) > 0 {
		fresh := block{Org: log.Org, First: log.Tree.Size - int64(len(change.Leaves)), Leaves: change.Leaves}
		if !change.BlockStored {
			l.blocks.InsertIn(batch, &fresh)
		}
		for i := range change.Leaves {
			l.locations.PutIn(batch, location{Org: log.Org, Name: change.Leaves[i].name(), First: fresh.First})
		}
	}
	l.parts.PutIn(batch, change.Parts...)
	if change.Checkpoint != nil {
		l.checkpoints.AddIn(batch, *change.Checkpoint)
	}
	next := l.Collection.ReplaceIn(batch, log, revision)
	// Leaves are pending until all else is stored. After a crash, a sequencer finds their locations and drops them.
	l.pending.DeleteIn(batch, evidence.Map(change.Leaves, func(leaf Leaf) string { return leaf.pendingKey() })...)
	return next, batch.Write(ctx, l.docs)
}

// Part returns the content of a part of a log, which must be within its tree.
func (l *Logs) Part(ctx context.Context, log *Log, part translog.Part) ([]byte, error) {
	full := part.Full()
	if full.Within(log.Tree.Size) {
		content, err := l.fullPart(ctx, log.Org, full)
		if err != nil || part.Width == translog.Width {
			return content, err
		}
		return truncated(content, part)
	}
	if part.Level == translog.Entries {
		from := part.Number * translog.Width
		texts, err := l.Entries(ctx, log, from, from+int64(part.Width))
		return translog.Bundle(texts), err
	}
	return log.Tree.Edge[part.Level][:part.Width*translog.HashSize], nil
}

func truncated(content []byte, part translog.Part) ([]byte, error) {
	if part.Level != translog.Entries {
		return content[:part.Width*translog.HashSize], nil
	}
	texts, err := translog.ReadBundle(content, part.Width)
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
	return storage.ReadObject(ctx, l.objects, key, "a part of a log", func(cause error) error { return cause })
}

func uncompressed(content []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}
