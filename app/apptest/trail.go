package apptest

import (
	"context"
	"strings"

	"attestry/app"
	"attestry/app/recording"
	"attestry/evidence"
)

// trailTemplate requires an attestation of the trail and one of its artifact web.
const trailTemplate = `
version: 1
trail:
  attestations:
    - {name: review, type: generic}
  artifacts:
    - name: web
      attestations:
        - {name: test, type: generic}
`

// PutTemplatedFlow stores a flow whose template requires what RecordTrail records.
func PutTemplatedFlow(ctx context.Context, store *app.Store, org, name string) (evidence.Flow, error) {
	id, err := store.Templates.Put(ctx, org, []byte(trailTemplate))
	if err != nil {
		return evidence.Flow{}, err
	}
	_, flow, err := store.Flows.Put(ctx, evidence.Flow{
		ID: evidence.NewID(), Org: org, Name: name, Visibility: evidence.PrivateFlow, Template: id, CreatedAt: 1, LastModifiedAt: 1,
	})
	return flow, err
}

// RecordTrail records a trail of a flow, an artifact, and two attestations, one of which has a file.
func RecordTrail(ctx context.Context, store *app.Store, flow *evidence.Flow, trail string) error {
	scope := recording.Scope{Org: flow.Org, OrgName: "acme", Flow: flow.Name, Trail: trail, By: "somebody", ByID: "by", At: 1_700_000_000}
	if _, err := store.Recorder.Begin(ctx, scope, flow.ID, evidence.TrailChange{}, nil); err != nil {
		return err
	}
	fingerprint := evidence.HashAPIKey(trail)
	if err := store.Recorder.Report(ctx, scope, evidence.ArtifactRecord{
		ID: evidence.NewID(), Org: flow.Org, Trail: trail, Name: "web", Fingerprint: fingerprint, Filename: "web.tgz", CreatedAt: scope.At,
	}, nil); err != nil {
		return err
	}
	file, err := store.Objects.Put(ctx, flow.Org, strings.NewReader("the results of "+trail), -1)
	if err != nil {
		return err
	}
	for _, a := range []evidence.Attestation{
		{ID: evidence.NewID(), Name: "review", Type: evidence.TypeGeneric, Compliant: true},
		{
			ID: evidence.NewID(), Name: "test", Type: evidence.TypeGeneric, Compliant: true, Fingerprint: fingerprint,
			Evidence: &evidence.EvidenceFile{Object: file.Key, SHA256: file.SHA256, Size: file.Size},
		},
	} {
		a.Org, a.Trail, a.CreatedAt = flow.Org, trail, scope.At
		if err := store.Recorder.Attest(ctx, scope, a, nil); err != nil {
			return err
		}
	}
	return nil
}
