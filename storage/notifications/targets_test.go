package notifications_test

import (
	"regexp"
	"slices"
	"testing"

	"attestry/evidence/evidencetest"
	"attestry/evidence/notification"
	"attestry/storage"
	"attestry/storage/notifications"
	"attestry/storage/storagetest"
)

var (
	first  = notification.Target{Type: notification.Webhook, Webhook: "https://a.example"}
	second = notification.Target{Type: notification.Email, Emails: []string{"a@example.com"}}
	action = notification.Action{Number: 4, Targets: []notification.Target{first, second, first}}
)

// states returns the states of the targets of action.
func states(t *testing.T, targets *notifications.Targets) map[notifications.TargetKey]notification.TargetState {
	t.Helper()
	found, err := targets.States(t.Context(), "org", action)
	evidencetest.Must(t, err)
	return found
}

func update(t *testing.T, targets *notifications.Targets, target notification.Target, change func(*notification.TargetState)) {
	t.Helper()
	if _, err := targets.Update(t.Context(), "org", action.Number, target.ID(), change); err != nil {
		t.Fatal(err)
	}
}

func TestStatesOfTargetsAreReadWithOneCommand(t *testing.T) {
	docs := openEngine(t)
	targets := notifications.NewTargets(docs)
	update(t, targets, first, func(s *notification.TargetState) { s.LastSuccessAt = 5 })
	docs.Reset()
	found := states(t, targets)
	if spent := docs.Snapshot().Commands(); len(found) != 1 || found[notifications.TargetKey{Action: 4, Target: first.ID()}].LastSuccessAt != 5 || spent != 1 {
		t.Errorf("%+v after %d commands", found, spent)
	}
	if theirs, err := targets.States(t.Context(), "other", action); err != nil || len(theirs) != 0 {
		t.Errorf("of another organization: %+v, %v", theirs, err)
	}
}

func TestRemovedTargetsLoseTheirState(t *testing.T) {
	targets := notifications.NewTargets(openEngine(t))
	for _, target := range action.DistinctTargets() {
		update(t, targets, target, func(*notification.TargetState) {})
	}
	evidencetest.Must(t, targets.Remove(t.Context(), "org", action.Number, first))
	if found := states(t, targets); len(found) != 1 || found[notifications.TargetKey{Action: 4, Target: second.ID()}].Secret == "" {
		t.Errorf("left are %+v", found)
	}
	evidencetest.Check(t, targets.Remove(t.Context(), "org", action.Number))
}

func TestSwitchOnDoesNotChangeOtherTargets(t *testing.T) {
	docs := openEngine(t)
	targets := notifications.NewTargets(docs)
	update(t, targets, first, func(s *notification.TargetState) { s.FailingSince, s.SwitchedOffAt, s.LastFailureAt = 1, 2, 2 })
	update(t, targets, second, func(s *notification.TargetState) { s.FailingSince, s.LastFailureAt = 3, 3 })
	secret := states(t, targets)[notifications.TargetKey{Action: 4, Target: first.ID()}].Secret
	evidencetest.Must(t, targets.SwitchOn(t.Context(), "org", action))
	found := states(t, targets)
	one, two := found[notifications.TargetKey{Action: 4, Target: first.ID()}], found[notifications.TargetKey{Action: 4, Target: second.ID()}]
	if one.SwitchedOffAt != 0 || one.FailingSince != 0 || one.LastFailureAt != 2 || one.Secret != secret || two.FailingSince != 3 {
		t.Errorf("%+v, %+v", one, two)
	}
	docs.Reset()
	if err := targets.SwitchOn(t.Context(), "org", action); err != nil || docs.Snapshot().Commands() != 1 {
		t.Errorf("%d commands, %v", docs.Snapshot().Commands(), err)
	}
}

func TestSwitchOnFailsWithEachOfItsCommands(t *testing.T) {
	open := func() storage.Documents {
		docs := openEngine(t)
		update(t, notifications.NewTargets(docs), first, func(s *notification.TargetState) { s.SwitchedOffAt = 2 })
		return docs
	}
	storagetest.EachFailure(t, 3, open, func(docs storage.Documents) error {
		return notifications.NewTargets(docs).SwitchOn(t.Context(), "org", action)
	})
}

func TestSecretsOfTargets(t *testing.T) {
	targets := notifications.NewTargets(openEngine(t))
	made, err := targets.Ensure(t.Context(), "org", 4, first.ID())
	if err != nil || !regexp.MustCompile(`^whsec_[A-Za-z0-9+/]{43}=$`).MatchString(made.Secret) {
		t.Fatalf("made %+v, %v", made, err)
	}
	if again, err := targets.Ensure(t.Context(), "org", 4, first.ID()); err != nil || again != made {
		t.Errorf("made again: %+v, %v", again, err)
	}
	fresh, err := targets.RotateSecret(t.Context(), "org", 4, first.ID(), 1000)
	if err != nil || fresh == made.Secret {
		t.Fatalf("rotated to %q, %v", fresh, err)
	}
	state := states(t, targets)[notifications.TargetKey{Action: 4, Target: first.ID()}]
	if got := state.Secrets(1001); !slices.Equal(got, []string{fresh, made.Secret}) {
		t.Errorf("signed with %v", got)
	}
	only, err := targets.RotateSecret(t.Context(), "org", 4, second.ID(), 1000)
	state = states(t, targets)[notifications.TargetKey{Action: 4, Target: second.ID()}]
	if got := state.Secrets(1001); err != nil || !slices.Equal(got, []string{only}) {
		t.Errorf("a target without a secret is signed with %v, %v", got, err)
	}
}
