package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"attestry/scripts/fixtures"
)

func (d *demonstration) cluster() []step {
	return []step{
		d.send("declare a Kubernetes environment", http.MethodPut, "/environments/"+demoOrganization,
			[]byte(`{"name":"`+d.environment+`","type":"K8S","description":"The cluster of the demonstration"}`), http.StatusCreated),
		d.report("the cluster reports 57 pods", fixtures.K8SReport1, http.StatusCreated),
		d.report("a minute later, nothing has changed", fixtures.K8SReport1, http.StatusOK),
		d.report("two services are rolled out", fixtures.K8SReport2Rollout, http.StatusCreated),
		d.showSnapshot,
		d.send("list the snapshots", http.MethodGet, "/snapshots/"+demoOrganization+"/"+d.environment, nil, http.StatusOK),
		d.showDifference,
		d.showEvents,
	}
}

func (d *demonstration) report(what string, fixture []byte, want int) step {
	return d.send(what, http.MethodPut, "/environments/"+demoOrganization+"/"+d.environment+"/report/K8S", fixture, want)
}

func (d *demonstration) showSnapshot(ctx context.Context) error {
	var snapshot struct {
		Index     int64
		Artifacts []struct {
			Name  string
			Flows []struct {
				Flow  string `json:"flow_name"`
				Trail string `json:"trail_name"`
			}
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
	fmt.Fprintf(d.out, "     snapshot %d:\n", snapshot.Index)
	for _, artifact := range snapshot.Artifacts {
		if artifact.Annotation.Type == "unchanged" {
			unchanged++
			continue
		}
		fmt.Fprintf(d.out, "       %-16s %d → %d  %s\n", artifact.Annotation.Type, artifact.Annotation.Was, artifact.Annotation.Now, artifact.Name)
		for _, origin := range artifact.Flows {
			fmt.Fprintf(d.out, "         from trail %s of flow %s\n", origin.Trail, origin.Flow)
		}
	}
	fmt.Fprintf(d.out, "       %d more unchanged\n", unchanged)
	return nil
}

func (d *demonstration) showDifference(ctx context.Context) error {
	type side struct{ Artifacts []struct{ Name string } }
	var difference struct {
		Snappish1, Snappish2 side
		NotChanged           side `json:"not-changed"`
	}
	err := d.read(ctx, "compare the two snapshots", "/env-diff/"+demoOrganization+"?snappish1="+
		url.QueryEscape(d.environment+"~1")+"&snappish2="+url.QueryEscape(d.environment), &difference)
	if err != nil {
		return err
	}
	for _, artifact := range difference.Snappish1.Artifacts {
		fmt.Fprintf(d.out, "       - %s\n", artifact.Name)
	}
	for _, artifact := range difference.Snappish2.Artifacts {
		fmt.Fprintf(d.out, "       + %s\n", artifact.Name)
	}
	fmt.Fprintf(d.out, "       %d alike\n", len(difference.NotChanged.Artifacts))
	return nil
}

func (d *demonstration) showEvents(ctx context.Context) error {
	var events []struct {
		Snapshot              int64  `json:"snapshot_index"`
		Artifact              string `json:"artifact_name"`
		Description, Pipeline string
	}
	err := d.read(ctx, "read the event log", "/environments/"+demoOrganization+"/"+d.environment+"/events?per_page=4", &events)
	if err != nil {
		return err
	}
	for _, event := range events {
		fmt.Fprintf(d.out, "       #%d %s: %s %s\n", event.Snapshot, event.Artifact, event.Description, event.Pipeline)
	}
	return nil
}
