package snapshots

import (
	"encoding/json"
	"testing"

	"attestry/evidence/snapshot"
)

func TestOnlyOneContextIsShownAndECSAlways(t *testing.T) {
	for want, context := range map[string]*snapshot.Context{
		`{"ecs_context":null}`: nil,
		`{"ecs_context":{"task_arn":"t","cluster_name":"c","service_name":null}}`: {
			ECS: &snapshot.ECSContext{TaskARN: "t", ClusterName: new("c")}},
		`{"ecs_context":null,"azure_apps_context":{"app_name":"a","app_kind":"app","digests_source":"acr"}}`: {
			Azure: &snapshot.AzureContext{AppName: "a", AppKind: "app", DigestsSource: "acr"}},
		`{"ecs_context":null,"cloud_run_context":{"kind":"job","service_name":null,"revision_name":null,"job_name":"j"}}`: {
			CloudRun: &snapshot.CloudRunContext{Kind: "job", JobName: new("j")}},
	} {
		got, err := json.Marshal(showContext(&snapshot.Artifact{Reported: snapshot.Reported{Context: context}}))
		if err != nil || string(got) != want {
			t.Errorf("%v\n got %s\nwant %s", err, got, want)
		}
	}
}
