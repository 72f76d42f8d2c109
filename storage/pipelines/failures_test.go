package pipelines_test

import (
	"encoding/json"
	"strings"
	"testing"

	"attestry/app"
	"attestry/app/apptest"
	"attestry/evidence"
)

func TestChangesFailWithEachOfTheirCommands(t *testing.T) {
	ctx := t.Context()
	var flow string
	put := func(description string) func(s *app.Store) error {
		return func(s *app.Store) error {
			_, stored, err := s.Flows.Put(ctx, evidence.Flow{ID: evidence.NewID(), Org: "acme", Name: "ci", Description: description, CreatedAt: 1})
			flow = stored.ID
			return err
		}
	}
	define := func(schema string) func(s *app.Store) error {
		return func(s *app.Store) error {
			_, err := s.AttestationTypes.Put(ctx, evidence.AttestationTypeVersion{Org: "acme", Name: "t", Schema: json.RawMessage(schema), Timestamp: 1})
			return err
		}
	}
	apptest.ChangesFail(t, 20,
		put("one"), put("two"), define(`{"type":"object"}`), define(`{"type":"object","description":"`+strings.Repeat("long ", 100_000)+`"}`),
		func(s *app.Store) error {
			return s.Flows.SetTags(ctx, flow, map[string]string{"a": "b"}, nil, 2)
		},
		func(s *app.Store) error {
			_, err := s.Flows.Ensure(ctx, "acme", "new", "me", 3)
			return err
		},
		func(s *app.Store) error {
			_, err := s.Templates.Put(ctx, "acme", []byte("version: 1\n"))
			return err
		},
		func(s *app.Store) error {
			_, err := s.Repos.Report(ctx, "acme", repoInfo("acme/cli"), 4)
			return err
		},
		func(s *app.Store) error { return s.AttestationTypes.Archive(ctx, "acme", "t", 5) },
		func(s *app.Store) error { return s.Flows.Archive(ctx, "acme", "ci", 6) })
}
