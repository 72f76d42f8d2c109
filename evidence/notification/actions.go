package notification

import (
	"cmp"
	"slices"

	"attestry/evidence"
)

// The bounds of an organization's actions, which are stored together.
const (
	MaxActions = 500
	// MaxAddresses bounds the webhooks and e-mail addresses of all targets.
	MaxAddresses = 2_000
	// MaxSubjects bounds the environments and flows of all actions.
	MaxSubjects = 10_000
)

// Actions are all actions of an organization.
type Actions struct {
	Org     string `json:"org"`      // id
	OrgName string `json:"org_name"` // which never changes
	// Last is the number of the last created action.
	Last int64 `json:"last"`
	// All are in the order of their numbers.
	All []Action `json:"all"`
}

// Find returns the action of a number.
func (s *Actions) Find(number int64) (Action, bool) {
	return evidence.First(s.All, func(a Action) bool { return a.Number == number })
}

// OfKind returns the actions of the kinds, in the order of their numbers.
func (s *Actions) OfKind(kinds ...Kind) []Action {
	return slices.DeleteFunc(slices.Clone(s.All), func(a Action) bool { return !slices.Contains(kinds, a.Kind) })
}

func compareNumber(a Action, number int64) int { return cmp.Compare(a.Number, number) }

// Named returns the action of a name.
func (s *Actions) Named(name string) (Action, bool) {
	return evidence.First(s.All, func(a Action) bool { return a.Name == name })
}

// TargetOf returns the target of a delivery.
func (s *Actions) TargetOf(delivery *Delivery) (Target, bool) {
	action, _ := s.Find(delivery.Action)
	return action.Target(delivery.Target)
}

// Put creates an action, or replaces the one of its name, keeping the number, author and time of creation. It returns
// the stored action and whether it was created. The name of an action of the other kind is Invalid.
func (s *Actions) Put(fresh Action) (stored Action, created bool, err error) {
	known, ok := s.Named(fresh.Name)
	switch {
	case !ok:
		fresh.Number = s.Last + 1
		s.Last = fresh.Number
		s.All = append(s.All, fresh)
		return fresh, true, s.check(&fresh)
	case known.Kind != fresh.Kind:
		return Action{}, false, nameTaken(fresh.Name)
	}
	fresh.Number = known.Number
	stored, _, err = s.Replace(fresh)
	return stored, false, err
}

// Replace replaces the action of fresh's number, keeping its author and time of creation. It returns false if there is
// none of fresh's kind. The name of another action is Invalid.
func (s *Actions) Replace(fresh Action) (stored Action, ok bool, err error) {
	i, found := slices.BinarySearchFunc(s.All, fresh.Number, compareNumber)
	if !found || s.All[i].Kind != fresh.Kind {
		return Action{}, false, nil
	}
	if named, ok := s.Named(fresh.Name); ok && named.Number != fresh.Number {
		return Action{}, true, nameTaken(fresh.Name)
	}
	known := &s.All[i]
	fresh.CreatedBy, fresh.CreatedAt = known.CreatedBy, known.CreatedAt
	fresh.LastModifiedAt = max(fresh.LastModifiedAt, known.LastModifiedAt)
	*known = fresh
	return fresh, true, s.check(&fresh)
}

// Remove removes the action of a number, and reports whether there was one of the kinds.
func (s *Actions) Remove(number int64, kinds ...Kind) (removed Action, ok bool) {
	i, ok := slices.BinarySearchFunc(s.All, number, compareNumber)
	if !ok || !slices.Contains(kinds, s.All[i].Kind) {
		return Action{}, false
	}
	removed = s.All[i]
	s.All = slices.Delete(s.All, i, i+1)
	return removed, true
}

func nameTaken(name string) error {
	return evidence.FieldError("name", "Another action has this name [input: %s]", name)
}

// check checks the bounds after an action was put.
func (s *Actions) check(put *Action) error {
	addresses, subjects := 0, 0
	for i := range s.All {
		subjects += len(s.All[i].Subjects)
		for j := range s.All[i].Targets {
			addresses += max(1, len(s.All[i].Targets[j].Emails))
		}
	}
	switch {
	case len(s.All) > MaxActions:
		return evidence.FieldError("name", "An organization has at most %d actions [input: %s]", MaxActions, put.Name)
	case addresses > MaxAddresses:
		return evidence.FieldError("targets",
			"The actions of an organization have at most %d webhooks and e-mail addresses in all [input: %d]", MaxAddresses, addresses)
	case subjects > MaxSubjects:
		return evidence.FieldError(put.Kind.Subjects(),
			"The actions of an organization name at most %d environments and flows in all [input: %d]", MaxSubjects, subjects)
	}
	return nil
}

// FiringOn returns the numbers of the actions that fire on an event.
func (s *Actions) FiringOn(event *Event) []int64 {
	var numbers []int64
	for i := range s.All {
		if s.All[i].FiresOn(event) {
			numbers = append(numbers, s.All[i].Number)
		}
	}
	return numbers
}
