package governance

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"attestry/api/assessment"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/verdict"
	"attestry/storage"
	"attestry/storage/logs"
)

// maxInputs bounds the attestations that a signed verdict lists.
const maxInputs = 1000

// addEntries adds to a verdict the log entries of its policies and of the evaluated attestations. The list of
// attestations must be complete, so it is empty if one of them has no entry yet.
func (h *handlers) addEntries(ctx context.Context, found *assessment.Assessment, decided *verdict.Verdict) error {
	org := server.Access(ctx)
	log, err := h.Logs.Get(ctx, org.OrgID)
	if err != nil {
		return storage.IgnoreMissing(err)
	}
	inputs := inputsOf(found)
	names := slices.Clone(inputs)
	for _, applied := range decided.Policies {
		names = append(names, policyFact(applied))
	}
	leaves, err := h.Logs.Indexed(ctx, org.OrgID, names)
	if err != nil {
		return err
	}
	entries := map[string]verdict.Input{}
	for i := range leaves {
		entries[logs.FactName(leaves[i].Kind, leaves[i].ID)] = verdict.Input{
			URI: h.Links.ProofSelf(org.OrgName, leaves[i].Kind, leaves[i].ID), Index: leaves[i].Index - 1,
			Digest: verdict.DigestSet{SHA256: evidence.SHA256(leaves[i].Entry(log.Secret).Text())},
		}
	}
	for i := range decided.Policies {
		if entry, ok := entries[policyFact(decided.Policies[i])]; ok {
			decided.Policies[i].LogIndex = &entry.Index
		}
	}
	for _, name := range inputs {
		entry, ok := entries[name]
		if !ok {
			decided.Inputs = nil
			return nil
		}
		decided.Inputs = append(decided.Inputs, entry)
	}
	return nil
}

func policyFact(applied verdict.Policy) string {
	return logs.FactName("policy", applied.Name, strconv.Itoa(applied.Version))
}

// inputsOf returns the fact names of the evaluated attestations and decisions, none if they exceed maxInputs.
func inputsOf(found *assessment.Assessment) (names []string) {
	add := func(entry evidence.Entry) { names = append(names, logs.FactName("attestation", entry.ID)) }
	for number, flow := range found.Artifact.Flows {
		if len(found.Applied) == 0 && !slices.Contains(found.Flows, number) {
			continue
		}
		for _, entry := range flow.Attestations {
			add(entry)
		}
	}
	for _, control := range slices.Sorted(maps.Keys(found.Artifact.Decisions)) {
		add(found.Artifact.Decisions[control].Entry)
	}
	names = evidence.Distinct(names)
	if len(names) > maxInputs {
		return nil
	}
	return names
}
