package pipelines_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"attestry/app/apptest"
	"attestry/evidence/template"
	"attestry/evidence/yamlfile"
	"attestry/storage"
)

const someTemplate = "version: 1 # as it is\r\ntrail: {artifacts: [{name: web}]}\n"

func TestTemplatesAreReturnedByteForByte(t *testing.T) {
	s := apptest.NewFixture(t)
	for _, content := range []string{someTemplate, someTemplate + "#" + strings.Repeat("x", 1<<20) + "\n"} {
		id, err := s.Templates.Put(t.Context(), "acme", []byte(content))
		s.Must(err)
		if id != template.ID([]byte(content)) {
			t.Errorf("put %s", id)
		}
		if largest := s.Docs.Largest.Load(); largest > 512<<10 {
			t.Errorf("a document of %d bytes was stored", largest)
		}
		s.Restart(0, false) // with nothing in memory
		stored, err := s.Templates.Get(t.Context(), "acme", id)
		s.Must(err)
		if stored.ID != id || !bytes.Equal(stored.Content, []byte(content)) || len(stored.Template.Trail.Artifacts) != 1 {
			t.Errorf("got %s: %+v", stored.ID, stored.Template)
		}
		if _, err := s.Templates.Get(t.Context(), "other", id); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("another organization: %v", err)
		}
	}
}

func TestKnownTemplateCostsNoCommand(t *testing.T) {
	s := apptest.NewFixture(t)
	id, err := s.Templates.Put(t.Context(), "acme", []byte(someTemplate))
	s.Must(err)
	empty := template.ID([]byte(template.Empty))
	before := s.Docs.Commands.Load()
	for range 2 {
		for _, wanted := range []string{id, empty} {
			_, err := s.Templates.Get(t.Context(), "acme", wanted)
			s.Must(err)
		}
		_, err := s.Templates.GetMany(t.Context(), "acme", []string{id, empty, id})
		s.Must(err)
		_, err = s.Templates.Put(t.Context(), "acme", []byte(someTemplate))
		s.Must(err)
	}
	if spent := s.Docs.Commands.Load() - before; spent != 0 {
		t.Errorf("it took %d commands", spent)
	}
}

func TestUncachedTemplatesAreReadWithOneCommand(t *testing.T) {
	s := apptest.NewFixture(t)
	var ids []string
	for _, name := range apptest.Names {
		id, err := s.Templates.Put(t.Context(), "acme", []byte("trail: {artifacts: [{name: "+name+"}]}"))
		s.Must(err)
		ids = append(ids, id)
	}
	s.Restart(0, false)
	_, err := s.Templates.Get(t.Context(), "acme", ids[0])
	s.Must(err)
	before := s.Docs.Commands.Load()
	found, err := s.Templates.GetMany(t.Context(), "acme", append(ids, ids[1], "unknown", template.ID([]byte(template.Empty))))
	s.Must(err)
	if spent := s.Docs.Commands.Load() - before; spent != 1 || len(found) != 4 {
		t.Errorf("%d found with %d commands", len(found), spent)
	}
	for i, id := range ids {
		if found[id].ID != id || found[id].Template.Trail.Artifacts[0].Name != apptest.Names[i] {
			t.Errorf("%s: %+v", id, found[id])
		}
	}
}

func TestEmptyTemplateIsAlwaysThere(t *testing.T) {
	s := apptest.NewFixture(t)
	stored, err := s.Templates.Get(t.Context(), "acme", template.ID([]byte(template.Empty)))
	if err != nil || string(stored.Content) != template.Empty || stored.Template.Trail.Artifacts == nil {
		t.Errorf("got %+v, %v", stored, err)
	}
}

func TestInvalidTemplateIsRefused(t *testing.T) {
	s := apptest.NewFixture(t)
	_, err := s.Templates.Put(t.Context(), "acme", []byte("version: 3\n"))
	var wrong *yamlfile.Error
	if !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), "1 validation errors for Template\n") {
		t.Errorf("the error is %v", err)
	}
	if s.Docs.Commands.Load() != 0 {
		t.Error("it was stored")
	}
}

func TestTemplateIsNotParsedAfterTheDeadline(t *testing.T) {
	s := apptest.NewFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Templates.Put(ctx, "acme", []byte("version: 3\n")); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestStoredTemplateDoesNotShareTheBufferOfTheRequest(t *testing.T) {
	s := apptest.NewFixture(t)
	buffer := []byte(someTemplate)
	id, err := s.Templates.Put(t.Context(), "acme", buffer)
	s.Must(err)
	clear(buffer)
	if stored, err := s.Templates.Get(t.Context(), "acme", id); err != nil || string(stored.Content) != someTemplate {
		t.Errorf("got %q, %v", stored.Content, err)
	}
}
