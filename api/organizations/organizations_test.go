package organizations_test

import (
	"net/http"
	"testing"

	"attestry/api/apitest"
)

func TestNewOrganizationsHaveTheBetaFeaturesUnlessTheSettingSaysOtherwise(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]bool{"ATTESTRY_BETA=": true, "ATTESTRY_BETA=off": false} {
		s := apitest.Start(t, apitest.Options{WithoutWorker: true, Settings: []string{setting}})
		created := s.Do(http.MethodPost, "/api/v2/organizations", apitest.MemberKey, []byte(`{"name":"fresh"}`)).Value(t)
		personal := s.Do(http.MethodGet, "/api/v2/organizations/member", apitest.MemberKey, nil).Value(t)
		for _, org := range []any{created, personal} {
			if got := apitest.Lookup(t, org, "experimental_features_enabled"); got != want {
				t.Errorf("%s: %s", setting, apitest.AsJSON(org))
			}
		}
		status := http.StatusOK
		if !want {
			status = http.StatusForbidden
		}
		apitest.WantAnswer(t, s.Do(http.MethodGet, "/api/v2/controls/fresh", apitest.MemberKey, nil), status)
	}
}

func TestExperimentalFeaturesAreEnabledAndDisabled(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	address := "/organizations/" + s.Org + "/experimental_features"
	wantEnabled := func(want bool) {
		t.Helper()
		apitest.Equal[any](t, apitest.Lookup(t, s.Read("/organizations/"+s.Org), "experimental_features_enabled"),
			want, "experimental_features_enabled")
	}
	disable := func() {
		t.Helper()
		s.Want(http.StatusOK, http.MethodPut, address, []byte(`{"experimental_features_enabled":false}`))
		wantEnabled(false)
		s.WantError(http.StatusForbidden, apitest.BetaOffMessage, http.MethodGet, "/controls/"+s.Org, "")
	}
	others := apitest.Lookup(t, s.Read("/organizations/"+s.Public), "experimental_features_enabled")
	disable()
	for range 2 {
		if got := s.Want(http.StatusOK, http.MethodPut, address, []byte(`{"experimental_features_enabled":true}`)).Text(t); got != "OK" {
			t.Errorf("answered %q", got)
		}
		wantEnabled(true)
	}
	s.Want(http.StatusOK, http.MethodGet, "/controls/"+s.Org, nil)
	disable()
	apitest.Equal(t, apitest.Lookup(t, s.Read("/organizations/"+s.Public), "experimental_features_enabled"),
		others, "experimental_features_enabled of another organization is , was")
}
