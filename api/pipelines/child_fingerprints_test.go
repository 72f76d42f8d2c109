package pipelines_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
)

// runImages reports that images run in a Docker environment.
func runImages(s *apitest.Service, environment string, names ...string) {
	s.T.Helper()
	var artifacts []string
	for _, name := range names {
		artifacts = append(artifacts, fmt.Sprintf(`{"digests":{%q:%q},"creationTimestamp":1700000000}`, name, apitest.DigestOf(name)))
	}
	got := s.Do(http.MethodPut, "/api/v2"+s.EnvironmentsPath()+"/"+environment+"/report/docker", apitest.AdminKey, []byte(`{"artifacts":[`+strings.Join(artifacts, ",")+`]}`))
	if got.Status != http.StatusCreated && got.Status != http.StatusOK {
		s.T.Fatalf("the report is answered %d %s", got.Status, got.Body)
	}
}

// runningStates returns the names and verdicts of the running artifacts.
func runningStates(s *apitest.Service, environment string) string {
	s.T.Helper()
	var states []string
	for _, artifact := range s.GetSnapshot(environment, "-1").Artifacts {
		if apitest.Annotation(artifact) != "exited" {
			states = append(states, fmt.Sprint(artifact["name"], " ", apitest.AsJSON(artifact["compliant"])))
		}
	}
	slices.Sort(states)
	return strings.Join(states, ", ")
}

func wantStates(s *apitest.Service, when, environment, want string) {
	s.T.Helper()
	apitest.Equal(s.T, runningStates(s, environment), want, when, environment)
}

func TestChildFingerprintsIdentifyTheSameArtifact(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	s.RequireScans("prod", "edge")
	s.ReportIndex("images", "build-1", "web", "web/amd64", "web/arm64")
	runImages(s, "prod", "web/amd64")
	wantStates(s, "without a scan", "prod", "web/amd64 false")
	s.AttestImage("images", "build-1", "web", true)
	runImages(s, "prod", "web/amd64")
	wantStates(s, "with a scan", "prod", "web/amd64 true")
	scan := apitest.Lookup(t, s.Read("/attestations/"+s.Org+"?name=scan"), "data", 0, "attestation_id").(string)
	for _, name := range []string{"web", "web/amd64", "web/arm64"} {
		if got := apitest.Lookup(t, s.Read("/asserts/"+s.Org+"/fingerprint/"+apitest.DigestOf(name)+"?environment_name=prod"), "compliant"); got != true {
			t.Errorf("%s has the verdict %v", name, got)
		}
		artifact := s.Read("/artifacts/" + s.Org + "/images/fingerprint/" + apitest.DigestOf(name) + "?attestation_id=" + scan)
		if apitest.Lookup(t, artifact, "fingerprint") != apitest.DigestOf("web") || apitest.AsJSON(apitest.Lookup(t, artifact, "running")) != `[{"environment_name":"prod","snapshot_index":2}]` ||
			apitest.AsJSON(apitest.Lookup(t, artifact, "child_fingerprints")) != apitest.AsJSON([]string{apitest.DigestOf("web/amd64"), apitest.DigestOf("web/arm64")}) {
			t.Errorf("%s is read as %s", name, apitest.AsJSON(artifact))
		}
		found := s.Read("/search/" + s.Org + "/sha/" + apitest.DigestOf(name)[:20])
		if artifacts := apitest.Lookup(t, found, "artifacts").([]any); len(artifacts) != 1 || apitest.Lookup(t, artifacts[0], "fingerprint") != apitest.DigestOf("web") ||
			apitest.AsJSON(apitest.Lookup(t, artifacts[0], "running_in")) != `["prod"]` || apitest.Lookup(t, found, "resolved_to", "full_match") != apitest.DigestOf("web") {
			t.Errorf("the search for %s finds %s", name, apitest.AsJSON(found))
		}
	}
	s.CreateEnvironment("cluster", evidence.K8S)
	s.Attach("cluster", "guard")
	s.SetAdmission("cluster", `{"mode":"deny"}`)
	if got := s.Admit("cluster", apitest.Review("Pod", apitest.Pod("", "web@sha256:"+apitest.DigestOf("web/arm64"), "web@sha256:"+apitest.DigestOf("web")), false)); !got.Response.Allowed {
		t.Errorf("admission answers %+v", got)
	}
	archive := s.Want(http.StatusOK, http.MethodGet, "/trails/"+s.Org+"/images/build-1/audit_package", nil).Body
	if got := apitest.VerifyCompressed(t, archive); len(got.Findings) > 0 || !strings.Contains(string(apitest.ContentIn(t, archive, "environments.json")), apitest.DigestOf("web/amd64")) {
		t.Errorf("the package has the findings %v", got.Findings)
	}
	runImages(s, "prod", "web/amd64", "web/arm64")
	if got := apitest.AsJSON(apitest.Lookup(t, s.Read("/artifacts/"+s.Org+"/images/fingerprint/"+apitest.DigestOf("web")), "running")); got != `[{"environment_name":"prod","snapshot_index":3}]` {
		t.Errorf("on two platforms, it is shown as running in %s", got)
	}
	s.ReportIndex("images", "build-1", "web")
	if got := apitest.AsJSON(apitest.Lookup(t, s.Read("/artifacts/"+s.Org+"/images/fingerprint/"+apitest.DigestOf("web")), "running")); got != `[{"environment_name":"prod","snapshot_index":3}]` {
		t.Errorf("reported again without children, it is shown as running in %s", got)
	}
	// A failing scan in another flow counts for the running children, though that flow has no record of them.
	s.ReportArtifact("release", "r-1", "image", apitest.DigestOf("web"), strings.Repeat("a", 40))
	s.AttestImage("release", "r-1", "web", false)
	runImages(s, "prod", "web/amd64", "web/arm64")
	wantStates(s, "with a failing scan in another flow", "prod", "web/amd64 false, web/arm64 false")
	runImages(s, "edge", "web/arm64")
	wantStates(s, "with a failing scan", "edge", "web/arm64 false")
	s.Want(http.StatusCreated, http.MethodPut, s.AllowlistsPath()+"/edge",
		fmt.Appendf(nil, `{"artifact_name":"web","artifact_fingerprint":%q,"description":"until Friday"}`, apitest.DigestOf("web")))
	wantStates(s, "allowed by the fingerprint of the artifact", "edge", "web/arm64 true")
}

