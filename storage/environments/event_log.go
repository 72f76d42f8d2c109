package environments

import (
	"context"
	"slices"

	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
)

// EventRange is a part of the event log of an environment.
type EventRange struct {
	Environment string // id
	// From and To are Unix seconds, both included.
	From, To float64
}

func (r *EventRange) query(index string, equal ...any) storage.Query {
	return storage.Query{Index: index, Equal: equal, From: &storage.Bound{Value: r.From}, To: &storage.Bound{Value: r.To}}
}

// EventPage is a page of events: Limit of them, at most MaxMany, after the first Offset.
type EventPage struct {
	Offset, Limit int
	// Descending begins with the newest.
	Descending bool
}

// Log returns a page of a range and how many events it has: three commands, as ordinals have no gaps.
func (e *Events) Log(ctx context.Context, r EventRange, p EventPage) ([]snapshot.Event, int64, error) {
	first, err := e.boundary(ctx, r, false)
	if err != nil || first == 0 {
		return nil, 0, err
	}
	last, err := e.boundary(ctx, r, true)
	if err != nil {
		return nil, 0, err
	}
	total := last - first + 1
	if int64(p.Offset) >= total {
		return nil, total, nil
	}
	if p.Descending {
		last -= int64(p.Offset)
		first = max(first, last-int64(p.Limit)+1)
	} else {
		first += int64(p.Offset)
		last = min(last, first+int64(p.Limit)-1)
	}
	events, err := e.Between(ctx, r.Environment, first, last, p.Descending)
	return events, total, err
}

// boundary returns the ordinal of the first or the last event of a range; 0 if it is empty.
func (e *Events) boundary(ctx context.Context, r EventRange, last bool) (int64, error) {
	query := r.query("time", r.Environment)
	query.Descending, query.Limit = last, 1
	found, _, err := e.log.FindFields(ctx, query)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return found[0].Integer("ordinal"), nil
}

// Walk returns the next events of a range after a cursor, MaxMany or as many as fit maxBytes, oldest first, and the
// next cursor. The cursor is "" at the beginning and the end.
func (e *Events) Walk(ctx context.Context, r EventRange, after string, maxBytes int) ([]snapshot.Event, string, error) {
	query := r.query("time", r.Environment)
	query.After, query.Limit, query.MaxBytes = after, storage.MaxMany, maxBytes
	return e.log.Find(ctx, query)
}

// OfRepos returns a page of the events of artifacts of repositories, by id, and how many there are, at most MaxCount.
// Without repositories, it is Log. For one repository it takes three commands, and two for every ten thousand events
// before the page. For several, which may share events, it reads the range, with a command for a thousand.
func (e *Events) OfRepos(ctx context.Context, r EventRange, repos []string, p EventPage) ([]snapshot.Event, int64, error) {
	switch {
	case len(repos) == 0:
		return e.Log(ctx, r, p)
	case len(repos) > 1:
		return e.ofSeveralRepos(ctx, r, repos, p)
	}
	query := r.query("repo", repos[0], r.Environment)
	total, err := e.ofRepos.Count(ctx, query)
	if err != nil || int64(p.Offset) >= total {
		return nil, total, err
	}
	query.Descending, query.Offset, query.Limit = p.Descending, p.Offset, p.Limit
	found, err := storage.FindAllFields(ctx, e.ofRepos, query)
	if err != nil {
		return nil, 0, err
	}
	events, err := e.withOrdinals(ctx, r.Environment, ordinalsOf(found))
	return events, total, err
}

func (e *Events) withOrdinals(ctx context.Context, environment string, ordinals []int64) ([]snapshot.Event, error) {
	return e.log.GetMany(ctx, evidence.Map(ordinals, func(ordinal int64) string { return numbered(environment, ordinal) }))
}

func ordinalsOf(entries []storage.Record) []int64 {
	return evidence.Map(entries, func(entry storage.Record) int64 { return entry.Integer("ordinal") })
}

func (e *Events) ofSeveralRepos(ctx context.Context, r EventRange, repos []string, p EventPage) ([]snapshot.Event, int64, error) {
	var ordinals []int64
	for _, repo := range repos {
		query := r.query("repo", repo, r.Environment)
		query.Descending, query.Limit = p.Descending, storage.MaxCount
		found, err := storage.FindAllFields(ctx, e.ofRepos, query)
		if err != nil {
			return nil, 0, err
		}
		ordinals = append(ordinals, ordinalsOf(found)...)
	}
	slices.Sort(ordinals)
	ordinals = slices.Compact(ordinals)
	if p.Descending {
		slices.Reverse(ordinals)
	}
	ordinals = ordinals[:min(len(ordinals), storage.MaxCount)]
	total := int64(len(ordinals))
	ordinals = ordinals[min(p.Offset, len(ordinals)):]
	events, err := e.withOrdinals(ctx, r.Environment, ordinals[:min(p.Limit, len(ordinals))])
	return events, total, err
}

// maxArtifactEvents bounds the events that are read for up to MaxMany fingerprints at once: the newest ones.
const maxArtifactEvents = 10 * storage.MaxMany

// OfArtifacts returns the events of fingerprints in the environments of an organization, newest first for each. If
// there are more than maxArtifactEvents, it reads fingerprints with less than their share of these again without the
// others, up to seven times. So a few artifacts that start often hide only their own oldest events.
func (e *Events) OfArtifacts(ctx context.Context, org string, fingerprints []string) ([]snapshot.Event, error) {
	var events []snapshot.Event
	for some := range slices.Chunk(fingerprints, storage.MaxMany) {
		for read := 1; len(some) > 0; read++ {
			found, err := storage.FindAll(ctx, e.log, storage.Query{
				Index: "artifact", Equal: []any{org, storage.OneOrSet(some)}, Descending: true, Limit: maxArtifactEvents,
			})
			if err != nil {
				return nil, err
			}
			counts := map[string]int{}
			for i := range found {
				counts[found[i].Fingerprint]++
			}
			incomplete, share := len(found) == maxArtifactEvents && read < 8, maxArtifactEvents/len(some)
			again := func(fingerprint string) bool { return incomplete && counts[fingerprint] < share }
			events = append(events, slices.DeleteFunc(found, func(event snapshot.Event) bool { return again(event.Fingerprint) })...)
			some = slices.DeleteFunc(slices.Clone(some), func(fingerprint string) bool { return !again(fingerprint) })
		}
	}
	return events, nil
}

// Beginning returns the fingerprints that run or ran in an organization and begin with hex digits. ErrAmbiguous means
// that these are too many.
func (e *Events) Beginning(ctx context.Context, org, digits string) ([]string, error) {
	found, err := storage.FindByPrefix(ctx, e.log, storage.Query{Index: "artifact", Equal: []any{org}}, "fingerprint", digits)
	return storage.DistinctValues(found, "fingerprint"), err
}
