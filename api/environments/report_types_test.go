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
			if fmt.Sprint(shown) != fmt.Sprint(c.context) {
				t.Errorf("the contexts are %v, want %v", shown, c.context)
			}
		})
	}
}

func TestEmptyReportIsValidForEveryTypeAndEverythingExits(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	for _, c := range reportTypes {
		t.Run(c.name, func(t *testing.T) {
			s := s.In(t)
			s.CreateEnvironment(c.name, c.environment)
			s.Report(http.StatusCreated, c.name, c.kind, `{"artifacts":[]}`)
			s.Report(http.StatusCreated, c.name, c.kind, reportOf(`{"web":"`+apitest.DigestOf("web")+`"}`, c.members))
			s.Report(http.StatusCreated, c.name, c.kind, fmt.Sprintf(`{"type":%q,"artifacts":[]}`, c.kind))
			for index, want := range map[string]int{"1": 0, "2": 1, "3": 0} {
				if got := s.GetSnapshot(c.name, index); len(got.Fingerprints()) != want {
					t.Errorf("%v run in snapshot %s", got.Fingerprints(), index)
				}
			}
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

func TestReportOfAnotherTypeThanItsAddressIsRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	for _, c := range reportTypes {
		t.Run(c.name, func(t *testing.T) {
			s := s.In(t)
			s.CreateEnvironment(c.name, c.environment)
			for _, kind := range []string{"logical", "", strings.ToUpper(c.kind) + "s"} {
				_, errors := s.Report(http.StatusBadRequest, c.name, c.kind, fmt.Sprintf(`{"type":%q,"artifacts":[]}`, kind)).Problem(t)
				if want := fmt.Sprintf("Input should be '%s' [input: %s]", c.kind, kind); errors["type"] != want {
					t.Errorf("%v, want %s", errors, want)
				}
			}
			s.AssertNothingStored(c.name)
		})
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

// ecsTask is one task of an ECS report.
func ecsTask(image, digest string, at int64) string {
	return fmt.Sprintf(`{"digests":{%q:%q},"taskArn":"arn:%s-%d","creationTimestamp":%d}`, image, digest, image, at, at)
}

func ecsReport(tasks ...string) string { return `{"artifacts":[` + strings.Join(tasks, ",") + `]}` }

func TestUnknownDigestOfANewNameIsOmitted(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	for kind, c := range map[string]struct {
		of      evidence.EnvironmentType
		members string
	}{
		"ECS":        {evidence.ECS, `,"taskArn":"t"`},
		"azure-apps": {evidence.AzureApps, `,"app_name":"a","app_kind":"app","digests_source":"acr"`},
		"cloud-run":  {evidence.CloudRun, `,"kind":"job"`},
	} {
		t.Run(kind, func(t *testing.T) {
			s := s.In(t)
			s.CreateEnvironment(kind, c.of)
			unknown := reportOf(`{"web":""}`, c.members)
			s.Report(http.StatusCreated, kind, kind, unknown)
			if got := s.GetSnapshot(kind, "-1"); got.Index != 1 || len(got.Artifacts) != 0 {
				t.Errorf("snapshot %d has %v", got.Index, got.Artifacts)
			}
			s.Report(http.StatusOK, kind, kind, unknown)
			s.Report(http.StatusCreated, kind, kind, reportOf(`{"web":"`+apitest.DigestOf("web")+`"}`, c.members))
			s.Report(http.StatusOK, kind, kind, unknown)
			if got := s.GetSnapshot(kind, "-1"); got.Index != 2 || got.Fingerprints()["web"] != apitest.DigestOf("web") {
				t.Errorf("snapshot %d runs %v", got.Index, got.Fingerprints())
			}
		})
	}
}

func TestUnknownDigestTakesOverTheLatestFingerprintOfItsName(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.ECS)
	a, b := apitest.DigestOf("a"), apitest.DigestOf("b")
	for _, step := range []struct {
		what   string
		status int
		body   string
		want   map[string]string
	}{
		{"first known", 201, ecsReport(ecsTask("web", a, 1)), map[string]string{"web": a}},
		{"unknown", 200, ecsReport(ecsTask("web", "", 2)), map[string]string{"web": a}},
		{"replaced", 201, ecsReport(ecsTask("web", b, 3)), map[string]string{"web": b}},
		{"unknown after it was replaced", 200, ecsReport(ecsTask("web", "", 4)), map[string]string{"web": b}},
		{"known again", 200, ecsReport(ecsTask("web", b, 5)), map[string]string{"web": b}},
		{"one known beside one unknown", 200, ecsReport(ecsTask("web", "", 6), ecsTask("web", b, 7)), map[string]string{"web": b}},
		{"another name is known", 201, ecsReport(ecsTask("web", "", 8), ecsTask("api", a, 8)), map[string]string{"web": b, "api": a}},
		{"both unknown", 200, ecsReport(ecsTask("web", "", 9), ecsTask("api", "", 9)), map[string]string{"web": b, "api": a}},
		{"both unknown beside a new name", 200, ecsReport(ecsTask("web", "", 9), ecsTask("api", "", 9), ecsTask("new", "", 9)),
			map[string]string{"web": b, "api": a}},
		{"one is gone", 201, ecsReport(ecsTask("web", "", 10)), map[string]string{"web": b}},
		{"unknown after it exited", 200, ecsReport(ecsTask("web", "", 11), ecsTask("api", "", 11)), map[string]string{"web": b}},
	} {
		t.Run(step.what, func(t *testing.T) {
			s := s.In(t)
			s.Report(step.status, "prod", "ECS", step.body)
			if got := s.GetSnapshot("prod", "-1").Fingerprints(); !maps.Equal(got, step.want) {
				t.Errorf("%v run, want %v", got, step.want)
			}
		})
	}
}

func TestRolloutWithAnUnknownDigestKeepsTheFormerFingerprintBesideTheNewOne(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.ECS)
	s.Report(http.StatusCreated, "prod", "ECS", ecsReport(ecsTask("web", apitest.DigestOf("old"), 1)))
	s.Report(http.StatusCreated, "prod", "ECS", ecsReport(ecsTask("web", "", 1), ecsTask("web", apitest.DigestOf("new"), 2)))
	got := s.GetSnapshot("prod", "-1").RunningNamed("web")
	if len(got) != 2 || apitest.Annotation(got[0]) != "started-unknown" || got[0]["fingerprint"] != apitest.DigestOf("new") ||
		apitest.Annotation(got[1]) != "unchanged" || got[1]["fingerprint"] != apitest.DigestOf("old") {
		t.Errorf("%v run", got)
	}
}

func TestOneFingerprintUnderTwoNamesIsOneArtifact(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.ECS)
	s.Report(http.StatusCreated, "prod", "ECS", ecsReport(
		ecsTask("web:latest", apitest.DigestOf("web"), 30), ecsTask("web:1.0", apitest.DigestOf("web"), 10), ecsTask("web:1.0", apitest.DigestOf("web"), 20)))
	got := s.GetSnapshot("prod", "1")
	if len(got.Artifacts) != 1 || got.Artifacts[0]["name"] != "web:1.0" || fmt.Sprint(got.Artifacts[0]["creationTimestamp"]) != "[10 20 30]" {
		t.Fatalf("shown as %v", got.Artifacts)
	}
	if arn := got.Artifacts[0]["ecs_context"].(map[string]any)["task_arn"]; arn != "arn:web:latest-30" {
		t.Errorf("the context is that of %s, not of the youngest instance", arn)
	}
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
	if got := s.GetSnapshot("prod", "1").Artifacts[0]["creationTimestamp"]; fmt.Sprint(got) != "[-5 0 3.250368e+10]" {
		t.Errorf("shown as %v", got)
	}
}

func TestLargestReportIsAcceptedAndOneByteMoreIsNot(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("host", evidence.Server)
	const limit = 32 << 20
	largest := append(apitest.ServerReport("a"), bytes.Repeat([]byte(" "), limit)...)[:limit]
	s.Report(http.StatusCreated, "host", "server", string(largest))
	message, _ := s.Report(http.StatusRequestEntityTooLarge, "host", "server", string(largest)+" ").Problem(t)
	if message != "Request body exceeds the limit of 32 MiB" {
		t.Error(message)
	}
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
