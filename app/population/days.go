package population

import (
	"context"
	"hash/maphash"
	"math"
	"slices"
	"strconv"

	"attestry/evidence/period"
	"attestry/evidence/snapshot"
)

// maxDays is how much memory the sums of days may take, estimated, in bytes: those of a million deployments.
const maxDays = 32 << 20

// days are what was counted in an environment on days of UTC that have ended, from a first day on. They are not changed.
type days struct {
	asOf moment
	// until is the number of the first day that was not counted.
	until float64
	// sums has those days on which something happened, by number.
	sums map[float64]*daySum
}

// moment is what was known when something was counted.
type moment struct {
	// environment is the name of the environment, by which incidents are assigned.
	environment string
	// facts is the time up to which all facts of the organization were reflected, and snapshots that of the environment's last
	// snapshot, in Unix seconds. Later snapshots have later times.
	facts, snapshots float64
}

// daySum is what was counted on a day.
type daySum struct {
	totals Totals
	// trails are hashes of the keys of the trails that it depends on.
	trails []uint64
}

var hashSeed = maphash.MakeSeed()

func hashOf(trail string) uint64 { return maphash.String(hashSeed, trail) }

// dayOf is the number of the day of UTC of a time in Unix seconds.
func dayOf(at float64) float64 { return math.Floor(at / secondsPerDay) }

// size estimates how much memory the days take, in bytes.
func (d *days) size() int {
	size := 256
	for _, sum := range d.sums {
		size += 1024 + 8*(len(sum.trails)+len(sum.totals.leads)+len(sum.totals.restores)) + 128*len(sum.totals.failed)
	}
	return size
}

func (d *days) of(day float64) *daySum {
	if d.sums[day] == nil {
		d.sums[day] = &daySum{totals: NewTotals()}
	}
	return d.sums[day]
}

// Totals are those of a period at a time in Unix seconds, as a survey of it finds them. The sums of days that have ended are
// kept. A day is counted again if something was recorded since that concerns it.
func (r *Reader) Totals(ctx context.Context, p *period.Period, now float64) (Totals, error) {
	totals := NewTotals()
	facts, err := r.store.Recorder.ReflectedUntil(ctx, p.Org)
	if err != nil {
		return totals, err
	}
	heads, err := r.store.Heads.GetMany(ctx, p.Environments)
	if err != nil {
		return totals, err
	}
	named, err := r.store.Environments.Names(ctx, p.Org, p.Environments)
	if err != nil {
		return totals, err
	}
	changed := changedTrails{reader: r, org: p.Org}
	for _, id := range p.Environments {
		asOf := moment{environment: named[id].Name, facts: facts, snapshots: heads[id].Timestamp}
		if err := r.addDays(ctx, p, id, asOf, &changed, &totals); err != nil {
			return totals, err
		}
	}
	totals.sum(p, now)
	return totals, nil
}

// addDays adds to the totals of a period what happened in an environment.
func (r *Reader) addDays(ctx context.Context, p *period.Period, environment string, asOf moment, changed *changedTrails, totals *Totals) error {
	first, end := math.Ceil(p.From/secondsPerDay), dayOf(min(p.To, asOf.snapshots))
	counted := &days{sums: map[float64]*daySum{}}
	if first >= end {
		err := r.count(ctx, p.Org, environment, p.From, p.To, counted)
		counted.addTo(totals, math.Inf(1))
		return err
	}
	whole, err := r.wholeDays(ctx, p.Org, environment, first, end, asOf, changed)
	if err != nil {
		return err
	}
	whole.addTo(totals, end)
	if err := r.count(ctx, p.Org, environment, p.From, first*secondsPerDay, counted); err != nil {
		return err
	}
	err = r.count(ctx, p.Org, environment, end*secondsPerDay, p.To, counted)
	counted.addTo(totals, math.Inf(1))
	return err
}

// addTo adds the days before one to totals.
func (d *days) addTo(totals *Totals, end float64) {
	for day, sum := range d.sums {
		if day < end {
			totals.merge(&sum.totals)
		}
	}
}

