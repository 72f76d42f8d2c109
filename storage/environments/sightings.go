package environments

import (
	"context"

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
	return &FirstSeen{Collection: storage.NewCollection(docs, firstSeenSchema,
		func(s *snapshot.FirstSeen) string { return firstSeenID(s.Environment, s.Fingerprint) }, nil)}
}

func firstSeenID(environment, fingerprint string) string { return environment + "/" + fingerprint }

// First returns when fingerprints first ran in an environment, in Unix seconds, without those that never did.
func (s *FirstSeen) First(ctx context.Context, environment string, fingerprints []string) (map[string]float64, error) {
	ids := storage.IDs(fingerprints, func(fingerprint string) string { return firstSeenID(environment, fingerprint) })
	found, err := s.Collection.GetMany(ctx, ids)
	first := make(map[string]float64, len(found))
	for _, sighting := range found {
		first[sighting.Fingerprint] = sighting.At
	}
	return first, err
}
