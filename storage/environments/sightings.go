package environments

import (
	"context"

	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
)

var firstSeenSchema = &storage.Schema{Name: "sightings"}

// FirstSeen keeps when fingerprints first ran in environments.
type FirstSeen struct {
	storage.Collection[snapshot.FirstSeen]
}

// NewFirstSeen binds the repository to an engine.
func NewFirstSeen(docs storage.Documents) *FirstSeen {
	return &FirstSeen{Collection: storage.NewCollection(docs, firstSeenSchema, firstSeenKey, nil)}
}

func firstSeenKey(s *snapshot.FirstSeen) string { return idIn(s.Environment, s.Fingerprint) }

// First returns when fingerprints first ran in an environment, in Unix seconds, without those that never did.
func (s *FirstSeen) First(ctx context.Context, environment string, fingerprints []string) (map[string]float64, error) {
	ids := evidence.Map(fingerprints, func(fingerprint string) string { return idIn(environment, fingerprint) })
	found, err := s.Collection.GetMany(ctx, ids)
	return evidence.ToMap(found, func(s *snapshot.FirstSeen) (string, float64) { return s.Fingerprint, s.At }), err
}

// Kinds returns the kinds of deployments (docs/semantics.md 14.1): one command for each MaxMany artifacts.
func (s *FirstSeen) Kinds(ctx context.Context, deployments []snapshot.Deployment) ([]snapshot.DeploymentKind, error) {
	var ids []string
	for i := range deployments {
		ids = append(ids, idIn(deployments[i].Environment, deployments[i].Fingerprint))
		if previous := deployments[i].Replaced(); previous != nil {
			ids = append(ids, idIn(deployments[i].Environment, previous.Fingerprint))
		}
	}
	found, err := s.Collection.GetMany(ctx, evidence.Distinct(ids))
	first := evidence.ByKey(found, firstSeenKey)
	return evidence.Map(deployments, func(one snapshot.Deployment) snapshot.DeploymentKind {
		replaced := ""
		if previous := one.Replaced(); previous != nil {
			replaced = previous.Fingerprint
		}
		return one.Kind(first[idIn(one.Environment, one.Fingerprint)].At, first[idIn(one.Environment, replaced)].At)
	}), err
}
