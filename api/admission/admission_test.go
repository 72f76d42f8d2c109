package admission_test

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

	"attestry/api/apitest"
	"attestry/api/apitest/peers"
	"attestry/api/apitest/webclient"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
)

// guardedEnvironment creates the environment prod, which requires provenance, and returns images to admit.
func guardedEnvironment(s *apitest.Service, settings string) (compliant, unknown string) {
	s.T.Helper()
	s.CreateEnvironment("prod", evidence.K8S)
	s.StorePolicy("provenance", "provenance: {required: true}")
	s.Attach("prod", "provenance")
	s.ReportArtifact("shop", "build-1", "web", apitest.DigestOf(s.Org+"web"), strings.Repeat("a", 40))
	s.SetAdmission("prod", settings)
	return "registry.example.com/shop/web@sha256:" + apitest.DigestOf(s.Org+"web"), "registry.example.com/shop/intruder@sha256:" + apitest.DigestOf("intruder")
}

func TestAdmissionDeniesNonCompliantImages(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	compliant, unknown := guardedEnvironment(s, `{"mode":"deny"}`)
	if got := s.Admit("prod", apitest.Review("Pod", apitest.Pod("", compliant), false)); !got.Response.Allowed || got.Kind != "AdmissionReview" ||
		got.APIVersion != "admission.k8s.io/v1" || got.Response.UID != "705ab4f5-6393-11e8-b7cc-42010a800002" || len(got.Response.Warnings) > 0 {
		t.Errorf("answered %+v", got)
	}
	denied := s.Admit("prod", apitest.Review("Deployment", `{"metadata":{"name":"web","namespace":"shop"},"spec":{"template":`+apitest.Pod("", compliant, unknown)+`}}`, false))
	message := denied.Response.Status.Message
	if denied.Response.Allowed || denied.Response.Status.Code != http.StatusForbidden || !strings.Contains(message, unknown) || strings.Contains(message, compliant) ||
		!strings.Contains(message, "provenance") || !strings.HasSuffix(message, page(s, "environments/prod")) {
		t.Errorf("answered %+v", denied)
	}
	_, digest, _ := strings.Cut(compliant, "@")
	if got := s.Admit("prod", apitest.Review("Pod", apitest.Pod("", compliant, "mirror.example.com/web:1@"+digest, "mirror.example.com/web@"+digest), false)); !got.Response.Allowed {
		t.Errorf("one artifact under three names is answered %+v", got)
	}
	allowIntruder(s)
	if got := s.Admit("prod", apitest.Review("Pod", apitest.Pod("", compliant, unknown), false)); !got.Response.Allowed {
		t.Errorf("answered %+v although it is allowed", got)
	}
}

func page(s *apitest.Service, path string) string { return "/" + s.Org + "/" + path }

func allowIntruder(s *apitest.Service) {
	s.T.Helper()
	s.Want(http.StatusCreated, http.MethodPut, s.AllowlistsPath()+"/prod",
		fmt.Appendf(nil, `{"artifact_name":"intruder","artifact_fingerprint":%q,"description":"until Friday"}`, apitest.DigestOf("intruder")))
}

func TestAdmissionRecordsDenialsWarningsAndBreakGlass(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	compliant, unknown := guardedEnvironment(s, `{"mode":"deny","break_glass":"example.com/why"}`)
	for range 3 {
		s.Admit("prod", apitest.Review("Pod", apitest.Pod("", compliant, unknown), false))
	}
	s.Admit("prod", apitest.Review("Pod", apitest.Pod("", compliant), false))
	s.Admit("prod", apitest.Review("Pod", apitest.Pod("", unknown), true))
	s.Clock.Advance(time.Hour)
	s.Admit("prod", apitest.Review("Pod", apitest.Pod(`"example.com/why":"INC-7"`, unknown), false))
	s.Clock.Advance(time.Hour)
	s.SetAdmission("prod", `{"mode":"warn"}`)
	if got := s.Admit("prod", apitest.Review("Pod", apitest.Pod("", unknown), false)); !got.Response.Allowed || len(got.Response.Warnings) != 1 {
		t.Errorf("answered %+v", got)
	}
	want := "warned Pod shop web-5d9f- deployer 1 <nil> 1\nbreak_glass Pod shop web-5d9f- deployer 1 INC-7 1\ndenied Pod shop web-5d9f- deployer 3 <nil> 1\n"
	apitest.Equal(t, s.AdmissionLines("prod"), want, "recorded")
	s.Clock.Advance(31 * 24 * time.Hour)
	apitest.Equal(t, s.AdmissionLines("prod"), "", "after 31 days")
	s.Admit("prod", apitest.Review("Pod", apitest.Pod("", unknown), false))
	apitest.Equal(t, s.AdmissionLines("prod"), "warned Pod shop web-5d9f- deployer 1 <nil> 1\n", "recorded")
}

