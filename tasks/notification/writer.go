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
	// maxSingle is how many artifacts of a snapshot people are told of one by one.
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

// notices are those of the event: none if it is about an environment or a flow that is archived.
func (w *writer) notices(ctx context.Context) (told, error) {
	switch event := w.event; {
	case event.Snapshot != nil:
		return w.ofSnapshot(ctx, event.Snapshot)
	case event.Scaled != nil:
		return w.ofScaled(ctx, event.Scaled)
	case event.Allowed != nil:
		return w.ofAllowed(ctx, event.Allowed)
	case event.Trail != nil:
		return w.ofTrail(ctx, event.Trail)
	}
	return told{}, nil
}

// notice begins a notice of the event. parts tell it from others of the same event.
func (w *writer) notice(kind, description string, parts ...string) notification.Notice {
	return notification.Notice{
		ID:        notification.NoticeID(append([]string{w.event.ID, kind}, parts...)...),
		EventType: kind, Org: w.orgName, Timestamp: w.event.At, Action: w.action.Name, Description: description,
	}
}

// environmentNotice begins a notice of an event in an environment.
func (w *writer) environmentNotice(place *place, kind, description string, parts ...string) notification.Notice {
	notice := w.notice(kind, description, parts...)
	notice.Environment = place.name
	notice.Link = w.links.Environment(w.orgName, place.name)
	if made := place.snapshot; made != nil {
		notice.Link = w.links.Snapshot(w.orgName, place.name, made.Number)
		notice.Snapshot = &notification.NoticeSnapshot{
			Index: made.Number, Status: stateOf(made.State),
			HTMLURL: notice.Link, APIURL: w.links.SnapshotSelf(w.orgName, place.name, made.Number),
		}
	}
	return notice
}

// place is an environment with one of its snapshots, nil if it has none.
type place struct {
	name     string
	snapshot *snapshot.Snapshot
}

// place reads an environment, by its id, with a snapshot of it. It returns nil if that is archived,
// or if the snapshot is not there.
func (w *writer) place(ctx context.Context, environment string, number int64) (*place, error) {
	found, err := w.store.Environments.GetMany(ctx, []string{environment})
	if err != nil || len(found) == 0 || found[0].Archived {
		return nil, err
	}
	at := &place{name: found[0].Name}
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

// same are notices that machines and people get alike.
func same(notices ...notification.Notice) told { return told{machines: notices, people: notices} }

// grouped gives people one notice about many artifacts.
func (w *writer) grouped(place *place, kind, what string, notices []notification.Notice) told {
	if len(notices) <= maxSingle {
		return same(notices...)
	}
	all := w.environmentNotice(place, kind, fmt.Sprintf("%d artifacts %s", len(notices), what), "all")
	for i := range notices {
		if i == notification.MaxDetails-1 {
			all.Details = append(all.Details, fmt.Sprintf("and %d more", len(notices)-i))
			break
		}
		all.Details = append(all.Details, notices[i].Artifact.Name+": "+notices[i].Description)
	}
	return told{machines: notices, people: []notification.Notice{all}}
}

// add adds further notices.
func (t *told) add(more told) {
	t.machines, t.people = append(t.machines, more.machines...), append(t.people, more.people...)
}

func verdict(compliant bool) string {
	if compliant {
		return "compliant"
	}
	return "non-compliant"
}

// stateOf words the state of a snapshot, which may be unknown.
func stateOf(state *bool) string {
	if state == nil {
		return "unknown"
	}
	return verdict(*state)
}

func statusOf(status evidence.Status) string { return strings.ToLower(string(status)) }
