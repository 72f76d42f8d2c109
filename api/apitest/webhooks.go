package apitest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"

	"attestry/evidence"
)

const (
	// HookSecret is the secret of all inbound webhooks of tests. HookUIDPart is a part of all of their uids.
	HookSecret  = "secret-of-the-inbound-webhooks"
	HookUIDPart = "-hook-of-"
	HookRefused = "The address or the signature of the webhook is not valid"
)

// HookUID returns the uid of an inbound webhook of the test's organization.
func (s *Service) HookUID(kind string) evidence.Secret {
	return evidence.Secret(kind + HookUIDPart + s.Org)
}

// SignHook returns the signature of a body.
func SignHook(body []byte) string {
	sum := hmac.New(sha256.New, []byte(HookSecret))
	sum.Write(body)
	return hex.EncodeToString(sum.Sum(nil))
}

// Deliver calls an inbound webhook. It sends no signature header if the signature is "".
func (s *Service) Deliver(kind, uid, signature string, body []byte) Answer {
	s.T.Helper()
	request, err := http.NewRequestWithContext(s.T.Context(), http.MethodPost, s.URL+"/api/v2/webhooks/"+kind+"/"+uid, bytes.NewReader(body))
	s.Must(err)
	if signature != "" {
		request.Header.Set(map[string]string{"sonar": "X-Sonar-Webhook-HMAC-SHA256", "launch-darkly": "X-LD-Signature"}[kind], signature)
	}
	return s.Send(request)
}

// SonarAnalysis returns a webhook body of SonarQube. Further members begin with a comma.
func SonarAnalysis(more string) string {
	return fmt.Sprintf(`{"serverUrl":"https://sonar.example.com","taskId":"AX1","status":"SUCCESS","analysedAt":"2026-11-02T10:02:11+0000",
		"changedAt":"2026-11-02T10:02:11+0000","revision":%q,"project":{"key":"acme:web app","name":"Web","url":"https://sonar.example.com/web"},
		"branch":{"name":"main","type":"BRANCH","isMain":true,"url":"https://sonar.example.com/web"}%s}`, FirstCommit, more)
}

// QualityGate returns a quality gate of SonarQube.
func QualityGate(status string) string {
	return fmt.Sprintf(`,"qualityGate":{"name":"way","status":%q,"conditions":[{"metric":"new_coverage","operator":"LESS_THAN","value":"7","status":%q,"errorThreshold":"80"}]}`, status, status)
}