func TestRolloutIsOneRecordThatCountsAllPods(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{Real: true, StoppedAt: apitest.NoonOf30March})
	_, unknown := guardedEnvironment(s, `{"mode":"deny"}`)
	const pods = 50
	var group sync.WaitGroup
	for range pods {
		group.Go(func() {
			if got := s.Do(http.MethodPost, "/api/v2/admission/"+s.Org+"/prod/validate", apitest.AdminKey, apitest.Review("Pod", apitest.Pod("", unknown), false)); got.Status != http.StatusOK {
				t.Errorf("answered %d %s", got.Status, got.Body)
			}
		})
	}
	group.Wait()
	if got, want := s.AdmissionLines("prod"), fmt.Sprintf("denied Pod shop web-5d9f- deployer %d <nil> 1\n", pods); got != want {
		t.Errorf("recorded\n%s", got)
	}
}

func TestAdmissionTakesAsManyCommandsForManyImagesAsForOne(t *testing.T) {
	t.Parallel()
	s, counting := apitest.StartCounting(t, apitest.Options{WithoutWorker: true, ReportWait: time.Millisecond, StoppedAt: apitest.NoonOf30March})
	compliant, unknown := guardedEnvironment(s, `{"mode":"deny"}`)
	images := []string{compliant, unknown}
	for i := range 40 {
		name := fmt.Sprint(s.Org, "web-", i)
		s.ReportArtifact(fmt.Sprint("shop-", i), "build-1", "web", apitest.DigestOf(name), strings.Repeat("a", 40))
		images = append(images, "registry.example.com/shop/x@sha256:"+apitest.DigestOf(name))
	}
	commands := func(images []string) int {
		return apitest.FewestCommands(counting, func() {
			s.Clock.Advance(time.Second) // cached verdicts expire
			s.Admit("prod", apitest.Review("Pod", apitest.Pod("", images...), true))
		})
	}
	if few, many := commands(images[:2]), commands(images); few != many || few == 0 {
		t.Errorf("2 images take %d commands, %d take %d", few, len(images), many)
	}
}

func TestCompliantVerdictsAreCachedForASecond(t *testing.T) {
	t.Parallel()
	s, counting := apitest.StartCounting(t, apitest.Options{WithoutWorker: true, ReportWait: time.Millisecond, StoppedAt: apitest.NoonOf30March})
	compliant, _ := guardedEnvironment(s, `{"mode":"deny"}`)
	request := apitest.Review("Pod", apitest.Pod("", compliant), false)
	expect := func(allowed bool, when string) {
		t.Helper()
		apitest.Equal(t, s.Admit("prod", request).Response.Allowed, allowed, when)
	}
	expect(true, "at first")
	if commands := apitest.FewestCommands(counting, func() { s.Admit("prod", request) }); commands > 2 {
		t.Errorf("each further pod takes %d commands", commands)
	}
	s.StorePolicy("scan", "attestations: [{type: generic, name: scan}]")
	s.Attach("prod", "scan")
	expect(false, "after another policy was attached")
	scan := func(compliant bool) { s.AttestImage("shop", "build-1", s.Org+"web", compliant) }
	scan(true)
	expect(true, "as soon as the missing attestation is there")
	scan(false)
	s.Clock.Advance(time.Second)
	expect(false, "a second after the scan failed")
	scan(true)
	expect(true, "as soon as the scan passed")
}

func TestPermissionEndsAtOnceForAdmissions(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{WithoutWorker: true, ReportWait: time.Millisecond, StoppedAt: apitest.NoonOf30March})
	_, unknown := guardedEnvironment(s, `{"mode":"deny"}`)
	s.Want(http.StatusCreated, http.MethodPut, s.AllowlistsPath()+"/prod", fmt.Appendf(nil,
		`{"artifact_name":"intruder","artifact_fingerprint":%q,"description":"today","expires_at":%d}`, apitest.DigestOf("intruder"), apitest.NoonOf30March.Unix()+10))
	s.Clock.Advance(9700 * time.Millisecond)
	for _, allowed := range []bool{true, false} {
		apitest.Equal(t, s.Admit("prod", apitest.Review("Pod", apitest.Pod("", unknown), false)).Response.Allowed,
			allowed, "the answer")
		s.Clock.Advance(500 * time.Millisecond)
	}
}

