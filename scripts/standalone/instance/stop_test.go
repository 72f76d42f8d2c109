package instance_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/process"
	"attestry/scripts/fixtures"
	"attestry/scripts/standalone/instance"
)

const reportsUnderWay = 4

// put sends JSON with a key and returns what is answered.
func put(ctx context.Context, address, key string, body []byte) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, address, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return fmt.Sprintf("%d %s", response.StatusCode, strings.TrimSpace(string(content))), err
}

// TestStopAnswersReportsThatWait stops a service whose reports nobody processes.
func TestStopAnswersReportsThatWait(t *testing.T) {
	var made []identity.MadeKey
	running, err := instance.Start(t.Context(), instance.Options{
		Listen: "127.0.0.1:0", Data: t.TempDir(), Clock: time.Now, Log: slog.New(slog.DiscardHandler), ReportWait: 10 * time.Second, WithoutWorker: true,
		Prepare: func(ctx context.Context, p *process.Process) (err error) {
			made, err = p.Store.Tenancy.ApplyBootstrap(ctx, identity.Bootstrap{
				Users:         []identity.DeclaredUser{{Name: "ann", Keys: []identity.DeclaredKey{{Description: "test"}}}},
				Organizations: []identity.DeclaredOrganization{{Name: "acme", Members: map[string]evidence.Role{"ann": evidence.Admin}}},
			})
			return err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	key, base := made[0].Secret.Reveal(), running.URL+"/api/v2/environments/acme"
	if answer, err := put(t.Context(), base, key, []byte(`{"name":"prod","type":"K8S","description":""}`)); err != nil || !strings.HasPrefix(answer, "201") {
		t.Fatal(answer, err)
	}
	org, err := running.Process.Store.Tenancy.Organization(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	environment, err := running.Process.Store.Environments.Resolve(t.Context(), org.ID, "prod")
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan string, reportsUnderWay)
	for range reportsUnderWay {
		go func() {
			answer, err := put(t.Context(), base+"/prod/report/K8S", key, fixtures.K8SReport1)
			answers <- fmt.Sprint(answer, err)
		}()
	}
	for stored := false; !stored; {
		if stored, err = running.Process.Store.Reports.Exists(t.Context(), environment.ID, reportsUnderWay); err != nil {
			t.Fatal(err)
		}
	}
	told := time.Now()
	if err := running.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(told); took > 5*time.Second {
		t.Errorf("to stop took %v", took)
	}
	for range reportsUnderWay {
		if answer := <-answers; answer != `200 "report accepted, it will be processed"<nil>` {
			t.Errorf("a report was answered %s", answer)
		}
	}
}
