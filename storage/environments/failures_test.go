package environments_test

import (
	"testing"

	"attestry/app"
	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/evidence/admission"
	"attestry/storage/environments"
)

func TestChangesFailWithEachOfTheirCommands(t *testing.T) {
	ctx := t.Context()
	put := func(id, name string, kind evidence.EnvironmentType, change evidence.EnvironmentChange) func(s *app.Store) error {
		return func(s *app.Store) error {
			_, err := s.Environments.Put(ctx, evidence.Environment{ID: id, Org: "acme", Name: name, Type: kind, CreatedAt: 1}, change)
			return err
		}
	}
	expiring := evidence.Allowance{ID: "a", Org: "acme", Environment: "id-1", Fingerprint: apptest.Sha("1", 64), At: 1, ExpiresAt: 2}
	runs := environments.Running{Org: "acme", Environment: "id-1", Fingerprint: apptest.Sha("1", 64), Since: 1}
	apptest.ChangesFail(t, 25,
		put("id-1", "one", evidence.K8S, evidence.EnvironmentChange{}), put("id-1", "one", evidence.K8S, evidence.EnvironmentChange{Description: new("d")}),
		put("id-2", "all", evidence.LogicalType, evidence.EnvironmentChange{Included: &[]string{"id-1"}}),
		func(s *app.Store) error { return s.Environments.Rename(ctx, "acme", "one", "two", 2) },
		func(s *app.Store) error {
			return s.Environments.Modify(ctx, "id-1", 3, func(e *evidence.Environment) (bool, error) { e.Description = "e"; return true, nil })
		},
		func(s *app.Store) error {
			return s.Environments.SetTags(ctx, "id-1", map[string]string{"a": "b"}, nil, 4)
		},
		func(s *app.Store) error { _, err := s.Allowlist.Put(ctx, expiring); return err },
		func(s *app.Store) error { return s.Allowlist.Lapse(ctx, expiring) },
		func(s *app.Store) error {
			decision := &admission.Decision{Outcome: admission.BreakGlass, Reason: "fire"}
			return s.Admissions.Record(ctx, admission.NewRecord("acme", "id-1", "me", &admission.Workload{Kind: "Pod", Name: "web"}, decision, 1000))
		},
		func(s *app.Store) error { return s.Running.Start(ctx, []environments.Running{runs}) },
		func(s *app.Store) error {
			return s.Running.Stop(ctx, "id-1", []string{runs.Fingerprint}, 2)
		},
		func(s *app.Store) error { return s.Environments.Archive(ctx, "acme", "two", 9) })
}

func TestReadsFailWithEachOfTheirCommands(t *testing.T) {
	ctx := t.Context()
	fixture := apptest.NewFixture(t)
	recordLogs(fixture)
	logged, page := environments.EventRange{Environment: "one", To: 99}, environments.EventPage{Limit: 9}
	query := []environments.PredecessorQuery{{Fingerprint: "1", Since: 2}}
	apptest.ReadsFail(t, fixture.Store, func(s *app.Store) []error {
		return []error{
			third(s.Events.Log(ctx, logged, page)),
			third(s.Events.OfRepos(ctx, logged, []string{"cli", "web"}, page)),
			second(s.Events.OfArtifacts(ctx, "acme", []string{"1", "2"})),
			second(s.Events.Beginning(ctx, "acme", "1")),
			second(s.Events.Between(ctx, "one", 1, 9, false)),
			second(s.Snapshots.LastNumber(ctx, "one")),
			second(s.Snapshots.NumberAt(ctx, "one", 9)),
			second(s.Running.In(ctx, []string{"one"})),
			third(s.Running.Where(ctx, "acme", []string{"1"})),
			second(s.Deployments.Moments(ctx, environments.DeploymentQuery{Org: "acme", Limit: 9})),
			second(s.Successions.Predecessors(ctx, "one", query)),
			s.Environments.ReplaceArchivedMembers(ctx, "acme", []evidence.Environment{{Included: []string{"one"}}}),
		}
	})
}

func second[T any](_ T, err error) error { return err }

func third[S, T any](_ S, _ T, err error) error { return err }
