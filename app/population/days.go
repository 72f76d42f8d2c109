package population

import (
	"context"
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"strconv"

	"attestry/evidence/period"
	"attestry/evidence/snapshot"
)

// maxDays is how much memory the sums of days may take, estimated, in bytes: those of a million deployments.
const maxDays = 32 << 20

// days are what was counted in an environment on days of UTC that have ended, from a first day on. They are not changed once
// they are kept.
type days struct {
	asOf moment
	// until is the number of the first day that was not counted.
	until float64
	// sums has those days on which something happened, by number, but for those to be counted again.
	sums  map[float64]*daySum
	again []float64
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
	moments, err := r.moments(ctx, p)
	if err != nil {
		return totals, err
	}
	kept, err := r.keptDays(ctx, p, moments)
	if err != nil {
		return totals, err
	}
	for _, id := range p.Environments {
		if err := r.addDays(ctx, p, id, moments[id], kept[id], &totals); err != nil {
			return totals, err
		}
	}
	totals.sum(p, now)
	return totals, nil
}

// moments are what is known now, by environment. What is counted later may take more into account.
func (r *Reader) moments(ctx context.Context, p *period.Period) (map[string]moment, error) {
	facts, err := r.store.Recorder.ReflectedUntil(ctx, p.Org)
	if err != nil {
		return nil, err
	}
	heads, err := r.store.Heads.GetMany(ctx, p.Environments)
	if err != nil {
		return nil, err
	}
	named, err := r.store.Environments.Names(ctx, p.Org, p.Environments)
	found := make(map[string]moment, len(p.Environments))
	for _, id := range p.Environments {
		found[id] = moment{environment: named[id].Name, facts: facts, snapshots: heads[id].Timestamp}
	}
	return found, err
}

// keptDays are the kept sums of a period without those of the days that something was recorded of since, by environment.
func (r *Reader) keptDays(ctx context.Context, p *period.Period, moments map[string]moment) (map[string]*days, error) {
	kept, since := map[string]*days{}, math.Inf(1)
	for _, id := range p.Environments {
		if known, ok := r.days.Get(daysKey(id, p)); ok && known.asOf.environment == moments[id].environment {
			kept[id], since = known, min(since, known.asOf.facts)
		}
	}
	if len(kept) == 0 {
		return nil, nil
	}
	trails, ok, err := r.store.Recorder.ChangedTrails(ctx, p.Org, since)
	if err != nil || !ok {
		return nil, err
	}
	changed := make(map[uint64]bool, len(trails))
	for _, key := range trails {
		changed[hashOf(key)] = true
	}
	for id, known := range kept {
		learned, err := r.store.Deployments.Learned(ctx, id, known.asOf.snapshots)
		if err != nil {
			return nil, err
		}
		stale := map[float64]bool{}
		for _, at := range learned {
			stale[dayOf(at)] = true
		}
		fresh := &days{asOf: moments[id], until: known.until, sums: maps.Clone(known.sums)}
		for day, sum := range known.sums {
			if stale[day] || slices.ContainsFunc(sum.trails, func(trail uint64) bool { return changed[trail] }) {
				fresh.again = append(fresh.again, day)
				delete(fresh.sums, day)
			}
		}
		kept[id] = fresh
	}
	return kept, nil
}

// firstDay is the first whole day of a period.
func firstDay(p *period.Period) float64 { return math.Ceil(p.From / secondsPerDay) }

// daysKey is that of the kept days of an environment. All periods that begin on one day share them.
func daysKey(environment string, p *period.Period) string {
	return environment + "/" + strconv.FormatFloat(firstDay(p), 'f', 0, 64)
}

// addDays adds to the totals of a period what happened in an environment, by the days that are kept, nil for none.
func (r *Reader) addDays(ctx context.Context, p *period.Period, environment string, asOf moment, whole *days, totals *Totals) error {
	begin, first, end := p.From, firstDay(p), dayOf(min(p.To, asOf.snapshots))
	if first < end {
		if whole == nil {
			whole = &days{asOf: asOf, until: first, sums: map[float64]*daySum{}}
		}
		if err := r.complete(ctx, p.Org, environment, end, whole); err != nil {
			return err
		}
		whole.addTo(totals, end)
		r.days.Put(daysKey(environment, p), whole, whole.size())
		if err := r.addPart(ctx, p.Org, environment, p.From, first*secondsPerDay, totals); err != nil {
			return err
		}
		begin = end * secondsPerDay
	}
	return r.addPart(ctx, p.Org, environment, begin, p.To, totals)
}

// complete counts the days that have to be counted again, and those until the end that were not.
func (r *Reader) complete(ctx context.Context, org, environment string, end float64, whole *days) error {
	for _, day := range whole.again {
		if err := r.count(ctx, org, environment, day*secondsPerDay, (day+1)*secondsPerDay, whole); err != nil {
			return err
		}
	}
	err := r.count(ctx, org, environment, whole.until*secondsPerDay, end*secondsPerDay, whole)
	whole.again, whole.until = nil, max(whole.until, end)
	return err
}

// addPart adds to totals what happened in an environment in a part of a period that is not kept.
func (r *Reader) addPart(ctx context.Context, org, environment string, from, to float64, totals *Totals) error {
	counted := &days{sums: map[float64]*daySum{}}
	err := r.count(ctx, org, environment, from, to, counted)
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
