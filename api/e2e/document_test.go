package e2e_test

import (
	"net/http"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence"
)

func TestEmptyBoundsOfTheEventLogAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("host", evidence.Server)
	for _, parameter := range []string{"start", "end"} {
		t.Run(parameter, func(t *testing.T) {
			s.In(t).WantError(http.StatusBadRequest, "Invalid interval value: ", http.MethodGet, s.EnvironmentsPath()+"/host/events?"+parameter+"=", "")
		})
	}
}
