package e2e_test

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/pipelines"
)

// wantMicroseconds fails the test when a number has more than six decimals.
func wantMicroseconds(t *testing.T, value any) float64 {
	t.Helper()
	number := value.(float64)
	if math.Round(number*1e6)/1e6 != number {
		t.Errorf("%v is not rounded to microseconds", number)
	}
	return number
}

func TestTimesAndSpansAreRoundedToMicroseconds(t *testing.T) {
	t.Parallel()
	s := start(t, options{stoppedAt: time.Date(2026, time.May, 4, 10, 0, 0, 123_456_789, time.UTC)})
	s.createEnvironment("host", evidence.Server)
	fingerprint := strings.Repeat("ab", 32)
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/build", []byte(
		`{"fingerprint":"`+fingerprint+`","filename":"app","build_url":"","commit_url":"","git_commit":"`+strings.Repeat("c", 40)+`",
		"git_commit_info":{"sha1":"`+strings.Repeat("c", 40)+`","timestamp":1777800000.12345678}}`))
	for _, digests := range []string{`{"app":"` + fingerprint + `"}`, `{}`, `{"app":"` + fingerprint + `"}`} {
		s.clock.advance(1234567 * time.Microsecond)
		s.report(http.StatusCreated, "host", "server", `{"artifacts":[{"creationTimestamp":1,"digests":`+digests+`}]}`)
	}
	for _, item := range s.read("/snapshots/" + s.org + "/host").([]any) {
		if duration := wantMicroseconds(t, lookup(t, item, "duration")); duration < 0 {
			t.Errorf("the duration is %v", duration)
		}
	}
	artifact := s.read("/artifacts/" + s.org + "/build/fingerprint/" + fingerprint)
	if committed := lookup(t, artifact, "git_commit_info", "timestamp"); committed != 1777800000.123457 {
		t.Errorf("the time of the commit is %v", committed)
	}
	wantMicroseconds(t, lookup(t, artifact, "commit_lead_times", "host"))
	wantMicroseconds(t, lookup(t, artifact, "build_lead_times", "host"))
	snapshot := s.read("/snapshots/" + s.org + "/host/-1")
	wantMicroseconds(t, lookup(t, snapshot, "artifacts", 0, "flows", 0, "commit_lead_time"))
	deployments := s.read("/deployments/" + s.org)
	wantMicroseconds(t, lookup(t, deployments, "deployments", 0, "lead_time_seconds"))
}

func TestTimesOfAnswersWorkAsBounds(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createFlow("build")
	s.createEnvironment("host", evidence.Server)
	org := s.orgID()
	flow := lookup(t, s.read("/flows/"+s.org+"/build"), "id").(string)
	rounded := evidence.Seconds(s.clock.read())
	for i, moment := range []float64{rounded - 1, rounded, evidence.RoundSeconds(rounded + 1e-6)} {
		fingerprint := fmt.Sprintf("%064d", i)
		batch := &storage.Batch{}
		s.Process.Store.Provenances.AddIn(batch, &evidence.ArtifactRecord{
			ID: evidence.NewID(), Org: org, Fingerprint: fingerprint, Flow: flow, Trail: "t", Name: "app", CreatedAt: moment,
		}, storage.Versioned[pipelines.Provenance]{})
		s.Process.Store.Deployments.RecordIn(batch, []snapshot.Deployment{{
			Org: org, Environment: s.environmentID("host"), Fingerprint: fingerprint, Name: "app", Snapshot: int64(i + 1), Timestamp: moment,
		}}, nil)
		s.must(batch.Write(t.Context(), s.Process.Store.Documents))
	}
	for path, member := range map[string]string{"/builds/" + s.org: "builds.created_at", "/deployments/" + s.org: "deployments.deployed_at"} {
		t.Run(s.caseName(path), func(t *testing.T) {
			s := s.in(t)
			list, member, _ := strings.Cut(member, ".")
			all := lookup(t, s.read(path+"?end_ts="+decimal(rounded+9)), list).([]any)
			if len(all) != 3 {
				t.Fatalf("%v", all)
			}
			for _, one := range all {
				moment := lookup(t, one, member).(float64)
				bound := decimal(moment)
				found := lookup(t, s.read(path+"?start_ts="+bound+"&end_ts="+bound), list).([]any)
				if len(found) != 1 || lookup(t, found[0], "fingerprint") != lookup(t, one, "fingerprint") {
					t.Errorf("%s at %s: found %v", path, bound, found)
				}
			}
		})
	}
	statistics := s.read("/builds/" + s.org + "/statistics?start_ts=1&end_ts=2.5")
	if from, to := lookup(t, statistics, "start_ts"), lookup(t, statistics, "end_ts"); from != 1.0 || to != 2.5 {
		t.Errorf("the window is %v to %v", from, to)
	}
}

func decimal(number float64) string { return strconv.FormatFloat(number, 'f', -1, 64) }

func TestOverrideIsOneMicrosecondAfterTheReplacedAttestation(t *testing.T) {
	t.Parallel()
	s := start(t, options{stoppedAt: time.Date(2026, time.May, 4, 10, 0, 0, 0, time.UTC), withoutWorker: true})
	s.clock.advance(time.Hour)
	s.postAttestation(http.StatusCreated, "t", "generic", genericData)
	s.clock.advance(-time.Hour)
	s.want(http.StatusOK, http.MethodPost, s.trailPath("t")+"/override",
		[]byte(`{"attestation_name":"check","reason":"r","new_compliance_status":false,"original_attestation_type":"generic"}`))
	both := s.read(s.trailPath("t") + "/check").([]any)
	first, second := wantMicroseconds(t, lookup(t, both, 0, "created_at")), wantMicroseconds(t, lookup(t, both, 1, "created_at"))
	if distance := math.Abs(first - second); distance < 0.9e-6 || distance > 1.3e-6 {
		t.Errorf("made at %v and %v", first, second)
	}
}
