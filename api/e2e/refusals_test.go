package e2e_test

import (
	"net/http"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence"
)

func TestUnknownSnapshotsAreNotFound(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	for expression, want := range map[string]string{
		"-1":        "Org: '" + s.Org + "'. Snapshot 'prod#-1' resolves to 'prod#0'. len(snapshots) == 0. Indexes are 1-based",
		"23":        "Org: '" + s.Org + "'. Snapshot 'prod#23' resolves to 'prod#23'. len(snapshots) == 0. Indexes are 1-based",
		"%2323":     "Org: '" + s.Org + "'. Snapshot 'prod#23' resolves to 'prod#23'. len(snapshots) == 0. Indexes are 1-based",
		"~2":        "Org: '" + s.Org + "'. Snapshot 'prod~2' resolves to 'prod#-2'. len(snapshots) == 0. Indexes are 1-based",
		"../none/1": "",
	} {
		t.Run(expression, func(t *testing.T) {
			s := s.In(t)
			got := s.Do(http.MethodGet, "/api/v2/snapshots/"+s.Org+"/prod/"+expression, apitest.AdminKey, nil)
			message, _ := got.Problem(t)
			if got.Status != http.StatusNotFound || want != "" && message != want {
				t.Errorf("%d %q", got.Status, message)
			}
		})
	}
	got := s.Do(http.MethodGet, "/api/v2/snapshots/"+s.Org+"/prod/five", apitest.AdminKey, nil)
	if message, _ := got.Problem(t); got.Status != http.StatusBadRequest || message != "Bad snappish five" {
		t.Errorf("five: %d %q", got.Status, message)
	}
	got = s.Do(http.MethodGet, "/api/v2/snapshots/"+s.Org+"/none/1", apitest.AdminKey, nil)
	if message, _ := got.Problem(t); got.Status != http.StatusNotFound || message != "Environment named 'none' does not exist for organization '"+s.Org+"'" {
		t.Errorf("unknown environment: %d %q", got.Status, message)
	}
}
