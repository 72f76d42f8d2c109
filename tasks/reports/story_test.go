package reports_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"attestry/app/recording"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/snapshot"
	"attestry/storage"
)

// operation is a request of a client, or a drain.
type operation struct {
	// Kind is run, drain, build or attest.
	Kind string
	// Images are the running images. One without a file has no digest in the report.
	Images []image
	// Flow, Trail, Slot and File are those of the artifact that is built or attested.
	Flow, Trail, Slot, File string
	Commit, Repo            string
	// Attestation is the name of an attestation of a file, a slot, or the whole trail.
	Attestation string
	Compliant   bool
}

type image struct {
	Name, File string
	At         int64
}

// flowTemplates are the templates of the flows, by name.
var flowTemplates = map[string]string{
	"build": "version: 1\ntrail:\n  attestations:\n    - {name: x, type: generic}\n  artifacts:\n    - name: web\n      attestations:\n        - {name: y, type: generic}\n",
	"scan":  "version: 1\n",
}

const firstMoment = 1_800_000_000

// momentOf returns the time of the operation with an index, in Unix seconds.
func momentOf(number int) float64 { return firstMoment + 60*float64(number) }

// randomOperations returns random operations, with a drain at the end.
func randomOperations(seed uint64, length int) []operation {
	random := rand.New(rand.NewPCG(seed, 7))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	var running []image
	var operations []operation
	for len(operations) < length {
		d := operation{
			Kind: "build", Flow: pick("build", "scan"), Trail: pick("t1", "t2", "t3"), Slot: pick("web", "web", "api"),
			File: pick("f0", "f1", "f2", "f3", "f4"), Commit: pick("c0", "c1", "c2"), Repo: pick("", "r1", "r2"),
		}
		switch n := random.IntN(10); {
		case n < 5:
			running = change(random, pick, running)
			d = operation{Kind: "run", Images: running}
		case n < 6:
			d = operation{Kind: "drain"}
		case n < 8:
			d.Kind, d.Attestation, d.Compliant = "attest", pick("x", "y"), random.IntN(3) > 0
			d.Commit, d.Repo = pick("", "c0", "c1"), ""
			switch random.IntN(3) {
			case 0:
				d.Slot, d.File = "", ""
			case 1:
				d.File = ""
			default:
				d.Slot = ""
			}
		}
		operations = append(operations, d)
	}
	return append(operations, operation{Kind: "drain"})
}

// change has some images start, some exit, and some lose their digest.
func change(random *rand.Rand, pick func(...string) string, running []image) []image {
	next := append([]image(nil), running...)
	for range random.IntN(3) {
		switch {
		case len(next) > 0 && random.IntN(2) == 0:
			at := random.IntN(len(next))
			next = append(next[:at], next[at+1:]...)
		case len(next) > 0 && random.IntN(4) == 0:
			next[random.IntN(len(next))].File = ""
		default:
			next = append(next, image{
				Name: pick("n0", "n1", "n2", "n3"), File: pick("f0", "f1", "f2", "f3", "f4", ""), At: 1_700_000_000 + int64(random.IntN(3)),
			})
		}
	}
	return next
}

// modelScene is a scene whose stored records can be compared with a model.
type modelScene struct {
	*scene
	// flows are the ids of the flows by name.
	flows map[string]string
	// bumps means that the generation changes before every report.
	bumps bool
	done  int // operations
	// answered has the indexes of the reports that were answered at once as unchanged.
	answered map[int]bool
}

func newModelScene(t testing.TB, bumps bool, wrap func(storage.Documents) storage.Documents) *modelScene {
	t.Helper()
	s := &modelScene{scene: newScene(t, wrap), flows: map[string]string{}, bumps: bumps, answered: map[int]bool{}}
	for name, content := range flowTemplates {
		id, err := s.store.Templates.Put(t.Context(), "org", []byte(content))
		evidencetest.Must(t, err)
		_, flow, err := s.store.Flows.Put(t.Context(), evidence.Flow{
			ID: evidence.NewID(), Org: "org", Name: name, Visibility: evidence.PrivateFlow, Template: id, CreatedAt: 1, LastModifiedAt: 1,
		})
		evidencetest.Must(t, err)
		s.flows[name] = flow.ID
	}
	return s
}

