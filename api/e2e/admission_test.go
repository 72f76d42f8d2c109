package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"attestry/evidence"
)

// pod returns a Kubernetes pod as JSON. annotations are members of a JSON object.
func pod(annotations string, images ...string) string {
	var containers []string
	for i, image := range images {
		containers = append(containers, fmt.Sprintf(`{"name":"c%d","image":%q}`, i, image))
	}
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-5d9f-x2k4z","generateName":"web-5d9f-","namespace":"shop","annotations":{%s}},"spec":{"containers":[%s]}}`,
		annotations, strings.Join(containers, ","))
}

// review returns the AdmissionReview that an API server sends for an object.
func review(kind, object string, dry bool) []byte {
	return fmt.Appendf(nil, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"705ab4f5-6393-11e8-b7cc-42010a800002",
		"kind":{"group":"","version":"v1","kind":%q},"resource":{"group":"","version":"v1","resource":"pods"},"requestKind":{"group":"","version":"v1","kind":"Pod"},
		"name":"web","namespace":"shop","operation":"CREATE","userInfo":{"username":"deployer","groups":["system:authenticated"]},
		"object":%s,"oldObject":null,"dryRun":%t,"options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}}}`, kind, object, dry)
}

// reviewAnswer is the answer to an AdmissionReview.
type reviewAnswer struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Response   struct {
		UID     string `json:"uid"`
		Allowed bool   `json:"allowed"`
		Status  struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"status"`
		Warnings []string `json:"warnings"`
	} `json:"response"`
}

func (s *service) admit(environment string, body []byte) (answer reviewAnswer) {
	s.t.Helper()
	s.want(http.StatusOK, http.MethodPost, "/admission/"+s.org+"/"+environment+"/validate", body).decode(s.t, &answer)
	return answer
}

func (s *service) setAdmission(environment, settings string) {
	s.t.Helper()
	s.want(http.StatusOK, http.MethodPut, "/environments/"+s.org+"/"+environment+"/admission", []byte(settings))
}

// admissionLines returns a line for each record of the admissions to an environment.
func (s *service) admissionLines(environment string) string {
	s.t.Helper()
	lines := ""
	for _, one := range lookup(s.t, s.read("/environments/"+s.org+"/"+environment+"/admissions"), "admissions").([]any) {
		lines += fmt.Sprintln(lookup(s.t, one, "outcome"), lookup(s.t, one, "kind"), lookup(s.t, one, "namespace"), lookup(s.t, one, "name"),
			lookup(s.t, one, "user"), lookup(s.t, one, "count"), lookup(s.t, one, "reason"), len(lookup(s.t, one, "images").([]any)))
	}
	return lines
}

// guardedEnvironment creates the environment prod, which requires provenance, and returns images to admit.
func (s *service) guardedEnvironment(settings string) (compliant, unknown string) {
	s.t.Helper()
	s.createEnvironment("prod", evidence.K8S)
	s.storePolicy("provenance", "provenance: {required: true}")
	s.attach("prod", "provenance")
	s.reportArtifact("shop", "build-1", "web", digestOf(s.org+"web"), strings.Repeat("a", 40))
	s.setAdmission("prod", settings)
	return "registry.example.com/shop/web@sha256:" + digestOf(s.org+"web"), "registry.example.com/shop/intruder@sha256:" + digestOf("intruder")
}

func TestAdmissionDeniesNonCompliantImages(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	compliant, unknown := s.guardedEnvironment(`{"mode":"deny"}`)
	if got := s.admit("prod", review("Pod", pod("", compliant), false)); !got.Response.Allowed || got.Kind != "AdmissionReview" ||
		got.APIVersion != "admission.k8s.io/v1" || got.Response.UID != "705ab4f5-6393-11e8-b7cc-42010a800002" || len(got.Response.Warnings) > 0 {
		t.Errorf("answered %+v", got)
	}
	denied := s.admit("prod", review("Deployment", `{"metadata":{"name":"web","namespace":"shop"},"spec":{"template":`+pod("", compliant, unknown)+`}}`, false))
	message := denied.Response.Status.Message
	if denied.Response.Allowed || denied.Response.Status.Code != http.StatusForbidden || !strings.Contains(message, unknown) || strings.Contains(message, compliant) ||
		!strings.Contains(message, "provenance") || !strings.HasSuffix(message, s.page("environments/prod")) {
		t.Errorf("answered %+v", denied)
	}
	_, digest, _ := strings.Cut(compliant, "@")
	if got := s.admit("prod", review("Pod", pod("", compliant, "mirror.example.com/web:1@"+digest, "mirror.example.com/web@"+digest), false)); !got.Response.Allowed {
		t.Errorf("one artifact under three names is answered %+v", got)
	}
	s.allowIntruder()
	if got := s.admit("prod", review("Pod", pod("", compliant, unknown), false)); !got.Response.Allowed {
		t.Errorf("answered %+v although it is allowed", got)
	}
}

func (s *service) page(path string) string { return "/" + s.org + "/" + path }

func (s *service) allowIntruder() {
	s.t.Helper()
	s.want(http.StatusCreated, http.MethodPut, s.allowlistsPath()+"/prod",
		fmt.Appendf(nil, `{"artifact_name":"intruder","artifact_fingerprint":%q,"description":"until Friday"}`, digestOf("intruder")))
}

func TestAdmissionRecordsDenialsWarningsAndBreakGlass(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	compliant, unknown := s.guardedEnvironment(`{"mode":"deny","break_glass":"example.com/why"}`)
	for range 3 {
		s.admit("prod", review("Pod", pod("", compliant, unknown), false))
	}
	s.admit("prod", review("Pod", pod("", compliant), false))
	s.admit("prod", review("Pod", pod("", unknown), true))
	s.clock.advance(time.Hour)
	s.admit("prod", review("Pod", pod(`"example.com/why":"INC-7"`, unknown), false))
	s.clock.advance(time.Hour)
	s.setAdmission("prod", `{"mode":"warn"}`)
	if got := s.admit("prod", review("Pod", pod("", unknown), false)); !got.Response.Allowed || len(got.Response.Warnings) != 1 {
		t.Errorf("answered %+v", got)
	}
	want := "warned Pod shop web-5d9f- deployer 1 <nil> 1\nbreak_glass Pod shop web-5d9f- deployer 1 INC-7 1\ndenied Pod shop web-5d9f- deployer 3 <nil> 1\n"
	if got := s.admissionLines("prod"); got != want {
		t.Errorf("recorded\n%swant\n%s", got, want)
	}
	s.clock.advance(31 * 24 * time.Hour)
	if got := s.admissionLines("prod"); got != "" {
		t.Errorf("after 31 days there is\n%s", got)
	}
	s.admit("prod", review("Pod", pod("", unknown), false))
	if got := s.admissionLines("prod"); got != "warned Pod shop web-5d9f- deployer 1 <nil> 1\n" {
		t.Errorf("recorded\n%s", got)
	}
}

func TestRolloutIsOneRecordThatCountsAllPods(t *testing.T) {
	t.Parallel()
	s := start(t, options{real: true, stoppedAt: noonOf30March})
	_, unknown := s.guardedEnvironment(`{"mode":"deny"}`)
	const pods = 50
	var group sync.WaitGroup
	for range pods {
		group.Go(func() {
			if got := s.do(http.MethodPost, "/api/v2/admission/"+s.org+"/prod/validate", adminKey, review("Pod", pod("", unknown), false)); got.status != http.StatusOK {
				t.Errorf("answered %d %s", got.status, got.body)
			}
		})
	}
	group.Wait()
	if got, want := s.admissionLines("prod"), fmt.Sprintf("denied Pod shop web-5d9f- deployer %d <nil> 1\n", pods); got != want {
		t.Errorf("recorded\n%s", got)
	}
}

func TestAdmissionTakesAsManyCommandsForManyImagesAsForOne(t *testing.T) {
	t.Parallel()
	s, counting := startCounting(t, options{withoutWorker: true, reportWait: time.Millisecond, stoppedAt: noonOf30March})
	compliant, unknown := s.guardedEnvironment(`{"mode":"deny"}`)
	images := []string{compliant, unknown}
	for i := range 40 {
		name := fmt.Sprint(s.org, "web-", i)
		s.reportArtifact(fmt.Sprint("shop-", i), "build-1", "web", digestOf(name), strings.Repeat("a", 40))
		images = append(images, "registry.example.com/shop/x@sha256:"+digestOf(name))
	}
	commands := func(images []string) int {
		return fewestCommands(counting, func() {
			s.clock.advance(time.Second) // cached verdicts expire
			s.admit("prod", review("Pod", pod("", images...), true))
		})
	}
	if few, many := commands(images[:2]), commands(images); few != many || few == 0 {
		t.Errorf("2 images take %d commands, %d take %d", few, len(images), many)
	}
}

func TestCompliantVerdictsAreCachedForASecond(t *testing.T) {
	t.Parallel()
	s, counting := startCounting(t, options{withoutWorker: true, reportWait: time.Millisecond, stoppedAt: noonOf30March})
	compliant, _ := s.guardedEnvironment(`{"mode":"deny"}`)
	request := review("Pod", pod("", compliant), false)
	expect := func(allowed bool, when string) {
		t.Helper()
		if got := s.admit("prod", request); got.Response.Allowed != allowed {
			t.Errorf("%s the answer is %+v", when, got)
		}
	}
	expect(true, "at first")
	if commands := fewestCommands(counting, func() { s.admit("prod", request) }); commands > 2 {
		t.Errorf("each further pod takes %d commands", commands)
	}
	s.storePolicy("scan", "attestations: [{type: generic, name: scan}]")
	s.attach("prod", "scan")
	expect(false, "after another policy was attached")
	scan := func(compliant bool) { s.attestImage("shop", "build-1", s.org+"web", compliant) }
	scan(true)
	expect(true, "as soon as the missing attestation is there")
	scan(false)
	s.clock.advance(time.Second)
	expect(false, "a second after the scan failed")
	scan(true)
	expect(true, "as soon as the scan passed")
}

func TestPermissionEndsAtOnceForAdmissions(t *testing.T) {
	t.Parallel()
	s := start(t, options{withoutWorker: true, reportWait: time.Millisecond, stoppedAt: noonOf30March})
	_, unknown := s.guardedEnvironment(`{"mode":"deny"}`)
	s.want(http.StatusCreated, http.MethodPut, s.allowlistsPath()+"/prod", fmt.Appendf(nil,
		`{"artifact_name":"intruder","artifact_fingerprint":%q,"description":"today","expires_at":%d}`, digestOf("intruder"), noonOf30March.Unix()+10))
	s.clock.advance(9700 * time.Millisecond)
	for _, allowed := range []bool{true, false} {
		if got := s.admit("prod", review("Pod", pod("", unknown), false)); got.Response.Allowed != allowed {
			t.Errorf("the answer is %+v, want %t", got, allowed)
		}
		s.clock.advance(500 * time.Millisecond)
	}
}

func TestAdmissionInModeOffAdmitsAllAndRecordsNothing(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.K8S)
	for _, body := range [][]byte{review("Pod", pod("", "web:1"), false), []byte(`{}`), []byte(`{"request":7}`)} {
		if got := s.admit("prod", body); !got.Response.Allowed || len(got.Response.Warnings) > 0 {
			t.Errorf("%s: answered %+v", body, got)
		}
	}
	if got := s.admissionLines("prod"); got != "" {
		t.Errorf("recorded\n%s", got)
	}
}

func TestImageTagsAreResolvedOrWarnedAbout(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.guardedEnvironment(`{"mode":"deny","tags":"resolve"}`)
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/shop", fmt.Appendf(nil, `{"fingerprint":%q,"filename":"registry.example.com/shop/api:2.0","git_commit":%q,
		"build_url":"https://ci.example.com/1","commit_url":"https://git.example.com/1","template_reference_name":"api","trail_name":"build-2"}`, digestOf("api"), strings.Repeat("b", 40)))
	if got := s.admit("prod", review("Pod", pod("", "registry.example.com/shop/api:2.0"), false)); !got.Response.Allowed {
		t.Errorf("answered %+v", got)
	}
	if got := s.admit("prod", review("Pod", pod("", "registry.example.com/shop/api:2.1"), false)); got.Response.Allowed || !strings.Contains(got.Response.Status.Message, "No artifact was reported under this name and tag") {
		t.Errorf("answered %+v", got)
	}
	s.setAdmission("prod", `{"mode":"deny","tags":"warn"}`)
	if got := s.admit("prod", review("Pod", pod("", "registry.example.com/shop/api:2.1"), false)); !got.Response.Allowed || len(got.Response.Warnings) != 1 {
		t.Errorf("answered %+v", got)
	}
}

func TestUnreadableAdmissionReviewsFollowTheFailureSetting(t *testing.T) {
	t.Parallel()
	s := share(t)
	compliant, _ := s.guardedEnvironment(`{"mode":"deny"}`)
	withVersion := func(version string) []byte {
		return bytes.Replace(review("Pod", pod("", compliant), false), []byte("admission.k8s.io/v1"), []byte(version), 1)
	}
	bodies := map[string][]byte{
		"without a request": []byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`), "empty": []byte(`{}`),
		"other version": withVersion("admission.k8s.io/v1beta1"), "other kind": bytes.Replace(withVersion("admission.k8s.io/v1"), []byte("AdmissionReview"), []byte("Pod"), 1),
		"object": review("Pod", `"x"`, false), "containers": review("Pod", `{"spec":{"containers":{}}}`, false), "request": []byte(`{"request":[]}`),
	}
	for _, failure := range []string{"deny", "admit"} {
		s.setAdmission("prod", fmt.Sprintf(`{"mode":"deny","failure":%q}`, failure))
		for name, body := range bodies {
			t.Run(failure+" "+name, func(t *testing.T) {
				s := s.in(t)
				got := s.admit("prod", body)
				if got.Response.Allowed != (failure == "admit") || !got.Response.Allowed && got.Response.Status.Code != http.StatusBadRequest {
					t.Errorf("answered %+v", got)
				}
				if name == "other version" && got.APIVersion != "admission.k8s.io/v1beta1" {
					t.Errorf("answered in version %s", got.APIVersion)
				}
			})
		}
	}
	s.setAdmission("prod", `{"mode":"warn"}`)
	for name, body := range bodies {
		if got := s.admit("prod", body); !got.Response.Allowed || len(got.Response.Warnings) != 1 {
			t.Errorf("in the mode warn, %s is answered %+v", name, got)
		}
	}
	s.wantError(http.StatusNotFound, "Environment named 'none' does not exist for organization '"+s.org+"'", http.MethodPost, "/admission/"+s.org+"/none/validate", string(review("Pod", pod(""), false)))
	if got := s.do(http.MethodPost, "/api/v2/admission/"+s.org+"/prod/validate", adminKey, []byte(`[]`)); got.status != http.StatusBadRequest {
		t.Errorf("a list is answered %d %s", got.status, got.body)
	}
}

