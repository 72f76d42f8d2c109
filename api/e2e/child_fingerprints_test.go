package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"attestry/evidence"
)

// reportIndex reports an image index as an artifact. The images for the platforms are its children.
func (s *service) reportIndex(flow, trail, name string, platforms ...string) {
	s.t.Helper()
	var children []string
	for _, platform := range platforms {
		children = append(children, digestOf(platform))
	}
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/"+flow, fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":%q,"git_commit":%q,"build_url":"https://ci.example.com/1","commit_url":"https://git.example.com/1",
		"template_reference_name":"image","trail_name":%q,"child_fingerprints":%s}`, digestOf(name), name, strings.Repeat("a", 40), trail, asJSON(children)))
}

// runImages reports that images run in a Docker environment.
func (s *service) runImages(environment string, names ...string) {
	s.t.Helper()
	var artifacts []string
	for _, name := range names {
		artifacts = append(artifacts, fmt.Sprintf(`{"digests":{%q:%q},"creationTimestamp":1700000000}`, name, digestOf(name)))
	}
	got := s.do(http.MethodPut, "/api/v2"+s.environmentsPath()+"/"+environment+"/report/docker", adminKey, []byte(`{"artifacts":[`+strings.Join(artifacts, ",")+`]}`))
	if got.status != http.StatusCreated && got.status != http.StatusOK {
		s.t.Fatalf("the report is answered %d %s", got.status, got.body)
	}
}

func (s *service) attestImage(flow, trail, name string, compliant bool) {
	s.t.Helper()
	s.wantForm(http.StatusCreated, http.MethodPost, "/attestations/"+s.org+"/"+flow+"/trail/"+trail+"/generic", fmt.Sprintf(
		`{"attestation_name":"scan","is_compliant":%t,"artifact_fingerprint":%q}`, compliant, digestOf(name)))
}

// runningStates returns the names and verdicts of the running artifacts.
func (s *service) runningStates(environment string) string {
	s.t.Helper()
	var states []string
	for _, artifact := range s.getSnapshot(environment, "-1").Artifacts {
		if annotation(artifact) != "exited" {
			states = append(states, fmt.Sprint(artifact["name"], " ", asJSON(artifact["compliant"])))
		}
	}
	slices.Sort(states)
	return strings.Join(states, ", ")
}

func (s *service) wantStates(when, environment, want string) {
	s.t.Helper()
	if got := s.runningStates(environment); got != want {
		s.t.Errorf("%s %s runs %s, want %s", when, environment, got, want)
	}
}

// requireScans creates flows whose templates require a scan, and environments whose policy requires compliant trails.
func (s *service) requireScans(environments ...string) {
	s.t.Helper()
	for _, flow := range []string{"images", "release"} {
		s.createFlow(flow, yamlFile("version: 1\ntrail:\n  artifacts:\n    - {name: image, attestations: [{name: scan, type: generic}]}\n"))
	}
	s.storePolicy("guard", "provenance: {required: true}\n  trail-compliance: {required: true}")
	for _, environment := range environments {
		s.createEnvironment(environment, evidence.Docker)
		s.attach(environment, "guard")
	}
}

func TestChildFingerprintsIdentifyTheSameArtifact(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.requireScans("prod", "edge")
	s.reportIndex("images", "build-1", "web", "web/amd64", "web/arm64")
	s.runImages("prod", "web/amd64")
	s.wantStates("without a scan", "prod", "web/amd64 false")
	s.attestImage("images", "build-1", "web", true)
	s.runImages("prod", "web/amd64")
	s.wantStates("with a scan", "prod", "web/amd64 true")
	scan := lookup(t, s.read("/attestations/"+s.org+"?name=scan"), "data", 0, "attestation_id").(string)
	for _, name := range []string{"web", "web/amd64", "web/arm64"} {
		if got := lookup(t, s.read("/asserts/"+s.org+"/fingerprint/"+digestOf(name)+"?environment_name=prod"), "compliant"); got != true {
			t.Errorf("%s has the verdict %v", name, got)
		}
		artifact := s.read("/artifacts/" + s.org + "/images/fingerprint/" + digestOf(name) + "?attestation_id=" + scan)
		if lookup(t, artifact, "fingerprint") != digestOf("web") || asJSON(lookup(t, artifact, "running")) != `[{"environment_name":"prod","snapshot_index":2}]` ||
			asJSON(lookup(t, artifact, "child_fingerprints")) != asJSON([]string{digestOf("web/amd64"), digestOf("web/arm64")}) {
			t.Errorf("%s is read as %s", name, asJSON(artifact))
		}
		found := s.read("/search/" + s.org + "/sha/" + digestOf(name)[:20])
		if artifacts := lookup(t, found, "artifacts").([]any); len(artifacts) != 1 || lookup(t, artifacts[0], "fingerprint") != digestOf("web") ||
			asJSON(lookup(t, artifacts[0], "running_in")) != `["prod"]` || lookup(t, found, "resolved_to", "full_match") != digestOf("web") {
			t.Errorf("the search for %s finds %s", name, asJSON(found))
		}
	}
	s.createEnvironment("cluster", evidence.K8S)
	s.attach("cluster", "guard")
	s.setAdmission("cluster", `{"mode":"deny"}`)
	if got := s.admit("cluster", review("Pod", pod("", "web@sha256:"+digestOf("web/arm64"), "web@sha256:"+digestOf("web")), false)); !got.Response.Allowed {
		t.Errorf("admission answers %+v", got)
	}
	archive := s.want(http.StatusOK, http.MethodGet, "/trails/"+s.org+"/images/build-1/audit_package", nil).body
	if got := verifyCompressed(t, archive); len(got.Findings) > 0 || !strings.Contains(string(contentIn(t, archive, "environments.json")), digestOf("web/amd64")) {
		t.Errorf("the package has the findings %v", got.Findings)
	}
	s.runImages("prod", "web/amd64", "web/arm64")
	if got := asJSON(lookup(t, s.read("/artifacts/"+s.org+"/images/fingerprint/"+digestOf("web")), "running")); got != `[{"environment_name":"prod","snapshot_index":3}]` {
		t.Errorf("on two platforms, it is shown as running in %s", got)
	}
	s.reportIndex("images", "build-1", "web")
	if got := asJSON(lookup(t, s.read("/artifacts/"+s.org+"/images/fingerprint/"+digestOf("web")), "running")); got != `[{"environment_name":"prod","snapshot_index":3}]` {
		t.Errorf("reported again without children, it is shown as running in %s", got)
	}
	// A failing scan in another flow counts for the running children, though that flow has no record of them.
	s.reportArtifact("release", "r-1", "image", digestOf("web"), strings.Repeat("a", 40))
	s.attestImage("release", "r-1", "web", false)
	s.runImages("prod", "web/amd64", "web/arm64")
	s.wantStates("with a failing scan in another flow", "prod", "web/amd64 false, web/arm64 false")
	s.runImages("edge", "web/arm64")
	s.wantStates("with a failing scan", "edge", "web/arm64 false")
	s.want(http.StatusCreated, http.MethodPut, s.allowlistsPath()+"/edge",
		fmt.Appendf(nil, `{"artifact_name":"web","artifact_fingerprint":%q,"description":"until Friday"}`, digestOf("web")))
	s.wantStates("allowed by the fingerprint of the artifact", "edge", "web/arm64 true")
}

func TestRunningChildrenAreRecognizedWhenTheirIndexIsReported(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.requireScans("prod")
	s.runImages("prod", "api/amd64")
	s.wantStates("unknown", "prod", "api/amd64 false")
	s.reportIndex("images", "build-1", "api")
	s.attestImage("images", "build-1", "api", true)
	s.runImages("prod", "api/amd64")
	s.wantStates("reported without children", "prod", "api/amd64 false")
	s.reportIndex("images", "build-1", "api", "api/amd64", "api")
	s.runImages("prod", "api/amd64")
	s.wantStates("reported with children", "prod", "api/amd64 true")
	if got := asJSON(lookup(t, s.read("/artifacts/"+s.org+"/images/fingerprint/"+digestOf("api")), "child_fingerprints")); got != asJSON([]string{digestOf("api/amd64")}) {
		t.Errorf("the children are %s", got)
	}
	// If a flow has reported the child itself, that artifact counts instead of its index.
	s.reportArtifact("release", "r-1", "image", digestOf("api/amd64"), strings.Repeat("b", 40))
	s.runImages("prod", "api/amd64")
	s.wantStates("reported itself", "prod", "api/amd64 false")
	s.attestImage("release", "r-1", "api/amd64", true)
	s.runImages("prod", "api/amd64")
	s.wantStates("attested itself", "prod", "api/amd64 true")
	for path, want := range map[string]string{"images/fingerprint/" + digestOf("api"): "[]", "release/fingerprint/" + digestOf("api/amd64"): `[{"environment_name":"prod","snapshot_index":4}]`} {
		if got := asJSON(lookup(t, s.read("/artifacts/"+s.org+"/"+path), "running")); got != want {
			t.Errorf("%s runs in %s, want %s", path, got, want)
		}
	}
	if _, resolved := s.search(digestOf("api/amd64")); resolved != "fingerprint "+digestOf("api/amd64")+" ["+digestOf("api/amd64")+"] []" {
		t.Errorf("the search resolves it to %s", resolved)
	}
	// Links to the index that were made before still work.
	if got := s.read("/artifacts/" + s.org + "/images/fingerprint/" + digestOf("api/amd64")); lookup(t, got, "fingerprint") != digestOf("api") {
		t.Errorf("the look-up finds %s", asJSON(got))
	}
}

// TestSharedChildRunsAsTheArtifactThatCounts reports two indexes with the same image for one platform to one flow. The image
// counts as the later index, by whose trail snapshots and packages judge it, so the earlier one does not run.
func TestSharedChildRunsAsTheArtifactThatCounts(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.requireScans("prod")
	s.reportIndex("images", "build-1", "web:1", "web:1/amd64", "web/arm64")
	s.reportIndex("images", "build-2", "web:2", "web:2/amd64", "web/arm64")
	s.runImages("prod", "web/arm64")
	if got := lookup(t, s.getSnapshot("prod", "-1").Artifacts[0], "flows", 0, "trail_name"); got != "build-2" {
		t.Errorf("the snapshot has the trail %v", got)
	}
	for name, want := range map[string]string{"web:1": "[]", "web:2": `["prod"]`} {
		artifact := s.read("/artifacts/" + s.org + "/images/fingerprint/" + digestOf(name))
		found := lookup(t, s.read("/search/"+s.org+"/sha/"+digestOf(name)), "artifacts", 0, "running_in")
		if places := lookup(t, artifact, "running").([]any); asJSON(found) != want || (len(places) == 0) != (want == "[]") {
			t.Errorf("%s runs in %s, by the search in %s, want %s", name, asJSON(places), asJSON(found), want)
		}
	}
	s.runImages("prod", "web:1/amd64", "web/arm64")
	if got := asJSON(lookup(t, s.read("/artifacts/"+s.org+"/images/fingerprint/"+digestOf("web:1")), "running")); got != `[{"environment_name":"prod","snapshot_index":2}]` {
		t.Errorf("with its own image, the earlier one runs in %s", got)
	}
}

func TestInvalidChildFingerprintsAreRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createFlow("images")
	report := func(children string) (string, []byte) {
		return "/artifacts/" + s.org + "/images", fmt.Appendf(nil,
			`{"fingerprint":%q,"filename":"x","build_url":"https://ci.example.com/1","commit_url":"https://git.example.com/1","child_fingerprints":%s}`, digestOf("x"), children)
	}
	many := func(number int) string {
		var children []string
		for i := range number {
			children = append(children, `"`+digestOf(fmt.Sprint(i))+`"`)
		}
		return "[" + strings.Join(children, ",") + "]"
	}
	for name, children := range map[string]string{"no digest": `["abc"]`, "no list": `"` + digestOf("y") + `"`, "too many": many(101), "a number": `[1]`} {
		t.Run(name, func(t *testing.T) {
			path, body := report(children)
			got := s.do(http.MethodPost, "/api/v2"+path, adminKey, body)
			if got.status != http.StatusBadRequest || !strings.Contains(string(got.body), "child_fingerprints") {
				t.Errorf("answered %d %s", got.status, got.body)
			}
		})
	}
	for _, children := range []string{"null", "[]", many(100)} {
		path, body := report(children)
		s.want(http.StatusCreated, http.MethodPost, path, body)
	}
}

// TestPackageOfAnArtifactJudgesItsChildByAllFlows has a child of two artifacts of one trail. Its origin in the flow images is
// the other artifact, which has a failing scan.
func TestPackageOfAnArtifactJudgesItsChildByAllFlows(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.requireScans("prod")
	s.reportIndex("release", "r-1", "web", "web/amd64")
	s.attestImage("release", "r-1", "web", true)
	s.reportIndex("images", "build-1", "web", "web/amd64")
	s.reportIndex("images", "build-1", "other", "web/amd64")
	s.attestImage("images", "build-1", "other", false)
	s.runImages("prod", "web/amd64")
	s.wantStates("with a failing scan", "prod", "web/amd64 false")
	archive := s.get(http.MethodGet, "/artifacts/"+s.org+"/images/"+digestOf("web")+"/audit_package").body
	if got := verifyCompressed(t, archive); len(got.Findings) > 0 {
		t.Errorf("the package has the findings %v", got.Findings)
	}
	if got := string(contentIn(t, archive, "environments.json")); !strings.Contains(got, `"compliant": false`) {
		t.Errorf("the package says\n%s", got)
	}
}