func TestAdmissionInModeOffAdmitsAllAndRecordsNothing(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.K8S)
	for _, body := range [][]byte{apitest.Review("Pod", apitest.Pod("", "web:1"), false), []byte(`{}`), []byte(`{"request":7}`)} {
		if got := s.Admit("prod", body); !got.Response.Allowed || len(got.Response.Warnings) > 0 {
			t.Errorf("%s: answered %+v", body, got)
		}
	}
	apitest.Equal(t, s.AdmissionLines("prod"), "", "recorded")
}

func TestImageTagsAreResolvedOrWarnedAbout(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	guardedEnvironment(s, `{"mode":"deny","tags":"resolve"}`)
	s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/shop", fmt.Appendf(nil, `{"fingerprint":%q,"filename":"registry.example.com/shop/api:2.0","git_commit":%q,
		"build_url":"https://ci.example.com/1","commit_url":"https://git.example.com/1","template_reference_name":"api","trail_name":"build-2"}`, apitest.DigestOf("api"), strings.Repeat("b", 40)))
	if got := s.Admit("prod", apitest.Review("Pod", apitest.Pod("", "registry.example.com/shop/api:2.0"), false)); !got.Response.Allowed {
		t.Errorf("answered %+v", got)
	}
	if got := s.Admit("prod", apitest.Review("Pod", apitest.Pod("", "registry.example.com/shop/api:2.1"), false)); got.Response.Allowed || !strings.Contains(got.Response.Status.Message, "No artifact was reported under this name and tag") {
		t.Errorf("answered %+v", got)
	}
	s.SetAdmission("prod", `{"mode":"deny","tags":"warn"}`)
	if got := s.Admit("prod", apitest.Review("Pod", apitest.Pod("", "registry.example.com/shop/api:2.1"), false)); !got.Response.Allowed || len(got.Response.Warnings) != 1 {
		t.Errorf("answered %+v", got)
	}
}

func TestUnreadableAdmissionReviewsFollowTheFailureSetting(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	compliant, _ := guardedEnvironment(s, `{"mode":"deny"}`)
	withVersion := func(version string) []byte {
		return bytes.Replace(apitest.Review("Pod", apitest.Pod("", compliant), false), []byte("admission.k8s.io/v1"), []byte(version), 1)
	}
	bodies := map[string][]byte{
		"without a request": []byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`), "empty": []byte(`{}`),
		"other version": withVersion("admission.k8s.io/v1beta1"), "other kind": bytes.Replace(withVersion("admission.k8s.io/v1"), []byte("AdmissionReview"), []byte("Pod"), 1),
		"object": apitest.Review("Pod", `"x"`, false), "containers": apitest.Review("Pod", `{"spec":{"containers":{}}}`, false), "request": []byte(`{"request":[]}`),
	}
	for _, failure := range []string{"deny", "admit"} {
		s.SetAdmission("prod", fmt.Sprintf(`{"mode":"deny","failure":%q}`, failure))
		for name, body := range bodies {
			t.Run(failure+" "+name, func(t *testing.T) {
				s := s.In(t)
				got := s.Admit("prod", body)
				if got.Response.Allowed != (failure == "admit") || !got.Response.Allowed && got.Response.Status.Code != http.StatusBadRequest {
					t.Errorf("answered %+v", got)
				}
				if name == "other version" && got.APIVersion != "admission.k8s.io/v1beta1" {
					t.Errorf("answered in version %s", got.APIVersion)
				}
			})
		}
	}
	s.SetAdmission("prod", `{"mode":"warn"}`)
	for name, body := range bodies {
		if got := s.Admit("prod", body); !got.Response.Allowed || len(got.Response.Warnings) != 1 {
			t.Errorf("in the mode warn, %s is answered %+v", name, got)
		}
	}
	s.WantError(http.StatusNotFound, "Environment named 'none' does not exist for organization '"+s.Org+"'", http.MethodPost, "/admission/"+s.Org+"/none/validate", string(apitest.Review("Pod", apitest.Pod(""), false)))
	if got := s.Do(http.MethodPost, "/api/v2/admission/"+s.Org+"/prod/validate", apitest.AdminKey, []byte(`[]`)); got.Status != http.StatusBadRequest {
		t.Errorf("a list is answered %d %s", got.Status, got.Body)
	}
}