func TestAdmissionAcceptsThousandContainersAndLargeObjects(t *testing.T) {
	t.Parallel()
	s := share(t)
	compliant, _ := s.guardedEnvironment(`{"mode":"deny"}`)
	images := []string{compliant}
	for i := range 999 {
		images = append(images, "registry.example.com/shop/x@sha256:"+digestOf(fmt.Sprint(i)))
	}
	got := s.admit("prod", review("Pod", pod("", images...), false))
	if got.Response.Allowed || len(got.Response.Status.Message) > 2048 || !strings.Contains(got.Response.Status.Message, "does not admit 999 images") {
		t.Errorf("answered %+v", got)
	}
	images = append(images, "registry.example.com/shop/x@sha256:"+digestOf("one more"))
	s.wantError(http.StatusBadRequest, "Input payload validation failed", http.MethodPost, "/admission/"+s.org+"/prod/validate", string(review("Pod", pod("", images...), false)))
	if got := s.admit("prod", review("Pod", pod(`"large":"`+strings.Repeat("x", 3<<20)+`"`, compliant), false)); !got.Response.Allowed {
		t.Errorf("answered %+v", got)
	}
}

func TestImageReviewsAndGatekeeperGetTheSameVerdict(t *testing.T) {
	t.Parallel()
	s := share(t)
	compliant, unknown := s.guardedEnvironment(`{"mode":"deny","break_glass":"example.com/why"}`)
	images := func(annotations string, images ...string) any {
		var containers []string
		for _, image := range images {
			containers = append(containers, fmt.Sprintf(`{"image":%q}`, image))
		}
		return s.want(http.StatusOK, http.MethodPost, "/admission/"+s.org+"/prod/image-review", fmt.Appendf(nil,
			`{"apiVersion":"imagepolicy.k8s.io/v1alpha1","kind":"ImageReview","spec":{"containers":[%s],"annotations":{%s},"namespace":"shop"}}`,
			strings.Join(containers, ","), annotations)).value(t)
	}
	if got := images("", compliant); lookup(t, got, "status", "allowed") != true || lookup(t, got, "kind") != "ImageReview" {
		t.Errorf("answered %s", asJSON(got))
	}
	if got := images("", compliant, unknown); lookup(t, got, "status", "allowed") != false || !strings.Contains(lookup(t, got, "status", "reason").(string), unknown) {
		t.Errorf("answered %s", asJSON(got))
	}
	if got := images(`"example.com/why":"x"`, unknown); lookup(t, got, "status", "allowed") != true {
		t.Errorf("answered %s", asJSON(got))
	}
	provided := s.want(http.StatusOK, http.MethodPost, "/admission/"+s.org+"/prod/gatekeeper", fmt.Appendf(nil,
		`{"apiVersion":"externaldata.gatekeeper.sh/v1beta1","kind":"ProviderRequest","request":{"keys":[%q,%q]}}`, compliant, unknown)).value(t)
	if lookup(t, provided, "response", "items", 0, "value") != "allowed" || lookup(t, provided, "response", "items", 1, "key") != unknown ||
		!strings.Contains(lookup(t, provided, "response", "items", 1, "error").(string), "provenance") {
		t.Errorf("answered %s", asJSON(provided))
	}
	for _, path := range []string{"image-review", "gatekeeper"} {
		got := s.want(http.StatusOK, http.MethodPost, "/admission/"+s.org+"/prod/"+path, []byte(`{"kind":"Other"}`))
		if !bytes.Contains(got.body, []byte(`"allowed":false`)) && !bytes.Contains(got.body, []byte(`"systemError"`)) {
			t.Errorf("%s answered %s", path, got.body)
		}
	}
}

