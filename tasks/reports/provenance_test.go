package reports_test

import (
	"testing"
	"time"

	"attestry/app/recording"
	"attestry/evidence"
	"attestry/evidence/snapshot"
)

// pipeline reports artifacts to the flows of a scene.
type pipeline struct {
	*scene
	commits int
}

// build reports a file of a server as an artifact of a flow, built from a new commit that is one minute old.
func (p *pipeline) build(t *testing.T, flow, trail, slot, name string) {
	t.Helper()
	p.commits++
	at := evidence.Seconds(p.clock.Now())
	sha := evidence.NewID()[:8] + "aaaabbbbccccddddeeeeffff00001111"
	record := evidence.ArtifactRecord{
		ID: evidence.NewID(), Org: "org", Trail: trail, Name: slot, Fingerprint: fingerprint(name), Filename: name,
		CommitSHA: sha, CommitURL: "https://github.com/acme/" + flow + "/commit/" + sha, Repo: "repo-" + flow,
		Commit:    &evidence.GitCommit{SHA1: sha, Timestamp: new(at - 60), Message: new("change"), Branch: new("main")},
		CreatedAt: at,
	}
	scope := recording.Scope{Org: "org", OrgName: "org", Flow: flow, Trail: trail, By: "ci", ByID: "ci", At: at}
	if err := p.store.Recorder.Report(t.Context(), scope, record, nil); err != nil {
		t.Fatal(err)
	}
}

func (p *pipeline) attest(t *testing.T, flow, trail, name string, compliant bool) {
	t.Helper()
	at := evidence.Seconds(p.clock.Now())
	scope := recording.Scope{Org: "org", OrgName: "org", Flow: flow, Trail: trail, By: "ci", ByID: "ci", At: at}
	attestation := evidence.Attestation{
		ID: evidence.NewID(), Org: "org", Trail: trail, Name: name, Type: "generic", Compliant: compliant, CreatedAt: at,
	}
	if err := p.store.Recorder.Attest(t.Context(), scope, attestation, nil); err != nil {
		t.Fatal(err)
	}
}

// run reports that files run and returns the latest snapshot.
func (p *pipeline) run(t *testing.T, names ...string) (snapshot.Snapshot, map[string]snapshot.Artifact, map[string]snapshot.Change) {
	t.Helper()
	p.clock.Advance(time.Minute)
	p.accept(t, running(names...))
	p.drain(t)
	made, artifacts, changes := p.artifacts(t, p.head(t).Last)
	byName := map[string]snapshot.Change{}
	for _, change := range changes {
		byName[change.Fingerprint] = change
	}
	return made, snapshot.ByFingerprint(artifacts), byName
}

func TestSnapshotHasTheProvenanceOfArtifacts(t *testing.T) {
	p := &pipeline{scene: newScene(t, nil)}
	p.build(t, "build", "one", "web", "web-1")
	p.build(t, "promote", "p-1", "web", "web-1")
	made, artifacts, _ := p.run(t, "web-1", "intruder")
	web := artifacts[fingerprint("web-1")]
	if len(web.Origins) != 2 || web.Origins[0].Trail != "one" || web.Origins[1].Trail != "p-1" {
		t.Fatalf("origins are %+v", web.Origins)
	}
	if web.Origins[0].Status != evidence.Compliant || web.Origins[0].Previous != nil || web.Since != 1 || web.FirstAt != made.Timestamp {
		t.Errorf("web is %+v", web)
	}
	if lead := web.Origins[0].LeadTime(web.FirstAt); lead == nil || *lead < 119 || *lead > 121 {
		t.Errorf("lead time is %v", lead)
	}
	if intruder := artifacts[fingerprint("intruder")]; len(intruder.Origins) != 0 {
		t.Errorf("the intruder has provenance: %+v", intruder)
	}
}

