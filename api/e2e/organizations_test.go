package e2e_test

import (
	"net/http"
	"testing"
)

// betaOff is the answer of operations of beta features that are not enabled.
const betaOff = "Experimental features are not enabled for this organization"

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
		s.wantError(http.StatusForbidden, betaOff, http.MethodGet, "/controls/"+s.org, "")
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

func TestExperimentalFeaturesAreRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	const disable = `{"experimental_features_enabled":false}`
	before := map[string]any{}
	for _, org := range []string{s.org, s.public} {
		before[org] = lookup(t, s.read("/organizations/"+org), "experimental_features_enabled")
	}
	for name, c := range map[string]struct {
		org, key, body string
		status         int
		message        string
		errors         map[string]string
	}{
		"by a member":       {s.org, memberKey, disable, http.StatusForbidden, noPermission, nil},
		"by a snapshotter":  {s.org, snapshotterKey, disable, http.StatusForbidden, noPermission, nil},
		"by a reader":       {s.org, readerKey, disable, http.StatusForbidden, noPermission, nil},
		"by a stranger":     {s.org, strangerKey, disable, http.StatusForbidden, "Access denied to /api/v2/organizations/" + s.org + "/experimental_features", nil},
		"in a public one":   {s.public, strangerKey, disable, http.StatusForbidden, noPermission, nil},
		"in an unknown one": {"nowhere", adminKey, disable, http.StatusForbidden, "Access denied to /api/v2/organizations/nowhere/experimental_features", nil},
		"without a key":     {s.org, "", disable, http.StatusUnauthorized, "An API key is required", nil},
		"without the member": {s.org, adminKey, `{}`, http.StatusBadRequest, "Input payload validation failed",
			map[string]string{"experimental_features_enabled": "Field required [input: None]"}},
		"with null": {s.org, adminKey, `{"experimental_features_enabled":null}`, http.StatusBadRequest, "Input payload validation failed",
			map[string]string{"experimental_features_enabled": "Input should be a valid boolean [input: None]"}},
		"with a number": {s.org, adminKey, `{"experimental_features_enabled":7}`, http.StatusBadRequest, "Input payload validation failed",
			map[string]string{"experimental_features_enabled": "Input should be a valid boolean, unable to interpret input [input: 7]"}},
		"with another member": {s.org, adminKey, `{"experimental_features_enabled":false,"beta":true}`, http.StatusBadRequest, "Input payload validation failed",
			map[string]string{"beta": "Extra inputs are not permitted [input: True]"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			got := s.do(http.MethodPut, "/api/v2/organizations/"+c.org+"/experimental_features", c.key, []byte(c.body))
			wantProblem(t, got, c.status, c.message, c.errors)
		})
	}
	for org, want := range before {
		if got := lookup(t, s.read("/organizations/"+org), "experimental_features_enabled"); got != want {
			t.Errorf("experimental_features_enabled of %s is %v, was %v", org, got, want)
		}
	}
}
