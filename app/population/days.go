package population

import (
	"context"
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"attestry/evidence"
	"attestry/evidence/period"
	"attestry/evidence/snapshot"
)

// maxDays bounds the estimated memory of the cached sums of days, in bytes. It suffices for a million deployments.
const maxDays = 32 << 20

// days are the cached sums of an environment for ended UTC days, from a first day on. They are immutable once cached.
type days struct {
	asOf moment
	// until is the number of the first day that was not counted.
	until float64
	// sums are by the number of the day, without empty days. The days in again are not in sums.
	sums  map[float64]*daySum
	again []float64
}

// moment says which facts were counted.
type moment struct {
	// names are the current and former names of the environment, joined. They decide which incidents it has.
	names string
	// facts is the time up to which all facts of the organization were reflected, and snapshots that of the
	// environment's last snapshot, in Unix seconds. Later snapshots have later times.
	facts, snapshots float64
}

type daySum struct {
	totals Totals
	// trails are hashes of the keys of the trails on which it depends.
	trails []uint64
}

var hashSeed = maphash.MakeSeed()

func hashOf(trail string) uint64 { return maphash.String(hashSeed, trail) }

// dayOf returns the number of the UTC day of a time in Unix seconds.
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

// Totals returns the totals of a period at a time in Unix seconds, equal to those of a survey. It caches the sums of
// ended days, and counts a day again if a fact about it was recorded since.
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

// moments returns the current moment of each environment. Later counts may include more facts.
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
		environment := named[id]
		found[id] = moment{names: strings.Join(environment.Names(), " "), facts: facts, snapshots: heads[id].Timestamp}
	}
	return found, err
}

// keptDays returns the cached sums of a period, by environment, without days about which a fact was recorded since.
func (r *Reader) keptDays(ctx context.Context, p *period.Period, moments map[string]moment) (map[string]*days, error) {
	kept, since := map[string]*days{}, math.Inf(1)
	for _, id := range p.Environments {
		if known, ok := r.days.Get(daysKey(id, p)); ok && known.asOf.names == moments[id].names {
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
	changed := evidence.SetOf(trails, func(key *string) uint64 { return hashOf(*key) })
	for id, known := range kept {
		learned, err := r.store.Deployments.Learned(ctx, id, known.asOf.snapshots)
		if err != nil {
			return nil, err
		}
		stale := evidence.SetOf(learned, func(at *float64) float64 { return dayOf(*at) })
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

// daysKey is the cache key of the days of an environment. All periods that begin on the same day share them.
func daysKey(environment string, p *period.Period) string {
	return environment + "/" + strconv.FormatFloat(firstDay(p), 'f', 0, 64)
}

// addDays adds an environment's deployments and events to the totals of a period. whole are the cached days, or nil.
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

// complete counts the days in whole.again, and those until the end that were not counted yet.
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

// addPart adds an environment's deployments and events in a part of a period to the totals, without the cache.
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

// count adds an environment's deployments and events from a time until before another, in Unix seconds, to into.
func (r *Reader) count(ctx context.Context, org, environment string, from, to float64, into *days) error {
	if from >= to {
		return nil
	}
	part, found := &period.Period{Org: org, Environments: []string{environment}, From: from, To: to}, newFactsCache()
	add := func(row *Row) {
		sum := into.of(dayOf(row.DeployedAt))
		r.add(&sum.totals, row)
		if row.TrailKey != "" {
			sum.trails = append(sum.trails, hashOf(row.TrailKey))
		}
	}
	if err := each(ctx, r, add, func(after string) ([]Row, string, error) { return r.walk(ctx, part, after, found) }); err != nil {
		return err
	}
	return r.eachEvent(ctx, environment, part, func(event *snapshot.Event) { into.of(dayOf(event.Timestamp)).totals.addEvent(event) })
}
