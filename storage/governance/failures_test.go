package governance_test

import (
	"testing"

	"attestry/app"
	"attestry/app/apptest"
	"attestry/evidence/approval"
	"attestry/evidence/control"
	"attestry/storage/governance"
)

func TestChangesFailWithEachOfTheirCommands(t *testing.T) {
	ctx := t.Context()
	policy := func(comment string) func(s *app.Store) error {
		return func(s *app.Store) error {
			_, err := s.Policies.Put(ctx, governance.Change{Org: "acme", Name: "p", By: "me", At: 1, Content: []byte("_schema: s\n# " + comment + "\n")})
			return err
		}
	}
	framework := func(content string) func(s *app.Store) error {
		return func(s *app.Store) error {
			_, err := s.Frameworks.Put(ctx, governance.Framework{File: governance.File{Org: "acme", Name: "f", Content: []byte(content), CreatedAt: 1}})
			return err
		}
	}
	approve := func(one approval.Approval) func(s *app.Store) error {
		return func(s *app.Store) error { _, err := s.Approvals.Add(ctx, one, nil); return err }
	}
	apptest.ChangesFail(t, 15,
		policy("1"), policy("2"), framework("1"), framework("2"), approve(fresh("flow", "f1", 1, approval.Approved)), approve(fresh("flow", "f2", 2)),
		func(s *app.Store) error {
			_, err := s.Controls.Create(ctx, control.Control{Org: "acme", Identifier: "C-1", Name: "c", CreatedBy: "me", CreatedAt: 1})
			return err
		},
		func(s *app.Store) error {
			_, err := s.Controls.Change(ctx, "acme", "C-1", control.Change{Name: new("d")}, "me", 2)
			return err
		},
		func(s *app.Store) error {
			return s.Controls.SetTags(ctx, "acme", "C-1", map[string]string{"a": "b"}, nil)
		})
}
