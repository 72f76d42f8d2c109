package e2e_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/scripts/fixturestest"
)

// report sends a report of the given type and checks the status of the answer.
func (s *service) report(status int, environment, kind, body string) answer {
	s.t.Helper()
	return s.want(status, http.MethodPut, s.environmentsPath()+"/"+environment+"/report/"+kind, []byte(body))
}

// runningNamed returns the running artifacts with a name.
func (b snapshotBody) runningNamed(name string) []map[string]any {
	var found []map[string]any
	for _, artifact := range b.Artifacts {
		if artifact["name"] == name && annotation(artifact) != "exited" {
			found = append(found, artifact)
		}
	}
	return found
}

// fingerprints returns the fingerprints of the running artifacts, by name.
func (b snapshotBody) fingerprints() map[string]string {
	running := map[string]string{}
	for _, artifact := range b.Artifacts {
		if annotation(artifact) != "exited" {
			running[artifact["name"].(string)] += artifact["fingerprint"].(string)
		}
	}
	return running
}

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
	s := shareOnAnyEngine(t)
	for _, c := range reportTypes {
		t.Run(c.name, func(t *testing.T) {
			s := s.in(t)
			s.createEnvironment(c.name, c.environment)
			body := reportOf(`{"web:1.0":"`+digestOf("web")+`"}`, c.members)
			s.report(http.StatusCreated, c.name, c.kind, body)
			s.report(http.StatusOK, c.name, c.kind, body)
			got := s.getSnapshot(c.name, "-1")
			if got.Index != 1 || got.Type != string(c.environment) || len(got.Artifacts) != 1 {
				t.Fatalf("snapshot %d of type %s has %d artifacts", got.Index, got.Type, len(got.Artifacts))
			}
			artifact := got.Artifacts[0]
			if artifact["name"] != "web:1.0" || artifact["fingerprint"] != digestOf("web") ||
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
	s := share(t)
	for _, c := range reportTypes {
		t.Run(c.name, func(t *testing.T) {
			s := s.in(t)
			s.createEnvironment(c.name, c.environment)
			s.report(http.StatusCreated, c.name, c.kind, `{"artifacts":[]}`)
			s.report(http.StatusCreated, c.name, c.kind, reportOf(`{"web":"`+digestOf("web")+`"}`, c.members))
			s.report(http.StatusCreated, c.name, c.kind, fmt.Sprintf(`{"type":%q,"artifacts":[]}`, c.kind))
			for index, want := range map[string]int{"1": 0, "2": 1, "3": 0} {
				if got := s.getSnapshot(c.name, index); len(got.fingerprints()) != want {
					t.Errorf("%v run in snapshot %s", got.fingerprints(), index)
				}
			}
		})
	}
}

func TestEnvironmentsTakeOnlyReportsOfTheirType(t *testing.T) {
	t.Parallel()
	s := share(t)
	var types []evidence.EnvironmentType
	for _, c := range reportTypes {
		if !slices.Contains(types, c.environment) {
			types = append(types, c.environment)
			s.createEnvironment(string(c.environment), c.environment)
		}
	}
	s.createEnvironment("logical", evidence.LogicalType)
	for _, c := range reportTypes {
		for _, kind := range append(types, evidence.LogicalType) {
			accepted := slices.ContainsFunc(reportTypes, func(other reportType) bool {
				return other.kind == c.kind && other.environment == kind
			})
			if accepted {
				continue
			}
			t.Run(c.name+" to "+string(kind), func(t *testing.T) {
				message, errors := s.in(t).report(http.StatusBadRequest, string(kind), c.kind, `{"artifacts":[]}`).problem(t)
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
		s.assertNothingStored(string(kind))
	}
}

func TestReportOfAnotherTypeThanItsAddressIsRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	for _, c := range reportTypes {
		t.Run(c.name, func(t *testing.T) {
			s := s.in(t)
			s.createEnvironment(c.name, c.environment)
			for _, kind := range []string{"logical", "", strings.ToUpper(c.kind) + "s"} {
				_, errors := s.report(http.StatusBadRequest, c.name, c.kind, fmt.Sprintf(`{"type":%q,"artifacts":[]}`, kind)).problem(t)
				if want := fmt.Sprintf("Input should be '%s' [input: %s]", c.kind, kind); errors["type"] != want {
					t.Errorf("%v, want %s", errors, want)
				}
			}
			s.assertNothingStored(c.name)
		})
	}
}

func TestSharedFixturesAreAccepted(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("cluster", evidence.ECS)
	s.report(http.StatusCreated, "cluster", "ECS", string(fixturestest.Read("ecs-report.json")))
	s.report(http.StatusOK, "cluster", "ECS", string(fixturestest.Read("ecs-report.json")))
	got := s.getSnapshot("cluster", "1")
	const registry = "111122223333.dkr.ecr.eu-central-1.amazonaws.com/"
	web := got.runningNamed(registry + "web:1.0")
	if len(got.Artifacts) != 2 || len(web) != 1 || len(got.runningNamed(registry+"unpulled:latest")) != 0 {
		t.Fatalf("%v run", got.fingerprints())
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
			s := s.in(t)
			s.createEnvironment(c.environment, c.of)
			s.report(http.StatusCreated, c.environment, c.kind, string(c.body))
			if got := s.getSnapshot(c.environment, "1"); len(got.Artifacts) != 2 || got.Type != string(c.of) {
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
	s := share(t)
	for kind, c := range map[string]struct {
		of      evidence.EnvironmentType
		members string
	}{
		"ECS":        {evidence.ECS, `,"taskArn":"t"`},
		"azure-apps": {evidence.AzureApps, `,"app_name":"a","app_kind":"app","digests_source":"acr"`},
		"cloud-run":  {evidence.CloudRun, `,"kind":"job"`},
	} {
		t.Run(kind, func(t *testing.T) {
			s := s.in(t)
			s.createEnvironment(kind, c.of)
			unknown := reportOf(`{"web":""}`, c.members)
			s.report(http.StatusCreated, kind, kind, unknown)
			if got := s.getSnapshot(kind, "-1"); got.Index != 1 || len(got.Artifacts) != 0 {
				t.Errorf("snapshot %d has %v", got.Index, got.Artifacts)
			}
			s.report(http.StatusOK, kind, kind, unknown)
			s.report(http.StatusCreated, kind, kind, reportOf(`{"web":"`+digestOf("web")+`"}`, c.members))
			s.report(http.StatusOK, kind, kind, unknown)
			if got := s.getSnapshot(kind, "-1"); got.Index != 2 || got.fingerprints()["web"] != digestOf("web") {
				t.Errorf("snapshot %d runs %v", got.Index, got.fingerprints())
			}
		})
	}
}

func TestUnknownDigestTakesOverTheLatestFingerprintOfItsName(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.ECS)
	a, b := digestOf("a"), digestOf("b")
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
			s := s.in(t)
			s.report(step.status, "prod", "ECS", step.body)
			if got := s.getSnapshot("prod", "-1").fingerprints(); !maps.Equal(got, step.want) {
				t.Errorf("%v run, want %v", got, step.want)
			}
		})
	}
}

func TestRolloutWithAnUnknownDigestKeepsTheFormerFingerprintBesideTheNewOne(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.ECS)
	s.report(http.StatusCreated, "prod", "ECS", ecsReport(ecsTask("web", digestOf("old"), 1)))
	s.report(http.StatusCreated, "prod", "ECS", ecsReport(ecsTask("web", "", 1), ecsTask("web", digestOf("new"), 2)))
	got := s.getSnapshot("prod", "-1").runningNamed("web")
	if len(got) != 2 || annotation(got[0]) != "started-unknown" || got[0]["fingerprint"] != digestOf("new") ||
		annotation(got[1]) != "unchanged" || got[1]["fingerprint"] != digestOf("old") {
		t.Errorf("%v run", got)
	}
}

func TestOneFingerprintUnderTwoNamesIsOneArtifact(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.ECS)
	s.report(http.StatusCreated, "prod", "ECS", ecsReport(
		ecsTask("web:latest", digestOf("web"), 30), ecsTask("web:1.0", digestOf("web"), 10), ecsTask("web:1.0", digestOf("web"), 20)))
	got := s.getSnapshot("prod", "1")
	if len(got.Artifacts) != 1 || got.Artifacts[0]["name"] != "web:1.0" || fmt.Sprint(got.Artifacts[0]["creationTimestamp"]) != "[10 20 30]" {
		t.Fatalf("shown as %v", got.Artifacts)
	}
	if arn := got.Artifacts[0]["ecs_context"].(map[string]any)["task_arn"]; arn != "arn:web:latest-30" {
		t.Errorf("the context is that of %s, not of the youngest instance", arn)
	}
}

