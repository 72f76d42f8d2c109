package pipelines

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"attestry/api/resource"
	"attestry/evidence"
	"attestry/evidence/snapshot"
)

// environmentRuns is an environment in which an artifact runs, or has run.
type environmentRuns struct {
	environment string // name
	// archived tells that the environment is: what happened there is history, and
	// nothing runs in it.
	archived bool
	// index is the number of the environment's latest snapshot while the artifact
	// runs, and then of the one in which it exited.
	index   int64
	running bool
	// events tell when it began and ceased to run, oldest first.
	events []snapshot.Event
}

// firstStart is when the artifact began to run here for the first time.
func (p environmentRuns) firstStart() float64 { return p.events[0].Timestamp }

// history tells when the artifact began and ceased to run here
// (docs/semantics.md 5.3).
func (p environmentRuns) history() []ArtifactHistory {
	var history []ArtifactHistory
	for _, event := range p.events {
		sentence := "Started running in %s#%d environment"
		if event.Type == snapshot.Exited {
			sentence = "No longer running in %s#%d environment"
		}
		history = append(history, ArtifactHistory{
			Event: fmt.Sprintf(sentence, p.environment, event.Snapshot), Timestamp: event.Timestamp,
		})
	}
	return history
}

// currentlyRunningIn and exitedFrom select by whether the artifact still runs. Both leave out archived environments.
func currentlyRunningIn(places []environmentRuns) []environmentRuns {
	return slices.DeleteFunc(slices.Clone(places), func(p environmentRuns) bool { return p.archived || !p.running })
}

func exitedFrom(places []environmentRuns) []environmentRuns {
	return slices.DeleteFunc(slices.Clone(places), func(p environmentRuns) bool { return p.archived || p.running })
}

func showEnvironmentRuns(places []environmentRuns) []ArtifactPlace {
	return resource.Map(places, func(p *environmentRuns) ArtifactPlace {
		return ArtifactPlace{EnvironmentName: p.environment, SnapshotIndex: p.index}
	})
}

func environmentsOf(places []environmentRuns) []string {
	return resource.Map(places, func(p *environmentRuns) string { return p.environment })
}

// leadTimes returns the seconds from a point in time to the artifact's first start, by environment. It leaves out
// environments where the artifact ran before that time, and archived ones, whose names other environments may have now.
func leadTimes(places []environmentRuns, since *float64) map[string]float64 {
	times := map[string]float64{}
	for _, place := range places {
		if since != nil && !place.archived && place.firstStart() >= *since {
			times[place.environment] = evidence.RoundSeconds(place.firstStart() - *since)
		}
	}
	return times
}

// loadEnvironmentRuns finds where fingerprints run and have run, by fingerprint, in order of
// the names.
func (h *handlers) loadEnvironmentRuns(ctx context.Context, org evidence.OrgAccess, fingerprints []string) (map[string][]environmentRuns, error) {
	events, err := h.Events.OfArtifacts(ctx, org.OrgID, fingerprints)
	if err != nil {
		return nil, err
	}
	type spot struct{ fingerprint, environment string }
	spots := map[spot]*environmentRuns{}
	var ids []string
	for _, event := range events {
		if !event.Type.Started() && event.Type != snapshot.Exited {
			continue
		}
		at := spot{fingerprint: event.Fingerprint, environment: event.Environment}
		if spots[at] == nil {
			spots[at] = &environmentRuns{}
		}
		spots[at].events = append(spots[at].events, event)
		ids = append(ids, event.Environment)
	}
	ids = resource.SortUnique(ids)
	heads, err := h.Heads.GetMany(ctx, ids)
	if err != nil {
		return nil, err
	}
	environments, err := h.Environments.Names(ctx, org.OrgID, ids)
	if err != nil {
		return nil, err
	}
	places := map[string][]environmentRuns{}
	for at, one := range spots {
		one.summarize(environments[at.environment], heads[at.environment].Last)
		places[at.fingerprint] = append(places[at.fingerprint], *one)
	}
	for _, found := range places {
		slices.SortFunc(found, func(a, b environmentRuns) int {
			return cmp.Or(cmp.Compare(a.environment, b.environment), cmp.Compare(a.firstStart(), b.firstStart()))
		})
	}
	return places, nil
}

// summarize sets all else by the events, the name of the environment and the number of its latest snapshot.
func (p *environmentRuns) summarize(environment evidence.Environment, latest int64) {
	slices.SortFunc(p.events, func(a, b snapshot.Event) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	last := p.events[len(p.events)-1]
	p.environment, p.archived, p.index = environment.Name, environment.Archived, last.Snapshot
	if p.running = last.Type.Started(); p.running {
		p.index = max(last.Snapshot, latest)
	}
}