func TestRunningChildrenAreRecognizedWhenTheirIndexIsReported(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	s.RequireScans("prod")
	runImages(s, "prod", "api/amd64")
	wantStates(s, "unknown", "prod", "api/amd64 false")
	s.ReportIndex("images", "build-1", "api")
	s.AttestImage("images", "build-1", "api", true)
	runImages(s, "prod", "api/amd64")
	wantStates(s, "reported without children", "prod", "api/amd64 false")
	s.ReportIndex("images", "build-1", "api", "api/amd64", "api")
	runImages(s, "prod", "api/amd64")
	wantStates(s, "reported with children", "prod", "api/amd64 true")
	if got := apitest.AsJSON(apitest.Lookup(t, s.Read("/artifacts/"+s.Org+"/images/fingerprint/"+apitest.DigestOf("api")), "child_fingerprints")); got != apitest.AsJSON([]string{apitest.DigestOf("api/amd64")}) {
		t.Errorf("the children are %s", got)
	}
	// If a flow has reported the child itself, that artifact counts instead of its index.
	s.ReportArtifact("release", "r-1", "image", apitest.DigestOf("api/amd64"), strings.Repeat("b", 40))
	runImages(s, "prod", "api/amd64")
	wantStates(s, "reported itself", "prod", "api/amd64 false")
	s.AttestImage("release", "r-1", "api/amd64", true)
	runImages(s, "prod", "api/amd64")
	wantStates(s, "attested itself", "prod", "api/amd64 true")
	for path, want := range map[string]string{"images/fingerprint/" + apitest.DigestOf("api"): "[]", "release/fingerprint/" + apitest.DigestOf("api/amd64"): `[{"environment_name":"prod","snapshot_index":4}]`} {
		apitest.Equal(t, apitest.AsJSON(apitest.Lookup(t, s.Read("/artifacts/"+s.Org+"/"+path), "running")), want, path)
	}
	if _, resolved := s.Search(apitest.DigestOf("api/amd64")); resolved != "fingerprint "+apitest.DigestOf("api/amd64")+" ["+apitest.DigestOf("api/amd64")+"] []" {
		t.Errorf("the search resolves it to %s", resolved)
	}
	// Links to the index that were made before still work.
	if got := s.Read("/artifacts/" + s.Org + "/images/fingerprint/" + apitest.DigestOf("api/amd64")); apitest.Lookup(t, got, "fingerprint") != apitest.DigestOf("api") {
		t.Errorf("the look-up finds %s", apitest.AsJSON(got))
	}
}

