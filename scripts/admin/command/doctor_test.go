package command

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"attestry/process/cli"
	"attestry/process/doctor"
)

// stateOf returns the states of a check in printed findings.
func stateOf(t *testing.T, out, check string) (states []doctor.State) {
	t.Helper()
	for line := range strings.Lines(out) {
		var found doctor.Finding
		if err := json.Unmarshal([]byte(line), &found); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if found.Check == check {
			states = append(states, found.State)
		}
	}
	return states
}

func TestDoctorExaminesStoppedAndRunningServices(t *testing.T) {
	whenStoppedAndRunning(t, func(t *testing.T, s *site) {
		s.environ[2] = "ATTESTRY_REDIS_URL=redis://" + miniredis.RunT(t).Addr()
		status, out, errs := s.run("doctor")
		if status != cli.Failure || !strings.Contains(errs, "findings that are not ok: ") {
			t.Errorf("status %d, %s", status, errs)
		}
		for _, want := range []string{
			"\nwarning  work          environment:report is parked, 3 or more: no   luck\n                       → see admin jobs list",
			"database      answers in ", "object store  answers in ", "\nok       log           0 entries of 0 logs ",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in %s", want, out)
			}
		}
		_, out, _ = s.run("doctor", "--json")
		if memory := stateOf(t, out, "memory"); (len(memory) == 1) != (s.socket != nil) {
			t.Errorf("the memory is %v", memory)
		}
		for _, key := range []string{"old/1", "prod/1", "prod/2"} {
			environment, number, _ := strings.Cut(key, "/")
			s.run("jobs", "drop", "environment:report", s.environments[environment]+"/"+number)
		}
		status, out, errs = s.run("doctor", "--json")
		if work := stateOf(t, out, "work"); len(work) != 1 || work[0] != doctor.OK {
			t.Errorf("the work is %v", work)
		}
		if wrong := strings.Count(out, `"advice"`); (status == cli.Success) != (wrong == 0) {
			t.Errorf("status %d: %s\n%s", status, errs, out)
		}
	})
}

func TestDoctorFindsMissingStoresOfARunningService(t *testing.T) {
	s := newSite(t)
	s.listen()
	objects := strings.TrimPrefix(s.environ[1], "ATTESTRY_OBJECTS_URL=file://")
	s.must(os.RemoveAll(objects))
	s.must(os.WriteFile(objects, nil, 0o600))
	status, out, errs := s.run("doctor", "--json")
	if states := stateOf(t, out, "object store"); status != cli.Failure || len(states) != 1 || states[0] != doctor.Error {
		t.Errorf("status %d, %v: %s", status, states, errs)
	}
	if states := stateOf(t, out, "log"); len(states) > 0 {
		t.Errorf("the log is %v", states)
	}
}
