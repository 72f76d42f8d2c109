package notification

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"attestry/evidence"
	"attestry/evidence/admission"
	"attestry/evidence/notification"
	"attestry/evidence/snapshot"
	"attestry/storage"
)

// ofSnapshot returns notices of the starts, the exits and the changed verdict of a snapshot.
func (w *writer) ofSnapshot(ctx context.Context, made *notification.SnapshotMade) (noticeSet, error) {
	env, err := w.environment(ctx, made.Environment, made.Number)
	if err != nil || env == nil {
		return noticeSet{}, err
	}
	before, err := w.store.Snapshots.Get(ctx, made.Environment, made.Number-1)
	if err := storage.IgnoreMissing(err); err != nil {
		return noticeSet{}, err
	}
	contents, err := w.contents(ctx, env.snapshot)
	if err != nil || contents == nil {
		return w.verdictChanged(env, before.State, nil), err
	}
	all := w.verdictChanged(env, before.State, contents)
	all.add(w.changed(env, contents, notification.StartedArtifact, notification.EventArtifactStarted, "started running"))
	all.add(w.changed(env, contents, notification.ExitedArtifact, notification.EventArtifactExited, "stopped running"))
	return all, nil
}

// snapshotContents has the artifacts and the changes of a snapshot of a physical environment.
type snapshotContents struct {
	changes []snapshot.Change
	// artifacts are those that run and those that have exited, by fingerprint.
	artifacts map[string]snapshot.Artifact
	// failing are the first running artifacts, by name, that are not compliant. more means that there are others.
	failing []snapshot.Artifact
	more    bool
	known   *provenances
}

// contents reads the contents of a snapshot or, if it is logical, of its cause: nil if it has none.
func (w *writer) contents(ctx context.Context, made *snapshot.Snapshot) (*snapshotContents, error) {
	if made.Type == evidence.LogicalType {
		if made.Cause == nil {
			return nil, nil
		}
		caused, err := w.store.Snapshots.Get(ctx, made.Cause.Environment, made.Cause.Number)
		if err != nil {
			return nil, err
		}
		made = &caused
	}
	changes, err := w.store.Snapshots.Changes(ctx, made)
	if err != nil {
		return nil, err
	}
	running, err := w.store.Snapshots.Artifacts(ctx, made)
	if err != nil {
		return nil, err
	}
	s := &snapshotContents{changes: changes, artifacts: snapshot.ByFingerprint(running)}
	var changed []snapshot.Artifact
	for i := range changes {
		if former := changes[i].Former; former != nil {
			s.artifacts[former.Fingerprint] = *former
		}
		changed = append(changed, s.artifacts[changes[i].Fingerprint])
	}
	s.keepFailing(running)
	s.known, err = w.provenances(ctx, append(changed, s.failing...), made.Policies)
	return s, err
}

func (s *snapshotContents) keepFailing(running []snapshot.Artifact) {
	for i := range running {
		if running[i].Compliant != nil && !*running[i].Compliant {
			s.failing = append(s.failing, running[i])
		}
	}
	slices.SortFunc(s.failing, func(a, b snapshot.Artifact) int { return cmp.Compare(a.Name, b.Name) })
	if s.more = len(s.failing) > notification.MaxDetails; s.more {
		s.failing = s.failing[:notification.MaxDetails]
	}
}

// changed returns notices of artifacts that started or exited, if the action has the trigger.
func (w *writer) changed(env *environmentSnapshot, contents *snapshotContents, trigger notification.Trigger, kind, what string) noticeSet {
	if !w.action.HasTrigger(trigger) {
		return noticeSet{}
	}
	var notices []notification.Notice
	for i := range contents.changes {
		change := &contents.changes[i]
		if change.Type.Started() != (trigger == notification.StartedArtifact) || !change.Type.Started() && change.Type != snapshot.Exited {
			continue
		}
		artifact := contents.artifacts[change.Fingerprint]
		notice := w.environmentNotice(env, kind, change.Description(), change.Fingerprint)
		notice.Artifact = w.artifact(&artifact, contents.known)
		if change.Type.Started() {
			notice.Details = contents.known.why(&artifact)
		}
		notices = append(notices, notice)
	}
	return w.grouped(env, kind, what, notices)
}

// verdictChanged returns a notice of a changed verdict, if the action has the trigger. contents may be nil.
func (w *writer) verdictChanged(env *environmentSnapshot, was *bool, contents *snapshotContents) noticeSet {
	now := env.snapshot.State
	switch {
	case was == nil || now == nil || *was == *now:
		return noticeSet{}
	case *now && w.action.HasTrigger(notification.CompliantEnv):
		return same(w.environmentNotice(env, notification.EventCompliant, fmt.Sprintf("Environment %s is compliant again", env.name)))
	case !*now && w.action.HasTrigger(notification.NonCompliantEnv):
		notice := w.environmentNotice(env, notification.EventNonCompliant, fmt.Sprintf("Environment %s is not compliant any more", env.name))
		notice.Details = contents.whyFailing()
		return same(notice)
	}
	return noticeSet{}
}

