package pipelines_test

import (
	"encoding/json"
	"strings"
	"testing"

	"attestry/app"
	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/pipelines"
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
			_, err := s.Templates.Put(ctx, "acme", []byte("version: 1\n# not the empty one\n"))
			return err
		},
		func(s *app.Store) error {
			_, err := s.Repos.Report(ctx, "acme", repoInfo("acme/cli"), 4)
			return err
		},
		func(s *app.Store) error { return s.AttestationTypes.Archive(ctx, "acme", "t", 5) },
		func(s *app.Store) error { return s.Flows.Archive(ctx, "acme", "ci", 6) })
}

func TestReadsFailWithEachOfTheirCommands(t *testing.T) {
	ctx := t.Context()
	store, _, _ := apptest.NewStore(t)
	fingerprint, commit := apptest.Sha("abcde", 64), apptest.Sha("abcde1", 40)
	records := []evidence.ArtifactRecord{apptest.ArtifactRecord("f", "t", fingerprint, commit, 1)}
	apptest.PutArtifacts(t, store, records...)
	apptest.PutAttestations(t, store, apptest.AttestationRecord("lint", "f", "generic", true, 2))
	manyFlows := pipelines.TrailQuery{Org: "org", Flows: make([]string, storage.MaxMany+1), Limit: 9}
	apptest.ReadsFail(t, store, func(s *app.Store) []error {
		return []error{
			second(s.Artifacts.Builds(ctx, "org", []string{commit})),
			second(s.Artifacts.Search(ctx, "org", "abcde")),
			second(s.Artifacts.OfCommit(ctx, "org", "f", "t", "abcde1", 9)),
			second(s.Artifacts.Reported(ctx, "org", "f", "abcde")),
			second(s.Artifacts.Known(ctx, "org", fingerprint)),
			second(s.Artifacts.NewestNamed(ctx, "org", []string{"app"})),
			second(s.Artifacts.TrailsWith(ctx, "org", fingerprint)),
			second(s.Artifacts.TrailsInFlow(ctx, "org", "f", "abcde")),
			second(s.Artifacts.NewestTime(ctx, "org", "f")),
			second(s.Attestations.OfArtifact(ctx, "org", "f", fingerprint, "lint", records, 9)),
			second(s.Attestations.OfRecords(ctx, "org", records)),
			second(s.Attestations.OfTrails(ctx, "org", []string{"f/t"})),
			second(s.Attestations.NewestDecision(ctx, "org", "C-1")),
			second(s.Trails.Events(ctx, &evidence.Trail{Org: "org", Flow: "f", Name: "t"})),
			second(s.Trails.Containing(ctx, "org", "t")),
			second(s.Trails.List(ctx, manyFlows)),
			second(s.Trails.Totals(ctx, "org", nil)),
			second(s.Trails.Latest(ctx, []string{"f"})),
			third(s.TrailEvents.Extent(ctx, "org", []string{"f/t"})),
		}
	})
}

func second[T any](_ T, err error) error { return err }

func third[S, T any](_ S, _ T, err error) error { return err }
