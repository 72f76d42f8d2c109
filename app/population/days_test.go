package population_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"attestry/app"
	"attestry/app/apptest"
	"attestry/app/population"
	"attestry/app/recording"
	"attestry/evidence"
	"attestry/evidence/period"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/storagetest"
)

const (
	day      = 86400.0
	firstDay = 20_000 * day
)

// history makes a random history of builds and of deployments to two environments.
type history struct {
	t        *testing.T
	random   *rand.Rand
	store    *app.Store
	docs     *storagetest.CountingDocuments
	flow     evidence.Flow
	at       float64 // the current time, in Unix seconds
	trails   []evidence.ArtifactRecord
	unknown  []snapshot.Deployment // of artifacts without provenance
	snapshot int64
}

func newHistory(t *testing.T, seed uint64) *history {
	h := &history{t: t, random: rand.New(rand.NewPCG(seed, 1)), at: firstDay}
	h.store, h.docs, _ = apptest.NewStore(t)
	flow, err := apptest.PutTemplatedFlow(t.Context(), h.store, "org", "build")
	h.must(err)
	h.flow = flow
	return h
}

func (h *history) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *history) scope(trail string) recording.Scope {
	return recording.Scope{Org: "org", OrgName: "acme", Flow: h.flow.Name, Trail: trail, By: "ci", ByID: "ci", At: h.at}
}

// build begins a trail, and reports an artifact in it.
func (h *history) build() {
	name := fmt.Sprint("trail-", len(h.trails))
	h.commit(name)
	h.trails = append(h.trails, h.report(name))
}

// report reports the artifact of a trail, built from one of two commits.
func (h *history) report(trail string) evidence.ArtifactRecord {
	record := evidence.ArtifactRecord{
		ID: evidence.NewID(), Org: "org", Flow: h.flow.ID, Trail: trail, Name: "web", Fingerprint: evidence.HashAPIKey(trail), Filename: "web", CreatedAt: h.at,
		CommitSHA: h.revision(), Commit: &evidence.GitCommit{Timestamp: new(h.at - 60)},
	}
	record.Commit.SHA1 = record.CommitSHA
	h.must(h.store.Recorder.Report(h.t.Context(), h.scope(trail), record, nil))
	return record
}

func (h *history) revision() string { return apptest.Sha([]string{"a", "b"}[h.random.IntN(2)], 40) }

// commit sets the commit of a trail, by a person or by a machine account.
func (h *history) commit(trail string) {
	author := []string{"Ada <ada@example.com>", "renovate[bot] <bot@example.com>"}[h.random.IntN(2)]
	_, err := h.store.Recorder.Begin(h.t.Context(), h.scope(trail), h.flow.ID, evidence.TrailChange{
		Commit: &evidence.GitCommit{SHA1: evidence.NewID(), Author: &author},
	}, nil)
	h.must(err)
}

func (h *history) someTrail() *evidence.ArtifactRecord {
	return &h.trails[h.random.IntN(len(h.trails))]
}

// attest records a pull request, approved or dismissed, or an incident, open or resolved.
func (h *history) attest() {
	name := h.someTrail().Trail
	a := evidence.Attestation{ID: evidence.NewID(), Org: "org", Trail: name, Compliant: true, CreatedAt: h.at}
	if h.random.IntN(2) == 0 { // attest the artifact of the trail by name
		a.Targets, a.Commit = []string{"web"}, &evidence.GitCommit{SHA1: h.revision()}
	}
	if h.random.IntN(2) == 0 {
		state := []string{"APPROVED", "DISMISSED"}[h.random.IntN(2)]
		a.Name, a.Type = "pull-request", evidence.TypePullRequest
		a.Payload = map[string]json.RawMessage{"pull_requests": fmt.Appendf(nil, `[{"url":"https://example.com","author":"ada","merge_commit":"",
			"approvers":[{"username":"grace","state":%q,"timestamp":9}],"commits":[{"sha1":"a","author_username":"ada","timestamp":7}]}]`, state)}
	} else {
		a.Name, a.Type = "outage", period.IncidentType
		a.Payload = map[string]json.RawMessage{"attestation_data": fmt.Appendf(nil, `{"started_at":"2024-10-05T00:00:00Z","resolved_at":%q}`,
			[]string{"", "2024-10-05T02:00:00Z"}[h.random.IntN(2)])}
	}
	h.must(h.store.Recorder.Attest(h.t.Context(), h.scope(name), a, nil))
}

