package command

import (
	"slices"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/evidence/job"
	"attestry/evidence/notification"
	"attestry/process/cli"
	"attestry/storage"
)

// parkOthers stores a parked event, delivery and package, and returns their keys by kind.
func (s *site) parkOthers() map[*job.Kind]string {
	s.t.Helper()
	ctx, environment := s.t.Context(), s.environments["prod"]
	_, err := s.store.Actions.Change(ctx, evidence.OrgAccess{OrgID: s.org, OrgName: "acme"}, func(all *notification.Actions) error {
		_, _, err := all.Put(notification.Action{
			Name: "all", Kind: notification.OfEnvironments, Subjects: []string{environment}, Triggers: []notification.Trigger{notification.AllowedArtifact},
		})
		return err
	})
	s.must(err)
	allowed := evidence.Allowance{ID: "a", Org: s.org, Environment: environment, At: 5}
	batch := &storage.Batch{}
	s.must(s.store.Outbox.EnqueueIn(ctx, batch, notification.AllowedEvent(allowed)))
	s.must(batch.Write(ctx, s.store.Documents))
	event := notification.AllowedEvent(allowed).ID
	_, err = s.store.Outbox.Update(ctx, event, func(e *notification.Event) { e.Park(10, "a chunk is missing") })
	s.must(err)
	target := notification.Target{Type: notification.Webhook, Webhook: "https://a.example.com"}
	delivery := notification.NewDelivery(s.org, 1, &target, notification.Notice{ID: "n"}, 1, 0)
	delivery.Park(20, "The answer has status 503.")
	s.must(s.store.Deliveries.Add(ctx, []notification.Delivery{delivery}))
	assembly := audit.Assembly{ID: audit.AssemblyID(audit.OfTrail, s.org, "flow/1"), Org: s.org}
	_, err = s.store.Assemblies.Change(ctx, assembly, func(a *audit.Assembly) {
		a.Ask("state", "acme", 1)
		request, _ := a.Begin("worker", 2)
		a.FailAttempt(request, "An internal error occurred.", false, 30)
	})
	s.must(err)
	return map[*job.Kind]string{&job.Fanout: event, &job.Send: s.org + "/" + delivery.ID, &job.Assemble: assembly.ID}
}

// states returns the states of listed work by "kind key", without parked reports.
func (s *site) states() map[string]string {
	s.t.Helper()
	status, out, errs := s.run("jobs", "list")
	if status != cli.Success {
		s.t.Fatal(errs)
	}
	states := map[string]string{}
	for line := range strings.Lines(out) {
		if cells := strings.Fields(line); cells[0] != job.Report.Name {
			states[cells[0]+" "+cells[3]] = cells[4]
		}
	}
	return states
}

func TestParkedWorkOfAllKindsIsRetriedOrDropped(t *testing.T) {
	for command, want := range map[string]string{"retry": "waiting", "drop": ""} {
		whenStoppedAndRunning(t, func(t *testing.T, s *site) {
			for kind, key := range s.parkOthers() {
				if got := s.states()[kind.Name+" "+key]; got != "parked" {
					t.Errorf("%s is %q", kind.Name, got)
				}
				if status, _, errs := s.run("jobs", command, kind.Name, key); status != cli.Success {
					t.Error(errs)
				}
				if got := s.states()[kind.Name+" "+key]; got != want {
					t.Errorf("%s is %q, want %q", kind.Name, got, want)
				}
				if status, _, _ := s.run("jobs", command, kind.Name, key); status != cli.Failure {
					t.Errorf("%s was changed again", kind.Name)
				}
			}
		})
	}
}

func TestJobsOfAStoppedServiceNeedNoRedis(t *testing.T) {
	s := newSite(t)
	s.must(s.process.Close())
	defer s.open()
	withoutRedis := slices.DeleteFunc(slices.Clone(s.environ), func(variable string) bool { return strings.HasPrefix(variable, "ATTESTRY_REDIS_URL=") })
	for line, want := range map[string]string{"jobs list": "parked", "jobs retry environment:report " + s.environments["prod"] + "/1": "waits again"} {
		outcomeOf(t, withoutRedis, line).check(t, cli.Success, want)
	}
}
