package proofs

import (
	"context"
	"strings"

	"attestry/api/server"
	"attestry/evidence"
	"attestry/storage/logs"
	"attestry/storage/names"
)

type entriesQuery struct {
	server.OrgPath
	Facts []string `query:"facts,explode" required:"true" minItems:"1" maxItems:"256" doc:"Kind and id of each fact, such as attestation/{id}."`
}

// LogEntry is a fact with the index of its entry in the log.
type LogEntry struct {
	Fact  string `json:"fact" doc:"Kind and id, as they were asked for."`
	Index int64  `json:"index" doc:"Place of the entry in the log, from 0."`
}

// LogEntriesResponse lists entries of a log (docs/semantics.md 24.4).
type LogEntriesResponse struct {
	Entries []LogEntry `json:"entries" doc:"Those of the facts that are in the last checkpoint, in the order in which they were asked for."`
}

func (h *handlers) listEntries(ctx context.Context, in *entriesQuery) (*server.Answer[LogEntriesResponse], error) {
	org := server.Access(ctx)
	log, err := h.load(ctx, org)
	if err != nil {
		return nil, err
	}
	resolved, err := h.resolveFacts(ctx, org, in.Facts)
	if err != nil {
		return nil, err
	}
	leaves, err := h.Logs.Indexed(ctx, org.OrgID, evidence.Distinct(resolved))
	if err != nil {
		return nil, err
	}
	// Numbers are from 1.
	numbers := evidence.ToMap(leaves, func(l *logs.Leaf) (string, int64) { return l.Kind + "/" + l.ID, l.Index })
	body := LogEntriesResponse{Entries: []LogEntry{}}
	for i, fact := range in.Facts {
		if number := numbers[resolved[i]]; number > 0 && number <= log.Signed {
			body.Entries = append(body.Entries, LogEntry{Fact: fact, Index: number - 1})
		}
	}
	return server.Answered(body), nil
}

// resolveFacts returns the names of facts in the log, kind/id. If an id begins with the id of an environment or a flow,
// a request may have the name of the environment or flow instead.
func (h *handlers) resolveFacts(ctx context.Context, org evidence.OrgAccess, facts []string) ([]string, error) {
	environment, flow := h.Environments.Registry.ResolveMany, h.Flows.ResolveMany
	ids := map[string]string{}
	for kind, resolve := range map[string]func(ctx context.Context, org string, names []string) ([]names.Entry, error){
		"snapshot": environment, "environment": environment, "allowance": environment, "approval": flow,
	} {
		var owners []string
		for _, fact := range facts {
			if of, owner, _ := splitFact(fact); of == kind {
				owners = append(owners, owner)
			}
		}
		if len(owners) == 0 {
			continue
		}
		entries, err := resolve(ctx, org.OrgID, evidence.Distinct(owners))
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			ids[kind+"/"+entry.Name] = entry.ID
		}
	}
	resolved := make([]string, 0, len(facts))
	for _, fact := range facts {
		kind, owner, rest := splitFact(fact)
		if id := ids[kind+"/"+owner]; id != "" {
			fact = kind + "/" + id + rest
		}
		resolved = append(resolved, fact)
	}
	return resolved, nil
}

// splitFact splits kind/owner:rest. The rest includes the colon.
func splitFact(fact string) (kind, owner, rest string) {
	kind, id, _ := strings.Cut(fact, "/")
	owner, rest, found := strings.Cut(id, ":")
	if found {
		rest = ":" + rest
	}
	return kind, owner, rest
}
