package admission_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence"
)

const reviewsFolder = "testdata/reviews"

// recorded returns the address of a service or, with ATTESTRY_TEST_UPDATE, that of a proxy that writes the reviews of
// Kubernetes to files.
func recorded(t *testing.T, address string) string {
	t.Helper()
	if os.Getenv("ATTESTRY_TEST_UPDATE") == "" {
		return address
	}
	proxy := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		record(t, body)
		request, err := http.NewRequestWithContext(r.Context(), r.Method, address+r.URL.RequestURI(), bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		request.Header = r.Header
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer response.Body.Close()
		w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, response.Body)
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// record writes a review to a file that is named after its kind, operation and image.
func record(t *testing.T, body []byte) {
	var review struct {
		Kind    string                                  `json:"kind"`
		Spec    struct{ Annotations map[string]string } `json:"spec"` // of an ImageReview
		Request struct {
			Kind        struct{ Kind string } `json:"kind"`
			SubResource string                `json:"subResource"`
			Operation   string                `json:"operation"`
			DryRun      bool                  `json:"dryRun"`
			Object      struct {
				Metadata struct{ Annotations map[string]string } `json:"metadata"`
			} `json:"object"`
		} `json:"request"`
	}
	if err := json.Unmarshal(body, &review); err != nil {
		t.Error(err)
	}
	parts := []string{review.Kind}
	if review.Kind == "AdmissionReview" {
		parts = []string{review.Request.Kind.Kind, strings.ToLower(review.Request.Operation), review.Request.SubResource}
	}
	image := "known"
	for name, one := range map[string]string{"unknown": unknownImage, "broken": brokenImage} {
		if bytes.Contains(body, []byte(one)) {
			image = name
		}
	}
	parts = append(parts, image)
	reason := review.Request.Object.Metadata.Annotations["attestry.example.com/reason"]
	if reason != "" || len(review.Spec.Annotations) > 0 {
		parts = append(parts, "reason")
	}
	if review.Request.DryRun {
		parts = append(parts, "dry")
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, body, "", " "); err != nil {
		t.Error(err)
	}
	name := strings.ReplaceAll(strings.Join(parts, "-"), "--", "-")
	if err := os.WriteFile(filepath.Join(reviewsFolder, name+".json"), indented.Bytes(), 0o600); err != nil {
		t.Error(err)
	}
}

// recordedVerdicts says for each file whether the review is allowed where provenance is required.
var recordedVerdicts = map[string]bool{
	"CronJob-create-known": true, "CronJob-create-unknown": false,
	"DaemonSet-create-known": true, "DaemonSet-create-unknown": false,
	"Deployment-create-known": true, "Deployment-create-unknown": false, "Deployment-update-unknown": false,
	"ImageReview-known": true, "ImageReview-broken": true, "ImageReview-broken-reason": true, "ImageReview-unknown": false,
	"Job-create-known": true, "Job-create-unknown": false,
	"Pod-create-known": true, "Pod-create-unknown": false, "Pod-create-unknown-reason": true,
	"Pod-create-known-dry": true, "Pod-create-unknown-dry": false,
	"Pod-update-ephemeralcontainers-known": true, "Pod-update-ephemeralcontainers-unknown": false,
	"ReplicaSet-create-known": true, "ReplicaSet-create-unknown": false,
	"StatefulSet-create-known": true, "StatefulSet-create-unknown": false,
}

// TestRecordedReviewsAreDecided sends the reviews that were recorded by TestKubernetesAdmissionWorksAsDocumented.
func TestRecordedReviewsAreDecided(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	s.CreateEnvironment("production", evidence.K8S)
	s.StorePolicy("provenance", "provenance: {required: true}")
	s.Attach("production", "provenance")
	s.ReportArtifact("shop", "build-1", "web", apitest.DigestOf("web"), strings.Repeat("a", 40))
	s.ReportArtifact("shop", "build-2", "broken", apitest.DigestOf("broken"), strings.Repeat("b", 40))
	s.SetAdmission("production", `{"mode":"deny","break_glass":"attestry.example.com/reason"}`)
	files, err := filepath.Glob(reviewsFolder + "/*.json")
	if err != nil || len(files) != len(recordedVerdicts) {
		t.Fatalf("%d reviews are recorded and %d expected: %v", len(files), len(recordedVerdicts), err)
	}
	apitest.Each(s, recordedVerdicts, func(s *apitest.Service, name string, want bool) {
		body, err := os.ReadFile(filepath.Join(reviewsFolder, name+".json"))
		s.Must(err)
		if strings.HasPrefix(name, "ImageReview-") {
			answer := s.Want(http.StatusOK, http.MethodPost, "/admission/"+s.Org+"/production/image-review", body)
			apitest.Equal(s.T, strings.Contains(string(answer.Body), `"allowed":true`), want)
			return
		}
		before := s.AdmissionLines("production")
		if got := s.Admit("production", body); got.Response.Allowed != want || got.Response.UID == "" {
			s.T.Errorf("answered %+v", got)
		}
		after, admitted := s.AdmissionLines("production"), want && !strings.HasSuffix(name, "-reason")
		if unrecorded := admitted || strings.HasSuffix(name, "-dry"); (after == before) != unrecorded {
			s.T.Errorf("the records are\n%s\nand were\n%s", after, before)
		}
	})
}
