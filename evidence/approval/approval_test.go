package approval

import (
	"encoding/json"
	"reflect"
	"testing"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
)

func TestTheLastReviewDecides(t *testing.T) {
	for name, c := range map[string]struct {
		reviews []State
		want    State
	}{
		"none":                      {nil, Pending},
		"approved":                  {[]State{Approved}, Approved},
		"unapproved":                {[]State{Unapproved}, Unapproved},
		"approved, then unapproved": {[]State{Approved, Unapproved}, Unapproved},
		"unapproved, then approved": {[]State{Unapproved, Unapproved, Approved}, Approved},
	} {
		t.Run(name, func(t *testing.T) {
			reviews := evidence.Map(c.reviews, func(state State) Review { return Review{State: state} })
			if got := Overall(reviews); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestAnApprovalFollowsTheLastOneOfItsFlow(t *testing.T) {
	last := &Approval{Number: 6, Target: "f6", CreatedAt: 100}
	for name, c := range map[string]struct {
		last, approved *Approval
		createdAt      float64
		want           Approval
	}{
		"the first":              {&Approval{}, &Approval{}, 7, Approval{Number: 1, CreatedAt: 7}},
		"none approved":          {last, &Approval{}, 101, Approval{Number: 7, CreatedAt: 101}},
		"another one approved":   {last, &Approval{Number: 2, Target: "f2"}, 101, Approval{Number: 7, Base: "f2", CreatedAt: 101}},
		"the clock was set back": {last, last, 50, Approval{Number: 7, Base: "f6", CreatedAt: 100.000001}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Approval{CreatedAt: c.createdAt, Base: "what was before"}
			got.Follow(c.last, c.approved)
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestEventIsDecodedAsItWasEncoded(t *testing.T) {
	pending := Approval{ID: "a1", Org: "acme", Flow: "flow", Number: 3, Trail: "t", Target: "f1", State: Pending, CreatedAt: 5}
	reviewed := pending
	reviewed.State, reviewed.Environment = Unapproved, "prod"
	reviewed.Reviews = []Review{{State: Approved, ApprovedBy: "anna"}, {State: Unapproved, ApprovedBy: "bert"}}
	for name, c := range map[string]struct {
		approval Approval
		want     evidence.ApprovalData
	}{
		"pending":  {pending, evidence.ApprovalData{Fingerprint: "f1", Approval: "a1", Number: 3, State: "PENDING"}},
		"reviewed": {reviewed, evidence.ApprovalData{Fingerprint: "f1", Approval: "a1", Number: 3, Environment: "prod", State: "UNAPPROVED", Reviewer: "bert"}},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(c.approval.Event())
			evidencetest.Must(t, err)
			var got evidence.TrailEvent
			evidencetest.Must(t, json.Unmarshal(text, &got))
			want := evidence.TrailEvent{
				ID: "flow/3", Org: "acme", Flow: "flow", Trail: "flow/t", Time: 5, Type: "artifact_approval_reported", Data: &c.want,
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v %+v, want %+v %+v", got, got.Data, want, want.Data)
			}
		})
	}
}
