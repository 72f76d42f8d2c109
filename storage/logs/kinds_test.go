package logs_test

import (
	"errors"
	"testing"

	"attestry/app"
	"attestry/app/apptest"
	"attestry/app/recording"
	"attestry/evidence"
	"attestry/evidence/approval"
	"attestry/evidence/control"
	"attestry/evidence/identity"
	"attestry/evidence/snapshot"
	"attestry/evidence/translog"
	"attestry/storage"
	"attestry/storage/governance"
	"attestry/storage/logs"
	"attestry/storage/storagetest"
)

func TestCollectionsOfFactsAreDeclared(t *testing.T) {
	declared := map[string]bool{}
	for _, schema := range app.Schemas() {
		declared[schema.Name] = true
	}
	for name := range logs.Collections() {
		if !declared[name] {
			t.Errorf("there is no collection %s", name)
		}
	}
}

// record records a fact of each kind.
func record(t *testing.T, s *apptest.Fixture) {
	t.Helper()
	ctx := t.Context()
	flow, _, err := s.PutFlow("org", "flow")
	s.Must(err)
	_, err = s.Templates.Put(ctx, "org", []byte("version: 1\ntrail: {attestations: []}\n"))
	s.Must(err)
	scope := recording.Scope{Org: "org", OrgName: "org", Flow: "flow", Trail: "trail", By: "me", At: 100}
	artifact := evidence.ArtifactRecord{ID: evidence.NewID(), Org: "org", Trail: "trail", Name: "api", Fingerprint: apptest.Sha("f1", 64), CreatedAt: 100}
	s.Must(s.Recorder.Report(ctx, scope, artifact, nil))
	s.Must(s.Recorder.Attest(ctx, scope, evidence.Attestation{
		ID: evidence.NewID(), Org: "org", Trail: "trail", Name: "unit", Type: "generic", Compliant: true, CreatedAt: 101,
	}, nil))
	s.Must(s.Recorder.Approve(ctx, approval.Approval{
		ID: evidence.NewID(), Org: "org", Flow: flow, Record: artifact.ID, Trail: "trail", Target: artifact.Fingerprint, State: approval.Pending, CreatedAt: 102,
	}))
	_, err = s.Policies.Put(ctx, governance.Change{Org: "org", Name: "policy", By: "me", At: 103, Content: []byte("content")})
	s.Must(err)
	_, err = s.Controls.Create(ctx, control.Control{Org: "org", Identifier: "a/b", Name: "control", CreatedBy: "me", CreatedAt: 104})
	s.Must(err)
	_, err = s.AttestationTypes.Put(ctx, evidence.AttestationTypeVersion{Org: "org", Name: "type", Timestamp: 105, CreatedBy: "me"})
	s.Must(err)
	_, err = s.Environments.Put(ctx, evidence.Environment{ID: "env", Org: "org", Name: "prod", Type: "K8S", CreatedAt: 106}, evidence.EnvironmentChange{})
	s.Must(err)
	_, err = s.Allowlist.Put(ctx, evidence.Allowance{ID: evidence.NewID(), Org: "org", Environment: "env", Fingerprint: artifact.Fingerprint, At: 107})
	s.Must(err)
	s.Must(s.Snapshots.Insert(ctx, snapshot.Snapshot{Org: "org", Environment: "env", Number: 1, Timestamp: 108}))
	_, err = s.Tenancy.CreateOrganization(ctx, "shared", evidence.User{ID: "u", Name: "me"}, identity.Actor{Name: "me"})
	s.Must(err)
}

func TestEachRecordedFactHasOneLeaf(t *testing.T) {
	s := apptest.NewFixture(t)
	record(t, s)
	leaves := leavesIn(t, s.Db)
	facts := 0
	for name := range logs.Collections() {
		stored := all(t, s.Db, name)
		if len(stored) == 0 {
			t.Errorf("nothing is in %s", name)
		}
		for _, document := range stored {
			facts++
			found := 0
			for _, leaf := range leaves {
				if leaf.Hash == translog.Commitment(leaf.Salt, document.Body) {
					found++
				}
			}
			if found != 1 {
				t.Errorf("%s of %s has %d leaves", document.ID, name, found)
			}
		}
	}
	if len(leaves) != facts {
		t.Errorf("%d leaves of %d facts", len(leaves), facts)
	}
}

