package population

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"attestry/app/states"
	"attestry/evidence"
	"attestry/evidence/attestation"
	"attestry/evidence/period"
	"attestry/evidence/snapshot"
	"attestry/storage"
)

// change has the current facts about an artifact and the trail that built it.
type change struct {
	flow, author string
	// entries are the attestations of both.
	entries []evidence.Entry
	// approvers are the approvers of pull requests, by the ids of entries.
	approvers map[string][]string
	incidents []period.Incident
}

// changes caches the changes of deployed artifacts, which may be deployed many times.
type changes struct {
	known map[states.Query]*change
	// entries is the number of all their entries.
	entries int
}

func newChanges() *changes { return &changes{known: map[states.Query]*change{}} }

// maxEntries is how many entries of changes are kept between pages: some 16 MiB.
const maxEntries = 50_000

// addChanges adds the flows, approvals and incidents of the deployed artifacts to rows.
func (r *Reader) addChanges(ctx context.Context, org string, deployments []snapshot.Deployment, rows []Row, found *changes) error {
	if found.entries > maxEntries {
		*found = *newChanges()
	}
	queries := map[states.Query][]int{} // with their rows
	for i := range deployments {
		if origin := deployments[i].Origin; origin != nil {
			query := states.QueryOf(deployments[i].Fingerprint, &origin.Origin)
			queries[query] = append(queries[query], i)
		}
	}
	unknown := slices.DeleteFunc(slices.Collect(maps.Keys(queries)), func(query states.Query) bool { return found.known[query] != nil })
	if err := r.readChanges(ctx, org, unknown, found); err != nil {
		return err
	}
	for query, of := range queries {
		for _, i := range of {
			rows[i].add(found.known[query])
		}
	}
	return nil
}

// readChanges adds the changes of queries to found.
func (r *Reader) readChanges(ctx context.Context, org string, queries []states.Query, found *changes) error {
	evaluated, err := r.store.States.Details(ctx, org, queries)
	if err != nil {
		return err
	}
	named, err := r.store.Flows.Names(ctx, org, storage.Distinct(evidence.Map(evaluated, func(one states.Evaluated) string { return one.Trail.Flow })))
	if err != nil {
		return err
	}
	unread := map[string][]*change{} // by the ids of attestations that have to be read
	for n, query := range queries {
		state := &evaluated[n]
		one := &change{
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
func (c *change) add(a *evidence.Attestation) {
	if a.Type == period.IncidentType {
		c.incidents = append(c.incidents, period.IncidentOf(a))
		return
	}
	involved := evidence.Entry{Involved: attestation.Involved(a, "")}
	for i := range c.entries {
		if entry := &c.entries[i]; entry.Original() == a.ID {
			c.approvers[entry.ID] = approversOf(&involved)
		}
	}
}

// add adds a change to the row of one of its deployments.
func (r *Row) add(c *change) {
	approval, entry := period.ApprovalOf(c.author, c.entries, r.DeployedAt)
	r.Flow, r.Approval, r.entries, r.incidents = c.flow, approval, c.entries, c.incidents
	r.Author = cmp.Or(r.Author, c.author)
	if entry != nil {
		r.ApprovalLack, r.Approvers = entry.Unapproved, append(r.Approvers, c.approvers[entry.ID]...)
	}
}
