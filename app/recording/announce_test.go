package recording_test

import (
	"fmt"
	"slices"
	"testing"

	"attestry/app/apptest"
	"attestry/app/recording"
	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/environments"
)

// announceFixture has a flow with an artifact that runs in some environments.
type announceFixture struct {
	*apptest.Fixture
	n int
}

func newAnnounceFixture(t *testing.T, running int) *announceFixture {
	t.Helper()
	s := &announceFixture{Fixture: apptest.NewFixture(t)}
	_, _, err := s.PutFlow("org", "flow")
	s.Must(err)
	s.Must(s.Recorder.Report(t.Context(), s.scope(), evidence.ArtifactRecord{
		ID: evidence.NewID(), Org: "org", Trail: "t", Name: "app", Fingerprint: apptest.Sha("1", 64), CreatedAt: 1000,
	}, nil))
	for i := range running {
		s.run(fmt.Sprint("env-", i))
	}
	return s
}

func (s *announceFixture) scope() recording.Scope {
	return recording.Scope{Org: "org", OrgName: "org", Flow: "flow", Trail: "t", By: "me", ByID: "me", At: 1000}
}

func (s *announceFixture) run(environment string) {
	s.T.Helper()
	s.Must(s.Running.Start(s.T.Context(), []environments.Running{
		{Org: "org", Environment: environment, Fingerprint: apptest.Sha("1", 64), Since: 1},
	}))
}

func (s *announceFixture) attest() {
	s.T.Helper()
	s.n++
	s.Must(s.Recorder.Attest(s.T.Context(), s.scope(), evidence.Attestation{
		ID: evidence.NewID(), Org: "org", Trail: "t", Name: fmt.Sprint("x", s.n), Type: evidence.TypeGeneric,
		Fingerprint: apptest.Sha("1", 64), CreatedAt: 2000,
	}, nil))
}

func (s *announceFixture) generation(environment string) string {
	s.T.Helper()
	generation, err := s.Generations.Get(s.T.Context(), "org", environment)
	s.Must(err)
	return generation
}

func TestAttestationChangesTheGenerationsOfItsEnvironments(t *testing.T) {
	for _, running := range []int{0, 1, 3, 100, 101} {
		t.Run(fmt.Sprint(running, " environments"), func(t *testing.T) {
			s := newAnnounceFixture(t, running)
			before := map[string]string{}
			for i := range running {
				before[fmt.Sprint("env-", i)] = s.generation(fmt.Sprint("env-", i))
			}
			s.attest()
			for environment, generation := range before {
				if s.generation(environment) == generation {
					t.Errorf("the generation of %s has not changed", environment)
				}
			}
			if other := s.generation("another"); (other != "") != (running > 100) {
				t.Errorf("the generation of an environment without the artifact is %q", other)
			}
		})
	}
}

func TestAttestationFindsArtifactsThatStartedSinceTheLast(t *testing.T) {
	s := newAnnounceFixture(t, 0)
	s.attest() // caches that the artifact runs nowhere
	if generation := s.generation("prod"); generation != "" {
		t.Fatalf("the generation is %q, though nothing runs", generation)
	}
	s.run("prod")
	s.attest()
	if s.generation("prod") == "" {
		t.Error("the generation has not changed")
	}
}

// TestTrailThatRunsInTooManyPlacesChangesAllGenerations has so many running artifacts that the entry of the last
// environment is not read.
func TestTrailThatRunsInTooManyPlacesChangesAllGenerations(t *testing.T) {
	s := newAnnounceFixture(t, 0)
	const artifacts = 11
	entries := []environments.Running{{Org: "org", Environment: "last", Fingerprint: apptest.Sha("b", 64), Since: 1}}
	for i := range artifacts {
		fingerprint := apptest.Sha(fmt.Sprintf("%x", i+1), 64)
		s.Must(s.Recorder.Report(t.Context(), s.scope(), evidence.ArtifactRecord{
			ID: evidence.NewID(), Org: "org", Trail: "t", Name: fmt.Sprint("app-", i), Fingerprint: fingerprint, CreatedAt: 1000,
		}, nil))
		for j := range 95 {
			entries = append(entries, environments.Running{Org: "org", Environment: fmt.Sprintf("env-%02d", j), Fingerprint: fingerprint, Since: 1})
		}
	}
	for some := range slices.Chunk(entries, storage.MaxMany) {
		s.Must(s.Running.Start(t.Context(), some))
	}
	flow, err := s.Flows.Resolve(t.Context(), "org", "flow")
	s.Must(err)
	template, err := s.Templates.Put(t.Context(), "org", []byte("version: 1\ntrail:\n  attestations:\n  - name: x\n    type: generic\n"))
	s.Must(err)
	before := s.generation("last")
	_, err = s.Recorder.Begin(t.Context(), s.scope(), flow.ID, evidence.TrailChange{Template: template}, nil)
	s.Must(err)
	if s.generation("last") == before {
		t.Error("the generation of the last environment has not changed")
	}
}