func TestFactWithoutALeafGetsOneWhenItIsSentAgain(t *testing.T) {
	for at, died := 1, true; died; at++ {
		s := apptest.NewFixture(t)
		change := governance.Change{Org: "org", Name: "policy", By: "me", At: 103, Content: []byte("content")}
		s.Restart(at, true)
		_, err := s.Policies.Put(t.Context(), change)
		if died = s.Docs.Dead.Load(); died == (err == nil) {
			t.Fatal(err)
		}
		s.Restart(0, false)
		_, err = s.Policies.Put(t.Context(), change)
		s.Must(err)
		versions, leaves := all(t, s.Db, "policy_versions"), leavesIn(t, s.Db)
		for _, leaf := range leaves {
			if len(versions) != 1 || leaf.Hash != translog.Commitment(leaf.Salt, versions[0].Body) {
				t.Errorf("write %d: the leaf is not of what is stored", at)
			}
		}
		if leaves, err = logs.New(s.Db, nil).DropIndexed(t.Context(), leaves); err != nil || len(leaves) != 1 {
			t.Errorf("write %d: %d leaves get a place: %v", at, len(leaves), err)
		}
	}
}

func TestFactsWithoutALeafAreFound(t *testing.T) {
	s := apptest.NewFixture(t)
	record(t, s)
	pending := all(t, s.Db, "log_pending")
	unlogged := func() (found int) {
		for _, collection := range []string{"artifacts", "attestations", "approvals"} {
			facts := all(t, s.Db, collection)
			ids, err := s.Logged.Unlogged(t.Context(), collection, "org", facts)
			s.Must(err)
			found += len(ids)
		}
		return found
	}
	if n := unlogged(); n != 0 {
		t.Errorf("%d facts whose leaves are pending are taken for unlogged", n)
	}
	s.Must(storagetest.Delete(t.Context(), s.Db, apptest.Schema(t, "log_pending"), storage.RecordIDs(pending)...))
	if n := unlogged(); n != 3 {
		t.Errorf("%d of 3 facts without leaves are found", n)
	}
}

// The process is killed after each of the writes of an artifact, an attestation and an approval.
func TestReconcilerAddsMissingLeaves(t *testing.T) {
	for at, died := 1, true; died; at++ {
		s := apptest.NewFixture(t)
		flow, _, err := s.PutFlow("org", "flow")
		s.Must(err)
		scope := recording.Scope{Org: "org", OrgName: "org", Flow: "flow", Trail: "trail", By: "me", At: 100}
		s.Restart(at, true)
		err = errors.Join(
			s.Recorder.Report(t.Context(), scope, evidence.ArtifactRecord{ID: "a", Org: "org", Trail: "trail", Name: "api", Fingerprint: apptest.Sha("f1", 64), CreatedAt: 100}, nil),
			s.Recorder.Attest(t.Context(), scope, evidence.Attestation{ID: "b", Org: "org", Trail: "trail", Name: "unit", Type: "generic", CreatedAt: 101}, nil),
			s.Recorder.Approve(t.Context(), approval.Approval{ID: "c", Org: "org", Flow: flow, Trail: "trail", Target: apptest.Sha("f1", 64), State: approval.Pending, CreatedAt: 102}),
		)
		if died = s.Docs.Dead.Load(); died == (err == nil) {
			t.Fatal(err)
		}
		s.Restart(0, false)
		_, err = s.Recorder.Reconcile(t.Context(), "org", 1e9)
		s.Must(err)
		facts := 0
		for _, name := range []string{"artifacts", "attestations", "approvals"} {
			facts += len(all(t, s.Db, name))
		}
		if leaves := leavesIn(t, s.Db); len(leaves) != facts || !died && facts != 3 {
			t.Errorf("write %d: %d leaves of %d facts", at, len(leaves), facts)
		}
	}
}
