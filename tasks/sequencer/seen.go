package sequencer

import "sync"

const (
	// searchInterval is after how many seconds the leaves of all times are looked for again.
	searchInterval = 10.0
	// searchMargin is how many seconds before the last leaf leaves are looked for otherwise. Processes store leaves a little
	// after the times that they have, and their clocks differ.
	searchMargin = 1.0
)

// seen is up to when the leaves of organizations have places. It is lost with the process, which costs time only.
type seen struct {
	mu   sync.Mutex
	orgs map[string]bounds
}

// bounds are times in Unix seconds: of the last leaf that got a place, and of the last search among all times.
type bounds struct{ placed, searched float64 }

// since returns from which time on leaves are to be looked for, 0 for all times.
func (s *seen) since(org string, now float64) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.orgs[org]
	if now < of.searched || now >= of.searched+searchInterval {
		return 0
	}
	return max(0, of.placed-searchMargin)
}

func (s *seen) set(org string, placed float64) {
	s.change(org, func(of *bounds) { of.placed = max(of.placed, placed) })
}

func (s *seen) searched(org string, now float64) {
	s.change(org, func(of *bounds) { of.searched = now })
}

func (s *seen) change(org string, change func(*bounds)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.orgs == nil {
		s.orgs = map[string]bounds{}
	}
	of := s.orgs[org]
	change(&of)
	s.orgs[org] = of
}