func TestReplacedArtifactIsThePredecessor(t *testing.T) {
	p := &pipeline{scene: newScene(t, nil)}
	for _, version := range []string{"1", "2", "3"} {
		p.build(t, "build", "trail-"+version, "web", "web-"+version)
	}
	p.attest(t, "build", "trail-1", "tests", false)
	first, _, _ := p.run(t, "web-1")
	p.run(t, "web-2")
	p.run(t)
	_, artifacts, _ := p.run(t, "web-3") // after a gap
	previous := artifacts[fingerprint("web-3")].Origins[0].Previous
	if previous == nil || previous.Fingerprint != fingerprint("web-2") || previous.Since != 2 || previous.Status != evidence.Compliant {
		t.Fatalf("predecessor is %+v", previous)
	}
	made, artifacts, _ := p.run(t, "web-1") // rolled back
	back := artifacts[fingerprint("web-1")]
	if back.Since != made.Number || back.StartedAt != made.Timestamp || back.FirstAt != first.Timestamp {
		t.Errorf("the artifact that was rolled back to is %+v", back)
	}
	if previous := back.Origins[0].Previous; previous == nil || previous.Fingerprint != fingerprint("web-3") {
		t.Errorf("its predecessor is %+v", previous)
	}
	_, artifacts, _ = p.run(t, "web-2")
	if previous := artifacts[fingerprint("web-2")].Origins[0].Previous; previous.Status != evidence.NonCompliant {
		t.Errorf("the state of the predecessor is %s", previous.Status)
	}
}

func TestLaterRecordUpdatesTheProvenance(t *testing.T) {
	p := &pipeline{scene: newScene(t, nil)}
	p.build(t, "build", "old", "web", "web-0")
	p.run(t, "web-0", "other")
	_, before, _ := p.run(t, "web-1", "other")
	p.build(t, "build", "late", "web", "web-1")
	made, artifacts, changes := p.run(t, "web-1", "other")
	change := changes[fingerprint("web-1")]
	if made.Number != 3 || len(changes) != 1 || change.Type != snapshot.UpdatedProvenance || !change.Learned {
		t.Fatalf("snapshot %d has the changes %+v", made.Number, changes)
	}
	web := artifacts[fingerprint("web-1")]
	if web.Since != 2 || web.StartedAt != before[fingerprint("web-1")].StartedAt || web.Origins[0].Previous.Fingerprint != fingerprint("web-0") {
		t.Errorf("web is %+v", web)
	}
	deployed, err := p.store.Deployments.Latest(t.Context(), []string{p.env}, fingerprint("web-1"))
	if err != nil || deployed.Origin == nil || deployed.Snapshot != 2 || deployed.Timestamp != web.StartedAt {
		t.Errorf("its deployment is %+v, %v", deployed, err)
	}
	p.build(t, "build", "again", "web", "web-1")
	made, _, changes = p.run(t, "web-1", "other")
	if change := changes[fingerprint("web-1")]; made.Number != 4 || change.Type != snapshot.UpdatedProvenance || change.Learned {
		t.Errorf("snapshot %d has the changes %+v", made.Number, changes)
	}
}

func TestComplianceOfAnOriginIsThatAtTheTimeOfTheSnapshot(t *testing.T) {
	p := &pipeline{scene: newScene(t, nil)}
	p.build(t, "build", "one", "web", "web-1")
	p.run(t, "web-1")
	p.attest(t, "build", "one", "tests", false)
	if made, _, _ := p.run(t, "web-1"); made.Number != 1 {
		t.Fatalf("an attestation alone made snapshot %d", made.Number)
	}
	_, artifacts, changes := p.run(t, "web-1", "other")
	if status := artifacts[fingerprint("web-1")].Origins[0].Status; status != evidence.NonCompliant || len(changes) != 1 {
		t.Errorf("the state is %s, the changes are %+v", status, changes)
	}
}

func TestTrailsHaveEventsOfStartsAndExits(t *testing.T) {
	p := &pipeline{scene: newScene(t, nil)}
	p.build(t, "build", "one", "web", "web-1")
	p.build(t, "promote", "p-1", "web", "web-1")
	p.run(t, "web-1")
	p.run(t)
	for _, name := range []string{"build/one", "promote/p-1"} {
		flow, trail := name[:len(name)-4], name[len(name)-3:]
		ref, err := p.store.Flows.Resolve(t.Context(), "org", flow)
		if err != nil {
			t.Fatal(err)
		}
		events, err := p.store.TrailEvents.OfTrail(t.Context(), "org", evidence.TrailKey(ref.ID, trail))
		if err != nil {
			t.Fatal(err)
		}
		var types []string
		for _, event := range events {
			types = append(types, event.Type)
		}
		if len(types) != 4 || types[2] != evidence.ArtifactStartedRunning || types[3] != evidence.ArtifactStoppedRunning {
			t.Errorf("trail %s has the events %v", name, types)
		}
	}
}
