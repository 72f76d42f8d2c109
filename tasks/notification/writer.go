package notification

import (
	"context"
	"fmt"
	"strings"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/notification"
	"attestry/evidence/snapshot"
	"attestry/links"
)

const (
	// maxSingle is how many artifacts of a snapshot people are notified of one by one.
	maxSingle = 5
	// maxReasons is how many sentences say why an artifact is not compliant.
	maxReasons = 5
)

// writer writes the notices of an event for an action.
type writer struct {
	store        *app.Store
	links        links.Links
	org, orgName string
	action       *notification.Action
	event        *notification.Event
}

// notices returns the notices of the event: none if its environment or flow is archived.
func (w *writer) notices(ctx context.Context) (noticeSet, error) {
	switch event := w.event; {
	case event.Snapshot != nil:
		return w.ofSnapshot(ctx, event.Snapshot)
	case event.Scaled != nil:
		return w.ofScaled(ctx, event.Scaled)
	case event.Allowed != nil:
		return w.ofAllowed(ctx, event.Allowed)
	case event.Admitted != nil:
		return w.ofAdmitted(ctx, event.Admitted)
	case event.Trail != nil:
		return w.ofTrail(ctx, event.Trail)
	case event.Expiring != nil:
		notice := w.notice(notification.EventKeyExpires, event.Expiring.Sentence())
		notice.Link = w.links.Section(w.orgName, "settings")
		return same(notice), nil
	}
	return noticeSet{}, nil
}

// notice returns a notice of the event. parts distinguish its id from those of other notices of the event.
func (w *writer) notice(kind, description string, parts ...string) notification.Notice {
	return notification.Notice{
		ID:        notification.NoticeID(append([]string{w.event.ID, kind}, parts...)...),
		EventType: kind, Org: w.orgName, Timestamp: w.event.At, Action: w.action.Name, Description: description,
	}
}

func (w *writer) environmentNotice(env *environmentSnapshot, kind, description string, parts ...string) notification.Notice {
	notice := w.notice(kind, description, parts...)
	notice.Environment = env.name
	notice.Link = w.links.Environment(w.orgName, env.name)
	if made := env.snapshot; made != nil {
		notice.Link = w.links.Snapshot(w.orgName, env.name, made.Number)
		notice.Snapshot = &notification.NoticeSnapshot{
			Index: made.Number, Status: stateOf(made.State),
			HTMLURL: notice.Link, APIURL: w.links.SnapshotSelf(w.orgName, env.name, made.Number),
		}
	}
	return notice
}

// environmentSnapshot is an environment with one of its snapshots, nil if it has none.
type environmentSnapshot struct {
	name     string
	snapshot *snapshot.Snapshot
}

// environment reads an environment, by id, with a snapshot. It returns nil if it is archived or lacks the snapshot.
func (w *writer) environment(ctx context.Context, environment string, number int64) (*environmentSnapshot, error) {
	found, err := w.store.Environments.GetMany(ctx, []string{environment})
	if err != nil || len(found) == 0 || found[0].Archived {
		return nil, err
	}
	at := &environmentSnapshot{name: found[0].Name}
	if number == 0 {
		return at, nil
	}
	made, err := w.store.Snapshots.GetMany(ctx, environment, []int64{number})
	if err != nil || len(made) == 0 {
		return nil, err
	}
	at.snapshot = &made[0]
	return at, nil
}

// noticeSet is the notices of an event for machines and for people, who get one about many artifacts.
type noticeSet struct {
	machines, people []notification.Notice
}

func (s *noticeSet) to(kind notification.TargetType) []notification.Notice {
	if kind.Channel().ForMachines {
		return s.machines
	}
	return s.people
}

func (s *noticeSet) add(more noticeSet) {
	s.machines, s.people = append(s.machines, more.machines...), append(s.people, more.people...)
}

// same returns a set with the same notices for machines and people.
func same(notices ...notification.Notice) noticeSet {
	return noticeSet{machines: notices, people: notices}
}

// grouped gives people one notice about many artifacts.
func (w *writer) grouped(env *environmentSnapshot, kind, what string, notices []notification.Notice) noticeSet {
	if len(notices) <= maxSingle {
		return same(notices...)
	}
	all := w.environmentNotice(env, kind, fmt.Sprintf("%d artifacts %s", len(notices), what), "all")
	for i := range notices {
		if i == notification.MaxDetails-1 {
			all.Details = append(all.Details, fmt.Sprintf("and %d more", len(notices)-i))
			break
		}
		all.Details = append(all.Details, notices[i].Artifact.Name+": "+notices[i].Description)
	}
	return noticeSet{machines: notices, people: []notification.Notice{all}}
}

// stateOf words the state of a snapshot, which may be unknown.
func stateOf(state *bool) string {
	return evidence.Judged(state, "unknown", "compliant", "non-compliant")
}

func statusOf(status evidence.Status) string { return strings.ToLower(string(status)) }
