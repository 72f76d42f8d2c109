package environments_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/evidence"
	"attestry/scripts/fixturestest"
)

// reportOf returns a report of one artifact, with further members as JSON.
func reportOf(digests, members string) string {
	return `{"artifacts":[{"digests":` + digests + `,"creationTimestamp":1632122962` + members + `}]}`
}

// reportType is an operation that accepts reports, with the type of its environments, the members that only its
// artifacts have, and the contexts that snapshots show.
type reportType struct {
	name, kind  string
	environment evidence.EnvironmentType
	members     string
	context     map[string]any
}

var reportTypes = []reportType{
	{"K8S", "K8S", evidence.K8S, `,"podName":"web-0","namespace":"shop"`, map[string]any{"ecs_context": nil}},
	{"ECS", "ECS", evidence.ECS, `,"taskArn":"arn:task","cluster_name":"blue","service_name":"web"`,
		map[string]any{"ecs_context": map[string]any{"task_arn": "arn:task", "cluster_name": "blue", "service_name": "web"}}},
	{"ECS-in-camel-case", "ECS", evidence.ECS, `,"taskArn":"arn:task","clusterName":"blue","serviceName":"web"`,
		map[string]any{"ecs_context": map[string]any{"task_arn": "arn:task", "cluster_name": "blue", "service_name": "web"}}},
	{"ECS-without-service", "ECS", evidence.ECS, `,"taskArn":"arn:task"`,
		map[string]any{"ecs_context": map[string]any{"task_arn": "arn:task", "cluster_name": nil, "service_name": nil}}},
	{"azure-apps", "azure-apps", evidence.AzureApps, `,"app_name":"shop","app_kind":"functionapp","digests_source":"logs"`,
		map[string]any{"ecs_context": nil, "azure_apps_context": map[string]any{
			"app_name": "shop", "app_kind": "functionapp", "digests_source": "logs"}}},
	{"cloud-run-service", "cloud-run", evidence.CloudRun, `,"kind":"service","serviceName":"hello","revisionName":"hello-7"`,
		map[string]any{"ecs_context": nil, "cloud_run_context": map[string]any{
			"kind": "service", "service_name": "hello", "revision_name": "hello-7", "job_name": nil}}},
	{"cloud-run-job", "cloud-run", evidence.CloudRun, `,"kind":"job","jobName":"sandman"`,
		map[string]any{"ecs_context": nil, "cloud_run_context": map[string]any{
			"kind": "job", "service_name": nil, "revision_name": nil, "job_name": "sandman"}}},
	{"S3", "S3", evidence.S3, "", map[string]any{"ecs_context": nil}},
	{"docker", "docker", evidence.Docker, "", map[string]any{"ecs_context": nil}},
	{"lambda", "lambda", evidence.Lambda, "", map[string]any{"ecs_context": nil}},
	{"server", "server", evidence.Server, "", map[string]any{"ecs_context": nil}},
	{"serverless-lambda", "serverless", evidence.Lambda, "", map[string]any{"ecs_context": nil}},
	{"serverless-cloud-run", "serverless", evidence.CloudRun, "", map[string]any{"ecs_context": nil}},
}

func TestEveryTypeOfReportShowsArtifactsAndTheirContext(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	for _, c := range reportTypes {
		t.Run(c.name, func(t *testing.T) {
			s := s.In(t)
			s.CreateEnvironment(c.name, c.environment)
			body := reportOf(`{"web:1.0":"`+apitest.DigestOf("web")+`"}`, c.members)
			s.Report(http.StatusCreated, c.name, c.kind, body)
			s.Report(http.StatusOK, c.name, c.kind, body)
			got := s.GetSnapshot(c.name, "-1")
			if got.Index != 1 || got.Type != string(c.environment) || len(got.Artifacts) != 1 {
				t.Fatalf("snapshot %d of type %s has %d artifacts", got.Index, got.Type, len(got.Artifacts))
			}
			artifact := got.Artifacts[0]
			if artifact["name"] != "web:1.0" || artifact["fingerprint"] != apitest.DigestOf("web") ||
				fmt.Sprint(artifact["creationTimestamp"]) != "[1.632122962e+09]" || (artifact["pods"] != nil) != (c.kind == "K8S") {
				t.Errorf("%v runs", artifact)
			}
			shown := maps.Clone(artifact)
			maps.DeleteFunc(shown, func(name string, _ any) bool { return !strings.HasSuffix(name, "_context") })
			apitest.Equal(t, fmt.Sprint(shown), fmt.Sprint(c.context), shown, c.context)
		})
	}
}

