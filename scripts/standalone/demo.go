package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"attestry/evidence"
	"attestry/scripts/fixtures"
	"attestry/scripts/standalone/instance"
)

// demoOrganization is where the demonstration plays. It is public, so that every
// key can look at what was played.
const demoOrganization = "attestry-demo"

// demonstration plays a delivery through the HTTP API, as clients do.
type demonstration struct {
	url, key    string
	environment string
	step        int
}

// demonstrate plays a cluster that reports, reports the same again, and rolls two
// services out.
func demonstrate(ctx context.Context, running *instance.Instance) error {
	key, err := temporaryKey(ctx, running)
	if err != nil {
		return err
	}
	d := &demonstration{url: running.URL + "/api/v2", key: key, environment: "demo-" + evidence.NewID()[:13]}
	name := d.environment
	fmt.Println("A delivery, step by step:")
	steps := []func() error{
		func() error {
			return d.send(ctx, "declare a Kubernetes environment", http.MethodPut, "/environments/"+demoOrganization,
				[]byte(`{"name":"`+name+`","type":"K8S","description":"The cluster of the demonstration"}`), http.StatusCreated)
		},
		func() error {
			return d.report(ctx, "the cluster reports 57 pods", fixtures.K8SReport1, http.StatusCreated)
		},
		func() error {
			return d.report(ctx, "a minute later, nothing has changed", fixtures.K8SReport1, http.StatusOK)
		},
		func() error {
			return d.report(ctx, "two services are rolled out", fixtures.K8SReport2Rollout, http.StatusCreated)
		},
		func() error { return d.showSnapshot(ctx) },
		func() error { return d.listSnapshots(ctx) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	fmt.Println()
	return nil
}

// temporaryKey brings the user and the organization of the demonstration, with a
// key for one hour.
func temporaryKey(ctx context.Context, running *instance.Instance) (string, error) {
	secret := evidence.NewAPIKey()
	_, err := running.Process.Store.Tenancy.ApplyBootstrap(ctx, evidence.Bootstrap{
		Users: []evidence.DeclaredUser{{
			Name: "demo-user",
			Keys: []evidence.DeclaredKey{{
				Secret:      secret,
				Description: "demonstration",
				ExpiresAt:   time.Now().Add(time.Hour).Unix(),
			}},
		}},
		Organizations: []evidence.DeclaredOrganization{{
			Name:    demoOrganization,
			Members: map[string]evidence.Role{"demo-user": evidence.Admin},
			Public:  true,
		}},
	})
	return secret.Reveal(), err
}

func (d *demonstration) report(ctx context.Context, what string, fixture []byte, want int) error {
	return d.send(ctx, what, http.MethodPut, "/environments/"+demoOrganization+"/"+d.environment+"/report/K8S", fixture, want)
}

// send makes one request and tells what came of it.
func (d *demonstration) send(ctx context.Context, what, method, path string, body []byte, want int) error {
	answer, err := d.call(ctx, what, method, path, body, want)
	if err == nil {
		fmt.Printf("     answer: %s\n", answer)
	}
	return err
}

// call makes one request that must have the wanted status.
func (d *demonstration) call(ctx context.Context, what, method, path string, body []byte, want int) ([]byte, error) {
	d.step++
	fmt.Printf("  %d. %s\n     %s /api/v2%s", d.step, what, method, path)
	request, err := http.NewRequestWithContext(ctx, method, d.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+d.key)
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	began := time.Now()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	fmt.Printf("  → %d in %s\n", response.StatusCode, time.Since(began).Round(time.Millisecond))
	if response.StatusCode != want {
		return nil, fmt.Errorf("%s: status %d, want %d: %s", what, response.StatusCode, want, answer)
	}
	return answer, nil
}

// showSnapshot reads the latest snapshot and tells what has changed.
func (d *demonstration) showSnapshot(ctx context.Context) error {
	answer, err := d.call(ctx, "read the latest snapshot", http.MethodGet, "/snapshots/"+demoOrganization+"/"+d.environment+"/-1", nil, http.StatusOK)
	if err != nil {
		return err
	}
	var snapshot struct {
		Index     int64
		Artifacts []struct {
			Name       string
			Annotation struct {
				Type     string
				Was, Now int
			}
		}
	}
	if err := json.Unmarshal(answer, &snapshot); err != nil {
		return err
	}
	unchanged := 0
	fmt.Printf("     snapshot %d:\n", snapshot.Index)
	for _, artifact := range snapshot.Artifacts {
		if artifact.Annotation.Type == "unchanged" {
			unchanged++
			continue
		}
		fmt.Printf("       %-16s %d → %d  %s\n", artifact.Annotation.Type, artifact.Annotation.Was, artifact.Annotation.Now, artifact.Name)
	}
	fmt.Printf("       %d more unchanged\n", unchanged)
	return nil
}

// listSnapshots reads the list of snapshots.
func (d *demonstration) listSnapshots(ctx context.Context) error {
	return d.send(ctx, "list the snapshots", http.MethodGet, "/snapshots/"+demoOrganization+"/"+d.environment, nil, http.StatusOK)
}