// whyFailing says which artifacts are not compliant, and why.
func (s *snapshotContents) whyFailing() []string {
	if s == nil {
		return nil
	}
	var sentences []string
	for i := range s.failing {
		reasons := s.known.why(&s.failing[i])
		if len(reasons) == 0 {
			reasons = []string{"it is not compliant."}
		}
		for _, reason := range reasons {
			sentences = append(sentences, s.failing[i].Name+": "+reason)
		}
	}
	if s.more || len(sentences) > notification.MaxDetails {
		sentences = append(sentences[:min(len(sentences), notification.MaxDetails-1)], "There are more.")
	}
	return sentences
}

func (w *writer) ofScaled(ctx context.Context, scaled *notification.ArtifactsScaled) (noticeSet, error) {
	env, err := w.environment(ctx, scaled.Environment, scaled.Snapshot)
	if err != nil || env == nil {
		return noticeSet{}, err
	}
	running, err := w.store.Snapshots.Artifacts(ctx, env.snapshot)
	if err != nil {
		return noticeSet{}, err
	}
	byFingerprint := snapshot.ByFingerprint(running)
	artifacts := evidence.Map(scaled.Artifacts, func(one notification.Scaled) snapshot.Artifact { return byFingerprint[one.Fingerprint] })
	known, err := w.provenances(ctx, artifacts, nil)
	if err != nil {
		return noticeSet{}, err
	}
	var notices []notification.Notice
	for i, one := range scaled.Artifacts {
		notice := w.environmentNotice(env, notification.EventArtifactScaled,
			fmt.Sprintf("scaled to %s (from %d to %d)", evidence.Count(one.Now, "instance"), one.Was, one.Now), one.Fingerprint)
		artifacts[i].Name, artifacts[i].Fingerprint = one.Name, one.Fingerprint
		notice.Artifact = w.artifact(&artifacts[i], known)
		notices = append(notices, notice)
	}
	return w.grouped(env, notification.EventArtifactScaled, "were scaled", notices), nil
}

// ofAllowed returns the notice of a permitted artifact, with the snapshot of evaluatedWith.
func (w *writer) ofAllowed(ctx context.Context, allowed *evidence.Allowance) (noticeSet, error) {
	number, err := w.evaluatedWith(ctx, allowed)
	if err != nil {
		return noticeSet{}, err
	}
	env, err := w.environment(ctx, allowed.Environment, number)
	if err != nil || env == nil {
		return noticeSet{}, err
	}
	notice := w.environmentNotice(env, notification.EventArtifactAllowed, fmt.Sprintf("%s was permitted by %s", allowed.ArtifactName, allowed.UserName))
	if allowed.Description != "" {
		notice.Details = []string{"Reason: " + allowed.Description}
	}
	notice.Artifact, err = w.knownArtifact(ctx, allowed.Fingerprint, allowed.ArtifactName)
	return same(notice), err
}

// ofAdmitted returns the notice of a workload that was admitted for the reason it gave.
func (w *writer) ofAdmitted(ctx context.Context, record *admission.Record) (noticeSet, error) {
	env, err := w.environment(ctx, record.Environment, 0)
	if err != nil || env == nil {
		return noticeSet{}, err
	}
	notice := w.environmentNotice(env, notification.EventBreakGlass,
		fmt.Sprintf("%s %s in namespace %s was admitted against the verdict: %s", record.Kind, record.Name, record.Namespace, record.Reason))
	for _, refusal := range record.Refusals[:min(len(record.Refusals), notification.MaxDetails)] {
		notice.Details = append(notice.Details, refusal.Image+": "+refusal.Reason)
	}
	return same(notice), nil
}

const (
	// evaluationWait bounds how long a notice waits for the snapshot that shows a permission.
	evaluationWait = 10 * time.Second
	// evaluationCheck is how often it looks for that snapshot.
	evaluationCheck = 50 * time.Millisecond
)

// evaluatedWith returns the number of the snapshot that shows a permission: the one at its time if the permission
// changes nothing in it, else the first later one that is found. After evaluationWait it is the latest one.
func (w *writer) evaluatedWith(ctx context.Context, allowed *evidence.Allowance) (int64, error) {
	number, err := w.store.Snapshots.NumberAt(ctx, allowed.Environment, allowed.At)
	if err != nil {
		return 0, err
	}
	shown, err := w.shows(ctx, allowed, number)
	end := time.After(evaluationWait)
	for err == nil && !shown {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-end:
			return number, nil
		case <-time.After(evaluationCheck):
		}
		var latest int64
		if latest, err = w.store.Snapshots.LastNumber(ctx, allowed.Environment); err == nil && latest > number {
			number = latest
			shown, err = w.shows(ctx, allowed, number)
		}
	}
	return number, err
}

// shows reports whether a snapshot needs no change by a permission: the artifact passes, is unjudged or not there.
func (w *writer) shows(ctx context.Context, allowed *evidence.Allowance, number int64) (bool, error) {
	if number == 0 {
		return true, nil
	}
	made, err := w.store.Snapshots.Get(ctx, allowed.Environment, number)
	if err != nil {
		return false, err
	}
	artifacts, err := w.store.Snapshots.Artifacts(ctx, &made)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(artifacts, func(one snapshot.Artifact) bool {
		permitted := one.Fingerprint == allowed.Fingerprint ||
			slices.ContainsFunc(one.Origins, func(origin snapshot.Origin) bool { return origin.Parent == allowed.Fingerprint })
		return permitted && one.Compliant != nil && !*one.Compliant
	}), nil
}