func TestOneNameWithTwoFingerprintsIsTwoArtifacts(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Docker)
	s.report(http.StatusCreated, "prod", "docker", fmt.Sprintf(
		`{"artifacts":[{"digests":{"web":"%s"},"creationTimestamp":1},{"digests":{"web":"%s"},"creationTimestamp":2}]}`, digestOf("a"), digestOf("b")))
	if got := s.getSnapshot("prod", "1").runningNamed("web"); len(got) != 2 || got[0]["fingerprint"] == got[1]["fingerprint"] {
		t.Errorf("shown as %v", got)
	}
}

func TestTimesAreKeptAsTheyWereReported(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Lambda)
	s.report(http.StatusCreated, "prod", "lambda", fmt.Sprintf(
		`{"artifacts":[{"digests":{"f":"%[1]s"},"creationTimestamp":-5},{"digests":{"f":"%[1]s"},"creationTimestamp":0},{"digests":{"f":"%[1]s"},"creationTimestamp":32503680000.0}]}`,
		digestOf("f")))
	if got := s.getSnapshot("prod", "1").Artifacts[0]["creationTimestamp"]; fmt.Sprint(got) != "[-5 0 3.250368e+10]" {
		t.Errorf("shown as %v", got)
	}
}

func TestLargestReportIsAcceptedAndOneByteMoreIsNot(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("host", evidence.Server)
	const limit = 32 << 20
	largest := append(serverReport("a"), bytes.Repeat([]byte(" "), limit)...)[:limit]
	s.report(http.StatusCreated, "host", "server", string(largest))
	message, _ := s.report(http.StatusRequestEntityTooLarge, "host", "server", string(largest)+" ").problem(t)
	if message != "Request body exceeds the limit of 32 MiB" {
		t.Error(message)
	}
}

func TestHundredThousandFilesAreOneReport(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	const files = 100_000
	s := start(t, options{})
	s.createEnvironment("host", evidence.Server)
	names := make([]string, files)
	for i := range names {
		names[i] = fmt.Sprint("share/", i)
	}
	body := serverReport(names...)
	began := time.Now()
	got := s.do(http.MethodPut, "/api/v2/environments/"+s.org+"/host/report/server", snapshotterKey, body)
	if got.status != http.StatusCreated && got.status != http.StatusOK {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	t.Logf("%d bytes are answered with %s in %s", len(body), got.body, time.Since(began))
	eventuallyWithin(t, 5*time.Minute, "the report is processed", func() bool {
		return s.do(http.MethodGet, "/api/v2/snapshots/"+s.org+"/host/1", adminKey, nil).status == http.StatusOK
	})
	t.Logf("the snapshot is there after %s", time.Since(began))
	if made := s.getSnapshot("host", "1"); made.ArtifactComplianceCount["null"] != files || len(made.Artifacts) != files {
		t.Errorf("%v counted, %d shown", made.ArtifactComplianceCount, len(made.Artifacts))
	}
}
