package apitest

import (
	"fmt"
	"net/http"
	"strings"
)

// Pod returns a Kubernetes pod as JSON. annotations are members of a JSON object.
func Pod(annotations string, images ...string) string {
	var containers []string
	for i, image := range images {
		containers = append(containers, fmt.Sprintf(`{"name":"c%d","image":%q}`, i, image))
	}
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-5d9f-x2k4z","generateName":"web-5d9f-","namespace":"shop","annotations":{%s}},"spec":{"containers":[%s]}}`,
		annotations, strings.Join(containers, ","))
}

// Review returns the AdmissionReview that an API server sends for an object.
func Review(kind, object string, dry bool) []byte {
	return fmt.Appendf(nil, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"705ab4f5-6393-11e8-b7cc-42010a800002",
		"kind":{"group":"","version":"v1","kind":%q},"resource":{"group":"","version":"v1","resource":"pods"},"requestKind":{"group":"","version":"v1","kind":"Pod"},
		"name":"web","namespace":"shop","operation":"CREATE","userInfo":{"username":"deployer","groups":["system:authenticated"]},
		"object":%s,"oldObject":null,"dryRun":%t,"options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}}}`, kind, object, dry)
}

// ReviewAnswer is the answer to an AdmissionReview.
type ReviewAnswer struct {
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

// Admit sends an AdmissionReview of an environment, which must be answered.
func (s *Service) Admit(environment string, body []byte) (answer ReviewAnswer) {
	s.T.Helper()
	s.Want(http.StatusOK, http.MethodPost, "/admission/"+s.Org+"/"+environment+"/validate", body).Decode(s.T, &answer)
	return answer
}

// SetAdmission changes the settings of the admissions to an environment.
func (s *Service) SetAdmission(environment, settings string) {
	s.T.Helper()
	s.Want(http.StatusOK, http.MethodPut, "/environments/"+s.Org+"/"+environment+"/admission", []byte(settings))
}

// AdmissionLines returns a line for each record of the admissions to an environment.
func (s *Service) AdmissionLines(environment string) string {
	s.T.Helper()
	lines := ""
	for _, one := range Lookup(s.T, s.Read("/environments/"+s.Org+"/"+environment+"/admissions"), "admissions").([]any) {
		lines += fmt.Sprintln(Lookup(s.T, one, "outcome"), Lookup(s.T, one, "kind"), Lookup(s.T, one, "namespace"), Lookup(s.T, one, "name"),
			Lookup(s.T, one, "user"), Lookup(s.T, one, "count"), Lookup(s.T, one, "reason"), len(Lookup(s.T, one, "images").([]any)))
	}
	return lines
}
