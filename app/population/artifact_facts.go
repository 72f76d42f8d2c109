package population

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"attestry/app/states"
	"attestry/evidence"
	"attestry/evidence/attestation"
	"attestry/evidence/independent"
	"attestry/evidence/period"
	"attestry/evidence/snapshot"
)

// artifactFacts are the current facts about an artifact and the trail that built it.
type artifactFacts struct {
	flow, author string
	// entries are the attestations of both.
	entries []evidence.Entry
	// approvers are the approvers of pull requests, by the ids of entries.
	approvers map[string][]string
	incidents []period.Incident
}

// factsCache has the facts about deployed artifacts, which may be deployed many times.
type factsCache struct {
	known map[states.Query]*artifactFacts
	// entries is the number of all their entries.
	entries int
}

func newFactsCache() *factsCache { return &factsCache{known: map[states.Query]*artifactFacts{}} }

// maxEntries is how many entries of artifacts are cached between pages: some 16 MiB.
const maxEntries = 50_000

// addFacts adds the flows, approvals and incidents of the deployed artifacts to rows.
func (r *Reader) addFacts(ctx context.Context, org string, deployments []snapshot.Deployment, rows []Row, found *factsCache) error {
	if found.entries > maxEntries {
		*found = *newFactsCache()
	}
	queries := map[states.Query][]int{} // with their rows
	for i := range deployments {
		if origin := deployments[i].Origin; origin != nil {
			query := states.QueryOf(deployments[i].Fingerprint, &origin.Origin)
			queries[query] = append(queries[query], i)
		}
	}
	unknown := slices.DeleteFunc(slices.Collect(maps.Keys(queries)), func(query states.Query) bool { return found.known[query] != nil })
	if err := r.readFacts(ctx, org, unknown, found); err != nil {
		return err
	}
	for query, of := range queries {
		for _, i := range of {
			rows[i].add(found.known[query])
		}
	}
	return nil
}

// readFacts adds the facts of queries to found.
func (r *Reader) readFacts(ctx context.Context, org string, queries []states.Query, found *factsCache) error {
	evaluated, err := r.store.States.Details(ctx, org, queries)
	if err != nil {
		return err
	}
	named, err := r.store.Flows.Names(ctx, org, evidence.Distinct(evidence.Map(evaluated, func(one states.Evaluated) string { return one.Trail.Flow })))
	if err != nil {
		return err
	}
	unread := map[string][]*artifactFacts{} // by the ids of attestations that have to be read
	for n, query := range queries {
		state := &evaluated[n]
		one := &artifactFacts{
			flow: named[state.Trail.Flow].Name, author: state.Trail.Author(), approvers: map[string][]string{},
			entries: slices.Concat(state.Trail.Entries, state.Slot.Bound(state.Artifact)),
		}
		for i := range one.entries {
			if entry := &one.entries[i]; entry.Involved != "" {
				one.approvers[entry.ID] = approversOf(entry)
			} else if entry.Type == evidence.TypePullRequest || entry.Type == period.IncidentType {
				unread[entry.Original()] = append(unread[entry.Original()], one)
			}
		}
		found.known[query] = one
		found.entries += 1 + len(one.entries)
	}
	delete(unread, "") // overrides of missing attestations have no original
	return r.eachAttestation(ctx, slices.Sorted(maps.Keys(unread)), func(a *evidence.Attestation) {
		for _, one := range unread[a.ID] {
			one.add(a)
		}
	})
}

func approversOf(entry *evidence.Entry) (names []string) {
	for part, name := range entry.Parts() {
		if part == evidence.PartApproved {
			names = append(names, name)
		}
	}
	return names
}

// add adds the incident or the approvers of an attestation, which its entries do not have.
func (f *artifactFacts) add(a *evidence.Attestation) {
	if a.Type == period.IncidentType {
		f.incidents = append(f.incidents, period.IncidentOf(a))
		return
	}
	involved := evidence.Entry{Involved: attestation.Involved(a, "")}
	for i := range f.entries {
		if entry := &f.entries[i]; entry.Original() == a.ID {
			f.approvers[entry.ID] = approversOf(&involved)
		}
	}
}

// oneApproval is the rule by which a change counts as approved (docs/semantics.md 26.3).
var oneApproval = &independent.ApprovalRule{Approvers: 1}

// add adds the facts about its artifact to a row.
func (r *Row) add(f *artifactFacts) {
	approval, entry := period.ApprovalOf(f.author, f.entries, r.DeployedAt)
	r.Flow, r.Approval, r.entries, r.incidents = f.flow, approval, f.entries, f.incidents
	r.Author = cmp.Or(r.Author, f.author)
	if entry != nil {
		r.ApprovalLack, r.Approvers = oneApproval.Lack(entry), append(r.Approvers, f.approvers[entry.ID]...)
	}
}
