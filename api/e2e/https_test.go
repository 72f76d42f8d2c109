package e2e_test

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/api/apitest/peers"
)

func TestServiceAnswersHTTPSWithItsCertificate(t *testing.T) {
	t.Parallel()
	certFile, keyFile, trusted := peers.ServerCertificate(t)
	s := apitest.Start(t, apitest.Options{Settings: []string{"ATTESTRY_TLS_CERT_FILE=" + certFile, "ATTESTRY_TLS_KEY_FILE=" + keyFile}})
	if !strings.HasPrefix(s.URL, "https://") {
		t.Fatalf("the service is at %s", s.URL)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}}
	defer client.CloseIdleConnections()
	send := func(method, path string, body []byte) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, bytes.NewReader(body))
		s.Must(err)
		request.Header.Set("Authorization", "Bearer "+apitest.AdminKey)
		response, err := client.Do(request)
		s.Must(err)
		defer response.Body.Close()
		content, err := io.ReadAll(response.Body)
		s.Must(err)
		return response.StatusCode, string(content)
	}
	if status, body := send(http.MethodPut, "/api/v2/environments/"+s.Org, []byte(`{"name":"prod","type":"K8S","description":"`+strings.Repeat("x", 500_000)+`"}`)); status != http.StatusCreated {
		t.Errorf("answered %d %s", status, body)
	}
	// The connection still works after a body that is refused unread.
	if status, _ := send(http.MethodPut, "/api/v2/environments/"+s.Org, bytes.Repeat([]byte("x"), 2<<20)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body is answered %d", status)
	}
	if status, body := send(http.MethodGet, "/api/v2/environments/"+s.Org+"/prod", nil); status != http.StatusOK || !strings.Contains(body, `"prod"`) {
		t.Errorf("answered %d", status)
	}
	if response, err := http.Get("http" + strings.TrimPrefix(s.URL, "https") + "/ready"); err == nil {
		response.Body.Close()
		t.Errorf("without TLS it answers %s", response.Status)
	}
}

func TestClientCertificatesAuthenticateServiceAccounts(t *testing.T) {
	t.Parallel()
	ours := peers.NewAuthority(t)
	certFile, keyFile, trusted := peers.ServerCertificate(t)
	caFile, _ := peers.WriteCertificate(t, tls.Certificate{Certificate: [][]byte{ours.Certificate.Raw}, PrivateKey: ours.Key})
	s := apitest.Start(t, apitest.Options{Settings: []string{
		"ATTESTRY_TLS_CERT_FILE=" + certFile, "ATTESTRY_TLS_KEY_FILE=" + keyFile, "ATTESTRY_TLS_CLIENT_CA_FILE=" + caFile,
		"ATTESTRY_TLS_CLIENT_ACCOUNTS=cluster=acme/prod, gatekeeper.svc=acme/gatekeeper,later=acme/later",
	}})
	send := func(shown []tls.Certificate, headers map[string]string, method, path, body string) (int, string) {
		t.Helper()
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, Certificates: shown}}}
		defer client.CloseIdleConnections()
		request, err := http.NewRequestWithContext(t.Context(), method, s.URL+"/api/v2/"+path, strings.NewReader(body))
		s.Must(err)
		for name, value := range headers {
			request.Header.Set(name, value)
		}
		response, err := client.Do(request)
		if err != nil {
			return 0, err.Error()
		}
		defer response.Body.Close()
		content, err := io.ReadAll(response.Body)
		s.Must(err)
		return response.StatusCode, string(content)
	}
	admin := map[string]string{"Authorization": "Bearer " + apitest.AdminKey}
	for _, account := range []string{"prod", "gatekeeper"} {
		if status, body := send(nil, admin, http.MethodPost, "service-accounts/"+s.Org, `{"name":"`+account+`","privilege":"reader"}`); status != http.StatusCreated {
			t.Fatalf("made %s: %d %s", account, status, body)
		}
	}
	cluster, environments := []tls.Certificate{ours.Client(t, "cluster")}, "environments/"+s.Org
	for name, row := range map[string]struct {
		shown   []tls.Certificate
		headers map[string]string
		method  string
		path    string
		status  int
		text    string
	}{
		"a certificate":                    {shown: cluster, path: environments, status: http.StatusOK},
		"a certificate with a DNS name":    {shown: []tls.Certificate{ours.Client(t, "", "gatekeeper.svc")}, path: environments, status: http.StatusOK},
		"beyond the role":                  {shown: cluster, method: http.MethodPut, path: environments, status: http.StatusForbidden, text: "permission"},
		"another organization":             {shown: cluster, path: "environments/elsewhere", status: http.StatusForbidden, text: "Access denied"},
		"a certificate of no account":      {shown: []tls.Certificate{ours.Client(t, "stranger")}, path: environments, status: http.StatusUnauthorized, text: "no service account"},
		"an account that does not exist":   {shown: []tls.Certificate{ours.Client(t, "later")}, path: environments, status: http.StatusUnauthorized, text: "does not exist"},
		"a key beside it":                  {shown: []tls.Certificate{ours.Client(t, "stranger")}, headers: admin, path: environments, status: http.StatusOK},
		"a wrong key beside it":            {shown: cluster, headers: map[string]string{"Authorization": "Bearer wrong"}, path: environments, status: http.StatusUnauthorized},
		"a request of a foreign page":      {shown: cluster, headers: map[string]string{"Origin": "https://evil.example"}, path: environments, status: http.StatusUnauthorized, text: "API key is required"},
		"none":                             {path: environments, status: http.StatusUnauthorized, text: "API key is required"},
		"a certificate of other authority": {shown: []tls.Certificate{peers.NewAuthority(t).Client(t, "cluster")}, path: environments, status: 0, text: "tls: "},
	} {
		t.Run(name, func(t *testing.T) {
			method := cmp.Or(row.method, http.MethodGet)
			if status, body := send(row.shown, row.headers, method, row.path, `{"name":"x","type":"K8S"}`); status != row.status || !strings.Contains(body, row.text) {
				t.Errorf("answered %d %s", status, body)
			}
		})
	}
	if status, body := send(nil, admin, http.MethodDelete, "service-accounts/"+s.Org+"/prod", ""); status >= 300 {
		t.Fatalf("deleted: %d %s", status, body)
	}
	if status, body := send(cluster, nil, http.MethodGet, environments, ""); status != http.StatusUnauthorized {
		t.Errorf("after the account was deleted it answers %d %s", status, body)
	}
}
