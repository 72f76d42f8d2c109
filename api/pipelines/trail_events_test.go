package pipelines

import (
	"encoding/json"
	"testing"

	"attestry/evidence"
)

// TestStoredEventsAreShown shows events as all versions have stored them, and compares the answer byte for byte.
func TestStoredEventsAreShown(t *testing.T) {
	const (
		fingerprint = "1111111111111111111111111111111111111111111111111111111111111111"
		stored      = `{"id":"e","org":"o","flow":"f","trail":"f/t","time":1.5,"type":"`
		shown       = `{"org_id":"o","flow_id":"f","trail_id":"id-of-t","timestamp":1.5,"type":"`
		bare        = `","git_commit_info":null,"repo_info":null`
		commit      = `{"sha1":"c","message":"a \u003c b","author":null,"author_username":null,"branch":null,"timestamp":1.25,"url":null,"parents":[],"verified":null,"signature_state":null}`
		repo        = `{"id":"r","org":"o","external_id":"","name":"web","url":"https://git.example/web","provider":"github","description":null,` +
			`"namespace_path":null,"additional_info":{"a":[1]},"tags":{"k":"v"},"created_at":1,"last_modified_at":2}`
		shownRepo = `{"inner_id":"r","org_id":"o","repo_id":null,"name":"web","url":"https://git.example/web","provider":"github","description":null,` +
			`"vcs_instance":"git.example","namespace_path":null,"additional_info":{"a":[1]},"created_at":1,"last_modified_at":2,"tags":{"k":"v"}}`

		bareValues = `{"description":"","git_commit_info":null,"template_id":"1","origin_url":null,"user_data":"{}"}`
		values     = `{"org_id":"o","flow_id":"f","name":"t","creating_user_id":"u","description":"d","git_commit_info":` + commit +
			`,"template_id":"1","origin_url":"https://ci.example/1","user_data":"{\"a\":1}","repo_ids":["r"],` +
			`"external_urls":{"docs":{"href":"https://docs.example","fingerprint":"` + fingerprint + `"},"more":{"href":"https://more.example"}}}`
		ofArtifact = `"artifact_fingerprint":"` + fingerprint + `","artifact_name":"web.tgz"`
	)
	for name, c := range map[string]struct{ stored, shown string }{
		"a trail was begun": {
			`trail_reported","commit":` + commit + `,"repo":` + repo + `,"data":{"setting_user_id":"u","trail_data_json":` + values + `}}`,
			`trail_reported","git_commit_info":` + commit + `,"repo_info":` + shownRepo + `,"setting_user_id":"u","trail_data_json":` + values + `}`,
		},
		"a trail was changed": {
			`trail_updated","data":{"setting_user_id":"u","trail_data_json":` + bareValues + `,"changes":["description","template"]}}`,
			`trail_updated` + bare + `,"setting_user_id":"u","trail_data_json":` + bareValues + `,"changes":["description","template"]}`,
		},
		"an artifact was reported": {
			`artifact_creation_reported","data":{` + ofArtifact + `,"artifact_id":"a","template_reference_name":"web","git_commit":"` + evidence.NoCommit + `"}}`,
			`artifact_creation_reported` + bare + `,` + ofArtifact + `,"artifact_id":"a","template_reference_name":"web","git_commit":"` + evidence.NoCommit + `"}`,
		},
		"an artifact of an unknown commit was reported, as the first version stored it": {
			`artifact_creation_reported","data":{` + ofArtifact + `,"artifact_id":"a","template_reference_name":"web","git_commit":""}}`,
			`artifact_creation_reported` + bare + `,` + ofArtifact + `,"artifact_id":"a","template_reference_name":"web","git_commit":""}`,
		},
		"a trail was attested": {
			`trail_attestation_reported","data":{"attestation_type":"generic","is_compliant":true,"attestation_id":"a","template_reference_name":"n","is_reattestation":null}}`,
			`trail_attestation_reported` + bare + `,"attestation_type":"generic","is_compliant":true,"attestation_id":"a","template_reference_name":"n","is_reattestation":null}`,
		},
		"an artifact was attested by name": {
			`trail_attestation_for_artifact_reported","data":{"attestation_type":"custom:x","is_compliant":false,"attestation_id":"a","template_reference_name":"n","target_artifact":"web","is_reattestation":null}}`,
			`trail_attestation_for_artifact_reported` + bare + `,"attestation_type":"custom:x","is_compliant":false,"attestation_id":"a","template_reference_name":"n","target_artifact":"web","is_reattestation":null}`,
		},
		"an artifact was attested by fingerprint": {
			`artifact_attestation_reported","data":{"attestation_type":"junit","is_compliant":true,"attestation_id":"a","template_reference_name":"n",` + ofArtifact + `,"target_artifact":"web","is_reattestation":null}}`,
			`artifact_attestation_reported` + bare + `,"attestation_type":"junit","is_compliant":true,"attestation_id":"a","template_reference_name":"n",` + ofArtifact + `,"target_artifact":"web","is_reattestation":null}`,
		},
		"an artifact started": {
			`artifact_started_running","data":{"artifact_fingerprint":"` + fingerprint + `","environment_id":"e","environment_name":"prod","snapshot_index":7,"replica_number":0,"template_reference_name":"web"}}`,
			`artifact_started_running` + bare + `,"artifact_fingerprint":"` + fingerprint + `","environment_id":"e","environment_name":"prod","snapshot_index":7,"replica_number":0,"template_reference_name":"web","current_environment_name":"live"}`,
		},
		"an artifact ran where nothing runs any more": {
			`artifact_started_running","data":{"artifact_fingerprint":"` + fingerprint + `","environment_id":"archived","environment_name":"prod","snapshot_index":7,"replica_number":0,"template_reference_name":"web"}}`,
			`artifact_started_running` + bare + `,"artifact_fingerprint":"` + fingerprint + `","environment_id":"archived","environment_name":"prod","snapshot_index":7,"replica_number":0,"template_reference_name":"web"}`,
		},
		"an artifact stopped": {
			`artifact_stopped_running","data":{"artifact_fingerprint":"` + fingerprint + `","environment_id":"e","environment_name":"prod","snapshot_index":8,"template_reference_name":"web"}}`,
			`artifact_stopped_running` + bare + `,"artifact_fingerprint":"` + fingerprint + `","environment_id":"e","environment_name":"prod","snapshot_index":8,"template_reference_name":"web","current_environment_name":"live"}`,
		},
		"an artifact was approved": {
			`artifact_approval_reported","data":{"artifact_fingerprint":"` + fingerprint + `","approval_id":"a","approval_number":3,"environment_id":"e","state":"APPROVED","reviewer":"anna"}}`,
			`artifact_approval_reported` + bare + `,"artifact_fingerprint":"` + fingerprint + `","approval_id":"a","approval_number":3,"environment_id":"e","state":"APPROVED","reviewer":"anna"}`,
		},
		"an approval is pending": {
			`artifact_approval_reported","data":{"artifact_fingerprint":"` + fingerprint + `","approval_id":"a","approval_number":3,"state":"PENDING"}}`,
			`artifact_approval_reported` + bare + `,"artifact_fingerprint":"` + fingerprint + `","approval_id":"a","approval_number":3,"environment_id":null,"state":"PENDING","reviewer":null}`,
		},
		"an event has no data":           {`trail_attestation_reported"}`, `trail_attestation_reported` + bare + `}`},
		"an event is of an unknown type": {`unknown"}`, `unknown` + bare + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			var event evidence.TrailEvent
			if err := json.Unmarshal([]byte(stored+c.stored), &event); err != nil {
				t.Fatal(err)
			}
			again, err := json.Marshal(event)
			if err != nil || string(again) != stored+c.stored {
				t.Errorf("stored again it is %s, it was %s: %v", again, stored+c.stored, err)
			}
			answer, err := json.Marshal(showTrailEvent(&evidence.Trail{ID: "id-of-t"}, &event, map[string]string{"e": "live"}))
			if want := shown + c.shown; err != nil || string(answer) != want {
				t.Errorf("got  %s\nwant %s: %v", answer, want, err)
			}
		})
	}
}
