package environments_test

import (
	"fmt"
	"testing"
	"time"

	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/evidence/admission"
	"attestry/evidence/notification"
)

// TestBrokenGlassIsNotifiedDespiteACrash ends the process before or after each of its writes. After the workload was
// submitted again, its record must have an event.
func TestBrokenGlassIsNotifiedDespiteACrash(t *testing.T) {
	for write := 1; write <= 2; write++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint(write, " ", after), func(t *testing.T) {
				s := apptest.NewFixture(t)
				_, err := s.Actions.Change(t.Context(), evidence.OrgAccess{OrgID: "acme"}, func(all *notification.Actions) error {
					all.All = []notification.Action{{Number: 1, Subjects: []string{"prod"}, Triggers: []notification.Trigger{notification.BrokenGlass}}}
					return nil
				})
				s.Must(err)
				workload, decision := &admission.Workload{Kind: "Pod", Name: "web"}, &admission.Decision{Outcome: admission.BreakGlass, Reason: "fire"}
				s.Restart(write, after)
				_ = s.Admissions.Record(t.Context(), admission.NewRecord("acme", "prod", "me", workload, decision, 1000))
				if !s.Docs.Dead.Load() {
					t.Fatalf("there is no write %d", write)
				}
				s.Restart(0, false)
				s.Must(s.Admissions.Record(t.Context(), admission.NewRecord("acme", "prod", "me", workload, decision, 1001)))
				records, _, err := s.Admissions.List(t.Context(), "prod", time.Unix(1001, 0), 0, 10)
				s.Must(err)
				refs, _, err := s.Outbox.Due(t.Context(), 2000, "")
				if err != nil || len(records) != 1 || len(refs) != 1 {
					t.Errorf("records %+v, events %+v: %v", records, refs, err)
				}
			})
		}
	}
}
