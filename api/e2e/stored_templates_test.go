package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/template"
	"attestry/storage"
)

// TestTemplatesOfEarlierVersionsStayValid stores templates that would be refused as
// uploads now.
func TestTemplatesOfEarlierVersionsStayValid(t *testing.T) {
	t.Parallel()
	s := share(t)
	org := s.orgID()
	type record struct {
		Org     string `json:"org"`
		ID      string `json:"id"`
		Content []byte `json:"content"`
	}
	templates := storage.NewCollection(s.Process.Store.Documents, &storage.Schema{Name: "templates"}, func(r *record) string { return r.Org + "/" + r.ID }, nil)
	for flow, content := range map[string]string{
		"long-name": "trail:\n  attestations:\n    - {name: check, type: generic}\n  artifacts:\n    - name: " + strings.Repeat("n", 256) + "\n",
		"no-blank":  "trail:\n  attestations:\n    - {name: check, type:\"generic\"}\n  artifacts: [{name: web}]\n",
	} {
		id := template.ID([]byte(content))
		s.must(templates.Insert(t.Context(), record{Org: org, ID: id, Content: []byte(content)}))
		_, _, err := s.Process.Store.Flows.Put(t.Context(), evidence.Flow{
			ID: evidence.NewID(), Org: org, Name: flow, Visibility: evidence.PrivateFlow, Template: id, CreatedAt: 1, CreatedBy: "me", LastModifiedAt: 1,
		})
		s.must(err)
	}
	if flows := s.read("/flows/" + s.org).([]any); len(flows) != 2 {
		t.Errorf("%d flows are listed", len(flows))
	}
	for _, flow := range []string{"long-name", "no-blank"} {
		t.Run(flow, func(t *testing.T) {
			s := s.in(t)
			s.wantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.org+"/"+flow, `{"name":"t"}`)
			s.wantForm(http.StatusCreated, http.MethodPost, "/attestations/"+s.org+"/"+flow+"/trail/t/generic", genericData)
			status := lookup(t, s.getTrail(flow, "t"), "compliance_status")
			if check := lookup(t, status, "attestations_statuses", 0); lookup(t, check, "attestation_name") != "check" || lookup(t, check, "status") != "COMPLETE" || lookup(t, check, "unexpected") != false {
				t.Errorf("the check is %v", check)
			}
			if got := lookup(t, status, "status"); got != "INCOMPLETE" {
				t.Errorf("the trail is %v", got)
			}
		})
	}
}