func TestAdmissionSettingsAreCheckedAndAudited(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.K8S)
	s.createEnvironment("vm", evidence.Server)
	path := "/environments/" + s.org + "/prod/admission"
	defaults := `{"mode":"off","tags":"deny","unknown_artifacts":"policies","failure":"deny","exempt_namespaces":["kube-system"]}`
	if got := string(s.want(http.StatusOK, http.MethodGet, path, nil).body); got != defaults {
		t.Errorf("the defaults are %s", got)
	}
	s.setAdmission("prod", `{"mode":"warn","exempt_namespaces":["ci","ci"],"break_glass":"x/y"}`)
	changed := `{"mode":"warn","tags":"deny","unknown_artifacts":"policies","failure":"deny","exempt_namespaces":["ci"],"break_glass":"x/y"}`
	if got := string(s.want(http.StatusOK, http.MethodGet, path, nil).body); got != changed {
		t.Errorf("the settings are %s", got)
	}
	s.setAdmission("prod", changed)
	none := strings.Replace(changed, `["ci"]`, "[]", 1)
	for range 2 { // the answer, sent back, changes nothing
		none = string(s.want(http.StatusOK, http.MethodPut, path, []byte(none)).body)
	}
	if got := string(s.want(http.StatusOK, http.MethodGet, path, nil).body); got != none || !strings.Contains(got, `"exempt_namespaces":[]`) {
		t.Errorf("without exempt namespaces the settings are %s, and %s", none, got)
	}
	s.wantError(http.StatusBadRequest, "Input payload validation failed", http.MethodPut, "/environments/"+s.org+"/vm/admission", `{"mode":"warn"}`)
	for _, body := range []string{`{}`, `{"mode":"maybe"}`, `{"mode":"deny","tags":"admit"}`, `{"mode":"deny","exempt_namespaces":"ci"}`, `{"mode":"deny","more":1}`} {
		if got := s.do(http.MethodPut, "/api/v2"+path, adminKey, []byte(body)); got.status != http.StatusBadRequest {
			t.Errorf("%s is answered %d %s", body, got.status, got.body)
		}
	}
	if got := s.do(http.MethodPut, "/api/v2"+path, memberKey, []byte(changed)); got.status != http.StatusForbidden {
		t.Errorf("a member is answered %d", got.status)
	}
	var audited []string
	for _, entry := range lookup(t, s.read("/membership-audit-log/"+s.org+"?per_page=100"), "entries").([]any) {
		if lookup(t, entry, "kind") == "environment" {
			audited = append(audited, lookup(t, entry, "user").(string))
		}
	}
	want := []string{"prod: exempt_namespaces ci to none", "prod: mode off to warn, exempt_namespaces kube-system to ci, break_glass none to x/y"}
	if slices.Sort(audited); !slices.Equal(audited, want) {
		t.Errorf("the audit log has %q", audited)
	}
}

