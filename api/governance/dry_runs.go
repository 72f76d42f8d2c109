package governance

import (
	"sync"
	"time"

	"attestry/evidence"
)

// maxDryRuns is how many dry runs of one organization are under way at once. Each may take all the
// time that a request has.
const maxDryRuns = 2

// dryRuns counts the dry runs that are under way, by organization.
type dryRuns struct {
	mu       sync.Mutex
	underWay map[string]int
}

// enter counts a dry run until leave is called. Too many are Unavailable.
func (d *dryRuns) enter(org string) (leave func(), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.underWay[org] >= maxDryRuns {
		return nil, &evidence.Error{
			Code: evidence.Unavailable, Message: "Too many evaluations of this organization are under way, please try again.", RetryAfter: time.Second,
		}
	}
	if d.underWay == nil {
		d.underWay = map[string]int{}
	}
	d.underWay[org]++
	return func() { d.leave(org) }, nil
}

func (d *dryRuns) leave(org string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.underWay[org]--; d.underWay[org] == 0 {
		delete(d.underWay, org)
	}
}
