package main

import (
	"net/http"
	"net/url"

	"attestry/scripts/fixtures"
)

func (d *demonstration) cluster() []step {
	environment := "/environments/" + demoOrganization + "/" + d.environment
	snapshots := "/snapshots/" + demoOrganization + "/" + d.environment
	return []step{
		d.send("declare a Kubernetes environment", http.MethodPut, "/environments/"+demoOrganization,
			[]byte(`{"name":"`+d.environment+`","type":"K8S","description":"The cluster of the demonstration"}`), http.StatusCreated),
		d.report("the cluster reports 57 pods", fixtures.K8SReport1, http.StatusCreated),
		d.report("a minute later, nothing has changed", fixtures.K8SReport1, http.StatusOK),
		d.report("two services are rolled out", fixtures.K8SReport2Rollout, http.StatusCreated),
		d.read("read the latest snapshot", snapshots+"/-1", "snapshot"),
		d.send("list the snapshots", http.MethodGet, snapshots, nil, http.StatusOK),
		d.read("compare the two snapshots", "/env-diff/"+demoOrganization+"?snappish1="+url.QueryEscape(d.environment+"~1")+
			"&snappish2="+url.QueryEscape(d.environment), "difference"),
		d.read("read the event log", environment+"/events?per_page=4", "events"),
	}
}

func (d *demonstration) report(what string, fixture []byte, want int) step {
	return d.send(what, http.MethodPut, "/environments/"+demoOrganization+"/"+d.environment+"/report/K8S", fixture, want)
}