func TestBreakGlassIsNotified(t *testing.T) {
	t.Parallel()
	r := newReceivers(t)
	s := start(t, options{settings: r.settings()})
	_, unknown := s.guardedEnvironment(`{"mode":"deny","break_glass":"example.com/why"}`)
	targets, _, _ := r.targets(1)
	s.want(http.StatusCreated, http.MethodPut, "/actions/"+s.org+"/environments", fmt.Appendf(nil,
		`{"name":"glass","type":"env","environments":["prod"],"triggers":["ON_ADMISSION_BREAK_GLASS"],"targets":%s}`, targets))
	for range 2 {
		s.admit("prod", review("Pod", pod(`"example.com/why":"INC-7"`, unknown), false))
	}
	eventually(t, "the webhook is called", func() bool { return len(r.at("/hook-0")) > 0 })
	if listed := lookup(t, s.read("/actions/"+s.org+"/1/deliveries"), "data").([]any); len(listed) != 3 { // one per target
		t.Errorf("two pods of one template have %d deliveries", len(listed))
	}
	var payload map[string]any
	if err := json.Unmarshal(r.at("/hook-0")[0].body, &payload); err != nil || payload["event_type"] != "ADMISSION_BREAK_GLASS" ||
		!strings.Contains(fmt.Sprint(payload["description"]), "INC-7") || len(r.at("/hook-0")) != 1 {
		t.Errorf("received %v, %v", payload, err)
	}
}

func TestEnvironmentPageShowsRefusedAdmissions(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	_, unknown := s.guardedEnvironment(`{"mode":"deny"}`)
	for range 2 {
		s.admit("prod", review("Pod", pod("", unknown, "<b>:1"), false))
	}
	page := string(s.signedIn(adminKey).open("/" + s.org + "/environments/prod").body)
	for _, want := range []string{"Not admitted in 30 days", "denied", "web-5d9f-", "deployer", "2 times", unknown, "&lt;b&gt;:1"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}
