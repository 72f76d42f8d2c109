package recording

import "context"

// recordingTime chooses the time of a fact. Chosen once, it is kept as long as the fact may be
// stored with it.
type recordingTime struct {
	// now is the time by the clock of this process, last that of the newest thing outside of
	// the trail that the fact may supersede, both in Unix seconds.
	now, last float64
	// begun tells that the trail was begun for the fact, which may have the same time.
	begun  bool
	chosen float64
}

// choose returns a time in Unix seconds that is later than last and than all of the trail.
func (t *recordingTime) choose(ctx context.Context, u *trailUpdate) (float64, error) {
	if u.repeated && t.chosen != 0 && t.chosen >= t.last {
		return t.chosen, nil
	}
	newest := u.trail.Value.LastModifiedAt
	if t.begun && u.trail.Value.LastModifiedAt == u.trail.Value.CreatedAt {
		newest = u.trail.Value.CreatedAt - microsecond
	}
	var err error
	t.chosen, err = u.recorder.timeAfter(ctx, u.trail.Value.Org, max(newest, t.last), t.now)
	return t.chosen, err
}
