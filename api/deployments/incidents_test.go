package deployments_test

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"attestry/api/apitest"
)

func TestIncidentsMakeDeploymentsFailedChanges(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{Real: true})
	from, to := s.RunQuarter()
	s.CreateAudit(`"prod","canary"`, from, to)
	schema, err := os.ReadFile("../../docs/incident.schema.json")
	s.Must(err)
	s.CreateAttestationType(`{"name":"incident"}`, apitest.SchemaFile(string(schema)))
	incident := func(status int, trail, name, data string) {
		s.PostAttestation(status, trail, "custom", fmt.Sprintf(`{"attestation_name":%q,"type_name":"incident","artifact_fingerprint":%q,"attestation_data":{%s}}`, name, apitest.DigestOf(trail), data))
	}
	began := to.Add(-time.Hour)
	at := func(hours int) string { return began.Add(time.Duration(hours) * time.Hour).UTC().Format(time.RFC3339) }
	incident(http.StatusCreated, "machine", "INC-1", fmt.Sprintf(`"started_at":%q,"environment":"canary"`, at(0)))
	incident(http.StatusCreated, "alone", "INC-2", fmt.Sprintf(`"started_at":%q,"resolved_at":%q`, at(0), at(1)))
	incident(http.StatusCreated, "alone", "INC-3", fmt.Sprintf(`"started_at":%q,"resolved_at":%q`, at(0), at(3)))
	incident(http.StatusCreated, "waved", "INC-4", fmt.Sprintf(`"started_at":%q,"resolved_at":null,"environment":"canary"`, at(0)))
	incident(http.StatusCreated, "late", "INC-5", `"started_at":"2020-01-01T00:00:00Z","resolved_at":"2020-01-02T00:00:00Z"`)
	for _, wrong := range []string{`"started_at":"soon"`, `"started_at":"2026-13-01T00:00:00Z"`, `"started_at":"2026-12-01T24:00:00Z"`, `"resolved_at":"2026-12-01T00:00:00Z"`, `"started_at":"2026-12-01T00:00:00Z","resolved_at":5`} {
		incident(http.StatusBadRequest, "late", "INC-6", wrong)
	}
	s.PostAttestation(http.StatusCreated, "emergency", "custom", fmt.Sprintf(`{"attestation_name":"INC-7","type_name":"incident","attestation_data":{"started_at":%q,"resolved_at":%[1]q}}`, at(0)))
	found := func() string {
		rows, _ := s.Population("?finding=incident")
		text := ""
		for _, row := range rows {
			text += fmt.Sprintf("%s in %s: %d", row.Artifact, row.Environment, row.Incidents)
			if row.Restore != nil {
				text += fmt.Sprintf(", %g s", *row.Restore)
			}
			text += "\n"
		}
		return text
	}
	if got, want := found(), "alone in prod: 2, 10800 s\nemergency in prod: 1, 0 s\nmachine in canary: 1\n"; got != want {
		t.Errorf("the incidents are\n%swant\n%s", got, want)
	}
	// The rollback that replaced waved counts too: four of eight releases failed.
	if totals := s.Totals(); totals.By["incident"] != 3 || totals.Failed != 4 || totals.Rate != 0.5 || totals.Restore.Known != 2 || totals.Restore.P90 != 10800 {
		t.Errorf("the totals are %+v", totals)
	}
	s.Clock.Advance(time.Second)
	incident(http.StatusCreated, "machine", "INC-1", fmt.Sprintf(`"started_at":%q,"resolved_at":%q,"environment":"canary"`, at(0), at(1)))
	if got, want := found(), "alone in prod: 2, 10800 s\nemergency in prod: 1, 0 s\nmachine in canary: 1, 3600 s\n"; got != want {
		t.Errorf("once all are resolved, the incidents are\n%swant\n%s", got, want)
	}
	if totals := s.Totals(); totals.Restore.Known != 3 || totals.Restore.Median != 3600 || totals.Restore.P90 != 10800 {
		t.Errorf("once all are resolved, the totals are %+v", totals)
	}
	s.RenameEnvironment("canary", "trial")
	s.CreateEnvironment("canary", "server")
	s.RenameEnvironment("trial", "preview")
	if got, want := found(), "alone in prod: 2, 10800 s\nemergency in prod: 1, 0 s\nmachine in preview: 1, 3600 s\n"; got != want {
		t.Errorf("once the environment is renamed, the incidents are\n%swant\n%s", got, want)
	}
	apitest.Equal(t, s.Totals().By["incident"], 3, "once the environment is renamed, the totals")
}