// TestSharedChildRunsAsTheArtifactThatCounts reports two indexes with the same image for one platform to one flow. The image
// counts as the later index, by whose trail snapshots and packages judge it, so the earlier one does not run.
func TestSharedChildRunsAsTheArtifactThatCounts(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	s.RequireScans("prod")
	s.ReportIndex("images", "build-1", "web:1", "web:1/amd64", "web/arm64")
	s.ReportIndex("images", "build-2", "web:2", "web:2/amd64", "web/arm64")
	runImages(s, "prod", "web/arm64")
	if got := apitest.Lookup(t, s.GetSnapshot("prod", "-1").Artifacts[0], "flows", 0, "trail_name"); got != "build-2" {
		t.Errorf("the snapshot has the trail %v", got)
	}
	for name, want := range map[string]string{"web:1": "[]", "web:2": `["prod"]`} {
		artifact := s.Read("/artifacts/" + s.Org + "/images/fingerprint/" + apitest.DigestOf(name))
		found := apitest.Lookup(t, s.Read("/search/"+s.Org+"/sha/"+apitest.DigestOf(name)), "artifacts", 0, "running_in")
		if places := apitest.Lookup(t, artifact, "running").([]any); apitest.AsJSON(found) != want || (len(places) == 0) != (want == "[]") {
			t.Errorf("%s runs in %s, by the search in %s, want %s", name, apitest.AsJSON(places), apitest.AsJSON(found), want)
		}
	}
	runImages(s, "prod", "web:1/amd64", "web/arm64")
	if got := apitest.AsJSON(apitest.Lookup(t, s.Read("/artifacts/"+s.Org+"/images/fingerprint/"+apitest.DigestOf("web:1")), "running")); got != `[{"environment_name":"prod","snapshot_index":2}]` {
		t.Errorf("with its own image, the earlier one runs in %s", got)
	}
}

func TestInvalidChildFingerprintsAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateFlow("images")
	report := func(children string) (string, []byte) {
		return "/artifacts/" + s.Org + "/images", fmt.Appendf(nil,
			`{"fingerprint":%q,"filename":"x","build_url":"https://ci.example.com/1","commit_url":"https://git.example.com/1","child_fingerprints":%s}`, apitest.DigestOf("x"), children)
	}
	many := func(number int) string {
		var children []string
		for i := range number {
			children = append(children, `"`+apitest.DigestOf(fmt.Sprint(i))+`"`)
		}
		return "[" + strings.Join(children, ",") + "]"
	}
	for name, children := range map[string]string{"no digest": `["abc"]`, "no list": `"` + apitest.DigestOf("y") + `"`, "too many": many(101), "a number": `[1]`} {
		t.Run(name, func(t *testing.T) {
			path, body := report(children)
			got := s.Do(http.MethodPost, "/api/v2"+path, apitest.AdminKey, body)
			apitest.WantAnswer(t, got, http.StatusBadRequest, "child_fingerprints")
		})
	}
	for _, children := range []string{"null", "[]", many(100)} {
		path, body := report(children)
		s.Want(http.StatusCreated, http.MethodPost, path, body)
	}
}

// TestPackageOfAnArtifactJudgesItsChildByAllFlows has a child of two artifacts of one trail. Its origin in the flow images is
// the other artifact, which has a failing scan.
func TestPackageOfAnArtifactJudgesItsChildByAllFlows(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.RequireScans("prod")
	s.ReportIndex("release", "r-1", "web", "web/amd64")
	s.AttestImage("release", "r-1", "web", true)
	s.ReportIndex("images", "build-1", "web", "web/amd64")
	s.ReportIndex("images", "build-1", "other", "web/amd64")
	s.AttestImage("images", "build-1", "other", false)
	runImages(s, "prod", "web/amd64")
	wantStates(s, "with a failing scan", "prod", "web/amd64 false")
	archive := s.Get(http.MethodGet, "/artifacts/"+s.Org+"/images/"+apitest.DigestOf("web")+"/audit_package").Body
	if got := apitest.VerifyCompressed(t, archive); len(got.Findings) > 0 {
		t.Errorf("the package has the findings %v", got.Findings)
	}
	evidencetest.Contains(t, string(apitest.ContentIn(t, archive, "environments.json")), `"compliant": false`)
}