// deploy records a snapshot in which an artifact started, of a flow or without provenance.
func (h *history) deploy(environment string) {
	h.snapshot++
	made := snapshot.Deployment{Org: "org", Environment: environment, Snapshot: h.snapshot, Timestamp: h.at, Fingerprint: evidence.HashAPIKey(fmt.Sprint(h.snapshot))}
	if record := h.someTrail(); h.random.IntN(4) > 0 {
		made.Fingerprint, made.Origin = record.Fingerprint, &snapshot.Origin{Origin: record.Origin()}
	} else {
		h.unknown = append(h.unknown, made)
	}
	h.finish(environment, []snapshot.Deployment{made}, nil)
}

// learn records a snapshot that gives an origin to a deployment without provenance.
func (h *history) learn() {
	if len(h.unknown) == 0 {
		return
	}
	h.snapshot++
	learned := h.unknown[0]
	h.unknown, learned.LearnedAt, learned.Origin = h.unknown[1:], h.at, &snapshot.Origin{Origin: h.someTrail().Origin()}
	h.finish(learned.Environment, nil, []snapshot.Deployment{learned})
}

func (h *history) finish(environment string, made, learned []snapshot.Deployment) {
	batch := &storage.Batch{}
	h.store.Deployments.RecordIn(batch, made, learned)
	h.store.Events.RecordIn(batch, []snapshot.Event{{
		Org: "org", Environment: environment, Ordinal: h.snapshot, Snapshot: h.snapshot, Timestamp: h.at, Type: snapshot.StartedUnknown, Fingerprint: "f",
	}})
	h.must(batch.Write(h.t.Context(), h.store.Documents))
	h.must(h.store.Heads.Put(h.t.Context(), snapshot.Head{Org: "org", Environment: environment, Last: h.snapshot, Timestamp: h.at}))
}

// step does something at random, up to eight hours after the previous step.
func (h *history) step() {
	h.at += float64(1 + h.random.IntN(8*3600))
	if h.random.IntN(2) == 0 {
		_, err := h.store.Recorder.Reconcile(h.t.Context(), "org", h.at-60)
		h.must(err)
	}
	switch h.random.IntN(10) {
	case 0:
		h.build()
	case 1:
		h.commit(h.someTrail().Trail)
	case 2, 3, 4:
		h.attest()
	case 5:
		h.learn()
	case 6:
		h.report(h.someTrail().Trail)
	default:
		h.deploy([]string{"prod", "test"}[h.random.IntN(2)])
	}
}

// TestCachedTotalsEqualThoseOfASurvey compares them after each step of random histories.
func TestCachedTotalsEqualThoseOfASurvey(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := newHistory(t, seed)
			h.build()
			reader := population.NewReader(h.store, 1<<20)
			reader.Digests = true
			for range 150 {
				h.step()
				p := &period.Period{Org: "org", Environments: []string{"prod", "test"}, From: firstDay + 3600, To: firstDay + 12*day + 7200}
				if h.random.IntN(3) == 0 { // a shorter period shares the cached days
					p.To = firstDay + 9*day
				}
				kept, err := reader.Totals(t.Context(), p, h.at)
				h.must(err)
				survey := reader.NewSurvey(p)
				h.must(survey.Each(t.Context(), func(*population.Row) {}))
				want, err := survey.Totals(t.Context(), h.at)
				h.must(err)
				if got, want := text(t, kept), text(t, want); got != want {
					t.Fatalf("on day %g the cached totals are\n%s\nand those of a survey\n%s", (h.at-firstDay)/day, got, want)
				}
			}
		})
	}
}

func TestOnlyChangedDaysAreCountedAgain(t *testing.T) {
	h := newHistory(t, 1)
	h.build()
	for range 40 {
		h.at += day / 4
		h.deploy("prod")
	}
	for range 4 {
		_, err := h.store.Recorder.Reconcile(t.Context(), "org", h.at)
		h.must(err)
	}
	reader := population.NewReader(h.store, 1<<20)
	p := &period.Period{Org: "org", Environments: []string{"prod"}, From: firstDay, To: firstDay + 9*day}
	commands := func() int {
		h.docs.Reset()
		_, err := reader.Totals(t.Context(), p, h.at)
		h.must(err)
		return h.docs.Snapshot().Commands()
	}
	first, second := commands(), commands()
	h.attest()
	third := commands()
	t.Logf("%d, %d and %d commands", first, second, third)
	if second >= first || third <= second {
		t.Errorf("%d commands at first, %d without a change, and %d after an attestation of a deployed artifact", first, second, third)
	}
}

func text(t *testing.T, totals population.Totals) string {
	t.Helper()
	shown, err := json.Marshal(totals)
	if err != nil {
		t.Fatal(err)
	}
	return string(shown) + totals.Rows()
}
