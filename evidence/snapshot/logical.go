package snapshot

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"attestry/evidence"
)

// Member is a member of a logical environment in one of its snapshots.
type Member struct {
	Environment string `json:"environment"` // id
	// Number is that of the member's snapshot, 0 if it has none.
	Number int64 `json:"number"`
	State  *bool `json:"state"`
}

// Cause is the member's snapshot that caused a logical snapshot.
type Cause struct {
	Environment string `json:"environment"` // id of the member
	Number      int64  `json:"number"`
	// EventsBefore is the number of the member's events before its snapshot.
	EventsBefore int64 `json:"events_before"`
}

// Member returns the entry of a member of a logical snapshot, or false.
func (s *Snapshot) Member(environment string) (Member, bool) {
	return evidence.First(s.Members, func(member Member) bool { return member.Environment == environment })
}

// HasMembers reports whether a logical snapshot has exactly these members, given by distinct ids in any order.
func (s *Snapshot) HasMembers(environments []string) bool {
	return len(environments) == len(s.Members) && !slices.ContainsFunc(environments, func(id string) bool {
		_, ok := s.Member(id)
		return !ok
	})
}

// WithMembers returns the logical snapshot after a change of members, at a time in Unix seconds, without events. Its
// time is later than that of s even if clocks differ. Its verdict is that of the members that have a snapshot.
func (s *Snapshot) WithMembers(members []Member, at float64) Snapshot {
	if s.Number > 0 {
		at = evidence.TimeAfter(s.Timestamp, at)
	}
	var states []*bool
	for _, member := range members {
		if member.Number > 0 {
			states = append(states, member.State)
		}
	}
	return Snapshot{
		Org: s.Org, Environment: s.Environment, Number: s.Number + 1, Timestamp: at, Type: evidence.LogicalType,
		Members: members, State: evidence.UnitedState(states), EventsBefore: s.EventsBefore + s.Events,
	}
}

// WithSnapshot returns the logical snapshot after a member's snapshot. It has the events of that snapshot.
func (s *Snapshot) WithSnapshot(made *Snapshot) Snapshot {
	members := slices.Clone(s.Members)
	for i := range members {
		if members[i].Environment == made.Environment {
			members[i].Number, members[i].State = made.Number, made.State
		}
	}
	next := s.WithMembers(members, made.Timestamp)
	next.Events = made.Events
	next.Cause = &Cause{Environment: made.Environment, Number: made.Number, EventsBefore: made.EventsBefore}
	return next
}

// EventsOfMember are the events of the member's snapshot that caused s, as entries of the logical environment's log.
func (s *Snapshot) EventsOfMember(events []Event) []Event {
	return evidence.Map(events, func(event Event) Event {
		event.Member = event.Environment
		event.Environment, event.Snapshot, event.Timestamp = s.Environment, s.Number, s.Timestamp
		event.Ordinal += s.EventsBefore - s.Cause.EventsBefore
		event.SnapshotCompliant = s.Compliant()
		return event
	})
}

// Union merges the artifacts of the members of a logical environment: one per fingerprint, with all instances and the
// worst verdict (docs/semantics.md 12.2). Its other properties are those of the first member in which it runs. The
// lists, one per member, and the result are sorted by fingerprint.
func Union(members [][]Artifact) []Artifact {
	united := map[string]*Artifact{}
	for _, artifacts := range members {
		for i := range artifacts {
			known := united[artifacts[i].Fingerprint]
			if known == nil {
				first := artifacts[i]
				first.Decisions = nil // policies are attached to physical environments
				united[first.Fingerprint] = &first
				continue
			}
			known.unite(&artifacts[i])
		}
	}
	all := evidence.Map(slices.Collect(maps.Values(united)), func(artifact *Artifact) Artifact { return *artifact })
	sortByFingerprint(all)
	return all
}

// unite adds the artifact of another member, whose lists are not modified.
func (a *Artifact) unite(other *Artifact) {
	if other.NewestInstance() > a.NewestInstance() {
		a.Context = other.Context
	}
	a.CreatedAt = slices.Sorted(slices.Values(slices.Concat(a.CreatedAt, other.CreatedAt)))
	a.Compliant = evidence.UnitedState([]*bool{a.Compliant, other.Compliant})
	a.StartedAt, a.FirstAt = min(a.StartedAt, other.StartedAt), min(a.FirstAt, other.FirstAt)
	if len(a.Origins) == 0 {
		a.Origins = other.Origins
	}
	a.Pods = maps.Clone(a.Pods)
	for _, name := range slices.Sorted(maps.Keys(other.Pods)) {
		pod := other.Pods[name]
		a.addPod(a.freePodName(name, pod.Namespace), pod)
	}
}

// freePodName returns the first of name, `namespace/name`, `namespace/name#2`, `namespace/name#3` and so on that no pod
// has: pods of two members are two pods even if their names and namespaces are the same.
func (a *Artifact) freePodName(name, namespace string) string {
	qualified := namespace + "/" + strings.TrimPrefix(name, namespace+"/")
	for n := 1; ; n++ {
		if _, taken := a.Pods[name]; !taken {
			return name
		}
		name = qualified
		if n > 1 {
			name += "#" + strconv.Itoa(n)
		}
	}
}
