package pipelines

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"attestry/evidence"
	"attestry/evidence/template"
	"attestry/storage"
	"attestry/storage/cache"
)

const (
	// maxInlineTemplate is the largest template kept in its document; larger ones are objects.
	maxInlineTemplate = 256 << 10
	// maxCachedTemplates bounds the cache by the bytes of templates; parsed ones take up several times as much.
	maxCachedTemplates = 16 << 20
	// templateOverhead is the size of a template without its text.
	templateOverhead = 512
)

var templateSchema = &storage.Schema{Name: "templates"}

// StoredTemplate is a template as sent and parsed. It is shared, and must not be changed.
type StoredTemplate struct {
	ID       string
	Content  []byte
	Template template.Template
}

type templateRecord struct {
	Org string `json:"org"`
	ID  string `json:"id"`
	// Content is the text, or Object the key where it is.
	Content []byte `json:"content,omitempty"`
	Object  string `json:"object,omitempty"`
}

// ObjectKeys returns the keys of the objects that the record names.
func (t *templateRecord) ObjectKeys() []string { return []string{t.Object} }

// Templates keeps the flow templates of organizations by the digest of their content, for ever, and caches some.
type Templates struct {
	collection storage.Collection[templateRecord]
	objects    storage.Objects
	cache      cache.LRU[StoredTemplate]
	empty      StoredTemplate
}

// NewTemplates binds the repository to an engine.
func NewTemplates(docs storage.Documents, objects storage.Objects) *Templates {
	empty, err := template.Parse([]byte(template.Empty))
	if err != nil {
		panic("storage: the empty template is wrong: " + err.Error())
	}
	return &Templates{
		objects: objects,
		empty:   StoredTemplate{ID: template.ID([]byte(template.Empty)), Content: []byte(template.Empty), Template: empty},
		cache:   cache.NewLRU[StoredTemplate](maxCachedTemplates),
		collection: storage.NewCollection(docs, templateSchema,
			func(t *templateRecord) string { return idIn(t.Org, t.ID) }, nil),
	}
}

// Put parses a template, stores it unless it exists, and returns its id: one command at most. A wrong template is a
// *yamlfile.Error.
func (t *Templates) Put(ctx context.Context, org string, content []byte) (string, error) {
	id := template.ID(content)
	if _, ok := t.cached(org, id); ok {
		return id, nil
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	parsed, err := template.Parse(content)
	if err != nil {
		return "", err
	}
	stored := StoredTemplate{ID: id, Content: bytes.Clone(content), Template: parsed}
	record := templateRecord{Org: org, ID: id, Content: stored.Content}
	if len(content) > maxInlineTemplate {
		object, err := t.objects.Put(ctx, org, bytes.NewReader(content), int64(len(content)))
		if err != nil {
			return "", fmt.Errorf("store the object of a template: %w", err)
		}
		record.Content, record.Object = nil, object.Key
	}
	if err := t.collection.Insert(ctx, record); err != nil && !errors.Is(err, storage.ErrExists) {
		return "", err
	}
	t.keep(org, stored)
	return id, nil
}

// Get returns a template, or ErrNotFound: one command, none if it is in memory.
func (t *Templates) Get(ctx context.Context, org, id string) (StoredTemplate, error) {
	if cached, ok := t.cached(org, id); ok {
		return cached, nil
	}
	record, err := t.collection.Get(ctx, idIn(org, id))
	if err != nil {
		return StoredTemplate{}, err
	}
	return t.load(ctx, record)
}

// GetMany returns the templates that exist among ids, by id: one command per MaxMany of those not in memory.
func (t *Templates) GetMany(ctx context.Context, org string, ids []string) (map[string]StoredTemplate, error) {
	found := make(map[string]StoredTemplate, len(ids))
	missing := t.missing(org, ids, func(cached StoredTemplate) { found[cached.ID] = cached })
	records, err := t.collection.GetMany(ctx, missing)
	if err != nil {
		return nil, err
	}
	for _, record := range records {
		if found[record.ID], err = t.load(ctx, record); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// missing calls yield for the cached templates and returns the keys of the others.
func (t *Templates) missing(org string, ids []string, yield func(StoredTemplate)) []string {
	var missing []string
	for _, id := range evidence.Distinct(ids) {
		if cached, ok := t.cached(org, id); ok {
			yield(cached)
		} else {
			missing = append(missing, idIn(org, id))
		}
	}
	return missing
}

// Texts returns the texts of the templates that exist among ids, by id, without large ones, which are objects: one
// command per MaxMany of those not in memory.
func (t *Templates) Texts(ctx context.Context, org string, ids []string) (map[string][]byte, error) {
	texts := make(map[string][]byte, len(ids))
	missing := t.missing(org, ids, func(cached StoredTemplate) { texts[cached.ID] = cached.Content })
	records, err := t.collection.GetMany(ctx, missing)
	for _, record := range records {
		if record.Object == "" {
			texts[record.ID] = record.Content
		}
	}
	return texts, err
}

// cached returns a template without a command. The empty one is that of all organizations and need not be stored.
func (t *Templates) cached(org, id string) (StoredTemplate, bool) {
	if id == t.empty.ID {
		return t.empty, true
	}
	return t.cache.Get(idIn(org, id))
}

func (t *Templates) load(ctx context.Context, record templateRecord) (StoredTemplate, error) {
	content, err := t.content(ctx, record)
	if err != nil {
		return StoredTemplate{}, err
	}
	if found := template.ID(content); found != record.ID {
		return StoredTemplate{}, damagedTemplate(record.ID, fmt.Errorf("its content is that of template %s", found))
	}
	parsed, err := template.Parse(content)
	if err != nil {
		return StoredTemplate{}, damagedTemplate(record.ID, err)
	}
	stored := StoredTemplate{ID: record.ID, Content: content, Template: parsed}
	t.keep(record.Org, stored)
	return stored, nil
}

func (t *Templates) content(ctx context.Context, record templateRecord) ([]byte, error) {
	if record.Object == "" {
		return record.Content, nil
	}
	lost := func(cause error) error { return damagedTemplate(record.ID, cause) }
	return storage.ReadObject(ctx, t.objects, record.Object, "the object of a template", lost)
}

func damagedTemplate(id string, cause error) error {
	return storage.Damaged("The stored template "+id+" is damaged or lost", cause)
}

func (t *Templates) keep(org string, stored StoredTemplate) {
	t.cache.Put(idIn(org, stored.ID), stored, len(stored.Content)+templateOverhead)
}
