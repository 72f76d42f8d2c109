package main

import (
	"context"
	"fmt"
	"net/http"

	"attestry/scripts/fixtures"
)

// cluster is what the cluster does.
func (d *demonstration) cluster() []func(context.Context) error {
	return []func(context.Context) error{
		func(ctx context.Context) error {
			return d.send(ctx, "declare a Kubernetes environment", http.MethodPut, "/environments/"+demoOrganization,
				[]byte(`{"name":"`+d.environment+`","type":"K8S","description":"The cluster of the demonstration"}`), http.StatusCreated)
		},
		func(ctx context.Context) error {
			return d.report(ctx, "the cluster reports 57 pods", fixtures.K8SReport1, http.StatusCreated)
		},
		func(ctx context.Context) error {
			return d.report(ctx, "a minute later, nothing has changed", fixtures.K8SReport1, http.StatusOK)
		},
		func(ctx context.Context) error {
			return d.report(ctx, "two services are rolled out", fixtures.K8SReport2Rollout, http.StatusCreated)
		},
		d.showSnapshot,
		d.listSnapshots,
	}
}

func (d *demonstration) report(ctx context.Context, what string, fixture []byte, want int) error {
	return d.send(ctx, what, http.MethodPut, "/environments/"+demoOrganization+"/"+d.environment+"/report/K8S", fixture, want)
}

// showSnapshot reads the latest snapshot and tells what has changed.
func (d *demonstration) showSnapshot(ctx context.Context) error {
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
	err := d.read(ctx, "read the latest snapshot", "/snapshots/"+demoOrganization+"/"+d.environment+"/-1", &snapshot)
	if err != nil {
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
