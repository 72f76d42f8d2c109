package auditpackage_test

import (
	"math/rand/v2"
	"testing"

	"attestry/evidence"
)

func newRandom(t *testing.T, seed int) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(uint64(seed), 1))
}

// randomStep reports a random artifact, or attests the trail or an artifact.
func (s *scene) randomStep(random *rand.Rand) {
	s.t.Helper()
	fingerprints := []string{old, current, other}
	slots := []string{"web", "job"}
	if random.IntN(3) == 0 {
		s.report("1", slots[random.IntN(2)], fingerprints[random.IntN(3)])
		return
	}
	a := attestation([]string{"ticket", "unit-test", "scan", "never-made"}[random.IntN(4)],
		[]string{evidence.TypeGeneric, evidence.TypeJira, evidence.TypeSonar}[random.IntN(3)])
	a.Compliant = random.IntN(4) > 0
	switch random.IntN(3) {
	case 0:
		a.Targets = slots[:1+random.IntN(2)]
		if random.IntN(2) == 0 {
			a.Commit = &evidence.GitCommit{SHA1: old[:40]}
		}
	case 1:
		trail, err := s.store.Trails.Get(s.t.Context(), s.flow, "1")
		s.must(err)
		known := trail.Fingerprints()
		if len(known) == 0 {
			return
		}
		a.Fingerprint = known[random.IntN(len(known))]
	}
	s.attest("1", a)
}
