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
)

// microseconds fails the test when a number has more than six decimals.
func microseconds(t *testing.T, value any) float64 {
	t.Helper()
	number := value.(float64)
	if math.Round(number*1e6)/1e6 != number {
		t.Errorf("%v is not rounded to microseconds", number)
	}
	return number
}

func TestTimesAndSpansAreRoundedToMicroseconds(t *testing.T) {
	s := start(t, options{begins: time.Date(2026, time.May, 4, 10, 0, 0, 123_456_789, time.UTC)})
	s.environment("host", evidence.Server)
	fingerprint := strings.Repeat("ab", 32)
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+org+"/build", []byte(
		`{"fingerprint":"`+fingerprint+`","filename":"app","build_url":"","commit_url":"","git_commit":"`+strings.Repeat("c", 40)+`",
		"git_commit_info":{"sha1":"`+strings.Repeat("c", 40)+`","timestamp":1777800000.12345678}}`))
	for _, digests := range []string{`{"app":"` + fingerprint + `"}`, `{}`, `{"app":"` + fingerprint + `"}`} {
		s.clock.turn(1234567 * time.Microsecond)
		s.report(http.StatusCreated, "host", "server", `{"artifacts":[{"creationTimestamp":1,"digests":`+digests+`}]}`)
	}
	for _, item := range s.read("/snapshots/" + org + "/host").([]any) {
		if duration := microseconds(t, at(t, item, "duration")); duration < 0 {
			t.Errorf("the duration is %v", duration)
		}
	}
	artifact := s.read("/artifacts/" + org + "/build/fingerprint/" + fingerprint)
	if committed := at(t, artifact, "git_commit_info", "timestamp"); committed != 1777800000.123457 {
		t.Errorf("the time of the commit is %v", committed)
	}
	microseconds(t, at(t, artifact, "commit_lead_times", "host"))
	microseconds(t, at(t, artifact, "build_lead_times", "host"))
	snapshot := s.read("/snapshots/" + org + "/host/-1")
	microseconds(t, at(t, snapshot, "artifacts", 0, "flows", 0, "commit_lead_time"))
	deployments := s.read("/deployments/" + org)
	microseconds(t, at(t, deployments, "deployments", 0, "lead_time_seconds"))
}

func TestTimeOfAnAnswerFindsWhatItIsOf(t *testing.T) {
	s := start(t, options{})
	s.environment("host", evidence.Server)
	for i := range 3 {
		s.report(http.StatusCreated, "host", "server",
			fmt.Sprintf(`{"artifacts":[{"creationTimestamp":1,"digests":{"app":"%064d"}}]}`, i))
	}
	path := "/environments/" + org + "/host/events"
	for _, event := range s.read(path).([]any) {
		moment := strconv.FormatFloat(at(t, event, "reported_at").(float64), 'f', -1, 64)
		found := s.read(path + "?start_ts=" + moment + "&end_ts=" + moment).([]any)
		if len(found) == 0 || at(t, found[0], "snapshot_index") != at(t, event, "snapshot_index") {
			t.Errorf("at %s: found %v", moment, found)
		}
	}
}

func TestOverrideIsOneMicrosecondBehindWhatItReplaces(t *testing.T) {
	s := start(t, options{begins: time.Date(2026, time.May, 4, 10, 0, 0, 0, time.UTC), withoutWorker: true})
	s.clock.turn(time.Hour)
	s.post(http.StatusCreated, "t", "generic", genericData)
	s.clock.turn(-time.Hour)
	s.want(http.StatusOK, http.MethodPost, trailPath("t")+"/override",
		[]byte(`{"attestation_name":"check","reason":"r","new_compliance_status":false,"original_attestation_type":"generic"}`))
	both := s.read(trailPath("t") + "/check").([]any)
	first, second := microseconds(t, at(t, both, 0, "created_at")), microseconds(t, at(t, both, 1, "created_at"))
	if distance := math.Abs(first - second); distance < 0.9e-6 || distance > 1.3e-6 {
		t.Errorf("made at %v and %v", first, second)
	}
}