func TestAdmissionAcceptsThousandContainersAndLargeObjects(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	compliant, _ := guardedEnvironment(s, `{"mode":"deny"}`)
	images := []string{compliant}
	for i := range 999 {
		images = append(images, "registry.example.com/shop/x@sha256:"+apitest.DigestOf(fmt.Sprint(i)))
	}
	got := s.Admit("prod", apitest.Review("Pod", apitest.Pod("", images...), false))
	if got.Response.Allowed || len(got.Response.Status.Message) > 2048 || !strings.Contains(got.Response.Status.Message, "does not admit 999 images") {
		t.Errorf("answered %+v", got)
	}
	images = append(images, "registry.example.com/shop/x@sha256:"+apitest.DigestOf("one more"))
	s.WantError(http.StatusBadRequest, "Input payload validation failed", http.MethodPost, "/admission/"+s.Org+"/prod/validate", string(apitest.Review("Pod", apitest.Pod("", images...), false)))
	if got := s.Admit("prod", apitest.Review("Pod", apitest.Pod(`"large":"`+strings.Repeat("x", 3<<20)+`"`, compliant), false)); !got.Response.Allowed {
		t.Errorf("answered %+v", got)
	}
}

func TestImageReviewsAndGatekeeperGetTheSameVerdict(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	compliant, unknown := guardedEnvironment(s, `{"mode":"deny","break_glass":"example.com/why"}`)
	images := func(annotations string, images ...string) any {
		var containers []string
		for _, image := range images {
			containers = append(containers, fmt.Sprintf(`{"image":%q}`, image))
		}
		return s.Want(http.StatusOK, http.MethodPost, "/admission/"+s.Org+"/prod/image-review", fmt.Appendf(nil,
			`{"apiVersion":"imagepolicy.k8s.io/v1alpha1","kind":"ImageReview","spec":{"containers":[%s],"annotations":{%s},"namespace":"shop"}}`,
			strings.Join(containers, ","), annotations)).Value(t)
	}
	apitest.WantMembers(t, images("", compliant), map[string]any{"status.allowed": true, "kind": "ImageReview"})
	if got := images("", compliant, unknown); apitest.Lookup(t, got, "status", "allowed") != false || !strings.Contains(apitest.Lookup(t, got, "status", "reason").(string), unknown) {
		t.Errorf("answered %s", apitest.AsJSON(got))
	}
	apitest.WantMember(t, images(`"example.com/why":"x"`, unknown), "status.allowed", true)
	provided := s.Want(http.StatusOK, http.MethodPost, "/admission/"+s.Org+"/prod/gatekeeper", fmt.Appendf(nil,
		`{"apiVersion":"externaldata.gatekeeper.sh/v1beta1","kind":"ProviderRequest","request":{"keys":[%q,%q]}}`, compliant, unknown)).Value(t)
	if apitest.Lookup(t, provided, "response", "items", 0, "value") != "allowed" || apitest.Lookup(t, provided, "response", "items", 1, "key") != unknown ||
		!strings.Contains(apitest.Lookup(t, provided, "response", "items", 1, "error").(string), "provenance") {
		t.Errorf("answered %s", apitest.AsJSON(provided))
	}
	for _, path := range []string{"image-review", "gatekeeper"} {
		got := s.Want(http.StatusOK, http.MethodPost, "/admission/"+s.Org+"/prod/"+path, []byte(`{"kind":"Other"}`))
		if !bytes.Contains(got.Body, []byte(`"allowed":false`)) && !bytes.Contains(got.Body, []byte(`"systemError"`)) {
			t.Errorf("%s answered %s", path, got.Body)
		}
	}
}

