package e2e_test

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/pipelines"
)

func TestTimesAndSpansAreRoundedToMicroseconds(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{StoppedAt: time.Date(2026, time.May, 4, 10, 0, 0, 123_456_789, time.UTC)})
	s.CreateEnvironment("host", evidence.Server)
	fingerprint := strings.Repeat("ab", 32)
	s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/build", []byte(
		`{"fingerprint":"`+fingerprint+`","filename":"app","build_url":"","commit_url":"","git_commit":"`+strings.Repeat("c", 40)+`",
		"git_commit_info":{"sha1":"`+strings.Repeat("c", 40)+`","timestamp":1777800000.12345678}}`))
	for _, digests := range []string{`{"app":"` + fingerprint + `"}`, `{}`, `{"app":"` + fingerprint + `"}`} {
		s.Clock.Advance(1234567 * time.Microsecond)
		s.Report(http.StatusCreated, "host", "server", `{"artifacts":[{"creationTimestamp":1,"digests":`+digests+`}]}`)
	}
	for _, item := range s.Read("/snapshots/" + s.Org + "/host").([]any) {
		if duration := apitest.WantMicroseconds(t, apitest.Lookup(t, item, "duration")); duration < 0 {
			t.Errorf("the duration is %v", duration)
		}
	}
	artifact := s.Read("/artifacts/" + s.Org + "/build/fingerprint/" + fingerprint)
	if committed := apitest.Lookup(t, artifact, "git_commit_info", "timestamp"); committed != 1777800000.123457 {
		t.Errorf("the time of the commit is %v", committed)
	}
	apitest.WantMicroseconds(t, apitest.Lookup(t, artifact, "commit_lead_times", "host"))
	apitest.WantMicroseconds(t, apitest.Lookup(t, artifact, "build_lead_times", "host"))
	snapshot := s.Read("/snapshots/" + s.Org + "/host/-1")
	apitest.WantMicroseconds(t, apitest.Lookup(t, snapshot, "artifacts", 0, "flows", 0, "commit_lead_time"))
	deployments := s.Read("/deployments/" + s.Org)
	apitest.WantMicroseconds(t, apitest.Lookup(t, deployments, "deployments", 0, "lead_time_seconds"))
}

func TestTimesOfAnswersWorkAsBounds(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateFlow("build")
	s.CreateEnvironment("host", evidence.Server)
	org := s.OrgID()
	flow := apitest.Lookup(t, s.Read("/flows/"+s.Org+"/build"), "id").(string)
	rounded := evidence.Seconds(s.Clock.Read())
	for i, moment := range []float64{rounded - 1, rounded, evidence.RoundSeconds(rounded + 1e-6)} {
		fingerprint := fmt.Sprintf("%064d", i)
		batch := &storage.Batch{}
		s.Process.Store.Provenances.AddIn(batch, &evidence.ArtifactRecord{
			ID: evidence.NewID(), Org: org, Fingerprint: fingerprint, Flow: flow, Trail: "t", Name: "app", CreatedAt: moment,
		}, storage.Versioned[pipelines.Provenance]{})
		s.Process.Store.Deployments.RecordIn(batch, []snapshot.Deployment{{
			Org: org, Environment: s.EnvironmentID("host"), Fingerprint: fingerprint, Name: "app", Snapshot: int64(i + 1), Timestamp: moment,
		}}, nil)
		s.Must(batch.Write(t.Context(), s.Process.Store.Documents))
	}
	for path, member := range map[string]string{"/builds/" + s.Org: "builds.created_at", "/deployments/" + s.Org: "deployments.deployed_at"} {
		t.Run(s.CaseName(path), func(t *testing.T) {
			s := s.In(t)
			list, member, _ := strings.Cut(member, ".")
			all := apitest.Lookup(t, s.Read(path+"?end_ts="+decimal(rounded+9)), list).([]any)
			if len(all) != 3 {
				t.Fatalf("%v", all)
			}
			for _, one := range all {
				moment := apitest.Lookup(t, one, member).(float64)
				bound := decimal(moment)
				found := apitest.Lookup(t, s.Read(path+"?start_ts="+bound+"&end_ts="+bound), list).([]any)
				if len(found) != 1 || apitest.Lookup(t, found[0], "fingerprint") != apitest.Lookup(t, one, "fingerprint") {
					t.Errorf("%s at %s: found %v", path, bound, found)
				}
			}
		})
	}
	statistics := s.Read("/builds/" + s.Org + "/statistics?start_ts=1&end_ts=2.5")
	if from, to := apitest.Lookup(t, statistics, "start_ts"), apitest.Lookup(t, statistics, "end_ts"); from != 1.0 || to != 2.5 {
		t.Errorf("the window is %v to %v", from, to)
	}
}

func decimal(number float64) string { return strconv.FormatFloat(number, 'f', -1, 64) }

func TestOverrideIsOneMicrosecondAfterTheReplacedAttestation(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{StoppedAt: time.Date(2026, time.May, 4, 10, 0, 0, 0, time.UTC), WithoutWorker: true})
	s.Clock.Advance(time.Hour)
	s.PostAttestation(http.StatusCreated, "t", "generic", apitest.GenericData)
	s.Clock.Advance(-time.Hour)
	s.Want(http.StatusOK, http.MethodPost, s.TrailPath("t")+"/override",
		[]byte(`{"attestation_name":"check","reason":"r","new_compliance_status":false,"original_attestation_type":"generic"}`))
	both := s.Read(s.TrailPath("t") + "/check").([]any)
	first, second := apitest.WantMicroseconds(t, apitest.Lookup(t, both, 0, "created_at")), apitest.WantMicroseconds(t, apitest.Lookup(t, both, 1, "created_at"))
	if distance := math.Abs(first - second); distance < 0.9e-6 || distance > 1.3e-6 {
		t.Errorf("made at %v and %v", first, second)
	}
}