func TestEnvironmentsTakeOnlyReportsOfTheirType(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	var types []evidence.EnvironmentType
	for _, c := range reportTypes {
		if !slices.Contains(types, c.environment) {
			types = append(types, c.environment)
			s.CreateEnvironment(string(c.environment), c.environment)
		}
	}
	s.CreateEnvironment("logical", evidence.LogicalType)
	for _, c := range reportTypes {
		for _, kind := range append(types, evidence.LogicalType) {
			accepted := slices.ContainsFunc(reportTypes, func(other reportType) bool {
				return other.kind == c.kind && other.environment == kind
			})
			if accepted {
				continue
			}
			t.Run(c.name+" to "+string(kind), func(t *testing.T) {
				message, errors := s.In(t).Report(http.StatusBadRequest, string(kind), c.kind, `{"artifacts":[]}`).Problem(t)
				want := fmt.Sprintf("Environment '%s' takes reports of type '%s' [input: %s]", kind, kind, c.kind)
				if kind == evidence.LogicalType {
					want = fmt.Sprintf("Environment 'logical' is logical and takes no reports [input: %s]", c.kind)
				}
				if message != "Invalid report data" || !maps.Equal(errors, map[string]string{"type": want}) {
					t.Errorf("%s %v", message, errors)
				}
			})
		}
	}
	for _, kind := range append(types, evidence.LogicalType) {
		s.AssertNothingStored(string(kind))
	}
}

func TestSharedFixturesAreAccepted(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("cluster", evidence.ECS)
	s.Report(http.StatusCreated, "cluster", "ECS", string(fixturestest.Read("ecs-report.json")))
	s.Report(http.StatusOK, "cluster", "ECS", string(fixturestest.Read("ecs-report.json")))
	got := s.GetSnapshot("cluster", "1")
	const registry = "111122223333.dkr.ecr.eu-central-1.amazonaws.com/"
	web := got.RunningNamed(registry + "web:1.0")
	if len(got.Artifacts) != 2 || len(web) != 1 || len(got.RunningNamed(registry+"unpulled:latest")) != 0 {
		t.Fatalf("%v run", got.Fingerprints())
	}
	if context := web[0]["ecs_context"].(map[string]any); context["cluster_name"] != "app" || context["service_name"] != "web" {
		t.Errorf("the keys in camel case are shown as %v", context)
	}
	for _, c := range []struct {
		environment, kind string
		of                evidence.EnvironmentType
		body              []byte
	}{
		{"functions", "serverless", evidence.Lambda, fixturestest.Read("serverless-report.json")}, {"revisions", "serverless", evidence.CloudRun, fixturestest.Read("serverless-report.json")},
		{"host", "server", evidence.Server, fixturestest.Read("server-report.json")},
	} {
		t.Run(c.environment, func(t *testing.T) {
			s := s.In(t)
			s.CreateEnvironment(c.environment, c.of)
			s.Report(http.StatusCreated, c.environment, c.kind, string(c.body))
			if got := s.GetSnapshot(c.environment, "1"); len(got.Artifacts) != 2 || got.Type != string(c.of) {
				t.Errorf("%s: %d artifacts in a snapshot of type %s", c.kind, len(got.Artifacts), got.Type)
			}
		})
	}
}