// apply does the next operations.
func (s *modelScene) apply(t testing.TB, operations ...operation) {
	t.Helper()
	for _, d := range operations {
		s.do(t, s.done, d)
		s.done++
	}
}

func (s *modelScene) do(t testing.TB, number int, d operation) {
	t.Helper()
	at := momentOf(number)
	s.clock.Set(time.Unix(int64(at), 0))
	scope := recording.Scope{Org: "org", OrgName: "org", Flow: d.Flow, Trail: d.Trail, By: "ci", ByID: "ci", At: at}
	var err error
	switch d.Kind {
	case "run":
		if s.bumps {
			err = s.store.Generations.Bump(t.Context(), "org")
		}
		s.answered[number] = s.accept(t, d.report()) == snapshot.NoChange
	case "drain":
		s.drain(t)
	case "build":
		record := d.record(number)
		record.Org = "org"
		err = s.store.Recorder.Report(t.Context(), scope, record, nil)
	case "attest":
		err = s.store.Recorder.Attest(t.Context(), scope, d.attestation(number), nil)
		if d.File != "" && evidence.CodeOf(err) == evidence.NotFound {
			err = nil // the file was not reported to this trail
		}
	}
	if err != nil {
		t.Fatalf("%+v: %v", d, err)
	}
}

func (d *operation) report() snapshot.Report {
	var instances []snapshot.Instance
	for _, image := range d.Images {
		digest := ""
		if image.File != "" {
			digest = fingerprint(image.File)
		}
		instances = append(instances, snapshot.Instance{Digests: map[string]string{image.Name: digest}, CreatedAt: image.At})
	}
	return snapshot.Canonical(evidence.Server, instances)
}

func (d *operation) record(number int) evidence.ArtifactRecord {
	at := momentOf(number)
	sha := shaOf(d.Commit)
	return evidence.ArtifactRecord{
		ID: idOf(number), Trail: d.Trail, Name: d.Slot, Fingerprint: fingerprint(d.File), Filename: d.File,
		CommitSHA: sha, CommitURL: "https://github.com/acme/" + d.Flow + "/commit/" + sha, Repo: d.Repo,
		Commit: &evidence.GitCommit{SHA1: sha, Timestamp: new(at - 60)}, CreatedAt: at,
	}
}

func (d *operation) attestation(number int) evidence.Attestation {
	attestation := evidence.Attestation{
		ID: idOf(number), Org: "org", Trail: d.Trail, Name: d.Attestation, Type: "generic", Compliant: d.Compliant, CreatedAt: momentOf(number),
	}
	if d.Commit != "" {
		attestation.Commit = &evidence.GitCommit{SHA1: shaOf(d.Commit)}
	}
	switch {
	case d.File != "":
		attestation.Fingerprint = fingerprint(d.File)
	case d.Slot != "":
		attestation.Targets = []string{d.Slot}
	}
	return attestation
}

func idOf(number int) string { return fmt.Sprintf("id-%06d", number) }

func shaOf(commit string) string { return strings.Repeat(commit, 20) }

// TestRandomOperationsMatchTheModel compares the stored records with the model that is computed from the operations
// alone, once with the necessary changes of the generation, and once with a change before every report.
func TestRandomOperationsMatchTheModel(t *testing.T) {
	seeds, length := uint64(100), 80
	if testing.Short() {
		seeds = 24
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			operations := randomOperations(seed, length)
			for _, bumps := range []bool{false, true} {
				s := newModelScene(t, bumps, nil)
				s.apply(t, operations...)
				if difference := modelOf(operations, s.answered).compare(s.storedModel(t)); difference != "" {
					t.Errorf("generation changed before every report: %v\n%s", bumps, difference)
				}
			}
		})
	}
}
