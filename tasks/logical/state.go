package logical

import (
	"slices"

	"attestry/evidence"
	"attestry/evidence/snapshot"
)

// state is what an update has read.
type state struct {
	environment evidence.Environment
	// last is the last snapshot, without a number when there is none.
	last snapshot.Snapshot
	// heads are those of the environment and of its active members, by id.
	heads map[string]snapshot.Head
}

// finished reports whether the events of the last snapshot are in the log: the head is written behind them.
func (s *state) finished() bool { return s.heads[s.environment.ID].Last >= s.last.Number }

// missed reports whether workers seem not to have found the environment: it has no snapshot although a member has, or it
// lacks a finished snapshot of a member. made is what a worker that has found it adds; nil if there is none.
func (s *state) missed(made *snapshot.Snapshot) bool {
	if s.last.Number == 0 {
		return s.membershipChanged()
	}
	return made == nil && len(s.behind(nil)) > 0
}

// membershipChanged reports whether members have joined or left since the last snapshot.
// Before the first one that makes no difference until a member has something to show.
func (s *state) membershipChanged() bool {
	if s.last.Number > 0 {
		return !s.last.HasMembers(s.environment.Active)
	}
	return slices.ContainsFunc(s.environment.Active, func(id string) bool { return s.heads[id].Last > 0 })
}

// members are the active ones as in the last snapshot. New ones come with the snapshot of their head.
func (s *state) members() []snapshot.Member {
	members := make([]snapshot.Member, 0, len(s.environment.Active))
	for _, id := range s.environment.Active {
		member, ok := s.last.Member(id)
		if !ok {
			head := s.heads[id]
			member = snapshot.Member{Environment: id, Number: head.Last, State: head.State}
		}
		members = append(members, member)
	}
	return members
}

// behind names the next snapshot of each member that has a newer one. made, if any, is not in its head yet.
func (s *state) behind(made *snapshot.Snapshot) []snapshot.Member {
	var behind []snapshot.Member
	for _, member := range s.members() {
		latest := s.heads[member.Environment].Last
		if made != nil && made.Environment == member.Environment {
			latest = max(latest, made.Number)
		}
		if member.Number < latest {
			behind = append(behind, snapshot.Member{Environment: member.Environment, Number: member.Number + 1})
		}
	}
	return behind
}