func TestUnknownDigestOfANewNameIsOmitted(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	type testCase struct {
		of      evidence.EnvironmentType
		members string
	}
	apitest.Each(s, map[string]testCase{
		"ECS":        {evidence.ECS, `,"taskArn":"t"`},
		"azure-apps": {evidence.AzureApps, `,"app_name":"a","app_kind":"app","digests_source":"acr"`},
		"cloud-run":  {evidence.CloudRun, `,"kind":"job"`},
	}, func(s *apitest.Service, kind string, c testCase) {
		s.CreateEnvironment(kind, c.of)
		unknown := reportOf(`{"web":""}`, c.members)
		s.Report(http.StatusCreated, kind, kind, unknown)
		if got := s.GetSnapshot(kind, "-1"); got.Index != 1 || len(got.Artifacts) != 0 {
			s.T.Errorf("snapshot %d has %v", got.Index, got.Artifacts)
		}
		s.Report(http.StatusOK, kind, kind, unknown)
		s.Report(http.StatusCreated, kind, kind, reportOf(`{"web":"`+apitest.DigestOf("web")+`"}`, c.members))
		s.Report(http.StatusOK, kind, kind, unknown)
		if got := s.GetSnapshot(kind, "-1"); got.Index != 2 || got.Fingerprints()["web"] != apitest.DigestOf("web") {
			s.T.Errorf("snapshot %d runs %v", got.Index, got.Fingerprints())
		}
	})
}

func TestOneNameWithTwoFingerprintsIsTwoArtifacts(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Docker)
	s.Report(http.StatusCreated, "prod", "docker", fmt.Sprintf(
		`{"artifacts":[{"digests":{"web":"%s"},"creationTimestamp":1},{"digests":{"web":"%s"},"creationTimestamp":2}]}`, apitest.DigestOf("a"), apitest.DigestOf("b")))
	if got := s.GetSnapshot("prod", "1").RunningNamed("web"); len(got) != 2 || got[0]["fingerprint"] == got[1]["fingerprint"] {
		t.Errorf("shown as %v", got)
	}
}

func TestTimesAreKeptAsTheyWereReported(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Lambda)
	s.Report(http.StatusCreated, "prod", "lambda", fmt.Sprintf(
		`{"artifacts":[{"digests":{"f":"%[1]s"},"creationTimestamp":-5},{"digests":{"f":"%[1]s"},"creationTimestamp":0},{"digests":{"f":"%[1]s"},"creationTimestamp":32503680000.0}]}`,
		apitest.DigestOf("f")))
	apitest.Equal(t, fmt.Sprint(s.GetSnapshot("prod", "1").Artifacts[0]["creationTimestamp"]),
		"[-5 0 3.250368e+10]", "shown as")
}

func TestLargestReportIsAcceptedAndOneByteMoreIsNot(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("host", evidence.Server)
	const limit = 32 << 20
	largest := append(apitest.ServerReport("a"), bytes.Repeat([]byte(" "), limit)...)[:limit]
	s.Report(http.StatusCreated, "host", "server", string(largest))
	message, _ := s.Report(http.StatusRequestEntityTooLarge, "host", "server", string(largest)+" ").Problem(t)
	apitest.Equal(t, message, "Request body exceeds the limit of 32 MiB")
}

func TestHundredThousandFilesAreOneReport(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	const files = 100_000
	s := apitest.Start(t, apitest.Options{})
	s.CreateEnvironment("host", evidence.Server)
	names := make([]string, files)
	for i := range names {
		names[i] = fmt.Sprint("share/", i)
	}
	body := apitest.ServerReport(names...)
	began := time.Now()
	got := s.Do(http.MethodPut, "/api/v2/environments/"+s.Org+"/host/report/server", apitest.SnapshotterKey, body)
	if got.Status != http.StatusCreated && got.Status != http.StatusOK {
		t.Fatalf("status %d: %s", got.Status, got.Body)
	}
	t.Logf("%d bytes are answered with %s in %s", len(body), got.Body, time.Since(began))
	apitest.EventuallyWithin(t, 5*time.Minute, "the report is processed", func() bool {
		return s.Do(http.MethodGet, "/api/v2/snapshots/"+s.Org+"/host/1", apitest.AdminKey, nil).Status == http.StatusOK
	})
	t.Logf("the snapshot is there after %s", time.Since(began))
	if made := s.GetSnapshot("host", "1"); made.ArtifactComplianceCount["null"] != files || len(made.Artifacts) != files {
		t.Errorf("%v counted, %d shown", made.ArtifactComplianceCount, len(made.Artifacts))
	}
}