func TestAdmissionSettingsAreCheckedAndAudited(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.K8S)
	s.CreateEnvironment("vm", evidence.Server)
	path := "/environments/" + s.Org + "/prod/admission"
	defaults := `{"mode":"off","tags":"deny","unknown_artifacts":"policies","failure":"deny","exempt_namespaces":["kube-system"]}`
	apitest.Equal(t, string(s.Want(http.StatusOK, http.MethodGet, path, nil).Body), defaults, "the defaults")
	s.SetAdmission("prod", `{"mode":"warn","exempt_namespaces":["ci","ci"],"break_glass":"x/y"}`)
	changed := `{"mode":"warn","tags":"deny","unknown_artifacts":"policies","failure":"deny","exempt_namespaces":["ci"],"break_glass":"x/y"}`
	apitest.Equal(t, string(s.Want(http.StatusOK, http.MethodGet, path, nil).Body), changed, "the settings")
	s.SetAdmission("prod", changed)
	none := strings.Replace(changed, `["ci"]`, "[]", 1)
	for range 2 { // the answer, sent back, changes nothing
		none = string(s.Want(http.StatusOK, http.MethodPut, path, []byte(none)).Body)
	}
	if got := string(s.Want(http.StatusOK, http.MethodGet, path, nil).Body); got != none || !strings.Contains(got, `"exempt_namespaces":[]`) {
		t.Errorf("without exempt namespaces the settings are %s, and %s", none, got)
	}
	s.WantError(http.StatusBadRequest, "Input payload validation failed", http.MethodPut, "/environments/"+s.Org+"/vm/admission", `{"mode":"warn"}`)
	for _, body := range []string{`{}`, `{"mode":"maybe"}`, `{"mode":"deny","tags":"admit"}`, `{"mode":"deny","exempt_namespaces":"ci"}`, `{"mode":"deny","more":1}`} {
		apitest.WantAnswer(t, s.Do(http.MethodPut, "/api/v2"+path, apitest.AdminKey, []byte(body)), http.StatusBadRequest)
	}
	apitest.Equal(t, s.Do(http.MethodPut, "/api/v2"+path, apitest.MemberKey, []byte(changed)).Status,
		http.StatusForbidden, "a member is answered")
	var audited []string
	for _, entry := range apitest.Lookup(t, s.Read("/membership-audit-log/"+s.Org+"?per_page=100"), "entries").([]any) {
		if apitest.Lookup(t, entry, "kind") == "environment" {
			audited = append(audited, apitest.Lookup(t, entry, "user").(string))
		}
	}
	want := []string{"prod: exempt_namespaces ci to none", "prod: mode off to warn, exempt_namespaces kube-system to ci, break_glass none to x/y"}
	if slices.Sort(audited); !slices.Equal(audited, want) {
		t.Errorf("the audit log has %q", audited)
	}
}

func TestBreakGlassIsNotified(t *testing.T) {
	t.Parallel()
	r := peers.NewReceivers(t)
	s := apitest.Start(t, apitest.Options{Settings: r.Settings()})
	_, unknown := guardedEnvironment(s, `{"mode":"deny","break_glass":"example.com/why"}`)
	targets, _, _ := r.Targets(1)
	s.Want(http.StatusCreated, http.MethodPut, "/actions/"+s.Org+"/environments", fmt.Appendf(nil,
		`{"name":"glass","type":"env","environments":["prod"],"triggers":["ON_ADMISSION_BREAK_GLASS"],"targets":%s}`, targets))
	for range 2 {
		s.Admit("prod", apitest.Review("Pod", apitest.Pod(`"example.com/why":"INC-7"`, unknown), false))
	}
	apitest.Eventually(t, "the webhook is called", func() bool { return len(r.At("/hook-0")) > 0 })
	if listed := apitest.Lookup(t, s.Read("/actions/"+s.Org+"/1/deliveries"), "data").([]any); len(listed) != 3 { // one per target
		t.Errorf("two pods of one template have %d deliveries", len(listed))
	}
	var payload map[string]any
	if err := json.Unmarshal(r.At("/hook-0")[0].Body, &payload); err != nil || payload["event_type"] != "ADMISSION_BREAK_GLASS" ||
		!strings.Contains(fmt.Sprint(payload["description"]), "INC-7") || len(r.At("/hook-0")) != 1 {
		t.Errorf("received %v, %v", payload, err)
	}
}

func TestEnvironmentPageShowsRefusedAdmissions(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	_, unknown := guardedEnvironment(s, `{"mode":"deny"}`)
	for range 2 {
		s.Admit("prod", apitest.Review("Pod", apitest.Pod("", unknown, "<b>:1"), false))
	}
	page := string(webclient.SignedIn(s, apitest.AdminKey).Open("/" + s.Org + "/environments/prod").Body)
	for _, want := range []string{"Not admitted in 30 days", "denied", "web-5d9f-", "deployer", "2 times", unknown, "&lt;b&gt;:1"} {
		evidencetest.Contains(t, page, want)
	}
}