// wholeDays are the days of an environment from the first one on, at least until the end, as they are now.
func (r *Reader) wholeDays(ctx context.Context, org, environment string, first, end float64, asOf moment, changed *changedTrails) (*days, error) {
	key := environment + "/" + strconv.FormatFloat(first, 'f', 0, 64)
	fresh := &days{asOf: asOf, until: first, sums: map[float64]*daySum{}}
	var again []float64
	if known, ok := r.days.Get(key); ok && known.asOf.environment == asOf.environment {
		stale, ok, err := r.staleDays(ctx, environment, known, changed)
		if err != nil {
			return nil, err
		}
		if ok {
			fresh.until = known.until
			for day, sum := range known.sums {
				if stale[day] {
					again = append(again, day)
				} else {
					fresh.sums[day] = sum
				}
			}
		}
	}
	for _, day := range again {
		if err := r.count(ctx, org, environment, day*secondsPerDay, (day+1)*secondsPerDay, fresh); err != nil {
			return nil, err
		}
	}
	if err := r.count(ctx, org, environment, fresh.until*secondsPerDay, end*secondsPerDay, fresh); err != nil {
		return nil, err
	}
	fresh.until = max(fresh.until, end)
	r.days.Put(key, fresh, fresh.size())
	return fresh, nil
}

// staleDays are those that something was recorded of since they were counted. It is not ok if that cannot be told.
func (r *Reader) staleDays(ctx context.Context, environment string, known *days, changed *changedTrails) (stale map[float64]bool, ok bool, err error) {
	trails, ok, err := changed.since(ctx, known.asOf.facts)
	if err != nil || !ok {
		return nil, false, err
	}
	learned, err := r.store.Deployments.Learned(ctx, environment, known.asOf.snapshots)
	stale = map[float64]bool{}
	for _, at := range learned {
		stale[dayOf(at)] = true
	}
	for day, sum := range known.sums {
		stale[day] = stale[day] || slices.ContainsFunc(sum.trails, func(trail uint64) bool { return trails[trail] })
	}
	return stale, true, err
}

// count adds to days what happened in an environment between two times in Unix seconds, the second one not included.
func (r *Reader) count(ctx context.Context, org, environment string, from, to float64, into *days) error {
	if from >= to {
		return nil
	}
	part, found := &period.Period{Org: org, Environments: []string{environment}, From: from, To: to}, newChanges()
	add := func(row *Row) {
		sum := into.of(dayOf(row.DeployedAt))
		sum.totals.Add(row)
		if row.TrailKey != "" {
			sum.trails = append(sum.trails, hashOf(row.TrailKey))
		}
	}
	if err := each(ctx, r, add, func(after string) ([]Row, string, error) { return r.walk(ctx, part, after, found) }); err != nil {
		return err
	}
	return r.eachEvent(ctx, environment, part, func(event *snapshot.Event) { into.of(dayOf(event.Timestamp)).totals.addEvent(event) })
}

// changedTrails are hashes of the keys of the trails of an organization to which something was reported after some time. Most
// environments of a period were counted at the same time.
type changedTrails struct {
	reader *Reader
	org    string
	// read are those after a time, nil before they are read. tooMany is set if they cannot be.
	read    map[uint64]bool
	after   float64
	tooMany bool
}

// since returns the trails after a time in Unix seconds. It is not ok if they are too many.
func (c *changedTrails) since(ctx context.Context, after float64) (trails map[uint64]bool, ok bool, err error) {
	if c.tooMany || c.read != nil && c.after <= after {
		return c.read, !c.tooMany, nil
	}
	keys, ok, err := c.reader.store.Recorder.ChangedTrails(ctx, c.org, after)
	if c.tooMany = !ok; err != nil || !ok {
		return nil, false, err
	}
	c.read, c.after = make(map[uint64]bool, len(keys)), after
	for _, key := range keys {
		c.read[hashOf(key)] = true
	}
	return c.read, true, nil
}
