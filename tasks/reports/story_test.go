package reports_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"attestry/app/recording"
	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
)

// A deed is something that a client of a story does.
type operation struct {
	// Kind is run, drain, build or attest.
	Kind string
	// Images run; one whose file is "" has a digest that the reporter could not learn.
	Images []image
	// Flow, Trail and Slot are the place of what is built or attested, File what is.
	Flow, Trail, Slot, File string
	Commit, Repo            string
	// Attestation is the name of one, by file, by slot or of the trail as such.
	Attestation string
	Compliant   bool
}

type image struct {
	Name, File string
	At         int64
}

// storyFlows are the templates of the flows of stories.
var storyFlows = map[string]string{
	"build": "version: 1\ntrail:\n  attestations:\n    - {name: x, type: generic}\n  artifacts:\n    - name: web\n      attestations:\n        - {name: y, type: generic}\n",
	"scan":  "version: 1\n",
}

const storyStart = 1_800_000_000

// momentOf is when the deed of a number is done, in Unix seconds.
func momentOf(number int) float64 { return storyStart + 60*float64(number) }

// invent makes a story up.
func invent(seed uint64, length int) []operation {
	random := rand.New(rand.NewPCG(seed, 7))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	var running []image
	var story []operation
	for len(story) < length {
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
		story = append(story, d)
	}
	return append(story, operation{Kind: "drain"})
}

// change lets some images start, some exit, and some only change their numbers.
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

// stage is a scene on which stories are played.
type stage struct {
	*scene
	// flows are the ids of the flows by name.
	flows map[string]string
	// stirs tells that the generation changes before every report.
	stirs bool
	done  int
	// answered are the numbers of the reports that were found to change nothing as
	// soon as they came in.
	answered map[int]bool
}

func newStage(t testing.TB, stirs bool, wrap func(storage.Documents) storage.Documents) *stage {
	t.Helper()
	s := &stage{scene: newScene(t, wrap), flows: map[string]string{}, stirs: stirs, answered: map[int]bool{}}
	for name, content := range storyFlows {
		id, err := s.store.Templates.Put(t.Context(), "org", []byte(content))
		if err != nil {
			t.Fatal(err)
		}
		_, flow, err := s.store.Flows.Put(t.Context(), evidence.Flow{
			ID: evidence.NewID(), Org: "org", Name: name, Visibility: evidence.PrivateFlow, Template: id, CreatedAt: 1, LastModifiedAt: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.flows[name] = flow.ID
	}
	return s
}

// play does the deeds that come next in a story.
func (s *stage) play(t testing.TB, story ...operation) {
	t.Helper()
	for _, d := range story {
		s.do(t, s.done, d)
		s.done++
	}
}

func (s *stage) do(t testing.TB, number int, d operation) {
	t.Helper()
	at := momentOf(number)
	s.clock.Set(time.Unix(int64(at), 0))
	scope := recording.Scope{Org: "org", OrgName: "org", Flow: d.Flow, Trail: d.Trail, By: "ci", ByID: "ci", At: at}
	var err error
	switch d.Kind {
	case "run":
		if s.stirs {
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
			err = nil // nobody has reported it there
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

// TestStoriesAreToldAsTheyHappened plays stories and compares everything that comes
// of them with what a chronicler says who has only heard the deeds: with a change
// token that moves when it must, and with one that moves before every report.
func TestStoriesAreToldAsTheyHappened(t *testing.T) {
	stories, length := uint64(24), 80
	if testing.Short() {
		stories = 4
	}
	for seed := range stories {
		t.Run(fmt.Sprint("story ", seed), func(t *testing.T) {
			t.Parallel()
			story := invent(seed, length)
			for _, stirs := range []bool{false, true} {
				s := newStage(t, stirs, nil)
				s.play(t, story...)
				if difference := modelOf(story, s.answered).compare(s.told(t)); difference != "" {
					t.Errorf("the token moves always: %v\n%s", stirs, difference)
				}
			}
		})
	}
}
