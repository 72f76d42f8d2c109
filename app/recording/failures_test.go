package recording_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"attestry/app"
	"attestry/app/apptest"
	"attestry/app/recording"
	"attestry/evidence"
	"attestry/evidence/approval"
	"attestry/storage"
	"attestry/storage/environments"
	"attestry/storage/storagetest"
)

const fourEyesTemplate = `
version: 1
trail:
  artifacts:
    - name: app
      attestations:
        - {name: pr, type: pull_request, independent_approval: true}
`

// process is a process that records in an organization of its own.
type process struct {
	*app.Store
	ctx                 context.Context
	org, flow, template string
}

// prepare stores a trail "t". Its artifact "app", which runs, has an older version with an attestation, and there is a
// decision on the control "ctl". An artifact of the trail "lost", which has a template, an attestation and an approval
// are stored without what follows from them.
func prepare(f *apptest.Fixture) process {
	p := process{Store: f.Store, ctx: f.T.Context(), org: evidence.NewID()}
	var err error
	p.flow, _, err = f.PutFlow(p.org, "flow")
	f.Must(err)
	p.template, err = f.Templates.Put(p.ctx, p.org, []byte(fourEyesTemplate))
	f.Must(err)
	f.Must(p.report("1"))
	f.Must(p.report("2"))
	f.Must(p.attest(evidence.Attestation{Name: "old", Type: evidence.TypeGeneric, Fingerprint: apptest.Sha("1", 64)}))
	f.Must(p.decide(""))
	f.Must(f.Running.Start(p.ctx, []environments.Running{{Org: p.org, Environment: p.org, Fingerprint: apptest.Sha("2", 64), Since: 1}}))
	f.Must(p.begin("lost", evidence.TrailChange{Template: p.template}))
	artifact, attestation := apptest.ArtifactRecord(p.flow, "lost", apptest.Sha("9", 64), "", 1), apptest.AttestationRecord("x", p.flow, "generic", true, 2)
	artifact.Org, attestation.Org, artifact.Repo, attestation.Repo, attestation.Fingerprint = p.org, p.org, "repo", "repo", apptest.Sha("1", 64)
	apptest.PutArtifacts(f.T, f.Store, artifact)
	apptest.PutAttestations(f.T, f.Store, attestation)
	_, err = f.Approvals.Add(p.ctx, p.approval(), nil)
	f.Must(err)
	return p
}

func (p process) scope(trail string) recording.Scope {
	return recording.Scope{Org: p.org, OrgName: "acme", Flow: "flow", Trail: trail, By: "me", ByID: "me", At: 1000}
}

func (p process) report(digit string, children ...string) error {
	return p.Recorder.Report(p.ctx, p.scope("t"), evidence.ArtifactRecord{
		ID: evidence.NewID(), Org: p.org, Trail: "t", Name: "app", Fingerprint: apptest.Sha(digit, 64), ChildFingerprints: children, CreatedAt: 1000,
	}, nil)
}

func (p process) attest(a evidence.Attestation) error {
	a.ID, a.Org, a.Trail, a.CreatedAt = evidence.NewID(), p.org, "t", 1000
	if a.Override != nil {
		return p.Recorder.Override(p.ctx, p.scope("t"), a, nil)
	}
	return p.Recorder.Attest(p.ctx, p.scope("t"), a, nil)
}

func (p process) decide(fingerprint string) error {
	return p.attest(evidence.Attestation{Name: "z", Type: evidence.TypeDecision, Compliant: true, Control: "ctl", Fingerprint: fingerprint})
}

func (p process) begin(trail string, change evidence.TrailChange) error {
	_, err := p.Recorder.Begin(p.ctx, p.scope(trail), p.flow, change, nil)
	return err
}

func (p process) approval() approval.Approval {
	return approval.Approval{
		ID: evidence.NewID(), Org: p.org, Flow: p.flow, Trail: "t", Target: apptest.Sha("1", 64), State: approval.Pending, CreatedAt: 1000,
	}
}

// TestRecordingFailsWithEachOfItsCommands records in a process with empty caches, of which one command fails. Where
// batches are refused before, it also writes in the ways for documents that other processes keep changing. Pruned slots
// may lack the older artifact. No failure may be answered as a fault of the client.
func TestRecordingFailsWithEachOfItsCommands(t *testing.T) {
	fixture := apptest.NewFixture(t)
	for name, row := range map[string]struct {
		refusals int
		record   func(p process) error
		pruned   bool
	}{
		"artifact":             {record: func(p process) error { return p.report("3", apptest.Sha("4", 64)) }},
		"contended artifact":   {refusals: 2, record: func(p process) error { return p.report("3", apptest.Sha("4", 64)) }},
		"older artifact again": {record: func(p process) error { return p.report("1") }},
		"attestation of an older artifact": {record: func(p process) error {
			return p.attest(evidence.Attestation{Name: "x", Type: evidence.TypeGeneric, Fingerprint: apptest.Sha("1", 64)})
		}},
		"attestation that names people": {record: func(p process) error {
			return p.attest(evidence.Attestation{Name: "pr", Type: evidence.TypePullRequest, Payload: map[string]json.RawMessage{
				"pull_requests": json.RawMessage(`[{"author":"ada"}]`),
			}})
		}},
		"decision":                             {record: func(p process) error { return p.decide(apptest.Sha("2", 64)) }},
		"contended decision":                   {refusals: 2, record: func(p process) error { return p.decide(apptest.Sha("2", 64)) }},
		"decision on another trail's artifact": {record: func(p process) error { return p.decide(apptest.Sha("9", 64)) }},
		"override for an older artifact": {pruned: true, record: func(p process) error {
			return p.attest(evidence.Attestation{Name: "old", Type: evidence.TypeGeneric, Fingerprint: apptest.Sha("1", 64), Override: &evidence.Override{Reason: "because"}})
		}},
		"override of a decision": {record: func(p process) error {
			return p.attest(evidence.Attestation{Name: "z", Type: evidence.TypeDecision, Override: &evidence.Override{Reason: "because"}})
		}},
		"new trail":           {record: func(p process) error { return p.begin("new", evidence.TrailChange{}) }},
		"contended new trail": {refusals: 1, record: func(p process) error { return p.begin("new", evidence.TrailChange{}) }},
		"another template":    {record: func(p process) error { return p.begin("t", evidence.TrailChange{Template: p.template}) }},
		"approval":            {record: func(p process) error { return p.Recorder.Approve(p.ctx, p.approval()) }},
		"reconciling": {record: func(p process) error {
			_, err := p.Recorder.Reconcile(p.ctx, p.org, 2000)
			return err
		}},
		"changed trails": {record: func(p process) error {
			_, _, err := p.Recorder.ChangedTrails(p.ctx, p.org, 0)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var p process
			open := func() storage.Documents {
				p = prepare(fixture)
				slot := evidence.SlotID(evidence.TrailKey(p.flow, "t"), "app")
				_, err := p.Slots.Update(p.ctx, slot, storage.WithoutError(func(slot *evidence.Slot) { slot.Pruned = row.pruned }))
				fixture.Must(err)
				return fixture.Db
			}
			storagetest.EachFailure(t, 3, open, func(docs storage.Documents) error {
				docs = &commandCounter{Documents: docs, refused: "trails", refusals: row.refusals}
				p.Store = app.NewStore(docs, fixture.Objs, time.Now, slog.New(slog.DiscardHandler))
				defer p.Tenancy.Close()
				err := row.record(p)
				if err != nil && evidence.CodeOf(err) != evidence.Internal {
					t.Errorf("a failure is answered with %v", err)
				}
				return err
			})
		})
	}
}
