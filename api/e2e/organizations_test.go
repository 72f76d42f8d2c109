package e2e_test

import (
	"net/http"
	"testing"
)

func TestNewOrganizationsHaveTheBetaFeaturesUnlessTheSettingSaysOtherwise(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]bool{"ATTESTRY_BETA=": true, "ATTESTRY_BETA=off": false} {
		s := start(t, options{withoutWorker: true, settings: []string{setting}})
		created := s.do(http.MethodPost, "/api/v2/organizations", memberKey, []byte(`{"name":"fresh"}`)).value(t)
		personal := s.do(http.MethodGet, "/api/v2/organizations/member", memberKey, nil).value(t)
		for _, org := range []any{created, personal} {
			if got := lookup(t, org, "experimental_features_enabled"); got != want {
				t.Errorf("%s: %s", setting, asJSON(org))
			}
		}
		status := http.StatusOK
		if !want {
			status = http.StatusForbidden
		}
		if got := s.do(http.MethodGet, "/api/v2/controls/fresh", memberKey, nil); got.status != status {
			t.Errorf("%s: controls answer %d: %s", setting, got.status, got.body)
		}
	}
}

func TestExperimentalFeaturesAreEnabledAndDisabled(t *testing.T) {
	t.Parallel()
	s := share(t)
	address := "/organizations/" + s.org + "/experimental_features"
	wantEnabled := func(want bool) {
		t.Helper()
		if got := lookup(t, s.read("/organizations/"+s.org), "experimental_features_enabled"); got != want {
			t.Errorf("experimental_features_enabled is %v, want %t", got, want)
		}
	}
	disable := func() {
		t.Helper()
		s.want(http.StatusOK, http.MethodPut, address, []byte(`{"experimental_features_enabled":false}`))
		wantEnabled(false)
		s.wantError(http.StatusForbidden, betaOffMessage, http.MethodGet, "/controls/"+s.org, "")
	}
	others := lookup(t, s.read("/organizations/"+s.public), "experimental_features_enabled")
	disable()
	for range 2 {
		if got := s.want(http.StatusOK, http.MethodPut, address, []byte(`{"experimental_features_enabled":true}`)).text(t); got != "OK" {
			t.Errorf("answered %q", got)
		}
		wantEnabled(true)
	}
	s.want(http.StatusOK, http.MethodGet, "/controls/"+s.org, nil)
	disable()
	if got := lookup(t, s.read("/organizations/"+s.public), "experimental_features_enabled"); got != others {
		t.Errorf("experimental_features_enabled of another organization is %v, was %v", got, others)
	}
}
