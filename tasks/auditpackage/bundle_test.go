package auditpackage_test

import (
	"strconv"
	"strings"
	"testing"

	"attestry/app/population"
	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/evidence/evidencetest"
	"attestry/evidence/period"
	"attestry/storage"
	"attestry/storage/governance"
)

const releaseFramework = "title: Releases\nrequirements:\n  - {id: A, title: Agreed, measures: [{title: Log, log: true}]}\n"

// withAudit records a delivery and an artifact of no trail in an audited period with a framework, and returns the
// subject of the bundle that samples all three deployments.
func withAudit(t *testing.T) (*scene, audit.Assembly) {
	t.Helper()
	s := withLog(t)
	from := s.now()
	s.deliver()
	s.reportRunning(current, other, strings.Repeat("4e", 32))
	s.sequence()
	s.putFramework("releases", releaseFramework)
	s.must(s.store.Periods.Insert(t.Context(), period.Period{
		Org: acme.OrgID, Name: "q3", Environments: []string{s.env}, From: from, To: s.now(), CreatedAt: s.now(), CreatedBy: "anna",
	}))
	return s, audit.Assembly{
		ID: audit.AssemblyID(audit.OfPeriod, acme.OrgID, "q3"), Org: acme.OrgID, OrgName: acme.OrgName, Kind: audit.OfPeriod,
		Period: "q3", Draw: &period.Draw{Seed: "seed", Size: 3},
	}
}

func (s *scene) putFramework(name, content string) {
	s.t.Helper()
	_, err := s.store.Frameworks.Put(s.t.Context(), governance.Framework{File: governance.File{Org: acme.OrgID, Name: name, Content: []byte(content), CreatedAt: s.now()}})
	s.must(err)
}

// TestBundleIsAssembledAgainWhenItsFactsChange also checks that a bundle of the same facts has the same bytes.
func TestBundleIsAssembledAgainWhenItsFactsChange(t *testing.T) {
	s, subject := withAudit(t)
	for name, change := range map[string]func(){
		"an attestation of a sampled trail": func() { s.attest("1", attestation("more", evidence.TypeGeneric)); s.sequence() },
		"a framework":                       func() { s.putFramework("releases", strings.Replace(releaseFramework, "Agreed", "Approved", 1)) },
		"another framework":                 func() { s.putFramework("also", releaseFramework) },
		"the name of the organization":      func() { subject.OrgName += "-2" },
	} {
		before := s.assemble(subject)
		_, err := s.store.Assemblies.Update(t.Context(), subject.ID, func(a *audit.Assembly) { *a = subject })
		s.must(err)
		if again := s.assemble(subject); again.Archive != before.Archive {
			t.Errorf("before the change of %s: the bundle is %+v, then %+v", name, before, again)
		}
		change()
		if answer := s.ask(subject); answer.Progress != audit.Pending {
			t.Errorf("after the change of %s the bundle is %s", name, answer.Progress)
		}
		if after := s.assemble(subject); after.Archive == before.Archive {
			t.Errorf("after the change of %s it is the same bundle", name)
		}
	}
}

// TestBundleIsAssembledAgainWhenFactsOutsideItsSampleChange samples the artifact of no trail.
func TestBundleIsAssembledAgainWhenFactsOutsideItsSampleChange(t *testing.T) {
	s, subject := withAudit(t)
	_, err := s.store.Environments.Put(t.Context(), evidence.Environment{ID: "idle", Org: acme.OrgID, Name: "idle", Type: evidence.Server}, evidence.EnvironmentChange{})
	s.must(err)
	audited, err := s.store.Periods.Get(t.Context(), period.Key(acme.OrgID, "q3"))
	s.must(err)
	audited.Name, audited.Environments = "both", append(audited.Environments, "idle")
	s.must(s.store.Periods.Insert(t.Context(), audited))
	subject.Period = audited.Name
	for seed := 0; ; seed++ {
		subject.Draw = &period.Draw{Seed: strconv.Itoa(seed), Size: 1}
		sample, err := population.NewReader(s.store, 1<<20).Draw(t.Context(), &audited, *subject.Draw)
		s.must(err)
		if sample.Rows[0].Flow == "" {
			break
		}
	}
	for _, change := range []struct {
		name string
		make func()
	}{
		{"a pull request", func() { s.attest("1", attestation("more", evidence.TypePullRequest)) }},
		{"an attestation that frameworks may measure", func() { s.attest("1", attestation("tests", evidence.TypeGeneric)) }},
		{"the name of an environment", func() { s.must(s.store.Environments.Rename(t.Context(), acme.OrgID, "idle", "spare", s.now())) }},
	} {
		t.Run(change.name, func(t *testing.T) {
			s.assemble(subject)
			s.wantProgress(subject, audit.Complete)
			change.make()
			s.sequence()
			s.wantProgress(subject, audit.Pending)
		})
	}
}

func TestBundleWithADamagedFrameworkFails(t *testing.T) {
	s, subject := withAudit(t)
	s.putFramework("broken", "title: [")
	s.ask(subject)
	evidencetest.Is(t, s.work(), storage.ErrDamaged)
	if answer := s.ask(subject); answer.Progress != audit.Failed || !strings.HasPrefix(answer.Reason, "The framework 'broken' is damaged") {
		t.Errorf("answer %+v", answer)
	}
}
